import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { InvalidInput } from '../../core/errors.ts'
import { readOfacList } from '../../serving/risk/ofac-list.ts'
import { XML_BOUNDS } from '../../serving/risk/xml-reader.ts'

const EXPORTS = 'https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports'
const fixture = (name: string): Buffer =>
  readFileSync(new URL(`../fixtures/labels/${name}`, import.meta.url))

async function* inPieces(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}
const read = (text: string | Uint8Array, length = 65_536) =>
  readOfacList(inPieces(Buffer.from(text), length))

const sdn = (inner: string, namespace = `${EXPORTS}/XML`): string =>
  `<?xml version="1.0" encoding="utf-8"?><sdnList xmlns="${namespace}">${inner}</sdnList>`
const entry = (symbol: string, address: string, name = 'A'): string =>
  `<sdnEntry><uid>1</uid><lastName>${name}</lastName><idList><id><uid>2</uid><idType>Digital Currency Address - ${symbol}</idType><idNumber>${address}</idNumber></id></idList></sdnEntry>`
const EVM = `0x${'ab'.repeat(20)}`
const GOOD = entry('ETH', EVM)

const EXPECTED = [
  ['', `0x${'11'.repeat(20)}`, 'EXAMPLE, Ivan & Sons', 36],
  ['', `0x${'22'.repeat(20)}`, 'EXAMPLE, Ivan & Sons', 36],
  ['sol', 'So11111111111111111111111111111111111111112', 'MADE UP TRADING LLC', 37],
]

for (const file of ['sdn-by-hand.xml', 'sdn-advanced-by-hand.xml']) {
  for (const length of [1, 7, 65_536]) {
    test(`${file} read in pieces of ${length} bytes names parties, chains and evidence`, async () => {
      const { labels, skipped } = await readOfacList(inPieces(fixture(file), length))
      assert.deepEqual(
        labels.map(({ chain, address, entity, evidenceUrl }) => [
          chain,
          address,
          entity,
          Number(new URL(evidenceUrl).searchParams.get('id')),
        ]),
        EXPECTED,
      )
      assert.deepEqual(new Set(labels.map(({ category }) => category)), new Set(['sanctions']))
      assert.deepEqual(skipped, { XBT: 1, USDT: 1 })
    })
  }
}

test('an EVM address is taken under every symbol, addresses of other ledgers are counted', async () => {
  const { labels, skipped } = await read(
    sdn(
      [
        entry('XBT', EVM),
        entry('USDT', 'TNHrhtVnRMRaTJFRsqLUqSytCKsavXJJab'),
        entry('ETH', '0x12'),
        entry('<!-- -->NEW/ONE', 'x'),
      ].join(''),
    ),
  )
  assert.deepEqual(
    labels.map(({ address }) => address),
    [EVM],
  )
  assert.deepEqual(skipped, { USDT: 1, ETH: 1, unknown: 1 })
})

const deep = XML_BOUNDS.depth + 1
const REFUSED: Readonly<Record<string, readonly [text: string | Uint8Array, reason: RegExp]>> = {
  'entities that unfold': [
    `<!DOCTYPE sdnList [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>${sdn(entry('ETH', EVM, '&b;'))}`,
    /document type/,
  ],
  'a document type of a file': [
    `<!DOCTYPE sdnList SYSTEM "file:///etc/passwd">${sdn(GOOD)}`,
    /document type/,
  ],
  'an unknown entity': [sdn(entry('ETH', EVM, '&made;')), /malformed.*entity/],
  'an unclosed element': [sdn(GOOD).replace('</sdnList>', ''), /malformed.*Unclosed root/],
  'a crossed element': [sdn(`${GOOD}<a><b></a></b>`), /malformed.*close tag/],
  '10 MB of one text': [sdn(entry('ETH', EVM, 'A'.repeat(10 << 20))), /more than 32768 characters/],
  '10 MB of one tag': [sdn(`<${'a'.repeat(10 << 20)}/>`), /malformed.*buffer/],
  '10 MB of one comment': [sdn(`<!--${'a'.repeat(10 << 20)}-->`), /malformed.*buffer/],
  'elements nested too deep': [sdn('<a>'.repeat(deep) + '</a>'.repeat(deep)), /deeper than/],
  'too many attributes': [
    sdn(`<a ${Array.from({ length: 65 }, (_, n) => `a${n}="1"`).join(' ')}/>`),
    /more than 64 attributes/,
  ],
  'another namespace': [sdn(GOOD, 'https://example.org/XML'), /root element/],
  'elements of another namespace inside': [
    sdn(GOOD.replace('<idList>', '<idList xmlns="https://example.org">')),
    /element of another namespace/,
  ],
  'the advanced root with the classic namespace': [
    `<Sanctions xmlns="${EXPORTS}/XML"/>`,
    /root element/,
  ],
  'a list without addresses': [sdn(''), /no address of a known chain/],
  'an empty file': ['', /malformed|no address/],
  'bytes that are not UTF-8': [
    Buffer.concat([Buffer.from(sdn(GOOD)), Buffer.from([0xff])]),
    /not UTF-8/,
  ],
  'another encoding': [sdn(GOOD).replace('utf-8', 'utf-16'), /not declared as UTF-8/],
}

for (const [name, [text, reason]] of Object.entries(REFUSED)) {
  test(`an SDN list with ${name} is refused`, async () => {
    await assert.rejects(read(text), (error) => {
      assert.ok(error instanceof InvalidInput, String(error))
      assert.match(error.message, reason)
      return true
    })
  })
}

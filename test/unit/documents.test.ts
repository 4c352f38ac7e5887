import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Unfetched } from '../../ingestors/metadata/fetch.ts'
import { documentOf } from '../../ingestors/metadata/fields.ts'
import { makeHosts } from '../../ingestors/metadata/hosts.ts'
import { placeOf } from '../../ingestors/metadata/uri.ts'

const GATEWAYS = { ipfs: 'https://gate.example/ipfs/', arweave: 'https://ar.example/' }
const CID = 'QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG'
const TX = 'a'.repeat(43)

const placeText = (uri: string): string => {
  const place = placeOf(uri, GATEWAYS, 1_024)
  if ('url' in place) return place.url.href
  return 'text' in place ? `text ${place.text}` : `dropped ${place.dropped}`
}

test('where a document is', () => {
  const cases: Readonly<Record<string, string>> = {
    'https://a.example/t.json': 'https://a.example/t.json',
    'http://a.example:8080/t.json': 'http://a.example:8080/t.json',
    ' https://a.example/t ': 'https://a.example/t',
    [`ipfs://${CID}`]: `https://gate.example/ipfs/${CID}`,
    [`ipfs://ipfs/${CID}/0.json`]: `https://gate.example/ipfs/${CID}/0.json`,
    [`ipfs://${CID}/../../api/v0/id`]: 'dropped uri',
    [`ipfs://${CID}/%2e%2e/%2e%2e/api/v0/id`]: 'dropped uri',
    'ipfs://../api': 'dropped uri',
    [`ar://${TX}`]: `https://ar.example/${TX}`,
    'ar://short': 'dropped uri',
    'data:application/json,%7B%22a%22%3A1%7D': 'text {"a":1}',
    'data:application/json;base64,eyJhIjoxfQ==': 'text {"a":1}',
    'data:application/json,%E0%A4%A': 'dropped uri',
    [`data:,${'x'.repeat(4_096)}`]: 'dropped uri',
    'ftp://a.example/t': 'dropped scheme',
    'file:///etc/passwd': 'dropped scheme',
    'javascript:alert(1)': 'dropped scheme',
    'gopher://a.example/': 'dropped scheme',
    'not a uri': 'dropped scheme',
    'https://': 'dropped uri',
    'https://a.example:22/': 'dropped uri',
    'https://user:pass@a.example/': 'dropped uri',
    [`https://a.example/${'x'.repeat(2_048)}`]: 'dropped uri',
  }
  for (const [uri, expected] of Object.entries(cases)) assert.equal(placeText(uri), expected, uri)
})

const read = (value: unknown) => documentOf(JSON.stringify(value), GATEWAYS)

test('what a document says: its text and links as they stand', () => {
  assert.deepEqual(
    read({
      name: 'Coin',
      description: ' A coin. ',
      image: `ipfs://${CID}`,
      twitter: 'https://x.com/coin',
      external_url: 'https://coin.example',
      extensions: { telegram: 'https://t.me/coin', twitter: 'https://x.com/other' },
      links: { discord: 'https://discord.gg/coin' },
    }),
    {
      description: 'A coin.',
      imageUrl: `https://gate.example/ipfs/${CID}`,
      social: {
        twitter: 'https://x.com/coin',
        telegram: 'https://t.me/coin',
        website: 'https://coin.example',
        discord: 'https://discord.gg/coin',
      },
    },
  )
  const nothing = { description: '', imageUrl: '', social: {} }
  assert.deepEqual(read({}), nothing)
  assert.deepEqual(
    read({
      description: 7,
      image: ['https://a.example/i.png'],
      twitter: '@coin',
      telegram: 'javascript:alert(1)',
      website: 'data:text/html,<script>',
      discord: { url: 'https://discord.gg/coin' },
      extensions: 'https://a.example',
      links: null,
    }),
    nothing,
  )
})

test('a name that is not usable gives way to the next one', () => {
  const found = read({ image: '', image_url: 'https://a.example/i.png', website: 'none', x: 1 })
  assert.deepEqual(found, { description: '', imageUrl: 'https://a.example/i.png', social: {} })
  const spaced = read({ image: 'https://a.example/my coin.png' })
  assert.equal('imageUrl' in spaced && spaced.imageUrl, 'https://a.example/my%20coin.png')
})

test('names of objects that every object has are not read', () => {
  const text = '{"__proto__":{"image":"https://a.example/i.png"},"constructor":"https://a.example"}'
  assert.deepEqual(documentOf(text, GATEWAYS), { description: '', imageUrl: '', social: {} })
})

test('a long description is cut between characters, a long link is none', () => {
  const long = read({
    description: `${'a'.repeat(4_095)}😀b`,
    image: `https://a.example/${'x'.repeat(3_000)}`,
  })
  assert.deepEqual(long, { description: 'a'.repeat(4_095), imageUrl: '', social: {} })
})

test('what is no JSON object, or nests like none, is dropped', () => {
  const deep = (depth: number): string => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`
  const refused = ['', 'null', '7', '"x"', '[]', '<html>', '{"a":', deep(32), deep(200_000)]
  for (const text of refused) {
    assert.deepEqual(documentOf(text, GATEWAYS), { dropped: 'json' }, text.slice(0, 20))
  }
  assert.ok('imageUrl' in documentOf(deep(31), GATEWAYS))
  assert.ok('imageUrl' in documentOf(`\ufeff{"a":"${'[\\"'.repeat(100)}"}`, GATEWAYS))
})

test('a host that gives no answer rests, then is asked again; a refusal is an answer', async () => {
  let nowMs = 0
  let asked = 0
  const hosts = makeHosts({ inFlight: 4, inFlightPerHost: 2 }, () => nowMs)
  const ask = (reason: string, temporary: boolean) =>
    hosts
      .run('slow.example', async () => {
        asked += 1
        throw new Unfetched(reason, { temporary })
      })
      .catch((error: unknown) => (error instanceof Unfetched ? error.reason : 'bug'))
  for (let nth = 0; nth < 20; nth += 1) assert.equal(await ask('status', false), 'status')
  for (let nth = 0; nth < 8; nth += 1) assert.equal(await ask('timeout', true), 'timeout')
  assert.equal(await ask('timeout', true), 'host-rests')
  assert.equal(asked, 28)
  assert.equal(await hosts.run('other.example', async () => 'there'), 'there')
  nowMs = 30_000
  assert.equal(await ask('timeout', true), 'timeout')
})

test('requests wait for a place, per host and in all', async () => {
  const hosts = makeHosts({ inFlight: 3, inFlightPerHost: 2 }, () => 0)
  const started: string[] = []
  const releases: (() => void)[] = []
  const run = (host: string) =>
    hosts.run(host, () => {
      started.push(host)
      return new Promise<void>((resolve) => releases.push(resolve))
    })
  const all = ['a', 'a', 'a', 'b', 'b'].map(run)
  await new Promise(setImmediate)
  assert.deepEqual(started, ['a', 'a', 'b'])
  while (started.length < 5) {
    for (const release of releases.splice(0)) release()
    await new Promise(setImmediate)
  }
  for (const release of releases) release()
  await Promise.all(all)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvalidInput } from '../../core/errors.ts'
import { type LabelFormat, parseLabels } from '../../serving/risk/label-formats.ts'

const EVM = '0x8589427373D6D84E98730D7795D8f6f8731FDA16'
const SOL = 'So11111111111111111111111111111111111111112'

test('an address list takes its missing fields from the options', () => {
  const labels = parseLabels(
    'address-list',
    `# nightly\n${EVM}\n\n${EVM.toLowerCase()}\n${SOL}\r\n`,
    {
      category: 'sanctions',
      entity: 'SDN list',
      evidenceUrl: 'https://example.org/sdn',
    },
  )
  assert.deepEqual(
    labels.map(({ address, chain, category, entity }) => [chain, address, category, entity]),
    [
      ['', EVM.toLowerCase(), 'sanctions', 'SDN list'],
      ['', SOL, 'sanctions', 'SDN list'],
    ],
  )
})

test('a CSV label list has columns, dates and quoted fields', () => {
  const [label] = parseLabels(
    'csv',
    `chain,address,category,entity,evidence_url,valid_from,valid_to\nethereum,${EVM},mixer,"Tornado ""Cash"", old",https://example.org/a,2022-08-08,2025-03-21\n`,
  )
  assert.deepEqual(label, {
    chain: 'eth',
    address: EVM.toLowerCase(),
    category: 'mixer',
    entity: 'Tornado "Cash", old',
    confidence: 1,
    evidenceUrl: 'https://example.org/a',
    validFromMs: Date.UTC(2022, 7, 8),
    validToMs: Date.UTC(2025, 2, 21),
  })
})

test('a tag pack applies its header to its tags, and tags of other ledgers are skipped', () => {
  const labels = parseLabels(
    'tagpack',
    `title: Pack\ncreator: me\nsource: https://example.org/pack\ncurrency: ETH\nconfidence: service_data\ntags:\n  - address: "${EVM}"\n    label: Some exchange\n    category: hosted_wallet\n  - address: 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa\n    currency: BTC\n    label: x\n    category: mixer\n`,
  )
  assert.deepEqual(
    labels.map(({ category, entity, confidence, evidenceUrl }) => [
      category,
      entity,
      confidence,
      evidenceUrl,
    ]),
    [['exchange', 'Some exchange', 0.8, 'https://example.org/pack']],
  )
})

const HOSTILE: readonly (readonly [LabelFormat, string, RegExp])[] = [
  ['csv', 'address,category\nnot an address,mixer', /none of a known chain/],
  ['csv', `address,category\n${EVM},nonsense`, /unknown category/],
  ['csv', `address,category,__proto__\n${EVM},mixer,x`, /header line/],
  ['csv', `address,category,entity\n${EVM},mixer,\u001b[2Jgone`, /control characters/],
  ['csv', `address,category,entity\n${EVM},mixer,<script>`, /angle brackets/],
  ['csv', `address,category,entity\n${EVM},mixer,a\u202Eb`, /control characters/],
  ['csv', `address,category,entity\n${EVM},mixer,${'x'.repeat(257)}`, /longer than/],
  ['csv', `address,category,evidence_url\n${EVM},mixer,javascript:alert(1)`, /http address/],
  [
    'csv',
    `address,category,valid_from,valid_to\n${EVM},mixer,2025-01-02,2025-01-01`,
    /before it begins/,
  ],
  ['csv', `address,category,valid_from\n${EVM},mixer,yesterday`, /a date/],
  ['csv', `address,category\n"${EVM},mixer`, /quotes/],
  ['csv', `address,category\n${EVM}`, /as many fields/],
  ['csv', `chain,address,category\nsol,${EVM},mixer`, /none of the chain/],
  ['tagpack', 'a: &a [x]\ntags: [*a, *a]', /without aliases/],
  ['tagpack', 'title: x', /list `tags`/],
]

for (const [format, text, problem] of HOSTILE) {
  test(`${format} refuses ${JSON.stringify(text.slice(-40))}`, () => {
    assert.throws(
      () => parseLabels(format, text),
      (error: Error) => {
        assert.ok(error instanceof InvalidInput, String(error))
        assert.match(error.message, problem)
        return true
      },
    )
  })
}

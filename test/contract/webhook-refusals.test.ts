import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'

const HOOK = 'https://receiver.example.com/hook'
const ETH = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2'

let api: TestApi
before(async () => {
  api = await startApi({ resolve: async () => ['93.184.216.34'] })
})
after(() => api.stop())

const send = async (method: string, path: string, body?: unknown) => {
  const answer = await callApi(api, path, {
    method,
    headers: { 'x-api-key': api.apiKey, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: answer.status, body: answer.body as Readonly<Record<string, unknown>> }
}

const create = (body: unknown) => send('POST', '/v2/webhook/endpoint', body)

/** What is wrong, the body, and the code of the refusal. */
const REFUSED: readonly (readonly [what: string, body: object, code: number])[] = [
  ['no URL', {}, 40004],
  ['a URL that is a number', { url: 5 }, 52010],
  ['a URL without TLS', { url: 'http://receiver.example.com/' }, 52010],
  ['a URL to an inside address', { url: 'https://169.254.169.254/' }, 52010],
  ['a URL with its address in an odd notation', { url: 'https://2130706433/' }, 52010],
  ['a secret that is empty', { url: HOOK, secret: '' }, 52012],
  ['a secret that is short', { url: HOOK, secret: 'short' }, 52012],
  [
    'a secret of 23 bytes',
    { url: HOOK, secret: `whsec_${Buffer.alloc(23, 1).toString('base64')}` },
    52012,
  ],
  [
    'a secret of 76 bytes',
    { url: HOOK, secret: `whsec_${Buffer.alloc(76, 1).toString('base64')}` },
    52012,
  ],
  ['a secret that is long', { url: HOOK, secret: 'A'.repeat(200) }, 52012],
  ['a secret that is not base64', { url: HOOK, secret: `whsec_${'!'.repeat(40)}` }, 52012],
  ['a filter that is empty', { url: HOOK, filter: '' }, 52011],
  ['a filter that ends early', { url: HOOK, filter: 'name ==' }, 52011],
  ['a filter of an unknown name', { url: HOOK, filter: 'quantity > 1' }, 52011],
  ['a filter that gives no truth value', { url: HOOK, filter: '"a" + name' }, 52011],
  ['a filter with a regular expression', { url: HOOK, filter: 'name.matches("(a+)+$")' }, 52011],
  ['a filter that is long', { url: HOOK, filter: `name == "${'x'.repeat(2_050)}"` }, 52011],
  ['a channel that there is not', { url: HOOK, channels: ['eth.token.burned'] }, 40002],
  ['a channel without a name', { url: HOOK, channels: [''] }, 40002],
  ['a channel twice', { url: HOOK, channels: ['sol.token.created', 'sol.token.created'] }, 40002],
  ['an event type that there is not', { url: HOOK, filterTypes: ['sol.token.burned'] }, 40002],
  ['every trade of a chain', { url: HOOK, channels: ['eth.trade.executed'] }, 40004],
  [
    'every trade of a chain, with a filter',
    { url: HOOK, channels: ['eth.trade.executed'], filter: 'true' },
    40004,
  ],
  ['every candle of a chain', { url: HOOK, channels: ['sol.candle.closed'] }, 40004],
  ['every large transfer of a chain', { url: HOOK, channels: ['bsc.transfer.large'] }, 40004],
  ['every wallet of a chain', { url: HOOK, channels: ['base.wallet.activity'] }, 40004],
  ['every price of a chain', { url: HOOK, channels: ['eth.price.crossed'] }, 40004],
  [
    'every price of a chain, with subjects',
    { url: HOOK, channels: ['eth.price.crossed'], subjects: [ETH] },
    40004,
  ],
  [
    'a subject that is not an address',
    { url: HOOK, channels: ['eth.trade.executed'], subjects: ['WETH'] },
    40002,
  ],
  [
    'a subject of another chain',
    { url: HOOK, channels: ['sol.trade.executed'], subjects: [ETH] },
    40002,
  ],
  [
    'too many subjects',
    {
      url: HOOK,
      channels: ['eth.trade.executed'],
      subjects: Array.from({ length: 101 }, (_, index) => `0x${String(index).padStart(40, '0')}`),
    },
    40002,
  ],
  [
    'a level that is not above zero',
    { url: HOOK, channels: ['eth.price.crossed'], priceLevels: [{ token: ETH, priceInUsd: 0 }] },
    40002,
  ],
  ['a rate below zero', { url: HOOK, rateLimit: -1 }, 40002],
  ['metadata that are large', { url: HOOK, metadata: { big: 'x'.repeat(5_000) } }, 40002],
  ['a header of our own', { url: HOOK, headers: { 'webhook-id': 'x' } }, 40002],
  ['an unknown field', { url: HOOK, unknown: 1 }, 40001],
]

for (const [what, body, code] of REFUSED) {
  test(`refused: ${what}`, async () => {
    const answer = await create(body)
    assert.deepEqual([answer.status, answer.body.code], [400, code], JSON.stringify(answer.body))
  })
}

test('an empty list subscribes to no channel, null to every channel; channels that need subjects are accepted with them', async () => {
  const none = await create({ url: HOOK, channels: [] })
  assert.deepEqual([none.status, none.body.channels], [200, []])
  const all = await create({ url: HOOK, channels: null })
  assert.deepEqual([all.status, 'channels' in all.body], [200, false])
  const named = await create({
    url: HOOK,
    channels: ['eth.trade.executed', 'eth.price.crossed', 'eth.token.created'],
    subjects: [ETH, ETH.toLowerCase().replace('c', 'C')],
    priceLevels: [{ token: ETH, priceInUsd: 4_000 }],
  })
  assert.equal(named.status, 200, JSON.stringify(named.body))
  assert.deepEqual(named.body.subjects, [ETH.toLowerCase()])
  assert.deepEqual(named.body.priceLevels, [{ token: ETH.toLowerCase(), priceInUsd: 4_000 }])
  const path = `/v2/webhook/endpoint/${named.body.id}`
  const bare = await send('PATCH', path, { subjects: null })
  assert.deepEqual([bare.status, bare.body.code], [400, 40004])
  const moved = await send('PATCH', path, { subjects: null, channels: ['eth.price.crossed'] })
  assert.deepEqual([moved.status, 'subjects' in moved.body], [200, false])
})

test('a rotated secret is validated like a new one', async () => {
  const { body } = await create({ url: HOOK })
  const path = `/v2/webhook/endpoint/${body.id}/secret/rotate`
  for (const secret of ['', 'short', 'A'.repeat(200)]) {
    const answer = await send('POST', path, { secret })
    assert.deepEqual([answer.status, answer.body.code], [400, 52012], secret)
  }
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'

const HOOK = 'https://receiver.example.com/hook'
const LEVELED = `0x${'7'.repeat(40)}`
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

test('an organization has at most 1,000 price levels of a token over its endpoints, those that are disabled too', async () => {
  const levels = (from: number, token = LEVELED) =>
    Array.from({ length: 100 }, (_, nth) => ({ token, priceInUsd: from + nth }))
  const channels = ['eth.price.crossed']
  const ids: string[] = []
  for (let nth = 0; nth < 10; nth += 1) {
    const disabled = nth === 0
    const made = await create({ url: HOOK, channels, priceLevels: levels(1 + nth * 100), disabled })
    assert.equal(made.status, 200, JSON.stringify(made.body))
    ids.push(String(made.body.id))
  }
  const refusal = {
    parameter: 'priceLevels',
    token: LEVELED,
    current_count: 1_001,
    max_allowed: 1_000,
  }
  const beyond = await create({ url: HOOK, channels, priceLevels: levels(902) })
  assert.deepEqual([beyond.status, beyond.body.code, beyond.body.details], [409, 409, refusal])
  const same = await create({ url: HOOK, channels, priceLevels: levels(901) })
  assert.equal(same.status, 200, 'levels that another endpoint has')
  const path = `/v2/webhook/endpoint/${same.body.id}`
  const changed = await send('PATCH', path, { priceLevels: levels(902) })
  assert.deepEqual([changed.status, changed.body.details], [409, refusal])
  const elsewhere = await send('PATCH', path, { priceLevels: levels(902, ETH.toLowerCase()) })
  assert.equal(elsewhere.status, 200, 'of another token')
  const moved = await send('PATCH', `/v2/webhook/endpoint/${ids[9]}`, { priceLevels: levels(902) })
  assert.equal(moved.status, 200, 'in place of its own')
  for (const id of [...ids, same.body.id]) await send('DELETE', `/v2/webhook/endpoint/${id}`)
})

test('a rotated secret is validated like a new one', async () => {
  const { body } = await create({ url: HOOK })
  const path = `/v2/webhook/endpoint/${body.id}/secret/rotate`
  for (const secret of ['', 'short', 'A'.repeat(200)]) {
    const answer = await send('POST', path, { secret })
    assert.deepEqual([answer.status, answer.body.code], [400, 52012], secret)
  }
})

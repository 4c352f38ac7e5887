/** Every list that is served, paged through with amounts above 2^53, equal sort keys and rows that arrive meanwhile. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import { loadConfig } from '../../core/config/load.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { createMeter } from '../../serving/billing/meter.ts'
import { createAdminServer } from '../../serving/http/admin.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { addressFromNumber, createSeededRandom } from '../support/builders/market-trade.ts'
import {
  assertWhole,
  type ListItem,
  type ListPage,
  type PagedList,
  pagedPaths,
  readAtRest,
  walkPages,
  withCursor,
} from '../support/page-walk.ts'

const ADMIN_TOKEN = 'the admin token of this test'
const NOW_MS = Date.UTC(2026, 10, 20, 12)
const at = (ms: number): string => new Date(ms).toISOString()

let api: TestApi
let admin: FastifyInstance
before(async () => {
  api = await startApi({ overrides: { webhookEndpoints: 1_000 } })
  admin = await createAdminServer({
    organizations: api.organizations,
    endpoints: api.endpoints,
    meter: createMeter(),
    nowMs: Date.now,
    config: loadConfig({ ADMIN_TOKEN }),
    metrics: makeMetrics(),
    log: makeSilentLogger(),
  })
})
after(async () => {
  await admin.close()
  await api.stop()
})

interface Page extends ListPage {
  readonly startCursor?: string | null
  readonly hasPrev?: boolean
}

const served = async (path: string): Promise<Page> => {
  const { status, body, text } = await callApi(api, path)
  assert.equal(status, 200, `${path}: ${text}`)
  return body as Page
}
const administered = async (url: string): Promise<Page> => {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const answer = await admin.inject({ url, headers })
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.json()
}
/** Pages backwards from the last place; gives the ids in list order. */
const walkedBack = async ({ path, idOf }: PagedList, from: string): Promise<readonly string[]> => {
  const ids: string[] = []
  for (let cursor = from; ; ) {
    const page = await served(`${withCursor(path, cursor)}&direction=prev`)
    ids.unshift(...page.items.map(idOf))
    if (page.hasPrev !== true || !page.startCursor) return ids
    cursor = page.startCursor
  }
}

const TOKEN = addressFromNumber(1)
const WHALE = 48_500_000_123_456_789_012_345_678n
let lastNumber = 10_000
const nextAddress = (): string => addressFromNumber(++lastNumber)

/** Few amounts, all above 2^53 and some closer together than doubles are, so that keys are equal and nearly equal. */
const amounts = (random: () => number): bigint => WHALE + BigInt(Math.floor(random() * 6))

const holding = (holder: string, balance: bigint): object => ({
  token_address: TOKEN,
  holder,
  decimals: 18,
  balance: String(balance),
  _ver: 1,
  first_seen: at(NOW_MS - Number(balance % 3n)),
  last_seen: at(NOW_MS),
  _del: 0,
})
const profit = (wallet: string, balance: bigint): object => {
  const usd = `${balance % 4n}9007199254740993.00000000000${balance % 3n}`
  return {
    wallet,
    token_address: TOKEN,
    buys: 2,
    sells: 1,
    wins: 1,
    losses: 0,
    _ver: 1,
    buy_amount: '100',
    buy_amount_usd: usd,
    sell_amount: '40',
    sell_amount_usd: usd,
    realized_usd: usd,
    total_realized_usd: `-${usd}`,
    position_amount: '60',
    position_cost_usd: `${balance % 2n}`,
    open_time: at(NOW_MS),
    close_time: at(0),
    first_time: at(NOW_MS),
    last_time: at(NOW_MS),
  }
}

const HOLDER_SORTS = [
  ...['amountPercentage', 'holdingUsd', 'usdValue', 'totalPnl', 'realizedPnl', 'unrealizedPnl'],
  ...['buyVolume', 'sellVolume', 'netflowUsd', 'lastActiveAt', 'createdAt'],
]

test('holders, in every order', async () => {
  const balances = new Map<string, bigint>()
  const random = createSeededRandom(1)
  const add = async (count: number): Promise<void> => {
    const fresh = Array.from({ length: count }, () => [nextAddress(), amounts(random)] as const)
    for (const [holder, balance] of fresh) balances.set(holder, balance)
    await api.warehouse.insert(
      'eth_token_holders',
      fresh.map(([holder, balance]) => holding(holder, balance)),
    )
    const traders = fresh.filter((_, index) => index % 3 !== 0)
    if (traders.length === 0) return
    await api.warehouse.insert(
      'eth_wallet_token_pnl',
      traders.map(([holder, balance]) => profit(holder, balance)),
    )
  }
  await add(23)
  await api.warehouse.insert('eth_token_prices', [
    { token_address: TOKEN, price_time: at(NOW_MS), price_usd: 0.01, price_native: 1, _ver: 1 },
  ])
  const known = new Set(balances.keys())
  const cases = fc.tuple(
    fc.constantFrom(...HOLDER_SORTS),
    fc.constantFrom('asc', 'DESC'),
    fc.integer({ min: 6, max: 9 }),
    fc.constantFrom('holders', 'topHolders'),
  )
  const check = async (sort: string, way: string, limit: number, name: string): Promise<void> => {
    const path = `/v2/token/eth/${TOKEN}/${name}?limit=${limit}&sortBy=${sort}&sortDirection=${way}`
    const idOf = ({ walletAddress }: ListItem): string => String(walletAddress)
    const list = { path, idOf, read: served, arrive: () => add(1) }
    await assertWhole(list, known)
    if (sort !== 'amountPercentage') return
    const sizes = (await readAtRest(list)).map((id) => balances.get(id) ?? 0n)
    const sign = way === 'asc' ? 1 : -1
    for (const [index, size] of sizes.entries()) {
      const earlier = sizes[index - 1]
      if (earlier !== undefined) assert.ok(sign * Number(size - earlier) >= 0, 'exactly by amount')
    }
  }
  for (const sort of HOLDER_SORTS) await check(sort, 'desc', 7, 'holders')
  await fc.assert(
    fc.asyncProperty(cases, ([sort, way, limit, name]) => check(sort, way, limit, name)),
    { numRuns: 6 },
  )
})

test('holders backwards are holders forwards', async () => {
  const idOf = ({ walletAddress }: ListItem): string => String(walletAddress)
  const path = `/v2/token/eth/${TOKEN}/holders?limit=8`
  const list = { path, idOf, read: served, arrive: async () => undefined }
  const all = await walkPages(list)
  let last = ''
  for (let page = await served(path); page.nextCursor !== ''; ) {
    last = page.nextCursor
    page = await served(withCursor(path, last))
    if (page.nextCursor === '') last = String((page as { endCursor?: string }).endCursor)
  }
  assert.deepEqual(await walkedBack(list, last), all.slice(0, -1))
})

test('tokens that a search finds, in every order', async () => {
  const random = createSeededRandom(2)
  const add = async (count: number): Promise<readonly string[]> => {
    const fresh = Array.from({ length: count }, nextAddress)
    await api.warehouse.insert(
      'eth_tokens',
      fresh.map((token_address) => ({
        token_address,
        name: 'Paged',
        symbol: 'PGD',
        decimals: 18,
        _ver: 1,
        total_supply: String(amounts(random)),
        created_at: at(NOW_MS - (lastNumber % 3)),
      })),
    )
    await api.warehouse.insert(
      'eth_token_prices',
      fresh
        .filter((_, index) => index % 2 === 0)
        .map((token_address) => ({
          token_address,
          price_time: at(NOW_MS),
          price_native: 1,
          _ver: 1,
          price_usd: 1e21 + (lastNumber % 2) * 2 ** 20,
        })),
    )
    return fresh
  }
  const known = new Set(await add(20))
  const sorts = ['', 'marketCapInUsd', 'liquidityInUsd', 'priceInUsd', 'holderCount']
  for (const sort of [...sorts, 'h24VolumeInUsd', 'h24Transactions', 'tokenCreatedAt']) {
    for (const way of ['asc', 'desc']) {
      const path = `/v2/token/search?chain=eth&keyword=paged&limit=7&sort=${way}${sort && `&sortBy=${sort}`}`
      const arrive = () => add(1)
      await assertWhole(
        { path, idOf: ({ address }) => String(address), read: served, arrive },
        known,
      )
    }
  }
})

const makeEndpoint = async (): Promise<string> => {
  const { body, status } = await callApi(api, '/v2/webhook/endpoint', {
    method: 'POST',
    headers: { 'x-api-key': api.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ url: 'https://receiver.example.com/' }),
  })
  assert.equal(status, 200)
  return (body as { id: string }).id
}

test('webhook endpoints, in both orders', async () => {
  const known = new Set<string>()
  for (let count = 0; count < 12; count++) known.add(await makeEndpoint())
  for (const order of ['ascending', 'descending']) {
    for (const limit of [3, 5]) {
      const path = `/v2/webhook/endpoint?limit=${limit}&order=${order}`
      await assertWhole(
        { path, idOf: ({ id }) => String(id), read: served, arrive: makeEndpoint },
        known,
      )
    }
  }
})

test('pages of webhook attempts, many with one timestamp, stay complete while endpoints and attempts arrive', async () => {
  const endpoints: string[] = []
  for (let count = 0; count < 40; count++) endpoints.push(await makeEndpoint())
  const [endpoint = ''] = endpoints
  const message_id = `msg_${'0'.repeat(26)}`
  let last = 0
  const add = async (count: number): Promise<readonly string[]> => {
    const rows = Array.from({ length: count }, (_, index) => {
      last += 1
      return {
        id: `att_${String((last * 7919) % 10_007).padStart(26, '0')}`,
        message_id,
        url: 'https://x',
        endpoint_id: endpoint,
        org_id: 'org',
        channel: 'sol.token.created',
        status: 'fail',
        trigger: 'scheduled',
        attempt: 1,
        _ver: 1,
        at: at(NOW_MS + (index % 2)),
        next_at: at(0),
      }
    })
    await api.warehouse.insert('webhook_attempts', rows)
    return rows.map(({ id }) => id)
  }
  const known = new Set(await add(20))
  const arrive = async (): Promise<void> => {
    await add(1)
    await makeEndpoint()
  }
  const idOf = ({ id }: ListItem): string => String(id)
  for (const base of [`/v2/webhook/endpoint/${endpoint}`, `/v2/webhook/message/${message_id}`]) {
    for (const query of ['limit=6', 'limit=6&status=fail']) {
      await assertWhole({ path: `${base}/attempt?${query}`, idOf, read: served, arrive }, known)
    }
  }
})

test('pages of every list of the admin API: organizations, applications, keys and admin tokens', async () => {
  const write = async (url: string, payload: object): Promise<ListItem> => {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
    const answer = await admin.inject({ method: 'POST', url, headers, payload })
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json()
  }
  const make = {
    orgs: async () => String((await write('/admin/v1/orgs', { name: 'same' })).orgId),
    apps: async () => String((await write('/admin/v1/apps', { name: 'same', newOrg: 'x' })).appId),
  }
  const app = await make.apps()
  const makeKey = async () => String((await write(`/admin/v1/apps/${app}/keys`, {})).keyId)
  const makeToken = async () =>
    String((await write('/admin/v1/tokens', { name: 'same', role: 'read' })).tokenId)
  const lists = {
    '/admin/v1/orgs': ['/admin/v1/orgs?limit=4', 'orgId', make.orgs],
    '/admin/v1/apps': ['/admin/v1/apps?limit=4', 'appId', make.apps],
    '/admin/v1/apps/{appId}/keys': [`/admin/v1/apps/${app}/keys?limit=4`, 'keyId', makeKey],
    '/admin/v1/tokens': ['/admin/v1/tokens?limit=4', 'tokenId', makeToken],
  } as const
  const document = await admin.inject({ url: '/openapi.json' })
  assert.deepEqual(pagedPaths(document.json()), Object.keys(lists).toSorted())
  for (const [path, field, one] of Object.values(lists)) {
    const known = new Set<string>()
    for (let count = 0; count < 11; count++) known.add(await one())
    const idOf = (item: ListItem): string => String(item[field])
    await assertWhole({ path, idOf, read: administered, arrive: one }, known)
  }
})

test('a cursor that was forged, or that another list or order gave out, is refused on every list', async () => {
  const holders = `/v2/token/eth/${TOKEN}/holders?limit=1`
  const foreign = (await served(holders)).nextCursor
  const changed = JSON.parse(Buffer.from(foreign, 'base64url').toString()) as [
    number,
    ListItem,
    string,
  ]
  const forged = (place: unknown): string =>
    Buffer.from(JSON.stringify([changed[0], place, changed[2]])).toString('base64url')
  const search = '/v2/token/search?chain=eth&keyword=paged&limit=1'
  const ascending = `${holders}&sortDirection=asc`
  const endpoints = '/v2/webhook/endpoint?limit=1'
  const attempts = `/v2/webhook/message/msg_${'0'.repeat(26)}/attempt?limit=1`
  const refusals: readonly (readonly [path: string, cursor: string])[] = [
    ...[search, ascending, endpoints, attempts].map((path) => [path, foreign] as const),
    ...[
      { key: 1e300, holder: TOKEN },
      { key: '1e300', holder: TOKEN },
      { key: '1', holder: TOKEN },
      { ...changed[1], holder: addressFromNumber(5) },
    ].map((place) => [holders, forged(place)] as const),
    [holders, Buffer.from('['.repeat(700)).toString('base64url')],
    [attempts, Buffer.from('[1,"x",{"atMs":1e300,"id":""}]').toString('base64url')],
  ]
  for (const [path, cursor] of refusals) {
    const { status, body } = await callApi(api, withCursor(path, cursor))
    assert.deepEqual([status, (body as { code: number }).code], [400, 40027], path)
  }
  for (const path of ['/admin/v1/orgs', '/admin/v1/apps']) {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
    for (const cursor of ['org_1', 'app_1', foreign]) {
      const answer = await admin.inject({ url: `${path}?cursor=${cursor}`, headers })
      assert.deepEqual([answer.statusCode, answer.json().code], [400, 40027])
    }
  }
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { BURN_ADDRESSES } from '../../schemas/burn-addresses.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { addressFromNumber } from '../support/builders/market-trade.ts'

const NOW_MS = Date.UTC(2026, 10, 20, 12)
const TOKEN = addressFromNumber(1)
const WALLETS = [addressFromNumber(101), addressFromNumber(102), addressFromNumber(103)] as const
const [RICH, MIDDLE, POOR] = WALLETS
const at = (ms: number): string => new Date(ms).toISOString()
const RAW = 10n ** 6n
const [BURNED = ''] = BURN_ADDRESSES.evm

let api: TestApi

const holder = (wallet: string, units: bigint, version = 1, deleted = 0): object => ({
  token_address: TOKEN,
  holder: wallet,
  decimals: 6,
  balance: String(units * RAW),
  first_seen: at(NOW_MS - 40 * 86_400_000),
  last_seen: at(NOW_MS),
  _ver: version,
  _del: deleted,
})

const pnl = (wallet: string, more: object): object => ({
  wallet,
  token_address: TOKEN,
  buys: 2,
  sells: 1,
  wins: 1,
  losses: 0,
  buy_amount: '100',
  buy_amount_usd: '50',
  sell_amount: '40',
  sell_amount_usd: '30',
  realized_usd: '10',
  total_realized_usd: '10',
  position_amount: '60',
  position_cost_usd: '30',
  open_time: at(NOW_MS - 5_000),
  close_time: at(0),
  first_time: at(NOW_MS - 5_000),
  last_time: at(NOW_MS),
  _ver: 1,
  ...more,
})

const stat = (resolution: string, version: number, more: object = {}): object => ({
  token_address: TOKEN,
  resolution,
  stat_time: at(NOW_MS),
  version,
  open_usd: 0.5,
  close_usd: 0.75,
  high_usd: 1,
  low_usd: 0.25,
  buys: 3,
  sells: 2,
  buyers: 2,
  sellers: 2,
  traders: 3,
  pools: 1,
  programs: 1,
  buy_volume: '10',
  sell_volume: '6',
  buy_volume_usd: '6',
  sell_volume_usd: '2',
  liquidity_usd: 1_000,
  liquidity_change_ratio: 0.123456,
  ...more,
})

before(async () => {
  api = await startApi()
  const { warehouse } = api
  const balances = [
    holder(RICH, 600n),
    holder(MIDDLE, 100n),
    holder(POOR, 1n),
    holder(addressFromNumber(104), 0n),
  ]
  await warehouse.insert('eth_token_holders', [
    ...balances,
    holder(BURNED, 250n),
    holder(addressFromNumber(105), 7n),
    holder(addressFromNumber(105), 7n, 2, 1),
  ])
  await warehouse.insert('eth_wallet_balances', balances)
  await warehouse.insert('eth_wallet_token_pnl', [
    pnl(MIDDLE, {}),
    pnl(RICH, {
      position_amount: '1200',
      position_cost_usd: '120',
      valued_buy_amount: '10',
      valued_sell_amount: '5',
    }),
    pnl(POOR, { token_address: addressFromNumber(2), buy_amount: null, position_amount: null }),
  ])
  await warehouse.insert('eth_token_prices', [
    {
      token_address: TOKEN,
      price_time: at(NOW_MS),
      price_usd: 0.75,
      price_native: 0.0003,
      _ver: 2,
    },
  ])
  await warehouse.insert('eth_token_markets', [
    {
      token_address: TOKEN,
      market_time: at(NOW_MS),
      total_supply: '1000',
      market_cap_usd: 750,
      _ver: 1,
    },
  ])
  await warehouse.insert('eth_tokens', [
    {
      token_address: TOKEN,
      name: 'Frog',
      symbol: 'FROG',
      decimals: 6,
      dev: RICH,
      created_at: at(NOW_MS),
      _ver: 1,
    },
  ])
  await warehouse.insert('eth_token_holdings', [
    {
      token_address: TOKEN,
      hour: '2026-11-20 12:00:00',
      changed_at: at(NOW_MS),
      holders: 3,
      _ver: 3,
      top10_holders: 3,
      top10_amount: String(701n * RAW),
      top10_ratio: 0.701,
      groups: { dev: { count: 1, amount: String(600n * RAW), ratio: 0.6 } },
    },
  ])
  await warehouse.insert('eth_token_stats', [
    stat('5m', 9),
    stat('5m', 8, { buys: 99 }),
    stat('1m', 9, { sells: 0, open_usd: null, close_usd: null }),
  ])
})
after(() => api.stop())

type Body = Readonly<Record<string, unknown>>
const bodyOf = async (path: string): Promise<Body> => {
  const { status, body } = await callApi(api, path)
  assert.equal(status, 200, JSON.stringify(body))
  return body as Body
}
const errorOf = async (path: string) => {
  const { status, body } = await callApi(api, path)
  return [status, (body as Body).code]
}

test('holders are listed largest first, without burnt, emptied and reverted ones', async () => {
  const { data, hasNext } = await bodyOf(`/v2/token/eth/${TOKEN}/holders`)
  const rows = data as readonly Body[]
  assert.deepEqual(
    rows.map(({ walletAddress, amount, amountInUsd, percentage }) => [
      walletAddress,
      amount,
      amountInUsd,
      percentage,
    ]),
    [
      [RICH, '600', '450', '60'],
      [MIDDLE, '100', '75', '10'],
      [POOR, '1', '0.75', '0.1'],
    ],
  )
  assert.equal(hasNext, false)
  assert.deepEqual(rows[0]?.tags, ['dev'])
  assert.deepEqual(rows[0]?.makerTokenTags, ['top_holder', 'diamond_hands'])
})

test('a pool that holds a token is tagged as one, and is neither a top holder nor a whale', async () => {
  const pool = addressFromNumber(106)
  const token = addressFromNumber(3)
  await api.warehouse.insert('eth_dex_pools', [
    { pool_address: pool, token_a: token, token_b: addressFromNumber(4), _ver: 1 },
  ])
  await api.warehouse.insert('eth_token_holders', [
    ...[pool, RICH].map((wallet) => ({ ...holder(wallet, 90_000n), token_address: token })),
    ...Array.from({ length: 10 }, (_, index) => ({
      ...holder(addressFromNumber(200 + index), BigInt(60_000 - index)),
      token_address: token,
    })),
  ])
  await api.warehouse.insert('eth_token_prices', [
    { token_address: token, price_time: at(NOW_MS), price_usd: 0.75, price_native: 1, _ver: 1 },
  ])
  const path = `/v2/token/eth/${token}`
  const { data } = await bodyOf(`${path}/topHolders`)
  const rows = data as readonly Body[]
  const wallet = ['top_holder', 'whale', 'diamond_hands']
  const found = new Map(rows.map((row) => [row.walletAddress, [row.tags, row.makerTokenTags]]))
  assert.deepEqual(found.get(pool), [['pool'], []])
  assert.deepEqual(found.get(RICH), [[], wallet])
  assert.deepEqual(found.get(addressFromNumber(208)), [[], wallet])
  assert.deepEqual(found.get(addressFromNumber(209)), [[], wallet.slice(1)])
  const tagsBy = async (query: string) => {
    const page = await bodyOf(`${path}/holders?${query}`)
    return (page.data as readonly Body[]).map(({ makerTokenTags }) =>
      (makerTokenTags as readonly string[]).includes('top_holder'),
    )
  }
  assert.deepEqual(await tagsBy('limit=2&sortBy=usdValue'), await tagsBy('limit=2'))
  for (const query of ['direction=prev&limit=5', 'sortDirection=asc&limit=5', 'sortBy=totalPnl']) {
    assert.ok(!(await tagsBy(query)).includes(true), query)
  }
  const some = await bodyOf(`${path}/holders/multi?walletAddresses=${pool}`)
  assert.deepEqual((some as unknown as readonly Body[])[0]?.tags, ['pool'])
})

test('a holder has its realized and unrealized profit, with the open part capped by the balance', async () => {
  const { data } = await bodyOf(`/v2/token/eth/${TOKEN}/holders`)
  const [rich, middle, poor] = data as readonly Body[]
  assert.deepEqual(
    [rich?.positionCostUsd, rich?.unrealizedProfit, rich?.totalProfit],
    ['60', '390', '400'],
  )
  assert.deepEqual(
    [rich?.avgBuyPriceUsd, rich?.avgSellPriceUsd],
    ['5', '6'],
    'over the amounts of known value',
  )
  assert.deepEqual(
    [
      middle?.avgBuyPriceUsd,
      middle?.avgSellPriceUsd,
      middle?.unrealizedProfit,
      middle?.roi,
      middle?.netflowUsd,
    ],
    ['0.5', '0.75', '15', '0.5', '20'],
  )
  assert.deepEqual([poor?.realizedProfit, poor?.totalBuyCount], [null, null])
})

test('pages and orders of holders meet every holder once', async () => {
  for (const query of ['', '&sortBy=totalPnl', '&sortBy=createdAt&sortDirection=asc']) {
    const found: unknown[] = []
    let cursor = ''
    do {
      const page = await bodyOf(
        `/v2/token/eth/${TOKEN}/topHolders?limit=1${query}${cursor === '' ? '' : `&cursor=${cursor}`}`,
      )
      found.push(...(page.items as readonly Body[]).map(({ walletAddress }) => walletAddress))
      cursor = String(page.nextCursor)
    } while (cursor !== '')
    assert.deepEqual(found.toSorted(), WALLETS.toSorted(), query)
  }
  const first = await bodyOf(`/v2/token/eth/${TOKEN}/holders?limit=1`)
  assert.deepEqual(
    await errorOf(`/v2/token/eth/${TOKEN}/holders?sortBy=createdAt&cursor=${first.nextCursor}`),
    [400, 40_027],
  )
})

test('given wallets are returned in their order, without those that hold nothing', async () => {
  const path = `/v2/token/ethereum/${TOKEN}/holders/multi?walletAddresses=${POOR},${addressFromNumber(104)},${RICH}`
  const rows = (await bodyOf(path)) as unknown as readonly Body[]
  assert.deepEqual(
    rows.map(({ walletAddress }) => walletAddress),
    [POOR, RICH],
  )
  const many = Array.from({ length: 101 }, (_, index) => addressFromNumber(index + 1)).join(',')
  assert.deepEqual(
    await errorOf(`/v2/token/eth/${TOKEN}/holders/multi?walletAddresses=${many}`),
    [400, 40_029],
  )
  assert.deepEqual(
    await errorOf(`/v2/token/eth/${TOKEN}/holders/multi?walletAddresses=nobody`),
    [400, 40_005],
  )
})

test('wallet statistics have 23 text fields per token, under the path of the reference API and the others', async () => {
  for (const path of [
    `/wallet/v1/ethereum/${MIDDLE}/stats`,
    `/v1/wallet/ethereum/${MIDDLE}/stats`,
  ]) {
    const [stat, more] = (await bodyOf(path)) as unknown as readonly Body[]
    assert.ok(stat && more === undefined)
    assert.equal(Object.keys(stat).length, 23)
    for (const [name, value] of Object.entries(stat)) assert.equal(typeof value, 'string', name)
    assert.deepEqual(
      {
        chain: stat.chain,
        balance: stat.balance,
        buys: stat.buys,
        closeTime: stat.closeTime,
        price: stat.tokenPriceInUsd,
        unrealized: stat.unrealizedProfitInUsd,
        ratio: stat.unrealizedProfitRatio,
        realized: stat.realizedProfitInUsd,
        average: stat.averageBuyPriceInUsd,
        lastTime: stat.lastTime,
      },
      {
        chain: 'ethereum',
        balance: '100',
        buys: '2',
        closeTime: '0',
        price: '0.75',
        unrealized: '15',
        ratio: '0.3',
        realized: '10',
        average: '0.5',
        lastTime: String(NOW_MS),
      },
    )
  }
  const [unknown] = (await bodyOf(`/wallet/v1/eth/${POOR}/stats`)) as unknown as readonly Body[]
  assert.deepEqual(
    [unknown?.buyAmount, unknown?.balance, unknown?.tokenPriceInUsd],
    ['0', '0', '0'],
  )
  assert.deepEqual(await bodyOf(`/wallet/v1/eth/${addressFromNumber(999)}/stats`), [])
  assert.deepEqual(await bodyOf(`/wallet/v1/bsc/${MIDDLE}/stats`), [])
  assert.deepEqual(await errorOf(`/wallet/v1/eth/nobody/stats`), [400, 40_005])
})

test('statistics of a token by window: the newest version of each', async () => {
  const { address, periods } = await bodyOf(`/v2/token/eth/${TOKEN}/stats`)
  const found = periods as Readonly<Record<string, Body>>
  assert.equal(address, TOKEN)
  assert.deepEqual(Object.keys(found), ['1m', '5m'])
  const window = found['5m']
  assert.deepEqual(
    {
      buys: window?.buys,
      trades: window?.trades,
      total: window?.totalVolumeInUsd,
      average: window?.averagePriceInUsd,
      change: window?.priceChangeRatioInUsd,
      ratio: window?.buySellRatio,
      liquidity: window?.liquidityChangeRatio,
      updatedAt: window?.updatedAt,
    },
    {
      buys: '3',
      trades: '5',
      total: '8',
      average: '0.5',
      change: '0.5',
      ratio: '1.5',
      liquidity: '0.1235',
      updatedAt: '2026-11-20 12:00:00.000000+00:00',
    },
  )
  assert.deepEqual([found['1m']?.buySellRatio, found['1m']?.openInUsd], [null, null])
  const many = await bodyOf(
    `/v2/token/eth/stats/multi?tokenAddresses=${TOKEN},${addressFromNumber(9)}`,
  )
  assert.deepEqual(Object.keys(many), [TOKEN])
  assert.deepEqual(await errorOf(`/v2/token/eth/${addressFromNumber(9)}/stats`), [404, 404])
})

test('market data leaves tokens at a burn address out of the circulating supply', async () => {
  const { circulatingSupply } = await bodyOf(`/v2/token/eth/${TOKEN}/marketData`)
  assert.equal(circulatingSupply, '750')
})

test('the completion ratio of a bonding curve belongs to the token that it launched', async () => {
  const quote = addressFromNumber(33)
  await api.warehouse.insert('eth_dex_pools', [
    {
      pool_address: addressFromNumber(900),
      token_a: TOKEN,
      token_b: quote,
      curve_progress: 0.25,
      last_updated: at(NOW_MS),
      _ver: 1,
    },
  ])
  await api.warehouse.insert('eth_tokens', [
    { token_address: quote, name: 'Quote', symbol: 'Q', decimals: 6, _ver: 1 },
  ])
  const progress = async (token: string) =>
    (await bodyOf(`/v2/token/eth/${token}/marketData`)).completionRatio
  assert.deepEqual([await progress(TOKEN), await progress(quote)], ['0.25', null])
  await api.warehouse.insert('eth_dex_pools', [
    {
      pool_address: addressFromNumber(900),
      token_a: TOKEN,
      token_b: quote,
      curve_progress: 0.25,
      last_updated: at(NOW_MS),
      _ver: 2,
      _del: 1,
    },
  ])
})

test('market data holds supply, capital and counted holders', async () => {
  const data = await bodyOf(`/v2/token/eth/${TOKEN}/marketData`)
  assert.deepEqual(
    {
      supply: data.totalSupply,
      holders: data.holders,
      top: data.top10TotalHoldings,
      ratio: data.top10HoldingsRatio,
      devs: data.devTotalHolders,
      dev: data.devTotalHoldings,
      snipers: data.sniperTotalHolders,
      completion: data.completionRatio,
    },
    {
      supply: '1000',
      holders: '3',
      top: '701',
      ratio: '0.701',
      devs: '1',
      dev: '600',
      snipers: null,
      completion: null,
    },
  )
  const many = await bodyOf(`/v1/token/eth/marketData/multi?tokenAddresses=${TOKEN}`)
  assert.deepEqual(many[TOKEN], data)
  assert.deepEqual(await errorOf(`/v2/token/eth/${addressFromNumber(9)}/marketData`), [404, 40_402])
})

/** Pools, their past, and what else is known of a token, over REST against plain folds. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type {
  DexPool,
  DexPoolDetail,
  DexPoolSnapshot,
  RankingPool,
  TokenLiquiditySnapshot,
} from '../../schemas/api/dex-pool.ts'
import type { Token } from '../../schemas/api/token.ts'
import type { TokenHolderTrendPoint, TokenSecurity } from '../../schemas/api/token-details.ts'
import { BURN_ADDRESSES } from '../../schemas/burn-addresses.ts'
import { type HourLiquidityRow, hourLiquidityQuery } from '../../serving/queries/dex-pools.ts'
import { startApi, type TestApi } from '../support/api-stack.ts'
import { addressFromNumber, createSeededRandom } from '../support/builders/market-trade.ts'
import { createRestReader } from '../support/rest-reader.ts'

const HOUR_MS = 3_600_000
const HEAD_MS = Date.UTC(2026, 10, 20, 12, 30)
const USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const [FROG, TOAD, DEV] = [
  addressFromNumber(1),
  addressFromNumber(2),
  addressFromNumber(9),
] as const
const POOLS = [addressFromNumber(101), addressFromNumber(102), addressFromNumber(103)] as const
const at = (ms: number): string => new Date(ms).toISOString()

interface PoolEvent {
  readonly pool: string
  readonly timeMs: number
  readonly slot: number
  readonly kind: 'INITIALIZE' | 'INCREASE_LIQUIDITY' | 'DECREASE_LIQUIDITY' | 'SWAP'
  readonly liquidity: number
}

/** 150 events of two pools over 30 hours. */
const makeEvents = (): readonly PoolEvent[] => {
  const random = createSeededRandom(21)
  return Array.from({ length: 150 }, (_, slot) => {
    const chance = random()
    return {
      pool: POOLS[random() < 0.5 ? 0 : 1],
      slot,
      timeMs: HEAD_MS - (150 - slot) * 720_000,
      kind: chance < 0.1 ? 'INCREASE_LIQUIDITY' : chance < 0.15 ? 'DECREASE_LIQUIDITY' : 'SWAP',
      liquidity: 1_000 + Math.floor(random() * 4_000),
    } as const
  })
}
const EVENTS = makeEvents()

let api: TestApi
const { read, readAll, codeOf } = createRestReader(() => api)

const poolRow = (pool: string, liquidity: string | null, more: object = {}): object => ({
  pool_address: pool,
  token_a: FROG,
  token_b: USDC,
  base_is_a: 1,
  decimals_a: 18,
  decimals_b: 6,
  protocol_family: 'uniswap_v2',
  protocol_name: 'Uniswap V2',
  _ver: 1,
  reserve_a: String(1_000n * 10n ** 18n),
  reserve_b: '500000000',
  liquidity_usd: liquidity,
  liquidity_native: liquidity === null ? null : String(Number(liquidity) / 2_000),
  ...more,
})

before(async () => {
  api = await startApi()
  const { warehouse } = api
  await warehouse.insert('eth_dex_pools', [
    poolRow(POOLS[0], '1000.5'),
    poolRow(POOLS[1], '3000'),
    poolRow(POOLS[2], null, { token_a: TOAD, token_b: FROG, base_is_a: 1 }),
  ])
  await warehouse.insert(
    'eth_dex_pool_births',
    POOLS.slice(0, 2).map((pool, index) => ({
      pool_address: pool,
      created_at: at(HEAD_MS - index * HOUR_MS),
      creator: DEV,
      created_tx: '0xmade',
      _ver: 1,
    })),
  )
  await warehouse.insert(
    'eth_dex_pool_events_enriched',
    EVENTS.map((event) => ({
      block_time: at(event.timeMs),
      block_slot: event.slot,
      block_height: event.slot,
      tx_hash: `0x${event.slot}`,
      tx_index: 0,
      event_index: 0,
      event_type: event.kind,
      pool_address: event.pool,
      base_token: FROG,
      base_decimals: 18,
      quote_token: USDC,
      quote_decimals: 6,
      base_post: String(10n ** 18n),
      quote_post: '2000000',
      base_price_usd: 2,
      quote_price_usd: 1,
      liquidity_usd: String(event.liquidity),
      _ver: 1,
      liquidity_native: String(event.liquidity / 2_000),
    })),
  )
  await warehouse.insert('eth_token_prices', [
    {
      token_address: FROG,
      price_time: at(HEAD_MS),
      price_usd: 0.5,
      price_native: 0.00025,
      _ver: 1,
    },
    { token_address: USDC, price_time: at(HEAD_MS), price_usd: 1, price_native: 0.0005, _ver: 1 },
  ])
  await warehouse.insert('eth_tokens', [
    { token_address: FROG, name: 'Frog', symbol: 'FROG', decimals: 18, dev: DEV, _ver: 1 },
    { token_address: TOAD, name: 'Frogger', symbol: 'FROGG', decimals: 18, _ver: 1 },
    { token_address: addressFromNumber(3), name: 'Newt', symbol: 'NEWT', decimals: 18, _ver: 1 },
  ])
})
after(() => api.stop())

test('a pool detail has its token amounts and their value', async () => {
  const pool = await read<DexPoolDetail>(`/v2/dexpools/eth/${POOLS[0]}`)
  assert.deepEqual(
    [pool.protocolName, pool.feeRate, pool.liquidityModel, pool.type, pool.version, pool.tvlInUsd],
    ['Uniswap V2', '0.003', 1, 1, 2, '1000.5'],
  )
  assert.deepEqual(
    [pool.creatorAddress, pool.createdBlockTimestamp, pool.token?.symbol],
    [DEV, String(HEAD_MS), 'FROG'],
  )
  assert.deepEqual(pool.tokenALiquidity, {
    tokenAddress: FROG,
    decimals: 18,
    vaultAmount: String(1_000n * 10n ** 18n),
    priceUsd: '0.5',
    priceNative: '0.00025',
    amountInUsd: '500',
    amountInNative: '0.25',
    vaultAddress: null,
    vaultOwnerAddress: null,
  })
  assert.equal(pool.tokenBLiquidity?.amountInUsd, '500')
  assert.deepEqual(await codeOf(`/v2/dexpools/eth/${addressFromNumber(999)}`), [404, 40401])
  assert.deepEqual(await codeOf(`/v2/dexpools/sol/${'1'.repeat(32)}`), [404, 40401])
})

test('pools of a token are ordered by liquidity and filtered by its bounds', async () => {
  const path = `/v2/token/eth/${FROG}/pools`
  const shown = async (query: string) =>
    (await readAll<DexPool>(`${path}?limit=1${query}`)).map(({ poolAddress }) => poolAddress)
  const [small, large, unknown] = POOLS
  assert.deepEqual(await shown(''), [large, small, unknown])
  assert.deepEqual(await shown('&sortDirection=ASC&sortBy=tvlInSol'), [unknown, small, large])
  assert.deepEqual(await shown('&minTvlInUsd=1000.5'), [large, small])
  assert.deepEqual(await shown('&maxTvlInUsd=1000.5'), [small])
  assert.deepEqual(await shown('&minTvlInSol=1&maxTvlInSol=2'), [large])
  assert.deepEqual(await codeOf(`${path}?minTvlInUsd=1e3`), [400, 40002])
})

const hourOf = (ms: number): number => Math.floor(ms / HOUR_MS) * HOUR_MS

test('snapshots are the last state of each hour and every change of liquidity', async () => {
  const own = EVENTS.filter(({ pool }) => pool === POOLS[0])
  const isLast = (event: PoolEvent): boolean =>
    own.findLast(({ timeMs }) => hourOf(timeMs) === hourOf(event.timeMs)) === event
  const expected = own.filter((event) => event.kind !== 'SWAP' || isLast(event)).toReversed()
  const path = `/v2/dexpools/eth/${POOLS[0]}/snapshots`
  const got = await readAll<DexPoolSnapshot>(`${path}?limit=7`)
  assert.deepEqual(
    got.map(({ blockHeight, tvlInUsd }) => [blockHeight, Number(tvlInUsd)]),
    expected.map(({ slot, liquidity }) => [slot, liquidity]),
  )
  assert.deepEqual(got[0]?.tokenB, {
    tokenAddress: USDC,
    decimals: 6,
    vaultAmount: '2000000',
    priceUsd: '1',
    priceNative: '0.0005',
    amountInUsd: '2',
    amountInNative: '0.001',
  })
  const middle = expected[4] as PoolEvent
  const one = await readAll<DexPoolSnapshot>(`${path}?time=${middle.timeMs + 1}`)
  assert.deepEqual(
    one.map(({ blockHeight }) => blockHeight),
    [middle.slot],
  )
})

test('the liquidity of a token is that of its pools at the end of each hour', async () => {
  const hours = [...new Set(EVENTS.map(({ timeMs }) => hourOf(timeMs)))].toReversed()
  const got = await readAll<TokenLiquiditySnapshot>(
    `/v2/token/eth/${FROG}/liquiditySnapshots?limit=4`,
  )
  assert.deepEqual(
    got.map((one) => [one.snapshotTime, Number(one.totalLiquidityInUsd), one.poolCount]),
    hours.map((hour) => {
      const states = POOLS.flatMap(
        (pool) =>
          EVENTS.findLast((event) => event.pool === pool && hourOf(event.timeMs) <= hour) ?? [],
      )
      return [hour, states.reduce((sum, { liquidity }) => sum + liquidity, 0), states.length]
    }),
  )
  const [newest] = got
  assert.deepEqual([newest?.priceUsd, newest?.priceNative], ['2', '0.001'])
  const time = `/v1/token/eth/${FROG}/liquiditysnapshots?time=${HEAD_MS - 5 * HOUR_MS}`
  const one = await readAll<TokenLiquiditySnapshot>(time)
  assert.deepEqual(
    one.map(({ snapshotTime }) => snapshotTime),
    [hourOf(HEAD_MS - 5 * HOUR_MS)],
  )
})

test('hourly liquidity of a token is computed in the engine, one row per requested hour', async () => {
  const hours = [...new Set(EVENTS.map(({ timeMs }) => hourOf(timeMs) / 1_000))].slice(-3)
  const { rows } = await api.warehouse.query<HourLiquidityRow>(
    hourLiquidityQuery('eth', FROG, hours),
  )
  assert.deepEqual(rows.map(({ hour }) => Number(hour)).toSorted(), hours)
  for (const row of rows) {
    const states = POOLS.flatMap(
      (pool) =>
        EVENTS.findLast(
          (event) => event.pool === pool && hourOf(event.timeMs) / 1_000 <= Number(row.hour),
        ) ?? [],
    )
    const most = states.toSorted((one, other) => other.liquidity - one.liquidity)[0]
    assert.deepEqual(
      [row.pool, Number(row.liquidity_usd), Number(row.pools)],
      [most?.pool, most?.liquidity, states.length],
    )
  }
})

test('new pools are listed newest first, by family', async () => {
  const path = '/v2/ranking-pools/eth/new-pool'
  const got = await read<readonly RankingPool[]>(path)
  assert.deepEqual(
    got.map(({ poolAddress }) => poolAddress),
    [POOLS[0], POOLS[1]],
  )
  assert.deepEqual(
    [got[0]?.createdAtMs, got[0]?.dex?.protocolFamily, got[0]?.dex?.protocolName],
    [HEAD_MS, null, 'Uniswap V2'],
  )
  assert.deepEqual([got[0]?.token?.symbol, got[0]?.balance?.tokenALiquidityInUsd], ['FROG', '500'])
  assert.equal((await read<readonly unknown[]>(`${path}?limit=1`)).length, 1)
  assert.equal((await read<readonly unknown[]>(`${path}?tag=UniswapV2`)).length, 2)
  assert.deepEqual(await read(`${path}?tag=pump_fun`), [])
  assert.deepEqual(await codeOf('/v2/ranking-pools/eth/old-pool'), [400, 40002])
})

test('the trend of holders carries the last state forward', async () => {
  const START_MS = HEAD_MS - 200 * HOUR_MS
  const states = [0, 3, 4, 40, 41].map((hour, index) => ({
    hour: hourOf(START_MS) + hour * HOUR_MS,
    holders: 10 + index,
    top10: 0.1 * index,
  }))
  await api.warehouse.insert(
    'eth_token_holdings',
    states.map(({ hour, holders, top10 }) => ({
      token_address: FROG,
      hour: hour / 1_000,
      changed_at: at(hour),
      holders,
      _ver: 1,
      top10_holders: 3,
      top10_amount: '1',
      top10_ratio: top10,
      groups: { dev: { count: 1, amount: '1', ratio: 0.25 } },
    })),
  )
  const [fromMs, toMs] = [hourOf(START_MS) + 2 * HOUR_MS, hourOf(START_MS) + 60 * HOUR_MS]
  const path = `/v2/token/eth/${FROG}/holderTrend`
  const points = await read<readonly TokenHolderTrendPoint[]>(`${path}?from=${fromMs}&to=${toMs}`)
  assert.equal(points.length, 58)
  for (const { timestamp, holders, top10HoldersRatio, devAmountRatio, kolAmountRatio } of points) {
    const state = states.findLast(({ hour }) => hour <= timestamp)
    assert.deepEqual(
      [holders, Number(top10HoldersRatio), devAmountRatio, kolAmountRatio],
      [String(state?.holders), state?.top10, '0.25', '0'],
    )
  }
  const days = await read<readonly TokenHolderTrendPoint[]>(
    `${path}?resolution=1d&from=${fromMs / 1_000}&to=${toMs / 1_000}`,
  )
  for (const { timestamp, holders } of days) {
    const state = states.findLast(({ hour }) => hour < Math.min(timestamp + 24 * HOUR_MS, toMs))
    assert.equal(holders, String(state?.holders))
  }
  assert.ok(days.length >= 2)
})

test('token security lists the supply that the creator burnt, and authorities where the chain has them', async () => {
  const [burnt = ''] = BURN_ADDRESSES.evm
  const position = { block_time: at(HEAD_MS), block_slot: 1, block_height: 1, tx_index: 0 }
  const amount = String(4n * 10n ** 18n)
  const own = { ...position, token_address: FROG, decimals: 18, amount, _ver: 1 }
  await api.warehouse.insert('eth_token_supplies', [
    { ...own, event_index: 1, event_type: 'BURN', tx_signer: DEV },
    { ...own, event_index: 2, event_type: 'BURN', tx_signer: addressFromNumber(5) },
    { ...own, event_index: 3, event_type: 'MINT', tx_signer: DEV },
  ])
  await api.warehouse.insert('eth_transfers', [
    { ...own, event_index: 4, sender: DEV, receiver: burnt, success: 1 },
    { ...own, event_index: 5, sender: DEV, receiver: addressFromNumber(5), success: 1 },
  ])
  await api.warehouse.insert('eth_token_markets', [
    { token_address: FROG, market_time: at(HEAD_MS), total_supply: '1000', _ver: 1 },
  ])
  const body = await read<TokenSecurity>(`/v2/token/eth/${FROG}/security`)
  assert.deepEqual(
    [body.isMintable, body.devTokenBurnAmount, body.devTokenBurnRatio, body.privileges],
    [null, '8', '0.008', []],
  )
  assert.equal(body.topHolderConcentration, '40')
  assert.deepEqual(await codeOf(`/v2/token/eth/${addressFromNumber(999)}/security`), [404, 404])
})

test('similar tokens are those whose names contain the symbol, without the token itself', async () => {
  const path = `/v2/token/eth/${FROG}/similar`
  const alike = await read<readonly Token[]>(path)
  assert.deepEqual(
    alike.map(({ symbol }) => symbol),
    ['FROGG'],
  )
  assert.deepEqual(await codeOf(`${path}?type=image`), [501, 40024])
})

test('logo duplicates are the other tokens whose documents have the same image', async () => {
  const [plain, alike, other, unknown] = [0x701, 0x702, 0x703, 0x704].map(addressFromNumber)
  const path = (token = '') => `/v2/token/eth/${token}/logo-duplicates`
  const known = [plain, alike, other].map((token_address) => ({ token_address, _ver: 1 }))
  await api.warehouse.insert('eth_tokens', known)
  const pictures = [
    [FROG, 'https://a.example/frog.png'],
    [alike, 'https://a.example/frog.png'],
    [unknown, 'https://a.example/frog.png'],
    [other, 'https://a.example/other.png'],
    [plain, ''],
    [addressFromNumber(0x705), ''],
  ]
  await api.warehouse.insert(
    'eth_token_documents',
    pictures.map(([token_address, image_url]) => ({
      token_address,
      image_url,
      fetched_at: new Date(1).toISOString(),
    })),
  )
  for (const [token, count] of [
    [FROG, 2],
    [alike, 2],
    [other, 0],
    [plain, 0],
  ] as const)
    assert.deepEqual(await read(path(token)), { sameImageTokenCount: count }, token)
  assert.deepEqual(await codeOf(path(unknown)), [404, 404])
})

test('fee estimates are the median of the newest transactions, and null without trades', async () => {
  assert.deepEqual(await read(`/v2/token/eth/${FROG}/fee-estimates`), {
    tradeFeeInNative: null,
    priorityFeeInNative: null,
    tipFeeInNative: null,
    totalFeeInNative: null,
  })
  await api.warehouse.insert(
    'eth_dex_trades',
    [5, 1, 3].map((fee, index) => ({
      block_time: at(HEAD_MS),
      block_slot: 900 + index,
      block_height: 900,
      tx_index: 0,
      event_index: index,
      buy_token: FROG,
      sell_token: USDC,
      base_is_buy: 1,
      _ver: 1,
      tx_fee_native: String(fee / 1_000),
    })),
  )
  const { totalFeeInNative } = await read<{ readonly totalFeeInNative: string }>(
    `/v2/token/eth/${FROG}/fee-estimates`,
  )
  assert.equal(totalFeeInNative, '0.003')
})

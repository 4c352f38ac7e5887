import { SNAPSHOT_QUERY, TokenLiquiditySnapshot } from '../../schemas/api/dex-pool.ts'
import { TOKEN_PARAM } from '../../schemas/api/token-history.ts'
import {
  type LiquidityHourRow,
  liquidityHoursList,
  type PoolHourRow,
  poolHoursQuery,
} from '../queries/dex-pools.ts'
import { type ChainRoute, chainPage } from './chain-route.ts'
import { numberText, numeric, product, ratio, requiredText } from './values.ts'

const HOUR_S = 3_600

/** The last known state of each pool at the end of each of the hours, which come oldest first. */
const statesAt = (
  rows: readonly PoolHourRow[],
  hours: readonly number[],
): ReadonlyMap<number, readonly PoolHourRow[]> => {
  const ordered = rows.toSorted((one, other) => Number(one.hour) - Number(other.hour))
  const pools = new Map<string, PoolHourRow>()
  const states = new Map<number, readonly PoolHourRow[]>()
  let next = 0
  for (const hour of hours) {
    for (; next < ordered.length && Number(ordered[next]?.hour) <= hour; next += 1) {
      const row = ordered[next]
      if (row !== undefined) pools.set(row.pool, row)
    }
    states.set(hour, [...pools.values()])
  }
  return states
}

const sumOf = (values: readonly (string | null)[]): number =>
  values.reduce((sum, value) => sum + (numeric(value) ?? 0), 0)

const bodyOf = (hour: number, pools: readonly PoolHourRow[]): TokenLiquiditySnapshot => {
  const live = pools
    .filter(({ liquidity_usd }) => Number(liquidity_usd ?? 0) > 0)
    .toSorted((one, other) => Number(other.liquidity_usd) - Number(one.liquidity_usd))
  const [most] = live
  const native = ratio(
    numeric(most?.liquidity_native ?? null),
    numeric(most?.liquidity_usd ?? null),
  )
  const priceUsd = most?.price_usd ?? null
  return {
    snapshotTime: hour * 1_000,
    calculatedAt: (hour + HOUR_S) * 1_000,
    priceUsd: requiredText(numberText(priceUsd)),
    priceNative: requiredText(numberText(product(priceUsd, native))),
    poolCount: live.length,
    totalLiquidityInUsd: requiredText(numberText(sumOf(live.map((row) => row.liquidity_usd)))),
    totalLiquidityInNative: requiredText(
      numberText(sumOf(live.map((row) => row.liquidity_native))),
    ),
    maxLiquidityInUsd: requiredText(most?.liquidity_usd ?? null),
    maxLiquidityInNative: requiredText(most?.liquidity_native ?? null),
    maxLiquidityPoolAddress: most?.pool ?? '',
  }
}

const snapshots = (segment: 'liquiditySnapshots' | 'liquiditysnapshots'): ChainRoute =>
  chainPage({
    path: `/token/:chain/:tokenAddress/${segment}`,
    summary: 'Liquidity of a token at the end of each hour in which it changed, newest first',
    tag: 'token',
    params: TOKEN_PARAM,
    query: SNAPSHOT_QUERY,
    item: TokenLiquiditySnapshot,
    list: ({ chain, params, query }) =>
      liquidityHoursList(chain.id, params.tokenAddress, query.time),
    bodies: async (found: readonly LiquidityHourRow[], { chain, params, rows }) => {
      const hours = found.map(({ hour }) => Number(hour))
      const [newest, oldest] = [hours[0], hours.at(-1)]
      if (newest === undefined || oldest === undefined) return []
      const window = { fromS: oldest, untilS: newest + HOUR_S }
      const states = await rows<PoolHourRow>(poolHoursQuery(chain.id, params.tokenAddress, window))
      const byHour = statesAt(states, hours.toReversed())
      return hours.map((hour) => bodyOf(hour, byHour.get(hour) ?? []))
    },
  })

/** Liquidity of tokens over time. */
export const liquiditySnapshotRoutes: readonly ChainRoute[] = [
  snapshots('liquiditySnapshots'),
  snapshots('liquiditysnapshots'),
]

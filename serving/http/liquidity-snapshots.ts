import { SNAPSHOT_QUERY, TokenLiquiditySnapshot } from '../../schemas/api/dex-pool.ts'
import { TOKEN_PARAM } from '../../schemas/api/token-history.ts'
import {
  type LiquidityHourRow,
  liquidityHoursList,
  type PoolHourRow,
  poolHoursQuery,
} from '../queries/dex-pools.ts'
import {
  numberOrNull,
  numberTextOrNull,
  productOrNull,
  ratioOrNull,
  requiredText,
} from './body-values.ts'
import { type ChainRoute, definePageRoute } from './chain-route.ts'

const HOUR_S = 3_600

/** The last known state of each pool at the end of each of the hours, which come oldest first. */
const poolStatesByHour = (
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

const sumValues = (values: readonly (string | null)[]): number =>
  values.reduce((sum, value) => sum + (numberOrNull(value) ?? 0), 0)

const liquiditySnapshotBody = (
  hour: number,
  pools: readonly PoolHourRow[],
): TokenLiquiditySnapshot => {
  const live = pools
    .filter(({ liquidity_usd }) => Number(liquidity_usd ?? 0) > 0)
    .toSorted((one, other) => Number(other.liquidity_usd) - Number(one.liquidity_usd))
  const [most] = live
  const native = ratioOrNull(
    numberOrNull(most?.liquidity_native ?? null),
    numberOrNull(most?.liquidity_usd ?? null),
  )
  const priceUsd = most?.price_usd ?? null
  return {
    snapshotTime: hour * 1_000,
    calculatedAt: (hour + HOUR_S) * 1_000,
    priceUsd: requiredText(numberTextOrNull(priceUsd)),
    priceNative: requiredText(numberTextOrNull(productOrNull(priceUsd, native))),
    poolCount: live.length,
    totalLiquidityInUsd: requiredText(
      numberTextOrNull(sumValues(live.map((row) => row.liquidity_usd))),
    ),
    totalLiquidityInNative: requiredText(
      numberTextOrNull(sumValues(live.map((row) => row.liquidity_native))),
    ),
    maxLiquidityInUsd: requiredText(most?.liquidity_usd ?? null),
    maxLiquidityInNative: requiredText(most?.liquidity_native ?? null),
    maxLiquidityPoolAddress: most?.pool ?? '',
  }
}

const liquiditySnapshotRoute = (segment: 'liquiditySnapshots' | 'liquiditysnapshots'): ChainRoute =>
  definePageRoute({
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
      const byHour = poolStatesByHour(states, hours.toReversed())
      return hours.map((hour) => liquiditySnapshotBody(hour, byHour.get(hour) ?? []))
    },
  })

/** Liquidity of tokens over time. */
export const liquiditySnapshotRoutes: readonly ChainRoute[] = [
  liquiditySnapshotRoute('liquiditySnapshots'),
  liquiditySnapshotRoute('liquiditysnapshots'),
]

import { makeYieldIfDue } from '../../core/runtime/yield-if-due.ts'
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

/** A pool's last known state with its liquidity as a number, USD. */
interface PoolState {
  readonly row: PoolHourRow
  readonly liquidityUsd: number
}

/** Liquidity at the end of each of the hours, which come oldest first; a popular token has very many pools. */
export const liquidityByHour = async (
  rows: readonly PoolHourRow[],
  hours: readonly number[],
): Promise<readonly TokenLiquiditySnapshot[]> => {
  const ordered = rows.toSorted((one, other) => Number(one.hour) - Number(other.hour))
  const pools = new Map<string, PoolState>()
  const yieldIfDue = makeYieldIfDue()
  const bodies: TokenLiquiditySnapshot[] = []
  let next = 0
  for (const hour of hours) {
    await yieldIfDue()
    for (; next < ordered.length && Number(ordered[next]?.hour) <= hour; next += 1) {
      const row = ordered[next]
      if (row === undefined) continue
      pools.set(row.pool, { row, liquidityUsd: Number(row.liquidity_usd ?? 0) })
    }
    bodies.push(liquiditySnapshotBody(hour, pools.values()))
  }
  return bodies
}

const liquiditySnapshotBody = (
  hour: number,
  pools: Iterable<PoolState>,
): TokenLiquiditySnapshot => {
  let [poolCount, totalUsd, totalNative] = [0, 0, 0]
  let most: PoolState | undefined
  for (const pool of pools) {
    if (!(pool.liquidityUsd > 0)) continue
    poolCount += 1
    totalUsd += pool.liquidityUsd
    totalNative += numberOrNull(pool.row.liquidity_native) ?? 0
    if (most === undefined || pool.liquidityUsd > most.liquidityUsd) most = pool
  }
  const native = ratioOrNull(
    numberOrNull(most?.row.liquidity_native ?? null),
    most?.liquidityUsd ?? null,
  )
  const priceUsd = most?.row.price_usd ?? null
  return {
    snapshotTime: hour * 1_000,
    calculatedAt: (hour + HOUR_S) * 1_000,
    priceUsd: requiredText(numberTextOrNull(priceUsd)),
    priceNative: requiredText(numberTextOrNull(productOrNull(priceUsd, native))),
    poolCount,
    totalLiquidityInUsd: requiredText(numberTextOrNull(totalUsd)),
    totalLiquidityInNative: requiredText(numberTextOrNull(totalNative)),
    maxLiquidityInUsd: requiredText(most?.row.liquidity_usd ?? null),
    maxLiquidityInNative: requiredText(most?.row.liquidity_native ?? null),
    maxLiquidityPoolAddress: most?.row.pool ?? '',
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
      return (await liquidityByHour(states, hours.toReversed())).toReversed()
    },
  })

/** Liquidity of tokens over time. */
export const liquiditySnapshotRoutes: readonly ChainRoute[] = [
  liquiditySnapshotRoute('liquiditySnapshots'),
  liquiditySnapshotRoute('liquiditysnapshots'),
]

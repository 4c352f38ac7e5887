import { SNAPSHOT_QUERY, TokenLiquiditySnapshot } from '../../schemas/api/dex-pool.ts'
import { TOKEN_PARAM } from '../../schemas/api/token-history.ts'
import {
  type HourLiquidityRow,
  hourLiquidityQuery,
  type LiquidityHourRow,
  liquidityHoursList,
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

const liquiditySnapshotBody = (
  hour: number,
  row: HourLiquidityRow | undefined,
): TokenLiquiditySnapshot => {
  const native = ratioOrNull(
    numberOrNull(row?.liquidity_native ?? null),
    numberOrNull(row?.liquidity_usd ?? null),
  )
  const priceUsd = row?.price_usd ?? null
  return {
    snapshotTime: hour * 1_000,
    calculatedAt: (hour + HOUR_S) * 1_000,
    priceUsd: requiredText(numberTextOrNull(priceUsd)),
    priceNative: requiredText(numberTextOrNull(productOrNull(priceUsd, native))),
    poolCount: Number(row?.pools ?? 0),
    totalLiquidityInUsd: requiredText(row?.total_usd ?? null),
    totalLiquidityInNative: requiredText(row?.total_native ?? null),
    maxLiquidityInUsd: requiredText(row?.liquidity_usd ?? null),
    maxLiquidityInNative: requiredText(row?.liquidity_native ?? null),
    maxLiquidityPoolAddress: row?.pool ?? '',
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
      if (hours.length === 0) return []
      const known = await rows<HourLiquidityRow>(
        hourLiquidityQuery(chain.id, params.tokenAddress, hours),
      )
      const byHour = new Map(known.map((row) => [Number(row.hour), row]))
      return hours.map((hour) => liquiditySnapshotBody(hour, byHour.get(hour)))
    },
  })

/** Liquidity of tokens over time. */
export const liquiditySnapshotRoutes: readonly ChainRoute[] = [
  liquiditySnapshotRoute('liquiditySnapshots'),
  liquiditySnapshotRoute('liquiditysnapshots'),
]

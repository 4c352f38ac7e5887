import { decimalText } from '../../core/amounts.ts'
import { Fault } from '../../core/errors.ts'
import {
  ChainParams,
  type TokenStatPeriod,
  TokenStats,
  TokenStatsMap,
  TokensQuery,
} from '../../schemas/api/stats.ts'
import { TokenParams } from '../../schemas/api/token.ts'
import { type StatRow, statsQuery } from '../queries/token-stats.ts'
import { addressesOf, addressOf, chainOf, stampFreshness } from './chain.ts'
import type { RouteDeps } from './deps.ts'
import { type Family, priced } from './routing.ts'
import { numberText, ratio, timeText } from './values.ts'

/** A ratio with four decimals. */
const rounded = (value: number | null): string | null =>
  value === null ? null : decimalText(Math.round(value * 10_000) / 10_000)

const periodOf = (row: StatRow): TokenStatPeriod => {
  const units = Number(row.buy_volume) + Number(row.sell_volume)
  const change = ratio(row.close_usd, row.open_usd ?? 0)
  return {
    buys: row.buys,
    sells: row.sells,
    trades: String(Number(row.buys) + Number(row.sells)),
    buyers: row.buyers,
    sellers: row.sellers,
    traders: row.traders,
    poolCount: row.pools,
    dappProgramCount: row.programs,
    buyVolume: row.buy_volume,
    sellVolume: row.sell_volume,
    buyVolumeInUsd: row.buy_volume_usd,
    sellVolumeInUsd: row.sell_volume_usd,
    totalVolumeInUsd: row.total_volume_usd,
    buyVolumeInNative: row.buy_volume_native,
    sellVolumeInNative: row.sell_volume_native,
    totalVolumeInNative: row.total_volume_native,
    openInUsd: numberText(row.open_usd),
    highInUsd: numberText(row.high_usd),
    lowInUsd: numberText(row.low_usd),
    closeInUsd: numberText(row.close_usd),
    openInNative: numberText(row.open_native),
    highInNative: numberText(row.high_native),
    lowInNative: numberText(row.low_native),
    closeInNative: numberText(row.close_native),
    averagePriceInUsd: numberText(ratio(Number(row.total_volume_usd), units) ?? row.close_usd),
    averagePriceInNative: numberText(
      ratio(Number(row.total_volume_native), units) ?? row.close_native,
    ),
    priceChangeRatioInUsd: change === null ? '0' : numberText(change - 1),
    volumeChangeRatio: numberText(row.volume_change_ratio),
    liquidityChangeRatio: rounded(row.liquidity_change_ratio),
    buySellRatio: rounded(ratio(Number(row.buys), Number(row.sells))),
    currentLiquidityInUsd: numberText(row.liquidity_usd),
    updatedAt: timeText(Number(row.stat_ms)),
  }
}

/** Statistics by token from the rows of their windows. */
export const statsByToken = (rows: readonly StatRow[]): ReadonlyMap<string, TokenStats> => {
  const tokens = new Map<string, TokenStats>()
  for (const row of rows) {
    const stats = tokens.get(row.token_address) ?? { address: row.token_address, periods: {} }
    stats.periods[row.resolution] = periodOf(row)
    tokens.set(row.token_address, stats)
  }
  return tokens
}

/** Trade statistics of one token, and of several at once. */
export const tokenStatsRoutes =
  (deps: RouteDeps): Family =>
  async (app) => {
    const read = async (chain: string, addresses: readonly string[]) =>
      statsByToken((await deps.warehouse.query<StatRow>(statsQuery(chain, addresses))).rows)
    app.get(
      '/token/:chain/:tokenAddress/stats',
      {
        schema: {
          summary: 'Trade statistics of a token over eight windows',
          tags: ['token'],
          params: TokenParams,
          response: { 200: TokenStats },
        },
        config: priced('GET /token/:chain/:tokenAddress/stats'),
      },
      async ({ params }, reply) => {
        const chain = chainOf(params.chain, deps.chains)
        const address = addressOf(chain.id, params.tokenAddress, 'tokenAddress')
        if (!chain.enabled) throw new Fault('NOT_FOUND', 'No statistics of this token')
        await stampFreshness(reply, deps.freshness, chain.id)
        const stats = (await read(chain.id, [address])).get(address)
        if (stats === undefined) throw new Fault('NOT_FOUND', 'No statistics of this token')
        return stats
      },
    )
    app.get(
      '/token/:chain/stats/multi',
      {
        schema: {
          summary: 'Trade statistics of several tokens',
          tags: ['token'],
          params: ChainParams,
          querystring: TokensQuery,
          response: { 200: TokenStatsMap },
        },
        config: priced('GET /token/:chain/stats/multi'),
      },
      async ({ params, query }, reply) => {
        const chain = chainOf(params.chain, deps.chains)
        const addresses = addressesOf(chain.id, query.tokenAddresses, 'tokenAddresses')
        if (!chain.enabled) return {}
        await stampFreshness(reply, deps.freshness, chain.id)
        return Object.fromEntries(await read(chain.id, addresses))
      },
    )
  }

import { formatDecimal } from '../../core/amounts.ts'
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
import { formatTime, numberTextOrNull, ratioOrNull } from './body-values.ts'
import {
  parseAddressList,
  parseChain,
  parseTokenAddress,
  setFreshnessHeaders,
} from './chain-parameters.ts'
import type { RouteDeps } from './deps.ts'
import { pricedRoute, type RoutePlugin } from './routing.ts'

/** A ratio with four decimals. */
const roundedText = (value: number | null): string | null =>
  value === null ? null : formatDecimal(Math.round(value * 10_000) / 10_000)

/** The window before. */
const previousBody = (row: StatRow) => ({
  prevBuys: row.prev_buys,
  prevSells: row.prev_sells,
  prevTrades: String(Number(row.prev_buys) + Number(row.prev_sells)),
  prevBuyers: row.prev_buyers,
  prevSellers: row.prev_sellers,
  prevPoolCount: row.prev_pools,
  prevDappProgramCount: row.prev_programs,
  prevBuyVolume: row.prev_buy_volume,
  prevSellVolume: row.prev_sell_volume,
  prevBuyVolumeInUsd: row.prev_buy_volume_usd,
  prevSellVolumeInUsd: row.prev_sell_volume_usd,
  prevBuyVolumeInNative: row.prev_buy_volume_native,
  prevSellVolumeInNative: row.prev_sell_volume_native,
  prevOpenInUsd: numberTextOrNull(row.prev_open_usd),
  prevHighInUsd: numberTextOrNull(row.prev_high_usd),
  prevLowInUsd: numberTextOrNull(row.prev_low_usd),
  prevCloseInUsd: numberTextOrNull(row.prev_close_usd),
  prevOpenInNative: numberTextOrNull(row.prev_open_native),
  prevHighInNative: numberTextOrNull(row.prev_high_native),
  prevLowInNative: numberTextOrNull(row.prev_low_native),
  prevCloseInNative: numberTextOrNull(row.prev_close_native),
  prevLiquidityInUsd: numberTextOrNull(row.prev_liquidity_usd),
})

const periodBody = (row: StatRow): TokenStatPeriod => {
  const units = Number(row.buy_volume) + Number(row.sell_volume)
  const change = ratioOrNull(row.close_usd, row.open_usd ?? 0)
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
    openInUsd: numberTextOrNull(row.open_usd),
    highInUsd: numberTextOrNull(row.high_usd),
    lowInUsd: numberTextOrNull(row.low_usd),
    closeInUsd: numberTextOrNull(row.close_usd),
    openInNative: numberTextOrNull(row.open_native),
    highInNative: numberTextOrNull(row.high_native),
    lowInNative: numberTextOrNull(row.low_native),
    closeInNative: numberTextOrNull(row.close_native),
    averagePriceInUsd: numberTextOrNull(
      ratioOrNull(Number(row.total_volume_usd), units) ?? row.close_usd,
    ),
    averagePriceInNative: numberTextOrNull(
      ratioOrNull(Number(row.total_volume_native), units) ?? row.close_native,
    ),
    priceChangeRatioInUsd: change === null ? '0' : numberTextOrNull(change - 1),
    volumeChangeRatio: numberTextOrNull(row.volume_change_ratio),
    liquidityChangeRatio: roundedText(row.liquidity_change_ratio),
    buySellRatio: roundedText(ratioOrNull(Number(row.buys), Number(row.sells))),
    currentLiquidityInUsd: numberTextOrNull(row.liquidity_usd),
    ...previousBody(row),
    updatedAt: formatTime(Number(row.stat_ms)),
  }
}

/** Statistics by token from the rows of their windows. */
export const statsByToken = (rows: readonly StatRow[]): ReadonlyMap<string, TokenStats> => {
  const tokens = new Map<string, TokenStats>()
  for (const row of rows) {
    const stats = tokens.get(row.token_address) ?? { address: row.token_address, periods: {} }
    stats.periods[row.resolution] = periodBody(row)
    tokens.set(row.token_address, stats)
  }
  return tokens
}

/** Trade statistics of one token, and of several at once. */
export const tokenStatsRoutes =
  (deps: RouteDeps): RoutePlugin =>
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
        config: pricedRoute('GET /token/:chain/:tokenAddress/stats'),
      },
      async ({ params }, reply) => {
        const chain = parseChain(params.chain, deps.chains)
        const address = parseTokenAddress(chain.id, params.tokenAddress, 'tokenAddress')
        if (!chain.enabled) throw new Fault('NOT_FOUND', 'No statistics of this token')
        await setFreshnessHeaders(reply, deps.freshness, chain.id)
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
        config: pricedRoute('GET /token/:chain/stats/multi'),
      },
      async ({ params, query }, reply) => {
        const chain = parseChain(params.chain, deps.chains)
        const addresses = parseAddressList(chain.id, query.tokenAddresses, 'tokenAddresses')
        if (!chain.enabled) return {}
        await setFreshnessHeaders(reply, deps.freshness, chain.id)
        return Object.fromEntries(await read(chain.id, addresses))
      },
    )
  }

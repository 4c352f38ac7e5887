import { formatDecimal, formatUnits } from '../../core/amounts.ts'
import type { TradeStatEvent } from '../../schemas/wire.ts'
import { divide, fixedPointText } from '../runtime/valuation.ts'
import type { SideTotals } from './bucket.ts'
import type { WindowStats } from './token-windows.ts'

const changeRatio = (now: number | null, before: number | null): string => {
  const quotient = divide(now, before)
  return formatDecimal(quotient === null ? null : quotient - 1)
}

const usdVolume = ({ buy, sell }: { readonly buy: SideTotals; readonly sell: SideTotals }) =>
  Number(buy.usdRaw + sell.usdRaw)

const price = (value: number | undefined): string => formatDecimal(value ?? null)

/** What events say of the window before theirs. */
export type PreviousFields = Pick<TradeStatEvent, Extract<keyof TradeStatEvent, `prev_${string}`>>

/** A window as `trade-stats` carries it, but for its time and version. Names are written out: put together, they took most of the time. */
export const statEvent = (
  token: string,
  decimals: number,
  { name, current, previous }: WindowStats,
  before: PreviousFields,
): TradeStatEvent => {
  const { buy, sell, usd, native, distinct, liquidityUsd } = current
  return {
    token_address: token,
    resolution: name,
    timestamp: '',
    open_in_usd: price(usd?.open),
    open_in_native: price(native?.open),
    close_in_usd: price(usd?.close),
    close_in_native: price(native?.close),
    buys: buy.count,
    sells: sell.count,
    buyers: distinct.buyers,
    sellers: distinct.sellers,
    buy_volume: formatUnits(buy.raw, decimals),
    buy_volume_in_usd: fixedPointText(buy.usdRaw),
    buy_volume_in_native: fixedPointText(buy.nativeRaw),
    sell_volume: formatUnits(sell.raw, decimals),
    sell_volume_in_usd: fixedPointText(sell.usdRaw),
    sell_volume_in_native: fixedPointText(sell.nativeRaw),
    high_in_usd: price(usd?.high),
    high_in_native: price(native?.high),
    low_in_usd: price(usd?.low),
    low_in_native: price(native?.low),
    traders: distinct.traders,
    pools: distinct.pools,
    programs: distinct.programs,
    volume_change_ratio: changeRatio(usdVolume(current), usdVolume(previous)),
    liquidity_in_usd: formatDecimal(liquidityUsd),
    liquidity_change_ratio: changeRatio(liquidityUsd, previous.liquidityUsd),
    version: 0,
    is_final: false,
    prev_open_in_usd: before.prev_open_in_usd,
    prev_open_in_native: before.prev_open_in_native,
    prev_close_in_usd: before.prev_close_in_usd,
    prev_close_in_native: before.prev_close_in_native,
    prev_high_in_usd: before.prev_high_in_usd,
    prev_high_in_native: before.prev_high_in_native,
    prev_low_in_usd: before.prev_low_in_usd,
    prev_low_in_native: before.prev_low_in_native,
    prev_buys: before.prev_buys,
    prev_sells: before.prev_sells,
    prev_buyers: before.prev_buyers,
    prev_sellers: before.prev_sellers,
    prev_pools: before.prev_pools,
    prev_programs: before.prev_programs,
    prev_buy_volume: before.prev_buy_volume,
    prev_buy_volume_in_usd: before.prev_buy_volume_in_usd,
    prev_buy_volume_in_native: before.prev_buy_volume_in_native,
    prev_sell_volume: before.prev_sell_volume,
    prev_sell_volume_in_usd: before.prev_sell_volume_in_usd,
    prev_sell_volume_in_native: before.prev_sell_volume_in_native,
    prev_liquidity_in_usd: before.prev_liquidity_in_usd,
  }
}

/** The window before one, as `trade-stats` carries it. */
export const previousFields = (
  { buy, sell, usd, native, distinct, liquidityUsd }: WindowStats['previous'],
  decimals: number,
): PreviousFields => ({
  prev_open_in_usd: price(usd?.open),
  prev_open_in_native: price(native?.open),
  prev_close_in_usd: price(usd?.close),
  prev_close_in_native: price(native?.close),
  prev_high_in_usd: price(usd?.high),
  prev_high_in_native: price(native?.high),
  prev_low_in_usd: price(usd?.low),
  prev_low_in_native: price(native?.low),
  prev_buys: buy.count,
  prev_sells: sell.count,
  prev_buyers: distinct.buyers,
  prev_sellers: distinct.sellers,
  prev_pools: distinct.pools,
  prev_programs: distinct.programs,
  prev_buy_volume: formatUnits(buy.raw, decimals),
  prev_buy_volume_in_usd: fixedPointText(buy.usdRaw),
  prev_buy_volume_in_native: fixedPointText(buy.nativeRaw),
  prev_sell_volume: formatUnits(sell.raw, decimals),
  prev_sell_volume_in_usd: fixedPointText(sell.usdRaw),
  prev_sell_volume_in_native: fixedPointText(sell.nativeRaw),
  prev_liquidity_in_usd: formatDecimal(liquidityUsd),
})

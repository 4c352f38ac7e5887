import { formatDecimal, formatUnits } from '../../core/amounts.ts'
import type { TradeStatEvent } from '../../schemas/wire.ts'
import { divide, fixedPointText } from '../runtime/valuation.ts'
import type { PriceRange, SideTotals } from './bucket.ts'
import type { WindowStats } from './token-windows.ts'

const sideFields = <Prefix extends string>(prefix: Prefix, sum: SideTotals, decimals: number) =>
  ({
    [`${prefix}_volume`]: formatUnits(sum.raw, decimals),
    [`${prefix}_volume_in_usd`]: fixedPointText(sum.usdRaw),
    [`${prefix}_volume_in_native`]: fixedPointText(sum.nativeRaw),
  }) as Readonly<
    Record<`${Prefix}_volume` | `${Prefix}_volume_in_usd` | `${Prefix}_volume_in_native`, string>
  >

type PriceField<
  Prefix extends string,
  Unit extends string,
> = `${Prefix}${'open' | 'close' | 'high' | 'low'}_in_${Unit}`

const priceFields = <Prefix extends string, Unit extends string>(
  prefix: Prefix,
  unit: Unit,
  range: PriceRange | null,
) =>
  ({
    [`${prefix}open_in_${unit}`]: formatDecimal(range?.open ?? null),
    [`${prefix}close_in_${unit}`]: formatDecimal(range?.close ?? null),
    [`${prefix}high_in_${unit}`]: formatDecimal(range?.high ?? null),
    [`${prefix}low_in_${unit}`]: formatDecimal(range?.low ?? null),
  }) as Readonly<Record<PriceField<Prefix, Unit>, string>>

const changeRatio = (now: number | null, before: number | null): string => {
  const quotient = divide(now, before)
  return formatDecimal(quotient === null ? null : quotient - 1)
}

const usdVolume = ({ buy, sell }: { readonly buy: SideTotals; readonly sell: SideTotals }) =>
  Number(buy.usdRaw + sell.usdRaw)

/** What an event says beside its window. */
export interface StatSubject {
  readonly token: string
  readonly decimals: number
  readonly timeMs: number
  readonly version: number
}

/** A window as `trade-stats` carries it. */
export const statEvent = (
  { token, decimals, timeMs, version }: StatSubject,
  window: WindowStats,
): TradeStatEvent => {
  const { buy, sell, usd, native, distinct, liquidityUsd, previous } = window
  return {
    token_address: token,
    resolution: window.name,
    timestamp: String(timeMs),
    ...priceFields('', 'usd', usd),
    ...priceFields('', 'native', native),
    buys: buy.count,
    sells: sell.count,
    ...distinct,
    ...sideFields('buy', buy, decimals),
    ...sideFields('sell', sell, decimals),
    volume_change_ratio: changeRatio(usdVolume(window), usdVolume(previous)),
    liquidity_in_usd: formatDecimal(liquidityUsd),
    liquidity_change_ratio: changeRatio(liquidityUsd, previous.liquidityUsd),
    version,
    is_final: false,
    ...priceFields('prev_', 'usd', previous.usd),
    ...priceFields('prev_', 'native', previous.native),
    prev_buys: previous.buy.count,
    prev_sells: previous.sell.count,
    prev_buyers: previous.distinct.buyers,
    prev_sellers: previous.distinct.sellers,
    prev_pools: previous.distinct.pools,
    prev_programs: previous.distinct.programs,
    ...sideFields('prev_buy', previous.buy, decimals),
    ...sideFields('prev_sell', previous.sell, decimals),
    prev_liquidity_in_usd: formatDecimal(previous.liquidityUsd),
  }
}

import {
  formatUnits,
  parseDecimal,
  USD_DECIMALS,
  unitsToNumber,
  usdToRaw,
} from '../../core/amounts.ts'
import type { Trade, TradeEvent } from '../../schemas/wire.ts'

/** A trade in numbers; token a is the base, token b the quote. null = unknown. */
export interface TradeValuation {
  readonly baseUnits: number | null
  readonly quoteUnits: number | null
  /** Value of either leg: quote amount times the quote's stamped price. */
  readonly valueUsd: number | null
  readonly valueNative: number | null
  readonly priceInQuote: number | null
  readonly priceUsd: number | null
  readonly priceNative: number | null
}

/** Base units of an amount as the wire writes them; "" counts as none. */
const parseAmount = (text: string): bigint => (text === '' ? 0n : BigInt(text))

/** Base units of an amount that may be unknown: "" or, where it was reckoned back, below zero. */
export const knownAmount = (text: string): bigint | null =>
  text === '' || text.startsWith('-') ? null : BigInt(text)

/** An amount in token units; null where the decimals are unknown. */
export const tokenUnits = (text: string, decimals: number | null): number | null =>
  decimals === null ? null : unitsToNumber(parseAmount(text), decimals)

/** The product, or null as soon as one is unknown or the product is not finite. */
export const multiply = (one: number | null, other: number | null): number | null => {
  const product = one === null || other === null ? null : one * other
  return product !== null && Number.isFinite(product) ? product : null
}

/** The quotient, or null where it is unknown, infinite or divided by zero. */
export const divide = (one: number | null, other: number | null): number | null => {
  const quotient = one === null || other === null || other === 0 ? null : one / other
  return quotient !== null && Number.isFinite(quotient) ? quotient : null
}

/** A price from what was paid and what was got; null as well where nothing was paid: dust has no price. */
export const unitPrice = (paid: number | null, got: number | null): number | null =>
  paid === 0 ? null : divide(paid, got)

/** Value of either leg: quote amount times the quote's stamped price. */
export const tradeValues = (
  event: TradeEvent,
  trade: Trade,
): Pick<TradeValuation, 'quoteUnits' | 'valueUsd' | 'valueNative'> => {
  const quoteUnits = tokenUnits(trade.user_b_amount, trade.token_b_decimals)
  return {
    quoteUnits,
    valueUsd: multiply(quoteUnits, parseDecimal(event.quote_price_in_usd)),
    valueNative: multiply(quoteUnits, parseDecimal(event.quote_price_in_native)),
  }
}

/** Prices and values of one trade from its amounts and the stamp of its quote. */
export const valueTrade = (event: TradeEvent, trade: Trade): TradeValuation => {
  const baseUnits = tokenUnits(trade.user_a_amount, trade.token_a_decimals)
  const { quoteUnits, valueUsd, valueNative } = tradeValues(event, trade)
  return {
    baseUnits,
    quoteUnits,
    valueUsd,
    valueNative,
    priceInQuote: unitPrice(quoteUnits, baseUnits),
    priceUsd: unitPrice(valueUsd, baseUnits),
    priceNative: unitPrice(valueNative, baseUnits),
  }
}

/**
 * Values from here on are unknown: there is not so much money, so the amount is broken or hostile. A hundred million values below
 * it still sum to less than the store's `Decimal(38,12)` holds.
 */
const MAX_PLAUSIBLE_VALUE = 1e18

/** A USD or native value in units of 10^-12, as the store keeps and sums it; null when unknown. */
export const toFixedPoint = (value: number | null): bigint | null => {
  if (value === null || !(Math.abs(value) < MAX_PLAUSIBLE_VALUE)) return null
  return usdToRaw(value)
}

/** Text of a sum of `toFixedPoint`s. */
export const fixedPointText = (raw: bigint): string => formatUnits(raw, USD_DECIMALS)

/** True when the trader received the base token. */
export const isBuy = (trade: Trade): boolean => !trade.was_original_direction

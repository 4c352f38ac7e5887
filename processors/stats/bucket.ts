import { parseDecimal } from '../../core/amounts.ts'
import { isExecutedTrade } from '../../core/executed-trade.ts'
import type { TradeEvent } from '../../schemas/wire.ts'
import { isBuy, toFixedPoint, tradeValues } from '../runtime/valuation.ts'

/** Prices of a time in one unit; only trades that are not suspect set them. */
export interface PriceRange {
  readonly open: number
  readonly close: number
  readonly high: number
  readonly low: number
}

/** One side's volume: base units, and value in units of 10^-12. */
export interface SideTotals {
  readonly count: number
  readonly raw: bigint
  readonly usdRaw: bigint
  readonly nativeRaw: bigint
}

/** Trades of one token in a second or more; `second` is the newest, in block time. */
export interface StatsBucket {
  readonly second: number
  readonly buy: SideTotals
  readonly sell: SideTotals
  readonly usd: PriceRange | null
  readonly native: PriceRange | null
  /** Liquidity of the token's pools in USD as the bucket's last pool event left it; null = it does not tell. */
  readonly liquidityUsd: number | null
}

/** No trade on a side. */
export const EMPTY_SIDE: SideTotals = { count: 0, raw: 0n, usdRaw: 0n, nativeRaw: 0n }

/** A bucket without anything. */
export const emptyBucket = (second: number): StatsBucket => ({
  second,
  buy: EMPTY_SIDE,
  sell: EMPTY_SIDE,
  usd: null,
  native: null,
  liquidityUsd: null,
})

/** Both sides together. */
export const addSideTotals = (one: SideTotals, other: SideTotals): SideTotals => ({
  count: one.count + other.count,
  raw: one.raw + other.raw,
  usdRaw: one.usdRaw + other.usdRaw,
  nativeRaw: one.nativeRaw + other.nativeRaw,
})

/** What the later of two running sums has more. */
export const subtractSideTotals = (later: SideTotals, earlier: SideTotals): SideTotals => ({
  count: later.count - earlier.count,
  raw: later.raw - earlier.raw,
  usdRaw: later.usdRaw - earlier.usdRaw,
  nativeRaw: later.nativeRaw - earlier.nativeRaw,
})

/** The older prices with the newer behind them. */
export const mergePriceRanges = (
  older: PriceRange | null,
  newer: PriceRange | null,
): PriceRange | null =>
  older === null || newer === null
    ? (newer ?? older)
    : {
        open: older.open,
        close: newer.close,
        high: Math.max(older.high, newer.high),
        low: Math.min(older.low, newer.low),
      }

/** The older bucket with the newer one behind it; the second is the newer's. */
export const mergeBuckets = (older: StatsBucket, newer: StatsBucket): StatsBucket => ({
  second: newer.second,
  buy: addSideTotals(older.buy, newer.buy),
  sell: addSideTotals(older.sell, newer.sell),
  usd: mergePriceRanges(older.usd, newer.usd),
  native: mergePriceRanges(older.native, newer.native),
  liquidityUsd: newer.liquidityUsd ?? older.liquidityUsd,
})

/** Range of one price; null: there is none. */
export const priceRangeOf = (price: number | null): PriceRange | null =>
  price === null ? null : { open: price, close: price, high: price, low: price }

/** A trade as a bucket of one; undefined for trades that count nowhere. */
export const tradeBucket = (event: TradeEvent, second: number): StatsBucket | undefined => {
  const { trade, trade_processed: processed } = event
  if (trade === null || processed === null || !isExecutedTrade(event)) return undefined
  const { valueUsd, valueNative } = tradeValues(event, trade)
  const side: SideTotals = {
    count: 1,
    raw: BigInt(trade.user_a_amount || 0),
    usdRaw: toFixedPoint(valueUsd) ?? 0n,
    nativeRaw: toFixedPoint(valueNative) ?? 0n,
  }
  const trusted = !processed.is_token_a_price_in_usd_suspect
  const price = (text: string) => priceRangeOf(trusted ? parseDecimal(text) : null)
  const buys = isBuy(trade)
  return {
    second,
    buy: buys ? side : EMPTY_SIDE,
    sell: buys ? EMPTY_SIDE : side,
    usd: price(processed.token_a_price_in_usd),
    native: price(processed.token_a_price_in_native),
    liquidityUsd: null,
  }
}

type StoredSide = readonly [count: number, raw: string, usd: string, native: string]
/** A bucket as JSON keeps it. */
export type StoredBucket = readonly [
  second: number,
  buy: StoredSide,
  sell: StoredSide,
  usd: PriceRange | null,
  native: PriceRange | null,
  liquidityUsd: number | null,
]

const toStoredSide = ({ count, raw, usdRaw, nativeRaw }: SideTotals): StoredSide => [
  count,
  String(raw),
  String(usdRaw),
  String(nativeRaw),
]
const fromStoredSide = ([count, raw, usd, native]: StoredSide): SideTotals => ({
  count,
  raw: BigInt(raw),
  usdRaw: BigInt(usd),
  nativeRaw: BigInt(native),
})

/** To what JSON keeps. */
export const toStoredBucket = (bucket: StatsBucket): StoredBucket => [
  bucket.second,
  toStoredSide(bucket.buy),
  toStoredSide(bucket.sell),
  bucket.usd,
  bucket.native,
  bucket.liquidityUsd,
]

/** The inverse of `toStoredBucket`. */
export const fromStoredBucket = ([
  second,
  buy,
  sell,
  usd,
  native,
  liquidityUsd,
]: StoredBucket): StatsBucket => ({
  second,
  buy: fromStoredSide(buy),
  sell: fromStoredSide(sell),
  usd,
  native,
  liquidityUsd,
})

import { decimalNumber } from '../../core/amounts.ts'
import type { TradeEvent } from '../../schemas/wire.ts'
import { isBuy, valueRaw, valuesOf } from '../runtime/valuation.ts'

/** Prices of a minute in one unit; only trades that are not suspect set them. */
export interface PriceSpan {
  readonly open: number
  readonly close: number
  readonly high: number
  readonly low: number
}

/** One side's volume: base units, and value in units of 10^-12. */
export interface SideSum {
  readonly count: number
  readonly raw: bigint
  readonly usdRaw: bigint
  readonly nativeRaw: bigint
}

/** Trades of one token in one minute, or in one block of it. */
export interface StatBucket {
  readonly minute: number
  readonly buy: SideSum
  readonly sell: SideSum
  readonly usd: PriceSpan | null
  readonly native: PriceSpan | null
  /** Liquidity of the token's pools in USD as the bucket's last pool event left it; null = it does not tell. */
  readonly liquidityUsd: number | null
}

/** No trade on a side. */
export const NO_SIDE: SideSum = { count: 0, raw: 0n, usdRaw: 0n, nativeRaw: 0n }

/** A minute without anything. */
export const emptyBucket = (minute: number): StatBucket => ({
  minute,
  buy: NO_SIDE,
  sell: NO_SIDE,
  usd: null,
  native: null,
  liquidityUsd: null,
})

/** Both sides together. */
export const addSides = (one: SideSum, other: SideSum): SideSum => ({
  count: one.count + other.count,
  raw: one.raw + other.raw,
  usdRaw: one.usdRaw + other.usdRaw,
  nativeRaw: one.nativeRaw + other.nativeRaw,
})

const joinSpans = (older: PriceSpan | null, newer: PriceSpan | null): PriceSpan | null =>
  older === null || newer === null
    ? (newer ?? older)
    : {
        open: older.open,
        close: newer.close,
        high: Math.max(older.high, newer.high),
        low: Math.min(older.low, newer.low),
      }

/** The older bucket with the newer one behind it; the minute is the older's. */
export const joinBuckets = (older: StatBucket, newer: StatBucket): StatBucket => ({
  minute: older.minute,
  buy: addSides(older.buy, newer.buy),
  sell: addSides(older.sell, newer.sell),
  usd: joinSpans(older.usd, newer.usd),
  native: joinSpans(older.native, newer.native),
  liquidityUsd: newer.liquidityUsd ?? older.liquidityUsd,
})

const spanOf = (price: number | null): PriceSpan | null =>
  price === null ? null : { open: price, close: price, high: price, low: price }

/** A trade as a bucket of one; undefined for trades that count nowhere. */
export const bucketOfTrade = (event: TradeEvent, minute: number): StatBucket | undefined => {
  const { trade, trade_processed: processed, transaction } = event
  if (trade === null || processed === null || transaction?.status === 'STATUS_FAILED') {
    return undefined
  }
  const { valueUsd, valueNative } = valuesOf(event, trade)
  const side: SideSum = {
    count: 1,
    raw: BigInt(trade.user_a_amount || 0),
    usdRaw: valueRaw(valueUsd) ?? 0n,
    nativeRaw: valueRaw(valueNative) ?? 0n,
  }
  const trusted = !processed.is_token_a_price_in_usd_suspect
  const price = (text: string) => spanOf(trusted ? decimalNumber(text) : null)
  const buys = isBuy(trade)
  return {
    minute,
    buy: buys ? side : NO_SIDE,
    sell: buys ? NO_SIDE : side,
    usd: price(processed.token_a_price_in_usd),
    native: price(processed.token_a_price_in_native),
    liquidityUsd: null,
  }
}

type StoredSide = readonly [count: number, raw: string, usd: string, native: string]
/** A bucket as JSON keeps it. */
export type StoredBucket = readonly [
  minute: number,
  buy: StoredSide,
  sell: StoredSide,
  usd: PriceSpan | null,
  native: PriceSpan | null,
  liquidityUsd: number | null,
]

const storedSide = ({ count, raw, usdRaw, nativeRaw }: SideSum): StoredSide => [
  count,
  String(raw),
  String(usdRaw),
  String(nativeRaw),
]
const sideOf = ([count, raw, usd, native]: StoredSide): SideSum => ({
  count,
  raw: BigInt(raw),
  usdRaw: BigInt(usd),
  nativeRaw: BigInt(native),
})

/** To what JSON keeps. */
export const storedBucket = (bucket: StatBucket): StoredBucket => [
  bucket.minute,
  storedSide(bucket.buy),
  storedSide(bucket.sell),
  bucket.usd,
  bucket.native,
  bucket.liquidityUsd,
]

/** The inverse of `storedBucket`. */
export const bucketOf = ([
  minute,
  buy,
  sell,
  usd,
  native,
  liquidityUsd,
]: StoredBucket): StatBucket => ({
  minute,
  buy: sideOf(buy),
  sell: sideOf(sell),
  usd,
  native,
  liquidityUsd,
})

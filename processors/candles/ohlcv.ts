import { formatDecimal, formatUnits } from '../../core/amounts.ts'
import { bucketStart, type Resolution } from '../../core/time.ts'
import { fixedPointText } from '../runtime/valuation.ts'

/** Trades of one series in one stretch of time, folded. Values are never changed once they are in a bucket. */
export interface Ohlcv {
  openUsd: number
  highUsd: number
  lowUsd: number
  closeUsd: number
  /** NaN: no trade with a native price. */
  openNative: number
  highNative: number
  lowNative: number
  closeNative: number
  /** Base units of the base token. */
  volumeRaw: bigint
  /** Units of 10^-12. */
  usdRaw: bigint
  nativeRaw: bigint
  trades: number
  buys: number
  /** `(seq << 16) | part` of the newest record folded in. */
  version: number
}

/** A fold and the start of the bucket that it fills. */
export interface Bucket {
  readonly startMs: number
  readonly fold: Ohlcv
}

/** Buckets of each resolution, oldest first. */
export type BucketsByResolution = Readonly<Record<Resolution, readonly Bucket[]>>

const firstKnown = (one: number, other: number): number => (Number.isNaN(one) ? other : one)
const lowest = (one: number, other: number): number =>
  Math.min(firstKnown(one, other), firstKnown(other, one))
const highest = (one: number, other: number): number =>
  Math.max(firstKnown(one, other), firstKnown(other, one))

/** Both folds as one; `earlier` comes first in chain order. */
export const mergeOhlcv = (earlier: Ohlcv, later: Ohlcv): Ohlcv => ({
  openUsd: earlier.openUsd,
  highUsd: Math.max(later.highUsd, earlier.highUsd),
  lowUsd: Math.min(later.lowUsd, earlier.lowUsd),
  closeUsd: later.closeUsd,
  openNative: firstKnown(earlier.openNative, later.openNative),
  highNative: highest(earlier.highNative, later.highNative),
  lowNative: lowest(earlier.lowNative, later.lowNative),
  closeNative: firstKnown(later.closeNative, earlier.closeNative),
  volumeRaw: earlier.volumeRaw + later.volumeRaw,
  usdRaw: earlier.usdRaw + later.usdRaw,
  nativeRaw: earlier.nativeRaw + later.nativeRaw,
  trades: earlier.trades + later.trades,
  buys: earlier.buys + later.buys,
  version: Math.max(later.version, earlier.version),
})

/** Puts a later fold into an earlier one, which only its owner may still see. */
export const mergeInto = (into: Ohlcv, later: Ohlcv): void => {
  into.highUsd = Math.max(later.highUsd, into.highUsd)
  into.lowUsd = Math.min(later.lowUsd, into.lowUsd)
  into.closeUsd = later.closeUsd
  into.openNative = firstKnown(into.openNative, later.openNative)
  into.highNative = highest(into.highNative, later.highNative)
  into.lowNative = lowest(into.lowNative, later.lowNative)
  into.closeNative = firstKnown(later.closeNative, into.closeNative)
  into.volumeRaw += later.volumeRaw
  into.usdRaw += later.usdRaw
  into.nativeRaw += later.nativeRaw
  into.trades += later.trades
  into.buys += later.buys
  into.version = Math.max(later.version, into.version)
}

/** Each resolution but the first is folded from buckets of a finer one that it is made of. */
const FINER_RESOLUTION: Readonly<Record<Exclude<Resolution, '1s'>, Resolution>> = {
  '15s': '1s',
  '30s': '15s',
  '1m': '30s',
  '3m': '1m',
  '5m': '1m',
  '15m': '5m',
  '30m': '15m',
  '1h': '30m',
  '2h': '1h',
  '4h': '2h',
  '6h': '2h',
  '8h': '4h',
  '12h': '6h',
  '1d': '12h',
  '3d': '1d',
  '1w': '1d',
  '1M': '1d',
}
const ROLLUP_STEPS = Object.entries(FINER_RESOLUTION) as (readonly [Resolution, Resolution])[]

const rollUpTo = (parts: readonly Bucket[], resolution: Resolution): readonly Bucket[] => {
  const buckets: Bucket[] = []
  let last: Bucket | undefined
  for (const { startMs, fold } of parts) {
    const start = bucketStart(startMs, resolution)
    if (last !== undefined && last.startMs === start) {
      last = { startMs: start, fold: mergeOhlcv(last.fold, fold) }
      buckets[buckets.length - 1] = last
    } else {
      last = { startMs: start, fold }
      buckets.push(last)
    }
  }
  return buckets
}

/** Folds per block, in chain order, as buckets of every resolution; a bucket of one part shares its fold. */
export const rollUpBuckets = (parts: readonly Bucket[]): BucketsByResolution => {
  // Each step finds its finer resolution filled: the table lists them in that order.
  const buckets = { '1s': rollUpTo(parts, '1s') } as Record<Resolution, readonly Bucket[]>
  for (const [resolution, finer] of ROLLUP_STEPS) {
    buckets[resolution] = rollUpTo(buckets[finer], resolution)
  }
  return buckets
}

/** The numbers of a candle event as the wire writes them. */
export interface FormattedCandle {
  readonly open: string
  readonly high: string
  readonly low: string
  readonly close: string
  readonly open_in_native: string
  readonly high_in_native: string
  readonly low_in_native: string
  readonly close_in_native: string
  readonly average_price: string
  readonly average_price_in_native: string
  readonly volume: string
  readonly volume_in_usd: string
  readonly volume_in_native: string
  readonly trades: number
  readonly buys: number
  readonly sells: number
}

/** "" without a volume: what is divided by zero is not finite. */
const averagePrice = (valueTextOfSum: string, units: number): string =>
  formatDecimal(Number(valueTextOfSum) / units)

/** Texts of a fold; unknown native prices are "". */
export const formatCandle = (fold: Ohlcv, decimals: number): FormattedCandle => {
  const volume = formatUnits(fold.volumeRaw, decimals)
  const units = Number(volume)
  const usd = fixedPointText(fold.usdRaw)
  const native = fixedPointText(fold.nativeRaw)
  const open = formatDecimal(fold.openUsd)
  const openNative = formatDecimal(fold.openNative)
  // Most buckets hold few trades, and so few different prices; printing a double is what costs here.
  const inUsd = (value: number): string => (value === fold.openUsd ? open : formatDecimal(value))
  const inNative = (value: number): string =>
    value === fold.openNative ? openNative : formatDecimal(value)
  return {
    open,
    high: inUsd(fold.highUsd),
    low: inUsd(fold.lowUsd),
    close: inUsd(fold.closeUsd),
    open_in_native: openNative,
    high_in_native: inNative(fold.highNative),
    low_in_native: inNative(fold.lowNative),
    close_in_native: inNative(fold.closeNative),
    average_price: averagePrice(usd, units),
    average_price_in_native: Number.isNaN(fold.openNative) ? '' : averagePrice(native, units),
    volume,
    volume_in_usd: usd,
    volume_in_native: Number.isNaN(fold.openNative) ? '' : native,
    trades: fold.trades,
    buys: fold.buys,
    sells: fold.trades - fold.buys,
  }
}

/** Texts of a bucket that a reorg emptied. */
export const EMPTY_CANDLE: FormattedCandle = {
  open: '',
  high: '',
  low: '',
  close: '',
  open_in_native: '',
  high_in_native: '',
  low_in_native: '',
  close_in_native: '',
  average_price: '',
  average_price_in_native: '',
  volume: '0',
  volume_in_usd: '0',
  volume_in_native: '0',
  trades: 0,
  buys: 0,
  sells: 0,
}

/**
 * True for folds of one series that hold the same trades: both reach from some trade to the newest one that they have, so
 * they are the same where that one and the number of trades are.
 */
export const hasSameTrades = (one: Ohlcv, other: Ohlcv): boolean =>
  one.version === other.version && one.trades === other.trades

/** A fold as it is kept in state: a series has up to 18 of them, so no names. Unknown prices are null. */
export type StoredOhlcv = readonly [
  openUsd: number,
  highUsd: number,
  lowUsd: number,
  closeUsd: number,
  openNative: number | null,
  highNative: number | null,
  lowNative: number | null,
  closeNative: number | null,
  volumeRaw: string,
  usdRaw: string,
  nativeRaw: string,
  trades: number,
  buys: number,
  version: number,
]

/** What `fromStoredOhlcv` reads back, after JSON. */
export const toStoredOhlcv = (fold: Ohlcv): StoredOhlcv => [
  fold.openUsd,
  fold.highUsd,
  fold.lowUsd,
  fold.closeUsd,
  fold.openNative,
  fold.highNative,
  fold.lowNative,
  fold.closeNative,
  String(fold.volumeRaw),
  String(fold.usdRaw),
  String(fold.nativeRaw),
  fold.trades,
  fold.buys,
  fold.version,
]

const nanIfNull = (value: number | null): number => value ?? Number.NaN

/** The inverse of `toStoredOhlcv`, after JSON. */
export const fromStoredOhlcv = (stored: StoredOhlcv): Ohlcv => ({
  openUsd: stored[0],
  highUsd: stored[1],
  lowUsd: stored[2],
  closeUsd: stored[3],
  openNative: nanIfNull(stored[4]),
  highNative: nanIfNull(stored[5]),
  lowNative: nanIfNull(stored[6]),
  closeNative: nanIfNull(stored[7]),
  volumeRaw: BigInt(stored[8]),
  usdRaw: BigInt(stored[9]),
  nativeRaw: BigInt(stored[10]),
  trades: stored[11],
  buys: stored[12],
  version: stored[13],
})

import type { CandlestickEvent, CandlestickSeries } from '../schemas/wire.ts'
import { formatDecimal } from './amounts.ts'
import { bucketStart, isResolution } from './time.ts'

/** One candle that an event tells: the event's own, or one of a coarser resolution that its bucket lies in. */
export interface EventCandle {
  readonly resolution: string
  /** Start of the bucket, epoch milliseconds. */
  readonly startMs: number
  /** "" = unknown, as all prices. */
  readonly open: string
  readonly high: string
  readonly low: string
  readonly close: string
  readonly openInNative: string
  readonly highInNative: string
  readonly lowInNative: string
  readonly closeInNative: string
  /** Token units. */
  readonly volume: string
  readonly trades: number
  readonly buys: number
  readonly version: number
}

/** Series of an event: its own, and those whose candles are equal. */
export const candleSeriesOf = (event: CandlestickEvent): readonly CandlestickSeries[] => [
  { dimension: event.dimension, address: event.dimension_address },
  ...event.also,
]

const finestCandle = (event: CandlestickEvent): EventCandle => ({
  resolution: event.resolution,
  startMs: Number(event.timestamp),
  open: event.open,
  high: event.high,
  low: event.low,
  close: event.close,
  openInNative: event.open_in_native,
  highInNative: event.high_in_native,
  lowInNative: event.low_in_native,
  closeInNative: event.close_in_native,
  volume: event.volume,
  trades: event.trades,
  buys: event.buys,
  version: event.version,
})

/** What an entry does not tell is as in the candle before it. */
const priceOrPrevious = (price: number | null, before: string): string =>
  price === null ? before : formatDecimal(price)

/**
 * Every candle of an event, its own first, then coarser ones, shortest first. A resolution that this version does not know is
 * left out.
 */
export const expandCandles = (event: CandlestickEvent): readonly EventCandle[] => {
  const own = finestCandle(event)
  const candles = [own]
  let before = own
  for (const entry of event.coarser) {
    const values = {
      open: priceOrPrevious(entry.open, before.open),
      high: priceOrPrevious(entry.high, before.high),
      low: priceOrPrevious(entry.low, before.low),
      close: priceOrPrevious(entry.close, before.close),
      openInNative: priceOrPrevious(entry.open_in_native, before.openInNative),
      highInNative: priceOrPrevious(entry.high_in_native, before.highInNative),
      lowInNative: priceOrPrevious(entry.low_in_native, before.lowInNative),
      closeInNative: priceOrPrevious(entry.close_in_native, before.closeInNative),
      volume: entry.volume ?? before.volume,
      trades: entry.trades,
      buys: entry.buys,
      version: entry.version ?? event.version,
    }
    // Also where this version knows none of the resolutions: the next entry differs from this one.
    before = { resolution: '', startMs: 0, ...values }
    for (const resolution of entry.resolutions) {
      if (!isResolution(resolution)) continue
      const startMs = bucketStart(Number(event.timestamp), resolution)
      candles.push({ resolution, startMs, ...values })
    }
  }
  return candles
}

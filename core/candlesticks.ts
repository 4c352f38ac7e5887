import type { CandlestickEvent, CandlestickSeries } from '../schemas/wire.ts'
import { decimalText } from './amounts.ts'
import { bucketStart, isResolution } from './time.ts'

/** One candle that an event tells: the event's own, or one of a coarser resolution that its bucket lies in. */
export interface ToldCandle {
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
export const seriesOf = (event: CandlestickEvent): readonly CandlestickSeries[] => [
  { dimension: event.dimension, address: event.dimension_address },
  ...event.also,
]

const ownCandle = (event: CandlestickEvent): ToldCandle => ({
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
const priceText = (told: number | null, before: string): string =>
  told === null ? before : decimalText(told)

/**
 * Every candle of an event, its own first, then coarser ones, shortest first. A resolution that this version does not know is
 * left out.
 */
export const candlesOf = (event: CandlestickEvent): readonly ToldCandle[] => {
  const own = ownCandle(event)
  const candles = [own]
  let before = own
  for (const entry of event.coarser) {
    const values = {
      open: priceText(entry.open, before.open),
      high: priceText(entry.high, before.high),
      low: priceText(entry.low, before.low),
      close: priceText(entry.close, before.close),
      openInNative: priceText(entry.open_in_native, before.openInNative),
      highInNative: priceText(entry.high_in_native, before.highInNative),
      lowInNative: priceText(entry.low_in_native, before.lowInNative),
      closeInNative: priceText(entry.close_in_native, before.closeInNative),
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

import { formatUnits } from '../../core/amounts.ts'
import { bucketEnd, type Resolution } from '../../core/time.ts'
import type {
  CandlestickEvent,
  CandlestickSeries,
  CoarserCandle,
  EventMeta,
} from '../../schemas/wire.ts'
import type { Publication } from '../runtime/stage.ts'
import { EMPTY_CANDLE, formatCandle, hasSameTrades, type Ohlcv } from './ohlcv.ts'
import type { Candle, PublishCandle, Series } from './series.ts'

/** Most events of one record: keeps a record far below the log's limit. */
const EVENTS_PER_RECORD = 200

/** The finest resolution: its candles are what the log carries of every change. */
const FINEST_RESOLUTION: Resolution = '1s'
/** Resolutions whose candles are published once more when their end is final. */
const REPUBLISHED_WHEN_FINAL: ReadonlySet<Resolution> = new Set(['1m', '1h', '1d'])

/** Candles of one series that a flush publishes. */
interface ChangedCandles {
  /** Changed buckets, finest resolution first. */
  readonly changed: Candle[]
  /** Buckets whose end is final. */
  readonly closed: Candle[]
}

const isEqualCandle = (one: Candle, other: Candle | undefined): boolean => {
  if (other === undefined) return false
  if (one.resolution !== other.resolution || one.startMs !== other.startMs) return false
  if (one.version !== other.version) return false
  if (one.fold === null || other.fold === null) return one.fold === other.fold
  return hasSameTrades(one.fold, other.fold)
}

const areEqualCandles = (some: readonly Candle[], others: readonly Candle[]): boolean =>
  some.length === others.length &&
  some.every((candle, index) => isEqualCandle(candle, others[index]))

const NO_TRADES: Omit<Ohlcv, 'version'> = {
  openUsd: Number.NaN,
  highUsd: Number.NaN,
  lowUsd: Number.NaN,
  closeUsd: Number.NaN,
  openNative: Number.NaN,
  highNative: Number.NaN,
  lowNative: Number.NaN,
  closeNative: Number.NaN,
  volumeRaw: 0n,
  usdRaw: 0n,
  nativeRaw: 0n,
  trades: 0,
  buys: 0,
}

const valueIfChanged = (value: number, before: number): number | null =>
  Object.is(value, before) ? null : value

type CoarserEntry = CoarserCandle & { readonly resolutions: string[] }

const toCoarserEntry = (candle: Candle, before: Candle, own: Candle): CoarserEntry => {
  const fold = candle.fold ?? NO_TRADES
  const last = before.fold ?? NO_TRADES
  return {
    resolutions: [candle.resolution],
    open: valueIfChanged(fold.openUsd, last.openUsd),
    high: valueIfChanged(fold.highUsd, last.highUsd),
    low: valueIfChanged(fold.lowUsd, last.lowUsd),
    close: valueIfChanged(fold.closeUsd, last.closeUsd),
    open_in_native: valueIfChanged(fold.openNative, last.openNative),
    high_in_native: valueIfChanged(fold.highNative, last.highNative),
    low_in_native: valueIfChanged(fold.lowNative, last.lowNative),
    close_in_native: valueIfChanged(fold.closeNative, last.closeNative),
    volume:
      fold.volumeRaw === last.volumeRaw
        ? null
        : formatUnits(fold.volumeRaw, candle.series.decimals),
    trades: fold.trades,
    buys: fold.buys,
    version: valueIfChanged(candle.version, own.version),
  }
}

const hasSameOhlcv = (one: Candle, other: Candle): boolean =>
  one.fold === null || other.fold === null
    ? one.fold === other.fold
    : hasSameTrades(one.fold, other.fold)

/** Coarser candles of an event; neighbours that hold the same trades share an entry. */
const coarserEntries = (own: Candle, coarser: readonly Candle[]): readonly CoarserCandle[] => {
  const entries: CoarserEntry[] = []
  let before = own
  for (const candle of coarser) {
    const last = entries.at(-1)
    if (last !== undefined && before.version === candle.version && hasSameOhlcv(before, candle)) {
      last.resolutions.push(candle.resolution)
    } else entries.push(toCoarserEntry(candle, before, own))
    before = candle
  }
  return entries
}

const candleEvent = (
  candle: Candle,
  coarser: readonly Candle[],
  also: readonly CandlestickSeries[],
): CandlestickEvent => ({
  token_address: candle.series.token,
  resolution: candle.resolution,
  timestamp: String(candle.startMs),
  ...(candle.fold === null ? EMPTY_CANDLE : formatCandle(candle.fold, candle.series.decimals)),
  dimension: candle.series.dimension,
  dimension_address: candle.series.address,
  version: candle.version,
  is_final: candle.isFinal,
  coarser: coarserEntries(candle, coarser),
  also,
})

/** A coarser candle travels with the newest changed second that lies in its bucket. */
const changeEvents = (
  changed: readonly Candle[],
  also: readonly CandlestickSeries[],
): readonly CandlestickEvent[] => {
  const seconds = changed
    .filter(({ resolution }) => resolution === FINEST_RESOLUTION)
    .sort((one, other) => one.startMs - other.startMs)
    .map((second) => ({ second, coarser: [] as Candle[] }))
  for (const candle of changed) {
    if (candle.resolution === FINEST_RESOLUTION) continue
    const end = bucketEnd(candle.startMs, candle.resolution)
    seconds.findLast(({ second }) => second.startMs < end)?.coarser.push(candle)
  }
  return seconds.map(({ second, coarser }) => candleEvent(second, coarser, also))
}

/** The candles of one flush, by series. */
export interface CandleBatch {
  readonly publish: PublishCandle
  /** Records of everything that was published since the draft was made. */
  records(meta: EventMeta): readonly Publication[]
}

/** What is written of several series whose candles are equal: the first one's, with the names of the others. */
interface SharedCandles {
  readonly series: Series
  readonly changed: readonly Candle[]
  readonly closed: readonly Candle[]
  readonly alsoChanged: CandlestickSeries[]
  readonly alsoClosed: CandlestickSeries[]
}

const seriesName = ({ dimension, address }: Series): CandlestickSeries => ({ dimension, address })

const isTokenSeries = ({ dimension }: Series): boolean =>
  dimension === 'CANDLESTICK_DIMENSION_TOKEN_ADDRESS'

/**
 * The series of pools and pairs hold some of their token's trades. Where they hold as many, they hold the same, and their candles
 * travel with the token's.
 */
const groupEqualSeries = (
  touched: ReadonlyMap<Series, ChangedCandles>,
): readonly SharedCandles[] => {
  const wholes = new Map<string, SharedCandles>()
  const all: SharedCandles[] = []
  for (const isToken of [true, false]) {
    for (const [series, { changed, closed }] of touched) {
      if (isTokenSeries(series) !== isToken) continue
      const whole = wholes.get(series.token)
      const isLike = whole?.series.decimals === series.decimals
      const own = { series, changed, closed, alsoChanged: [], alsoClosed: [] }
      if (isToken) wholes.set(series.token, own)
      const hasChanges = isLike && areEqualCandles(changed, whole.changed)
      const hasCloses = isLike && areEqualCandles(closed, whole.closed)
      if (hasChanges) whole.alsoChanged.push(seriesName(series))
      if (hasCloses) whole.alsoClosed.push(seriesName(series))
      if (hasChanges && hasCloses) continue
      all.push({
        ...own,
        changed: hasChanges ? [] : changed,
        closed: hasCloses ? [] : closed,
      })
    }
  }
  return all
}

/** Collects the candles of one flush. */
export const createCandleBatch = (): CandleBatch => {
  const touched = new Map<Series, ChangedCandles>()
  const of = (series: Series): ChangedCandles => {
    const found = touched.get(series) ?? { changed: [], closed: [] }
    touched.set(series, found)
    return found
  }
  return {
    publish: (candle) => {
      if (!candle.isFinal) of(candle.series).changed.push(candle)
      else if (REPUBLISHED_WHEN_FINAL.has(candle.resolution)) of(candle.series).closed.push(candle)
    },
    records: (meta) => {
      const byToken = new Map<string, CandlestickEvent[]>()
      const add = ({ token }: Series, events: readonly CandlestickEvent[]): void => {
        const list = byToken.get(token)
        if (list === undefined) byToken.set(token, [...events])
        else list.push(...events)
      }
      const all = groupEqualSeries(touched)
      for (const one of all) add(one.series, changeEvents(one.changed, one.alsoChanged))
      // Behind all changes: a candle that is closed may have been told as a coarser one of another series' event.
      for (const { series, closed, alsoClosed } of all) {
        add(
          series,
          closed.map((candle) => candleEvent(candle, [], alsoClosed)),
        )
      }
      return toRecords(meta, byToken)
    },
  }
}

const toRecords = (
  meta: EventMeta,
  byToken: ReadonlyMap<string, readonly CandlestickEvent[]>,
): readonly Publication[] => {
  const chunks: { readonly key: string; readonly events: readonly CandlestickEvent[] }[] = []
  for (const [key, events] of byToken) {
    for (let from = 0; from < events.length; from += EVENTS_PER_RECORD) {
      chunks.push({ key, events: events.slice(from, from + EVENTS_PER_RECORD) })
    }
  }
  return chunks.map(({ key, events }, part) => ({
    topic: 'candlesticks',
    key,
    value: { meta: { ...meta, op: 'OP_APPLY', part, parts: chunks.length }, events },
  }))
}

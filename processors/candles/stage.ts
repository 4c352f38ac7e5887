import { InvalidInput } from '../../core/errors.ts'
import { isExecutedTrade } from '../../core/executed-trade.ts'
import type { QuoteAssets } from '../../core/prices/quote-assets.ts'
import { bucketEnd, RESOLUTION_NAMES } from '../../core/time.ts'
import type { EventMeta, TradeEvent } from '../../schemas/wire.ts'
import { isStablecoin, quoteAssetsByChain } from '../runtime/quote-assets.ts'
import type {
  FlushResult,
  Operation,
  Publication,
  Stage,
  StageProcessor,
  StageState,
} from '../runtime/stage.ts'
import { isBuy, toFixedPoint, tradeValues } from '../runtime/valuation.ts'
import { createCandleBatch } from './events.ts'
import {
  type Bucket,
  fromStoredOhlcv,
  mergeInto,
  type Ohlcv,
  type StoredOhlcv,
  toStoredOhlcv,
} from './ohlcv.ts'
import {
  closeBucket,
  type FinalizedTime,
  finalizeBuckets,
  type PublishCandle,
  publishPending,
  rebuildSeries,
  recordVersion,
  type Series,
  seriesKeys,
} from './series.ts'
import { createSeriesStore, type SeriesStore } from './series-store.ts'

/** An unfinalized block: its fold per series. */
interface UnfinalizedBlock {
  readonly hash: string
  readonly height: number
  readonly timeMs: number
  readonly folds: ReadonlyMap<string, Ohlcv>
}

interface StoredUnfinalizedBlock extends Omit<UnfinalizedBlock, 'folds'> {
  readonly folds: readonly (readonly [series: string, decimals: number, fold: StoredOhlcv])[]
}

/** Series without unfinalized trades that stay in memory, per lane. */
const MAX_IDLE_SERIES = 4_096

const parseNumberOr = (text: string, unknown: number): number =>
  text === '' ? unknown : Number(text)

/** A trade as a fold of one; undefined for trades that make no candle: suspect, failed, or without a USD price. */
const tradeOhlcv = (event: TradeEvent, version: number): Ohlcv | undefined => {
  const { trade, trade_processed: processed } = event
  if (trade === null || processed === null) return undefined
  if (processed.is_token_a_price_in_usd_suspect) return undefined
  if (!isExecutedTrade(event)) return undefined
  const usd = parseNumberOr(processed.token_a_price_in_usd, 0)
  if (!(usd > 0) || !Number.isFinite(usd)) return undefined
  const native = parseNumberOr(processed.token_a_price_in_native, Number.NaN)
  const { valueUsd, valueNative } = tradeValues(event, trade)
  return {
    openUsd: usd,
    highUsd: usd,
    lowUsd: usd,
    closeUsd: usd,
    openNative: native,
    highNative: native,
    lowNative: native,
    closeNative: native,
    volumeRaw: BigInt(trade.user_a_amount === '' ? 0 : trade.user_a_amount),
    usdRaw: toFixedPoint(valueUsd) ?? 0n,
    nativeRaw: toFixedPoint(valueNative) ?? 0n,
    trades: 1,
    buys: isBuy(trade) ? 1 : 0,
    version,
  }
}

interface PricedTrade {
  readonly index: number
  readonly fold: Ohlcv
  readonly keys: readonly string[]
  readonly decimals: number
}

const pricedTrades = (operation: Operation, quoteAssets: QuoteAssets): readonly PricedTrade[] => {
  const trades: PricedTrade[] = []
  let sorted = true
  for (const { topic, value, part } of operation.records) {
    if (topic !== 'tradesProcessed') continue
    const version = recordVersion(operation.block.meta.seq, part)
    for (const event of value.events) {
      const { trade } = event
      const fold = tradeOhlcv(event, version)
      if (fold === undefined || trade === null) continue
      const index = event.instruction?.event_index ?? 0
      sorted &&= index >= (trades.at(-1)?.index ?? 0)
      trades.push({
        index,
        fold,
        keys: seriesKeys({
          base: trade.token_a_address,
          quote: trade.token_b_address,
          pool: trade.pool_address,
          stable: isStablecoin(trade.token_a_address, quoteAssets),
        }),
        decimals: trade.token_a_decimals ?? 0,
      })
    }
  }
  return sorted ? trades : trades.toSorted((one, other) => one.index - other.index)
}

/** Candles of one lane: final trades folded into a base, each unfinalized block kept apart. */
class CandleProcessor implements StageProcessor {
  readonly #quoteAssetsOf: (chain: string) => QuoteAssets
  readonly #series: SeriesStore
  readonly #dirty = new Set<Series>()
  readonly #changes = new Map<string, string | null>()
  #unfinalized: UnfinalizedBlock[] = []
  #finalities: { readonly seq: number; readonly height: number }[] = []
  #newest: EventMeta | undefined

  constructor(state: StageState, { quoteAssets, maxIdleSeries = MAX_IDLE_SERIES }: CandleOptions) {
    this.#quoteAssetsOf = quoteAssetsByChain(quoteAssets)
    this.#series = createSeriesStore(state, maxIdleSeries)
    const unfinalized = [...state.entries('h/')].map(([, text]) =>
      this.#parseUnfinalized(JSON.parse(text)),
    )
    this.#unfinalized = unfinalized.toSorted((one, other) => one.height - other.height)
    for (const { folds } of this.#unfinalized) {
      for (const key of folds.keys()) this.#series.at(key).unfinalizedBlocks += 1
    }
    const parts = this.#partsBySeries(this.#unfinalized)
    for (const series of this.#series.inUse) {
      rebuildSeries(series, parts.get(series) ?? [], () => undefined)
    }
  }

  /** Series in memory. */
  get size(): number {
    return this.#series.size
  }

  step(operation: Operation): readonly Publication[] {
    const { meta, final_height: height } = operation.block
    this.#newest = meta
    if (meta.op === 'OP_APPLY') this.#apply(operation)
    else if (meta.op === 'OP_REVERT') this.#revert(operation)
    else this.#finalities.push({ seq: meta.seq, height })
    return []
  }

  flush(): FlushResult {
    const batch = createCandleBatch()
    const { publish } = batch
    const shortened = new Set([...this.#dirty].filter(({ removed }) => removed.length > 0))
    const parts =
      shortened.size === 0
        ? undefined
        : this.#partsBySeries(this.#unfinalized, (one) => shortened.has(one))
    for (const series of this.#dirty) {
      if (series.removed.length > 0) rebuildSeries(series, parts?.get(series) ?? [], publish)
      else publishPending(series, publish)
    }
    this.#finalize(publish)
    for (const series of this.#dirty) this.#series.release(series)
    this.#dirty.clear()
    const changes = [...this.#changes, ...this.#series.changes()]
    this.#changes.clear()
    const publications = this.#newest === undefined ? [] : batch.records(this.#newest)
    return { publications, changes }
  }

  #parseUnfinalized(stored: StoredUnfinalizedBlock): UnfinalizedBlock {
    for (const [key, decimals] of stored.folds) this.#series.at(key, decimals)
    return {
      ...stored,
      folds: new Map(stored.folds.map(([key, , fold]) => [key, fromStoredOhlcv(fold)])),
    }
  }

  #apply(operation: Operation): void {
    const { chain, hash, height, block_time: timeMs } = operation.block.meta
    if (timeMs < (this.#unfinalized.at(-1)?.timeMs ?? 0)) {
      throw new InvalidInput('time', `block ${height} is older than the block before it`)
    }
    const folds = new Map<string, Ohlcv>()
    for (const { fold, keys, decimals } of pricedTrades(operation, this.#quoteAssetsOf(chain))) {
      for (const key of keys) {
        const sum = folds.get(key)
        if (sum !== undefined) mergeInto(sum, fold)
        else {
          folds.set(key, { ...fold })
          this.#series.at(key).decimals = decimals
        }
      }
    }
    for (const [key, fold] of folds) {
      const series = this.#series.at(key)
      series.pending.push({ startMs: timeMs, fold })
      series.unfinalizedBlocks += 1
      this.#dirty.add(series)
    }
    const block = { hash, height, timeMs, folds }
    this.#unfinalized.push(block)
    this.#changes.set(`h/${hash}`, this.#serializeUnfinalized(block))
  }

  #serializeUnfinalized({ folds, ...block }: UnfinalizedBlock): string {
    const stored: StoredUnfinalizedBlock = {
      ...block,
      folds: [...folds].map(([key, fold]) => [
        key,
        this.#series.at(key).decimals,
        toStoredOhlcv(fold),
      ]),
    }
    return JSON.stringify(stored)
  }

  #revert(operation: Operation): void {
    const { hash, seq } = operation.block.meta
    const block = this.#unfinalized.findLast((one) => one.hash === hash)
    if (block === undefined) {
      throw new InvalidInput('revert', `block ${hash} is reverted but was not applied`)
    }
    this.#unfinalized = this.#unfinalized.filter((one) => one !== block)
    this.#changes.set(`h/${hash}`, null)
    const version = recordVersion(seq, operation.records.at(-1)?.part ?? 0)
    for (const key of block.folds.keys()) {
      const series = this.#series.at(key)
      series.unfinalizedBlocks -= 1
      series.removed.push({ timeMs: block.timeMs, version })
      this.#dirty.add(series)
    }
  }

  /** What blocks did to each series, in chain order: one look at each block, however many series there are. */
  #partsBySeries(
    blocks: readonly UnfinalizedBlock[],
    isWanted: (series: Series) => boolean = () => true,
  ): ReadonlyMap<Series, Bucket[]> {
    const parts = new Map<Series, Bucket[]>()
    for (const { timeMs, folds } of blocks) {
      for (const [key, fold] of folds) {
        const series = this.#series.at(key)
        if (!isWanted(series)) continue
        const list = parts.get(series)
        if (list === undefined) parts.set(series, [{ startMs: timeMs, fold }])
        else list.push({ startMs: timeMs, fold })
      }
    }
    return parts
  }

  #finalize(publish: PublishCandle): void {
    const height = this.#finalities.at(-1)?.height
    if (height === undefined) return
    const finalities = this.#finalities.flatMap(({ seq, height: upTo }): FinalizedTime[] => {
      const newest = this.#unfinalized.findLast((block) => block.height <= upTo)
      return newest === undefined ? [] : [{ seq, timeMs: newest.timeMs }]
    })
    this.#finalities = []
    const done = this.#unfinalized.filter((block) => block.height <= height)
    this.#unfinalized = this.#unfinalized.filter((block) => block.height > height)
    const changed = new Set<Series>()
    for (const [series, parts] of this.#partsOf(done)) {
      finalizeBuckets(series, parts, finalities, publish)
      changed.add(series)
    }
    this.#closePast(finalities, publish, changed)
    for (const series of changed) {
      this.#dirty.add(series)
      this.#series.saved(series)
    }
  }

  #partsOf(done: readonly UnfinalizedBlock[]): ReadonlyMap<Series, Bucket[]> {
    for (const { hash, folds } of done) {
      this.#changes.set(`h/${hash}`, null)
      for (const key of folds.keys()) this.#series.at(key).unfinalizedBlocks -= 1
    }
    return this.#partsBySeries(done)
  }

  /** Closes what has ended, in an order that neither memory nor a restart changes. */
  #closePast(
    finalities: readonly FinalizedTime[],
    publish: PublishCandle,
    changed: Set<Series>,
  ): void {
    const finalMs = finalities.at(-1)?.timeMs ?? 0
    const due = this.#series.due(finalMs).toSorted((one, other) => (one.key < other.key ? -1 : 1))
    for (const resolution of RESOLUTION_NAMES) {
      for (const series of due) {
        const bucket = series.base[resolution]
        if (bucket === undefined || bucketEnd(bucket.startMs, resolution) > finalMs) continue
        closeBucket(series, resolution, bucket, finalities, publish)
        changed.add(series)
      }
    }
  }
}

/** What candles are folded with. */
interface CandleOptions {
  /** Quote assets; default: the chain's own table. */
  readonly quoteAssets?: QuoteAssets | undefined
  /** Series without unfinalized trades that stay in memory. */
  readonly maxIdleSeries?: number
}

/** Candles over a state that earlier flushes wrote. */
export const loadCandles = (state: StageState, options: CandleOptions = {}): CandleProcessor =>
  new CandleProcessor(state, options)

/**
 * `dex.trades.processed` to `candlesticks`: every token that is not a stablecoin, pool and pair in 18 resolutions, each candle an upsert
 * by `version`. An event is a changed second with the coarser candles that it lies in (docs/kafka.md).
 */
export const CANDLES: Stage = {
  app: 'candles',
  inputs: ['tradesProcessed'],
  outputs: ['candlesticks'],
  load: (state, quoteAssets) => loadCandles(state, { quoteAssets }),
}

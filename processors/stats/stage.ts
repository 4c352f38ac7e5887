import { formatDecimal, formatUnits, parseDecimal } from '../../core/amounts.ts'
import type { DexPoolEvent, EventMeta, TradeEvent, TradeStatEvent } from '../../schemas/wire.ts'
import { recordVersion } from '../candles/series.ts'
import type {
  FlushResult,
  Operation,
  Publication,
  Stage,
  StageProcessor,
  StageState,
} from '../runtime/stage.ts'
import { divide, fixedPointText, isBuy } from '../runtime/valuation.ts'
import {
  emptyBucket,
  fromStoredBucket,
  mergeBuckets,
  type SideTotals,
  type StatsBucket,
  type StoredBucket,
  toStoredBucket,
  tradeBucket,
} from './bucket.ts'
import type { DistinctKind } from './distinct-counter.ts'
import { createTokenStatsStore, type TokenStatsStore } from './store.ts'
import {
  type BlockStats,
  decimalsAt,
  nextWindowChange,
  type WindowStats,
  windowStatsAt,
} from './token-windows.ts'

const MINUTE_MS = 60_000
/** Minutes between two blocks from which on every token is looked at again. */
const LONG_GAP_MINUTES = 60
/** Tokens that did not change since the last flush that stay in memory, per lane. */
const MAX_IDLE_TOKENS = 1_024

const minuteAt = (timeMs: number): number => Math.floor(timeMs / MINUTE_MS)

/** An unfinalized block: what it did per token. */
interface UnfinalizedBlock {
  readonly hash: string
  readonly height: number
  readonly timeMs: number
  readonly parts: ReadonlyMap<string, BlockStats>
}

interface StoredUnfinalizedBlock extends Omit<UnfinalizedBlock, 'parts'> {
  readonly parts: readonly (readonly [
    token: string,
    bucket: StoredBucket,
    seen: BlockStats['seen'],
    decimals: number | null,
  ])[]
}

/** When a token's statistics changed last. */
interface TokenChange {
  readonly timeMs: number
  readonly version: number
}

interface BlockStatsBuilder {
  bucket: StatsBucket
  decimals: number | null
  readonly seen: Record<DistinctKind, Set<string>>
}

const newBlockStatsBuilder = (minute: number): BlockStatsBuilder => ({
  bucket: emptyBucket(minute),
  decimals: null,
  seen: {
    buyers: new Set(),
    sellers: new Set(),
    traders: new Set(),
    pools: new Set(),
    programs: new Set(),
  },
})

const addTrade = (draft: BlockStatsBuilder, event: TradeEvent, bucket: StatsBucket): void => {
  const { trade, d_app } = event
  if (trade === null) return
  draft.bucket = mergeBuckets(draft.bucket, bucket)
  draft.decimals = trade.token_a_decimals ?? draft.decimals
  const trader = trade.user_a_account_owner_address
  draft.seen[isBuy(trade) ? 'buyers' : 'sellers'].add(trader)
  draft.seen.traders.add(trader)
  draft.seen.pools.add(trade.pool_address)
  draft.seen.programs.add(d_app?.program_address ?? '')
}

const setLiquidity = (
  draft: BlockStatsBuilder,
  { pool_processed: processed }: DexPoolEvent,
): void => {
  const liquidityUsd = parseDecimal(processed?.token_a_liquidity?.liquidity_in_usd ?? '')
  if (liquidityUsd !== null) draft.bucket = { ...draft.bucket, liquidityUsd }
}

const buildBlockStats = ({ bucket, decimals, seen }: BlockStatsBuilder): BlockStats => ({
  bucket,
  decimals,
  seen: {
    buyers: [...seen.buyers],
    sellers: [...seen.sellers],
    traders: [...seen.traders],
    pools: [...seen.pools],
    programs: [...seen.programs],
  },
})

const inBlockOrder = <
  Event extends { readonly instruction: { readonly event_index: number } | null },
>(
  events: readonly Event[],
): readonly Event[] =>
  events.toSorted(
    (one, other) => (one.instruction?.event_index ?? 0) - (other.instruction?.event_index ?? 0),
  )

const blockStatsByToken = ({ block, records }: Operation): ReadonlyMap<string, BlockStats> => {
  const minute = minuteAt(block.meta.block_time)
  const drafts = new Map<string, BlockStatsBuilder>()
  const draftOf = (token: string): BlockStatsBuilder => {
    const draft = drafts.get(token) ?? newBlockStatsBuilder(minute)
    drafts.set(token, draft)
    return draft
  }
  const trades = records.flatMap((one) => (one.topic === 'tradesProcessed' ? one.value.events : []))
  for (const event of inBlockOrder(trades)) {
    const bucket = tradeBucket(event, minute)
    const token = event.trade?.token_a_address
    if (bucket !== undefined && token !== undefined) addTrade(draftOf(token), event, bucket)
  }
  const pools = records.flatMap((one) => (one.topic === 'poolsProcessed' ? one.value.events : []))
  for (const event of inBlockOrder(pools)) {
    const token = event.pool?.token_a_address
    if (token !== undefined) setLiquidity(draftOf(token), event)
  }
  return new Map([...drafts].map(([token, draft]) => [token, buildBlockStats(draft)]))
}

const sideFields = <Side extends 'buy' | 'sell'>(side: Side, sum: SideTotals, decimals: number) =>
  ({
    [`${side}_volume`]: formatUnits(sum.raw, decimals),
    [`${side}_volume_in_usd`]: fixedPointText(sum.usdRaw),
    [`${side}_volume_in_native`]: fixedPointText(sum.nativeRaw),
  }) as Readonly<
    Record<`${Side}_volume` | `${Side}_volume_in_usd` | `${Side}_volume_in_native`, string>
  >

const changeRatio = (now: number | null, before: number | null): string => {
  const quotient = divide(now, before)
  return formatDecimal(quotient === null ? null : quotient - 1)
}

const statEvent = (
  token: string,
  decimals: number,
  { timeMs, version }: TokenChange,
  window: WindowStats,
): TradeStatEvent => {
  const { buy, sell, usd, native, distinct, liquidityUsd, liquidityBefore } = window
  const volume = Number(buy.usdRaw + sell.usdRaw)
  return {
    token_address: token,
    resolution: window.name,
    timestamp: String(timeMs),
    open_in_usd: formatDecimal(usd?.open ?? null),
    open_in_native: formatDecimal(native?.open ?? null),
    close_in_usd: formatDecimal(usd?.close ?? null),
    close_in_native: formatDecimal(native?.close ?? null),
    high_in_usd: formatDecimal(usd?.high ?? null),
    high_in_native: formatDecimal(native?.high ?? null),
    low_in_usd: formatDecimal(usd?.low ?? null),
    low_in_native: formatDecimal(native?.low ?? null),
    buys: buy.count,
    sells: sell.count,
    ...distinct,
    ...sideFields('buy', buy, decimals),
    ...sideFields('sell', sell, decimals),
    volume_change_ratio: changeRatio(volume, Number(window.usdRawBefore)),
    liquidity_in_usd: formatDecimal(liquidityUsd),
    liquidity_change_ratio: changeRatio(liquidityUsd, liquidityBefore),
    version,
    is_final: false,
  }
}

/** Statistics of one lane: final minutes per token, each unfinalized block apart. */
class TradeStatsProcessor implements StageProcessor {
  readonly #tokens: TokenStatsStore
  readonly #changed = new Map<string, TokenChange>()
  readonly #writes = new Map<string, string | null>()
  #hot: UnfinalizedBlock[] = []
  /** Time of the newest final block; 0 before the first. */
  #finalMs = 0
  /** Minute with which every window ends. */
  #minute = 0
  #newest: EventMeta | undefined

  constructor(state: StageState, idleKept: number) {
    this.#finalMs = Number(state.get('final') ?? 0)
    this.#tokens = createTokenStatsStore(state, minuteAt(this.#finalMs), idleKept)
    this.#hot = [...state.entries('h/')]
      .map(([, text]) => parseBlock(text))
      .sort((one, other) => one.height - other.height)
    this.#minute = minuteAt(this.#nowMs())
  }

  /** Tokens in memory. */
  get held(): number {
    return this.#tokens.held
  }

  step(operation: Operation): readonly Publication[] {
    const { meta, final_height: height } = operation.block
    if (meta.op === 'OP_FINALIZE') this.#finalize(height)
    else {
      this.#newest = meta
      if (meta.op === 'OP_APPLY') this.#apply(operation)
      else this.#revert(meta)
      this.#tick(meta)
    }
    return []
  }

  flush(): FlushResult {
    const publications = this.#publications()
    const changes = [...this.#writes, ...this.#tokens.changes()]
    this.#changed.clear()
    this.#writes.clear()
    return { publications, changes }
  }

  #nowMs(): number {
    return this.#hot.at(-1)?.timeMs ?? this.#finalMs
  }

  #apply(operation: Operation): void {
    const { hash, height, block_time: timeMs, seq } = operation.block.meta
    const parts = blockStatsByToken(operation)
    const block: UnfinalizedBlock = { hash, height, timeMs, parts }
    this.#hot.push(block)
    this.#writes.set(`h/${hash}`, serializeBlock(block))
    for (const token of parts.keys()) this.#change(token, timeMs, seq)
  }

  #revert({ hash, seq }: EventMeta): void {
    const block = this.#hot.find((one) => one.hash === hash)
    if (block === undefined) return
    this.#hot = this.#hot.filter((one) => one !== block)
    this.#writes.set(`h/${hash}`, null)
    for (const token of block.parts.keys()) this.#change(token, this.#nowMs(), seq)
  }

  #change(token: string, timeMs: number, seq: number): void {
    this.#changed.set(token, { timeMs, version: recordVersion(seq, 0) })
  }

  /** Windows roll with the minutes of block time: tokens with a minute that enters or leaves one have changed. */
  #tick({ seq }: EventMeta): void {
    const nowMs = this.#nowMs()
    const minute = minuteAt(nowMs)
    if (minute === this.#minute) return
    const [from, to] = [Math.min(minute, this.#minute), Math.max(minute, this.#minute)]
    this.#minute = minute
    const isLong = to - from > LONG_GAP_MINUTES
    const moves = (buckets: readonly Pick<StatsBucket, 'minute'>[]): boolean =>
      isLong || (nextWindowChange(buckets, from) ?? Number.POSITIVE_INFINITY) <= to
    // Without a minute nothing moves: tokens of which neither is known are not looked at.
    const hot = this.#hotParts(() => true)
    const final = this.#tokens.dueBy(isLong ? Number.POSITIVE_INFINITY : to)
    for (const token of new Set([...hot.keys(), ...final])) {
      if (this.#changed.get(token)?.version === recordVersion(seq, 0)) continue
      const unfinalized = hot.get(token)?.map(({ bucket }) => bucket) ?? []
      if (moves(unfinalized) || moves(this.#tokens.at(token).sums.minutes)) {
        this.#change(token, nowMs, seq)
      }
    }
  }

  #hotParts(wanted: (token: string) => boolean): ReadonlyMap<string, readonly BlockStats[]> {
    const hot = new Map<string, BlockStats[]>()
    for (const { parts } of this.#hot) {
      for (const [token, part] of parts) {
        if (!wanted(token)) continue
        const list = hot.get(token)
        if (list === undefined) hot.set(token, [part])
        else list.push(part)
      }
    }
    return hot
  }

  #finalize(height: number): void {
    const done = this.#hot.filter((block) => block.height <= height)
    if (done.length === 0) return
    this.#hot = this.#hot.filter((block) => block.height > height)
    this.#finalMs = done.at(-1)?.timeMs ?? this.#finalMs
    this.#writes.set('final', String(this.#finalMs))
    for (const { hash } of done) this.#writes.set(`h/${hash}`, null)
    const parts = done.flatMap((block) => [...block.parts])
    this.#tokens.makeFinal(parts, minuteAt(this.#finalMs))
  }

  #publications(): readonly Publication[] {
    const meta = this.#newest
    if (meta === undefined || this.#changed.size === 0) return []
    const hot = this.#hotParts((token) => this.#changed.has(token))
    const parts = this.#changed.size
    return [...this.#changed].map(([token, change], part) => ({
      topic: 'tradeStats',
      key: token,
      value: {
        meta: { ...meta, op: 'OP_APPLY', part, parts },
        events: windowStatsAt(this.#tokens.at(token), hot.get(token) ?? [], this.#minute).map(
          (window) =>
            statEvent(
              token,
              decimalsAt(this.#tokens.at(token), hot.get(token) ?? []),
              change,
              window,
            ),
        ),
      },
    }))
  }
}

const parseBlock = (text: string): UnfinalizedBlock => {
  const { parts, ...block }: StoredUnfinalizedBlock = JSON.parse(text)
  return {
    ...block,
    parts: new Map(
      parts.map(([token, bucket, seen, decimals]) => [
        token,
        { bucket: fromStoredBucket(bucket), seen, decimals },
      ]),
    ),
  }
}

const serializeBlock = ({ parts, ...block }: UnfinalizedBlock): string =>
  JSON.stringify({
    ...block,
    parts: [...parts].map(([token, { bucket, seen, decimals }]) => [
      token,
      toStoredBucket(bucket),
      seen,
      decimals,
    ]),
  })

/** Statistics over a state that earlier flushes wrote; `idleKept` tokens stay in memory beside those of the next flush. */
export const loadStats = (state: StageState, idleKept = MAX_IDLE_TOKENS): TradeStatsProcessor =>
  new TradeStatsProcessor(state, idleKept)

/**
 * `dex.trades.processed` and `dex.pools.processed` to `trade-stats`: eight windows per base token, on a grid of block-time
 * minutes, each an upsert by `version`. Suspect trades count but set no price.
 */
export const TRADE_STATS: Stage = {
  app: 'trade-stats',
  inputs: ['tradesProcessed', 'poolsProcessed'],
  outputs: ['tradeStats'],
  load: (state) => loadStats(state),
}

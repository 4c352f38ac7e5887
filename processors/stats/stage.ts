import type { EventMeta } from '../../schemas/wire.ts'
import { recordVersion } from '../candles/series.ts'
import type {
  FlushResult,
  Operation,
  Publication,
  Stage,
  StageProcessor,
  StageState,
} from '../runtime/stage.ts'
import {
  type BlockStats,
  blockStatsByToken,
  fromStoredBlockStats,
  type StoredBlockStats,
  toStoredBlockStats,
} from './block-stats.ts'
import { statEvent } from './stat-event.ts'
import { createTokenStatsStore, type TokenStatsStore } from './store.ts'
import { type TokenAnswer, windowStatsAt } from './token-windows.ts'
import { NOTICE_SECONDS, nextWindowChange } from './windows.ts'

const SECOND_MS = 1_000
/** Entries of unfinalized blocks by hash. */
const HOT_PREFIX = 'u/'
/** Tokens that did not change since the last flush that stay in memory, per lane. */
const MAX_IDLE_TOKENS = 1_024

const secondAt = (timeMs: number): number => Math.floor(timeMs / SECOND_MS)

/** An unfinalized block: what it did per token. Its time is never before that of the block before it. */
interface UnfinalizedBlock {
  readonly hash: string
  readonly height: number
  readonly timeMs: number
  readonly parts: ReadonlyMap<string, BlockStats>
}

interface StoredUnfinalizedBlock extends Omit<UnfinalizedBlock, 'parts'> {
  readonly parts: readonly (readonly [token: string, part: StoredBlockStats])[]
}

/** That a token's statistics changed: when the newest block was at this time. */
interface TokenChange {
  readonly timeMs: number
  readonly version: number
  /** As they were then, where what is final has moved on since. */
  answer?: TokenAnswer
}

/** Statistics of one lane: final trades per token, each unfinalized block apart. */
class TradeStatsProcessor implements StageProcessor {
  readonly #tokens: TokenStatsStore
  readonly #changed = new Map<string, TokenChange>()
  readonly #writes = new Map<string, string | null>()
  #hot: UnfinalizedBlock[] = []
  /** Time of the newest final block; 0 before the first. */
  #finalMs = 0
  /** Second of the newest block. */
  #second = 0
  /** When windows of a token change next without a trade, of those that were looked at; nothing else is told by it. */
  #next = new Map<string, number>()
  #newest: EventMeta | undefined

  constructor(state: StageState, idleKept: number) {
    this.#finalMs = Number(state.get('final') ?? 0)
    this.#tokens = createTokenStatsStore(state, secondAt(this.#finalMs), idleKept)
    this.#hot = [...state.entries(HOT_PREFIX)]
      .map(([, text]) => parseBlock(text))
      .sort((one, other) => one.height - other.height)
    this.#second = secondAt(this.#nowMs())
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
    const { hash, height, block_time, seq } = operation.block.meta
    const timeMs = Math.max(block_time, this.#nowMs())
    const parts = blockStatsByToken(operation, secondAt(timeMs))
    const block: UnfinalizedBlock = { hash, height, timeMs, parts }
    this.#hot.push(block)
    this.#writes.set(HOT_PREFIX + hash, serializeBlock(block))
    for (const token of parts.keys()) this.#change(token, timeMs, seq)
  }

  #revert({ hash, seq }: EventMeta): void {
    const block = this.#hot.find((one) => one.hash === hash)
    if (block === undefined) return
    this.#hot = this.#hot.filter((one) => one !== block)
    this.#writes.set(HOT_PREFIX + hash, null)
    for (const token of block.parts.keys()) this.#change(token, this.#nowMs(), seq)
  }

  #change(token: string, timeMs: number, seq: number): void {
    this.#changed.set(token, { timeMs, version: recordVersion(seq, 0) })
    this.#next.delete(token)
  }

  /** Windows roll with block time: tokens with trades that enter or leave one have changed. */
  #tick({ seq }: EventMeta): void {
    const [before, nowMs] = [this.#second, this.#nowMs()]
    this.#second = secondAt(nowMs)
    const [from, to] = [Math.min(before, this.#second), Math.max(before, this.#second)]
    if (Math.floor(from / NOTICE_SECONDS) === Math.floor(to / NOTICE_SECONDS)) return
    const isBack = this.#second < before
    const known = isBack ? new Map<string, number>() : this.#next
    const next = new Map<string, number>()
    const hot = this.#hotParts(() => true)
    for (const token of new Set([...hot.keys(), ...this.#tokens.dueBy(to)])) {
      const expected = known.get(token)
      if (expected !== undefined && expected > to) {
        next.set(token, expected)
        continue
      }
      const unfinalized = hot.get(token)?.map(({ bucket }) => bucket) ?? []
      const final = this.#tokens.at(token).sums.cells
      const changeAfter = (second: number): number =>
        Math.min(nextWindowChange(unfinalized, second), nextWindowChange(final, second))
      if (changeAfter(from) <= to && this.#changed.get(token)?.version !== recordVersion(seq, 0)) {
        this.#change(token, nowMs, seq)
      }
      next.set(token, changeAfter(this.#second))
    }
    this.#next = next
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
    const newest = done.at(-1)
    if (newest === undefined) return
    // What is final forgets what only earlier times look at.
    this.#answer(({ timeMs }) => timeMs <= newest.timeMs)
    this.#hot = this.#hot.filter((block) => block.height > height)
    this.#finalMs = newest.timeMs
    this.#writes.set('final', String(this.#finalMs))
    for (const { hash } of done) this.#writes.set(HOT_PREFIX + hash, null)
    const parts = done.flatMap((block) => [...block.parts])
    this.#tokens.makeFinal(parts, secondAt(this.#finalMs))
  }

  /** Answers the changes that have no answer yet. */
  #answer(wanted: (change: TokenChange) => boolean): void {
    const asked = new Map(
      [...this.#changed].filter(([, change]) => change.answer === undefined && wanted(change)),
    )
    if (asked.size === 0) return
    const hot = this.#hotParts((token) => asked.has(token))
    for (const [token, change] of asked) {
      const stats = this.#tokens.at(token)
      change.answer = windowStatsAt(stats, hot.get(token) ?? [], secondAt(change.timeMs))
    }
  }

  #publications(): readonly Publication[] {
    const meta = this.#newest
    if (meta === undefined || this.#changed.size === 0) return []
    this.#answer(() => true)
    const parts = this.#changed.size
    return [...this.#changed].map(([token, change], part) => ({
      topic: 'tradeStats',
      key: token,
      value: {
        meta: { ...meta, op: 'OP_APPLY', part, parts },
        events: statEvents(token, change),
      },
    }))
  }
}

const statEvents = (token: string, { timeMs, version, answer }: TokenChange) => {
  if (answer === undefined) throw new RangeError(`no statistics of ${token}`)
  const { second, windows, decimals } = answer
  const changedMs = second === secondAt(timeMs) ? timeMs : second * SECOND_MS
  return windows.map((window) => statEvent({ token, decimals, timeMs: changedMs, version }, window))
}

const parseBlock = (text: string): UnfinalizedBlock => {
  const { parts, ...block }: StoredUnfinalizedBlock = JSON.parse(text)
  return {
    ...block,
    parts: new Map(parts.map(([token, part]) => [token, fromStoredBlockStats(part)])),
  }
}

const serializeBlock = ({ parts, ...block }: UnfinalizedBlock): string =>
  JSON.stringify({
    ...block,
    parts: [...parts].map(([token, part]) => [token, toStoredBlockStats(part)]),
  })

/** Statistics over a state that earlier flushes wrote; `idleKept` tokens stay in memory beside those of the next flush. */
export const loadStats = (state: StageState, idleKept = MAX_IDLE_TOKENS): TradeStatsProcessor =>
  new TradeStatsProcessor(state, idleKept)

/**
 * `dex.trades.processed` and `dex.pools.processed` to `trade-stats`: eight windows per base token with the windows before them,
 * each of sixty buckets of block time, each an upsert by `version`. Suspect trades count but set no price.
 */
export const TRADE_STATS: Stage = {
  app: 'trade-stats',
  inputs: ['tradesProcessed', 'poolsProcessed'],
  outputs: ['tradeStats'],
  load: (state) => loadStats(state),
}

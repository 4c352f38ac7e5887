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
import { createChangeSchedule } from './change-schedule.ts'
import { createPublishedWindowsCache, type StatAnswer } from './published-windows.ts'
import { createTokenStatsStore, type TokenStatsStore } from './store.ts'
import { createUnfinalizedTokens } from './unfinalized-tokens.ts'
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
  /** Whether that block holds trades or pool events of the token. */
  readonly touched: boolean
  readonly version: number
  /** As they were then, where what is final has moved on since. */
  answer?: StatAnswer
}

/** Statistics of one lane: final trades per token, each unfinalized block apart. */
class TradeStatsProcessor implements StageProcessor {
  readonly #tokens: TokenStatsStore
  readonly #published = createPublishedWindowsCache()
  readonly #changed = new Map<string, TokenChange>()
  readonly #writes = new Map<string, string | null>()
  readonly #unfinalized = createUnfinalizedTokens()
  /** When windows of tokens of unfinalized blocks change next without a trade. */
  readonly #schedule = createChangeSchedule()
  readonly #unfinalizedBlocks: UnfinalizedBlock[]
  /** Time of the newest final block; 0 before the first. */
  #finalMs = 0
  /** Second of the newest block. */
  #second = 0
  /** The same of other tokens that were looked at at the last notice; nothing else is published by it. */
  #next = new Map<string, number>()
  #newest: EventMeta | undefined

  constructor(state: StageState, idleKept: number) {
    this.#finalMs = Number(state.get('final') ?? 0)
    this.#tokens = createTokenStatsStore(state, secondAt(this.#finalMs), idleKept)
    this.#unfinalizedBlocks = [...state.entries(HOT_PREFIX)]
      .map(([, text]) => parseBlock(text))
      .sort((one, other) => one.height - other.height)
    for (const { parts } of this.#unfinalizedBlocks) this.#addParts(parts)
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
    return this.#unfinalizedBlocks.at(-1)?.timeMs ?? this.#finalMs
  }

  #apply(operation: Operation): void {
    const { hash, height, block_time, seq } = operation.block.meta
    const timeMs = Math.max(block_time, this.#nowMs())
    const parts = blockStatsByToken(operation, secondAt(timeMs))
    const block: UnfinalizedBlock = { hash, height, timeMs, parts }
    this.#unfinalizedBlocks.push(block)
    this.#writes.set(HOT_PREFIX + hash, serializeBlock(block))
    this.#addParts(parts)
    for (const token of parts.keys()) {
      this.#published.touch(token, secondAt(timeMs))
      this.#change(token, { timeMs, touched: true, seq })
    }
  }

  #revert({ hash, seq }: EventMeta): void {
    const at = this.#unfinalizedBlocks.findLastIndex((one) => one.hash === hash)
    const [block] = at === -1 ? [] : this.#unfinalizedBlocks.splice(at, 1)
    if (block === undefined) return
    this.#removeParts(block.parts, 'revert')
    this.#writes.set(HOT_PREFIX + hash, null)
    this.#published.clear()
    const timeMs = this.#nowMs()
    for (const token of block.parts.keys()) this.#change(token, { timeMs, touched: false, seq })
  }

  #change(
    token: string,
    { seq, ...change }: Pick<TokenChange, 'timeMs' | 'touched'> & Pick<EventMeta, 'seq'>,
  ): void {
    this.#changed.set(token, { ...change, version: recordVersion(seq, 0) })
    this.#next.delete(token)
    if (this.#unfinalized.has(token)) this.#schedule.set(token, undefined)
  }

  #addParts(parts: UnfinalizedBlock['parts']): void {
    for (const [token, part] of parts) {
      this.#unfinalized.add(token, part)
      this.#schedule.set(token, undefined)
    }
  }

  #removeParts(parts: UnfinalizedBlock['parts'], why: 'finalize' | 'revert'): void {
    for (const [token, part] of parts) {
      this.#unfinalized[why](token, part)
      if (!this.#unfinalized.has(token)) this.#schedule.delete(token)
    }
  }

  /** Windows roll with block time: tokens with trades that enter or leave one have changed. */
  #tick({ seq }: EventMeta): void {
    const [before, nowMs] = [this.#second, this.#nowMs()]
    this.#second = secondAt(nowMs)
    const [from, to] = [Math.min(before, this.#second), Math.max(before, this.#second)]
    if (Math.floor(from / NOTICE_SECONDS) === Math.floor(to / NOTICE_SECONDS)) return
    const isBack = this.#second < before
    if (isBack) for (const token of this.#unfinalized.tokens()) this.#schedule.set(token, undefined)
    const known = isBack ? new Map<string, number>() : this.#next
    const next = new Map<string, number>()
    const unfinalized = this.#unfinalized.inChainOrder(this.#schedule.dueBy(to))
    for (const token of new Set([...unfinalized, ...this.#tokens.dueBy(to)])) {
      const isUnfinalized = this.#unfinalized.has(token)
      const expected = isUnfinalized ? this.#schedule.at(token) : known.get(token)
      if (expected !== undefined && expected > to) {
        if (!isUnfinalized) next.set(token, expected)
        continue
      }
      const final = this.#tokens.at(token).sums.cells
      const changeAfter = (second: number): number =>
        Math.min(
          nextWindowChange(this.#unfinalized.partsOf(token), second),
          nextWindowChange(final, second),
        )
      const isPublished = this.#changed.get(token)?.version === recordVersion(seq, 0)
      if (!isPublished && (expected ?? changeAfter(from)) <= to) {
        this.#change(token, { timeMs: nowMs, touched: false, seq })
      }
      if (isUnfinalized) this.#schedule.set(token, changeAfter(this.#second))
      else next.set(token, changeAfter(this.#second))
    }
    this.#next = next
  }

  #finalize(height: number): void {
    const left = this.#unfinalizedBlocks.findIndex((block) => block.height > height)
    const done = this.#unfinalizedBlocks.slice(
      0,
      left === -1 ? this.#unfinalizedBlocks.length : left,
    )
    const newest = done.at(-1)
    if (newest === undefined) return
    // What is final forgets what only earlier times look at.
    this.#answer(({ timeMs }) => timeMs <= newest.timeMs)
    this.#unfinalizedBlocks.splice(0, done.length)
    for (const { parts } of done) this.#removeParts(parts, 'finalize')
    this.#finalMs = newest.timeMs
    this.#writes.set('final', String(this.#finalMs))
    for (const { hash } of done) this.#writes.set(HOT_PREFIX + hash, null)
    const parts = done.flatMap((block) => [...block.parts])
    this.#tokens.makeFinal(parts, secondAt(this.#finalMs))
  }

  /** Answers the changes that have no answer yet. */
  #answer(wanted: (change: TokenChange) => boolean): void {
    for (const [token, change] of this.#changed) {
      if (change.answer !== undefined || !wanted(change)) continue
      const stats = this.#tokens.at(token)
      const unfinalized = this.#unfinalized.statsOf(stats)
      change.answer = this.#published.answer(stats, unfinalized, secondAt(change.timeMs))
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

const statEvents = (token: string, { timeMs, touched, version, answer }: TokenChange) => {
  if (answer === undefined) throw new RangeError(`no statistics of ${token}`)
  // The newest block may be younger than the change and be taken back: its time is published only of what is in it.
  const timestamp = String(touched ? timeMs : answer.second * SECOND_MS)
  return answer.events.map((event) => ({ ...event, timestamp, version }))
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

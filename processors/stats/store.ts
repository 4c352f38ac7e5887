import { LRUCache } from 'lru-cache'
import type { FlushResult, StageState } from '../runtime/stage.ts'
import { type BlockStats, fromStoredBlockStats, toStoredBlockStats } from './block-stats.ts'
import {
  addFinal,
  joinBlockStats,
  mergeCells,
  newTokenStats,
  pruneStats,
  type TokenStats,
} from './token-stats.ts'
import type { EarlierValues } from './trade-sums.ts'
import { nextWindowChange } from './windows.ts'

/**
 * What is final of every token of a lane. It lies in the lane's state; tokens that changed since the last flush are in memory,
 * and as many others as the store may keep. The state also lists the tokens by the next minute in which a window changes
 * without trades.
 */
export interface TokenStatsStore {
  /** To be read only. */
  at(token: string): TokenStats
  /** Takes in what final blocks did, and forgets what no window looks at from `second`, their newest, on. */
  makeFinal(parts: readonly (readonly [token: string, part: BlockStats])[], second: number): void
  /** Tokens of which a window changes between the newest final block and the end of the minute of this second, or later. */
  dueBy(second: number): readonly string[]
  /** At the end of a flush: changed state entries since the last one. */
  changes(): FlushResult['changes']
  /** Tokens in memory. */
  readonly held: number
}

/** `p/<token>/<second>`: what final blocks did up to this second, and since the entry before it. */
const PART_PREFIX = 'p/'
const KNOWN_VALUES_PREFIX = 'e/'
/** `d/<minute>/<token>`, in the order of time. */
const DUE_PREFIX = 'd/'
/** Digits of a minute in a key, so that keys are in the order of time. */
const MINUTE_DIGITS = 10
const SECONDS_PER_MINUTE = 60
const NOTHING_KNOWN: EarlierValues = {
  usd: null,
  native: null,
  liquidityUsd: null,
  second: null,
}

const minuteOf = (second: number): number => Math.floor(second / SECONDS_PER_MINUTE)

const dueKey = (minute: number, token: string): string =>
  `${DUE_PREFIX}${String(minute).padStart(MINUTE_DIGITS, '0')}/${token}`

const partKey = (token: string, second: number): string => `${PART_PREFIX}${token}/${second}`

const parsePart = (text: string): BlockStats => fromStoredBlockStats(JSON.parse(text))

/** Minute of the first change of a window that comes without a trade in this minute or later. */
const dueMinuteOf = ({ sums }: TokenStats, minute: number): number | undefined => {
  const next = nextWindowChange(sums.cells, minute * SECONDS_PER_MINUTE - 1)
  return Number.isFinite(next) ? minuteOf(next) : undefined
}

const loadTokenStats = (state: StageState, token: string, final: number): TokenStats => {
  const text = state.get(KNOWN_VALUES_PREFIX + token)
  const stats = newTokenStats(
    token,
    text === undefined ? NOTHING_KNOWN : { ...NOTHING_KNOWN, ...JSON.parse(text) },
  )
  const parts = [...state.entries(`${PART_PREFIX}${token}/`)].map(([, row]) => parsePart(row))
  parts.sort((one, other) => one.bucket.second - other.bucket.second)
  for (const part of parts) addFinal(stats, part, final)
  return stats
}

type StateWrites = Map<string, string | null>

/** Entries of a state with what is not committed yet. */
interface Parts {
  read(token: string, second: number): BlockStats | undefined
  /** One entry instead of those of the given seconds. */
  write(token: string, part: BlockStats, instead: readonly number[]): void
}

const createParts = (state: StageState, writes: StateWrites): Parts => ({
  read: (token, second) => {
    const key = partKey(token, second)
    const text = writes.get(key) ?? (writes.has(key) ? undefined : state.get(key))
    return text === undefined ? undefined : parsePart(text)
  },
  write: (token, part, instead) => {
    for (const second of instead) writes.set(partKey(token, second), null)
    writes.set(partKey(token, part.bucket.second), JSON.stringify(toStoredBlockStats(part)))
  },
})

const addPart = (stats: TokenStats, part: BlockStats, final: number, parts: Parts): void => {
  const { token } = stats
  const before = parts.read(token, part.bucket.second)
  const joined = joinBlockStats(before === undefined ? [part] : [before, part])
  if (joined !== undefined) parts.write(token, joined, [])
  addFinal(stats, part, final)
}

/** What is left of a token once `final` is the newest final second. */
const tidyToken = (stats: TokenStats, final: number, parts: Parts, writes: StateWrites): void => {
  const { token } = stats
  const gone = pruneStats(stats, final)
  for (const second of gone) writes.set(partKey(token, second), null)
  if (gone.length > 0) writes.set(KNOWN_VALUES_PREFIX + token, JSON.stringify(stats.sums.earlier))
  for (const seconds of mergeCells(stats, final)) {
    const joined = joinBlockStats(seconds.flatMap((second) => parts.read(token, second) ?? []))
    if (joined !== undefined) parts.write(token, joined, seconds)
  }
}

/** Opens the tokens of a state that `changes` wrote and whose newest final second is this; `kept` of them stay in memory. */
export const createTokenStatsStore = (
  state: StageState,
  startSecond: number,
  kept: number,
): TokenStatsStore => {
  const idle = new LRUCache<string, TokenStats>({ max: kept })
  const changed = new Map<string, TokenStats>()
  const writes: StateWrites = new Map()
  const parts = createParts(state, writes)
  let final = startSecond
  const at = (token: string): TokenStats => {
    const held = changed.get(token) ?? idle.get(token)
    if (held !== undefined) return held
    const stats = loadTokenStats(state, token, final)
    stats.dueMinute = dueMinuteOf(stats, minuteOf(final))
    idle.set(token, stats)
    return stats
  }
  const change = (token: string): TokenStats => {
    const stats = at(token)
    changed.set(token, stats)
    return stats
  }
  const list = (stats: TokenStats): void => {
    const { token, dueMinute: before } = stats
    const due = dueMinuteOf(stats, minuteOf(final))
    if (due === before) return
    if (before !== undefined) writes.set(dueKey(before, token), null)
    if (due !== undefined) writes.set(dueKey(due, token), '1')
    stats.dueMinute = due
  }
  const dueBefore = (minute: number): readonly string[] => {
    const tokens: string[] = []
    for (const [key] of state.entries(DUE_PREFIX)) {
      const dueAndToken = key.slice(DUE_PREFIX.length)
      if (Number(dueAndToken.slice(0, MINUTE_DIGITS)) >= minute) break
      const token = dueAndToken.slice(MINUTE_DIGITS + 1)
      if (!changed.has(token)) tokens.push(token)
    }
    for (const { token, dueMinute } of changed.values()) {
      if (dueMinute !== undefined && dueMinute < minute) tokens.push(token)
    }
    return tokens
  }
  return {
    at,
    dueBy: (second) => dueBefore(minuteOf(second) + 1),
    makeFinal: (added, second) => {
      // All are looked up before the minute moves: until then the state lists them by the one before.
      const due = minuteOf(second) === minuteOf(final) ? [] : dueBefore(minuteOf(second))
      const touched = new Set([...due, ...added.map(([token]) => token)].map(change))
      final = second
      for (const [token, part] of added) addPart(change(token), part, final, parts)
      for (const stats of touched) {
        tidyToken(stats, final, parts, writes)
        list(stats)
      }
    },
    changes: () => {
      for (const [token, stats] of changed) {
        if (stats.sums.cells.length === 0) idle.delete(token)
        else idle.set(token, stats)
      }
      changed.clear()
      const entries = [...writes]
      writes.clear()
      return entries
    },
    get held() {
      return new Set([...idle.keys(), ...changed.keys()]).size
    },
  }
}

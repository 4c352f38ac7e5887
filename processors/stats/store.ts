import { LRUCache } from 'lru-cache'
import type { FlushResult, StageState } from '../runtime/stage.ts'
import { fromStoredBucket, toStoredBucket } from './bucket.ts'
import { DISTINCT_KINDS } from './distinct-counter.ts'
import {
  addFinalBlock,
  type BlockStats,
  newTokenStats,
  nextWindowChange,
  pruneStats,
  type TokenStats,
} from './token-windows.ts'
import type { PriorValues } from './windows.ts'

/**
 * What is final of every token of a lane. It lies in the lane's state; tokens that changed since the last flush are in memory,
 * and as many others as the store may keep. The state also lists the tokens by the next minute in which a window changes
 * without trades.
 */
export interface TokenStatsStore {
  /** To be read only. */
  at(token: string): TokenStats
  /** Takes in what final blocks did, and forgets what no window that ends at `minute`, their newest, looks at. */
  makeFinal(parts: readonly (readonly [token: string, part: BlockStats])[], minute: number): void
  /** Tokens with such a minute up to this one. Its first is behind the newest final minute. */
  dueBy(minute: number): readonly string[]
  /** At the end of a flush: changed state entries since the last one. */
  changes(): FlushResult['changes']
  /** Tokens in memory. */
  readonly held: number
}

const BUCKET_PREFIX = 'b/'
const LAST_SEEN_PREFIX = 's/'
const PRIOR_VALUES_PREFIX = 'e/'
/** `w/<minute>/<token>`, in the order of time. */
const DUE_PREFIX = 'w/'
/** Digits of a minute in a key, so that keys are in the order of time. */
const MINUTE_DIGITS = 10
const NO_PRIOR_VALUES: PriorValues = { usd: null, native: null, liquidityUsd: null }

const dueKey = (minute: number, token: string): string =>
  `${DUE_PREFIX}${String(minute).padStart(MINUTE_DIGITS, '0')}/${token}`

const loadTokenStats = (state: StageState, token: string): TokenStats => {
  const text = state.get(PRIOR_VALUES_PREFIX + token)
  const stats = newTokenStats(token, text === undefined ? NO_PRIOR_VALUES : JSON.parse(text))
  const rows = [...state.entries(`${BUCKET_PREFIX}${token}/`)].map(([, row]) => JSON.parse(row))
  const buckets = rows.map(([, bucket, decimals]) => ({
    bucket: fromStoredBucket(bucket),
    decimals,
  }))
  buckets.sort((one, other) => one.bucket.minute - other.bucket.minute)
  const newest = buckets.at(-1)
  if (newest === undefined) return stats
  for (const { bucket } of buckets) stats.sums.append(bucket)
  stats.decimals = newest.decimals
  for (const kind of DISTINCT_KINDS) {
    const prefix = `${LAST_SEEN_PREFIX}${kind}/${token}|`
    for (const [key, minute] of state.entries(prefix)) {
      const name = key.slice(prefix.length)
      stats.recency[kind].note(name, Number(minute))
      // Who trades buys or sells: that is not kept twice.
      if (kind !== 'buyers' && kind !== 'sellers') continue
      stats.recency.traders.note(name, Number(minute))
    }
  }
  return stats
}

type StateWrites = Map<string, string | null>

const writeFinalBlock = (stats: TokenStats, part: BlockStats, writes: StateWrites): void => {
  const { token, sums } = stats
  for (const [kind, name] of addFinalBlock(stats, part)) {
    if (kind === 'traders') continue
    writes.set(`${LAST_SEEN_PREFIX}${kind}/${token}|${name}`, String(part.bucket.minute))
  }
  const bucket = sums.last
  if (bucket === undefined) return
  const text = JSON.stringify([token, toStoredBucket(bucket), stats.decimals])
  writes.set(`${BUCKET_PREFIX}${token}/${bucket.minute}`, text)
}

const pruneToken = (stats: TokenStats, minute: number, writes: StateWrites): void => {
  const { token } = stats
  const { minutes, names } = pruneStats(stats, minute)
  if (minutes.length === 0) return
  for (const each of minutes) writes.set(`${BUCKET_PREFIX}${token}/${each}`, null)
  for (const [kind, name] of names) {
    if (kind !== 'traders') writes.set(`${LAST_SEEN_PREFIX}${kind}/${token}|${name}`, null)
  }
  writes.set(PRIOR_VALUES_PREFIX + token, JSON.stringify(stats.earlier))
  if (stats.sums.last === undefined) stats.decimals = null
}

/** Opens the tokens of a state that `changes` wrote and whose newest final minute is this; `kept` of them stay in memory. */
export const createTokenStatsStore = (
  state: StageState,
  startMinute: number,
  kept: number,
): TokenStatsStore => {
  const idle = new LRUCache<string, TokenStats>({ max: kept })
  const changed = new Map<string, TokenStats>()
  const writes: StateWrites = new Map()
  let finalMinute = startMinute
  const at = (token: string): TokenStats => {
    const held = changed.get(token) ?? idle.get(token)
    if (held !== undefined) return held
    const stats = loadTokenStats(state, token)
    stats.due = nextWindowChange(stats.sums.minutes, finalMinute)
    idle.set(token, stats)
    return stats
  }
  const change = (token: string): TokenStats => {
    const stats = at(token)
    changed.set(token, stats)
    return stats
  }
  const list = (stats: TokenStats): void => {
    const { token, due: before } = stats
    const due = nextWindowChange(stats.sums.minutes, finalMinute)
    if (due === before) return
    if (before !== undefined) writes.set(dueKey(before, token), null)
    if (due !== undefined) writes.set(dueKey(due, token), '1')
    stats.due = due
  }
  const dueBy = (minute: number): readonly string[] => {
    const tokens: string[] = []
    for (const [key] of state.entries(DUE_PREFIX)) {
      const place = key.slice(DUE_PREFIX.length)
      if (Number(place.slice(0, MINUTE_DIGITS)) > minute) break
      const token = place.slice(MINUTE_DIGITS + 1)
      if (!changed.has(token)) tokens.push(token)
    }
    for (const { token, due } of changed.values()) {
      if (due !== undefined && due <= minute) tokens.push(token)
    }
    return tokens
  }
  return {
    at,
    dueBy,
    makeFinal: (parts, minute) => {
      // All are looked up before the minute moves: until then the state lists them by the one before.
      const due = minute === finalMinute ? [] : dueBy(minute)
      const touched = new Set([...due, ...parts.map(([token]) => token)].map(change))
      finalMinute = minute
      for (const [token, part] of parts) writeFinalBlock(change(token), part, writes)
      for (const stats of touched) {
        pruneToken(stats, minute, writes)
        list(stats)
      }
    },
    changes: () => {
      for (const [token, stats] of changed) {
        if (stats.sums.last === undefined) idle.delete(token)
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

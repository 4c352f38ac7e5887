import { LRUCache } from 'lru-cache'
import type { Flushed, StageState } from '../runtime/stage.ts'
import { bucketOf, storedBucket } from './bucket.ts'
import { KINDS } from './recency.ts'
import {
  makePartFinal,
  newTokenStats,
  nextChange,
  type Part,
  pruneStats,
  type TokenStats,
} from './token.ts'
import type { Earlier } from './windows.ts'

/**
 * What is final of every token of a lane. It lies in the lane's state; tokens that changed since the last flush are in memory,
 * and as many others as the store may keep. The state also lists the tokens by the next minute in which a window changes
 * although nobody trades.
 */
export interface StatStore {
  /** To be read only. */
  at(token: string): TokenStats
  /** Takes in what final blocks did, and forgets what no window that ends at `minute`, their newest, looks at. */
  makeFinal(parts: readonly (readonly [token: string, part: Part])[], minute: number): void
  /** Tokens with such a minute up to this one. Its first is behind the newest final minute. */
  dueBy(minute: number): readonly string[]
  /** At the end of a flush: changed state entries since the last one. */
  changes(): Flushed['changes']
  /** Tokens in memory. */
  readonly held: number
}

const BUCKETS = 'b/'
const SEEN = 's/'
const EARLIER = 'e/'
/** `w/<minute>/<token>`, in the order of time. */
const DUE = 'w/'
/** Digits of a minute in a key, so that keys are in the order of time. */
const MINUTE_DIGITS = 10
const NOTHING_EARLIER: Earlier = { usd: null, native: null, liquidityUsd: null }

const dueKey = (minute: number, token: string): string =>
  `${DUE}${String(minute).padStart(MINUTE_DIGITS, '0')}/${token}`

const stored = (state: StageState, token: string): TokenStats => {
  const text = state.get(EARLIER + token)
  const stats = newTokenStats(token, text === undefined ? NOTHING_EARLIER : JSON.parse(text))
  const rows = [...state.entries(`${BUCKETS}${token}/`)].map(([, row]) => JSON.parse(row))
  const buckets = rows.map(([, bucket, decimals]) => ({ bucket: bucketOf(bucket), decimals }))
  buckets.sort((one, other) => one.bucket.minute - other.bucket.minute)
  const newest = buckets.at(-1)
  if (newest === undefined) return stats
  for (const { bucket } of buckets) stats.sums.append(bucket)
  stats.decimals = newest.decimals
  for (const kind of KINDS) {
    const prefix = `${SEEN}${kind}/${token}|`
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

type Writes = Map<string, string | null>

const take = (stats: TokenStats, part: Part, writes: Writes): void => {
  const { token, sums } = stats
  for (const [kind, name] of makePartFinal(stats, part)) {
    if (kind === 'traders') continue
    writes.set(`${SEEN}${kind}/${token}|${name}`, String(part.bucket.minute))
  }
  const bucket = sums.last
  if (bucket === undefined) return
  const text = JSON.stringify([token, storedBucket(bucket), stats.decimals])
  writes.set(`${BUCKETS}${token}/${bucket.minute}`, text)
}

const prune = (stats: TokenStats, minute: number, writes: Writes): void => {
  const { token } = stats
  const { minutes, names } = pruneStats(stats, minute)
  if (minutes.length === 0) return
  for (const each of minutes) writes.set(`${BUCKETS}${token}/${each}`, null)
  for (const [kind, name] of names) {
    if (kind !== 'traders') writes.set(`${SEEN}${kind}/${token}|${name}`, null)
  }
  writes.set(EARLIER + token, JSON.stringify(stats.earlier))
  if (stats.sums.last === undefined) stats.decimals = null
}

/** Opens the tokens of a state that `changes` wrote and whose newest final minute is this; `kept` of them stay in memory. */
export const makeStatStore = (state: StageState, startMinute: number, kept: number): StatStore => {
  const idle = new LRUCache<string, TokenStats>({ max: kept })
  const changed = new Map<string, TokenStats>()
  const writes: Writes = new Map()
  let finalMinute = startMinute
  const at = (token: string): TokenStats => {
    const held = changed.get(token) ?? idle.get(token)
    if (held !== undefined) return held
    const stats = stored(state, token)
    stats.due = nextChange(stats.sums.minutes, finalMinute)
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
    const due = nextChange(stats.sums.minutes, finalMinute)
    if (due === before) return
    if (before !== undefined) writes.set(dueKey(before, token), null)
    if (due !== undefined) writes.set(dueKey(due, token), '1')
    stats.due = due
  }
  const dueBy = (minute: number): readonly string[] => {
    const tokens: string[] = []
    for (const [key] of state.entries(DUE)) {
      const place = key.slice(DUE.length)
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
      for (const [token, part] of parts) take(change(token), part, writes)
      for (const stats of touched) {
        prune(stats, minute, writes)
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

import { LRUCache } from 'lru-cache'
import { DAY_MS } from '../../core/time.ts'
import type { UsageEvents } from '../../schemas/wire.ts'

/** Charges under one route name. Units are thousandths of a CU. */
export interface UsageEntry {
  readonly calls: number
  readonly milliUnits: number
}

/** One charge. */
export interface Charge {
  readonly route: string
  readonly milliUnits: number
  readonly atMs: number
}

/** What an organization used of the current month (UTC), over all processes. */
export interface MonthUsage {
  readonly milliUnits: number
  readonly byRoute: ReadonlyMap<string, UsageEntry>
  /** By the start of the day, epoch milliseconds. */
  readonly byDay: ReadonlyMap<number, UsageEntry>
}

/** Counts that limits of several processes go by: of an organization's requests, or of something else under a key of its own. */
export interface SharedCounts {
  /** Counts one request that the limit allowed here, whatever it costs. */
  countRequest(key: string, atMs: number): void
  /** Called for requests that other processes report from now on, with the increase since their previous report. */
  onRequests(listener: (key: string, requests: number) => void): void
}

/**
 * When API keys were last used, over all processes and restarts: each process reports the 100 keys of an organization that it let
 * through last on a day, and knows 1,000 of an organization.
 */
export interface KeyUses {
  noteKeyUse(orgId: string, keyId: string, atMs: number): void
  /** Epoch milliseconds; undefined: not in the 62 days for which usage is kept. */
  keyLastUsedAtMs(keyId: string): number | undefined
}

/** Charges of the current month: this process's own, and those that others have written. */
export interface UsageTotals extends SharedCounts, KeyUses {
  /** A charge at a moment of this month or the one before. */
  charge(orgId: string, charge: Charge): void
  /** Used in the current month, thousandths of a CU. */
  used(orgId: string): number
  month(orgId: string): MonthUsage
  /** Applies the totals of another process, or of an earlier one. A later record of the same process and day replaces. */
  applyRecord(record: UsageEvents): void
  /** Own totals that changed since the last call, at most `limit` records; absolute, so writing one twice is harmless. */
  takeChanged(limit: number): readonly UsageEvents[]
  /** Marks records that could not be written as changed again. */
  requeue(records: readonly UsageEvents[]): void
}

/** First moment of the month, `offset` months away, epoch milliseconds. */
export const monthStartMs = (nowMs: number, offset = 0): number => {
  const date = new Date(nowMs)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + offset, 1)
}

type UsageByRoute = Map<string, UsageEntry>

interface OrgUsage {
  monthMs: number
  milliUnits: number
  /** By day and process: `<day>/<node>`. */
  readonly days: Map<string, NodeDayUsage>
}

interface NodeDayUsage {
  readonly day: number
  readonly node: string
  readonly lines: UsageByRoute
  requests: number
  /** By key id, epoch milliseconds, the newest last; those of other processes are not held. */
  readonly keyUses: KeyUseTimes
}

const addUsage = (lines: UsageByRoute, route: string, { calls, milliUnits }: UsageEntry): void => {
  const existing = lines.get(route)
  lines.set(route, {
    calls: (existing?.calls ?? 0) + calls,
    milliUnits: (existing?.milliUnits ?? 0) + milliUnits,
  })
}

const totalUnits = (lines: UsageByRoute): number =>
  [...lines.values()].reduce((sum, { milliUnits }) => sum + milliUnits, 0)

/** Keys whose last use is remembered; of those used longest ago it is forgotten first. */
const MAX_KEYS = 100_000
/** The same of one organization: its keys, which cost nothing, displace no others. */
const MAX_KEYS_PER_ORG = 1_000
/** Keys in the record of a day: it is written whole each second in which the organization does anything. */
const MAX_KEYS_PER_RECORD = 100

type KeyUseTimes = Map<string, number>

/** Stores a use as the newest one, and drops the oldest beyond `max`: gives that key. */
const addNewest = (
  uses: KeyUseTimes,
  max: number,
  { keyId, atMs }: { readonly keyId: string; readonly atMs: number },
): string | undefined => {
  uses.delete(keyId)
  uses.set(keyId, atMs)
  if (uses.size <= max) return undefined
  const [oldest] = uses.keys()
  if (oldest !== undefined) uses.delete(oldest)
  return oldest
}

/** Uses of another process's record that count, oldest first: records of earlier versions have any number. */
const newestUses = (uses: UsageEvents['key_uses']): UsageEvents['key_uses'] =>
  uses.toSorted((one, other) => one.last_used_at - other.last_used_at).slice(-MAX_KEYS_PER_RECORD)

const createLastUses = () => {
  const lastUses = new LRUCache<string, number>({ max: MAX_KEYS })
  const byOrg = new LRUCache<string, KeyUseTimes>({ max: MAX_KEYS })
  return {
    note: (orgId: string, keyId: string, atMs: number): void => {
      if (atMs <= (lastUses.get(keyId) ?? 0)) return
      lastUses.set(keyId, atMs)
      const uses = byOrg.get(orgId) ?? new Map()
      byOrg.set(orgId, uses)
      const dropped = addNewest(uses, MAX_KEYS_PER_ORG, { keyId, atMs })
      if (dropped !== undefined) lastUses.delete(dropped)
    },
    find: (keyId: string): number | undefined => lastUses.peek(keyId),
  }
}

/** Starts empty; `node` identifies this process. Days before the previous month are dropped. */
export const createUsageTotals = (node: string, nowMs: () => number): UsageTotals => {
  const orgs = new Map<string, OrgUsage>()
  const dirty = new Map<string, { readonly orgId: string; readonly day: number }>()
  const lastUses = createLastUses()
  const listeners: ((orgId: string, requests: number) => void)[] = []
  /** Start of the day when it was last looked for counts that serve no more. */
  let sweptDay = 0
  /** Counts of a limit alone are of use for a day: what is counted so has as many names as there are things to limit. */
  const dropOldCounts = (): void => {
    const today = nowMs() - (nowMs() % DAY_MS)
    if (sweptDay === today) return
    sweptDay = today
    for (const [orgId, { days }] of orgs) {
      const isOld = [...days.values()].every(({ day, lines }) => isOldCount(day, lines.size, today))
      if (isOld) orgs.delete(orgId)
    }
  }
  const usageOf = (orgId: string): OrgUsage => {
    dropOldCounts()
    const monthMs = monthStartMs(nowMs())
    const existing = orgs.get(orgId)
    if (existing?.monthMs === monthMs) return existing
    const usage = startMonth(monthMs, monthStartMs(nowMs(), -1), existing?.days)
    orgs.set(orgId, usage)
    return usage
  }
  const markDirty = (orgId: string, day: number): void => {
    dirty.set(`${orgId}/${day}`, { orgId, day })
  }
  const ownDay = (orgId: string, atMs: number): NodeDayUsage => {
    const { days } = usageOf(orgId)
    const day = atMs - (atMs % DAY_MS)
    const key = `${day}/${node}`
    const entry = days.get(key) ?? { day, node, lines: new Map(), requests: 0, keyUses: new Map() }
    days.set(key, entry)
    markDirty(orgId, day)
    return entry
  }
  return {
    used: (orgId) => usageOf(orgId).milliUnits,
    onRequests: (listener) => {
      listeners.push(listener)
    },
    countRequest: (orgId, atMs) => {
      ownDay(orgId, atMs).requests += 1
    },
    noteKeyUse: (orgId, keyId, atMs) => {
      addNewest(ownDay(orgId, atMs).keyUses, MAX_KEYS_PER_RECORD, { keyId, atMs })
      lastUses.note(orgId, keyId, atMs)
    },
    keyLastUsedAtMs: lastUses.find,
    month: (orgId) => summarizeMonth(usageOf(orgId)),
    charge: (orgId, { route, milliUnits, atMs }) => {
      const { day, lines } = ownDay(orgId, atMs)
      addUsage(lines, route, { calls: 1, milliUnits })
      const usage = usageOf(orgId)
      if (day >= usage.monthMs) usage.milliUnits += milliUnits
    },
    applyRecord: ({ org_id, node: other, day, lines, requests, key_uses }) => {
      if (other === node) return
      for (const use of newestUses(key_uses)) lastUses.note(org_id, use.key_id, use.last_used_at)
      if (isOldCount(day, lines.length, nowMs())) return
      const usage = usageOf(org_id)
      // The last day of the month before still reports requests of a moment ago.
      if (day < usage.monthMs - DAY_MS) return
      const key = `${day}/${other}`
      const next: UsageByRoute = new Map()
      for (const { route, calls, milli_units } of lines) {
        addUsage(next, route, { calls, milliUnits: milli_units })
      }
      const previous = usage.days.get(key)
      usage.days.set(key, { day, node: other, lines: next, requests, keyUses: new Map() })
      if (day >= usage.monthMs) {
        usage.milliUnits += totalUnits(next) - (previous ? totalUnits(previous.lines) : 0)
      }
      const more = requests - (previous?.requests ?? 0)
      if (more > 0) for (const listener of listeners) listener(org_id, more)
    },
    takeChanged: (limit) => {
      const entries = [...dirty].slice(0, limit)
      for (const [key] of entries) dirty.delete(key)
      return entries.flatMap(([, { orgId, day }]) => {
        const entry = usageOf(orgId).days.get(`${day}/${node}`)
        return entry ? [usageRecord(orgId, entry, nowMs())] : []
      })
    },
    requeue: (records) => {
      for (const { org_id, day } of records) markDirty(org_id, day)
    },
  }
}

/** Usage of a month whose days were partly reported before; those from `oldestDay` on are kept. */
const startMonth = (
  monthMs: number,
  oldestDay: number,
  known: OrgUsage['days'] = new Map(),
): OrgUsage => {
  const days = new Map([...known].filter(([, { day }]) => day >= oldestDay))
  let milliUnits = 0
  for (const { day, lines } of days.values()) if (day >= monthMs) milliUnits += totalUnits(lines)
  return { monthMs, milliUnits, days }
}

/** Requests of a day that has been over for a day, without a charge. */
const isOldCount = (day: number, charges: number, nowMs: number): boolean =>
  charges === 0 && day < nowMs - 2 * DAY_MS

const usageRecord = (
  orgId: string,
  { day, node, lines, requests, keyUses }: NodeDayUsage,
  nowMs: number,
): UsageEvents => ({
  org_id: orgId,
  node,
  day,
  lines: [...lines].map(([route, { calls, milliUnits }]) => ({
    route,
    calls,
    milli_units: milliUnits,
  })),
  requests,
  key_uses: [...keyUses].map(([key_id, last_used_at]) => ({ key_id, last_used_at })),
  updated_at: nowMs,
  version: 1,
})

const summarizeMonth = ({ monthMs, milliUnits, days }: OrgUsage): MonthUsage => {
  const byRoute: UsageByRoute = new Map()
  const byDay = new Map<number, UsageEntry>()
  for (const { day, lines } of days.values()) {
    if (day < monthMs) continue
    for (const [route, entry] of lines) {
      addUsage(byRoute, route, entry)
      const existing = byDay.get(day) ?? { calls: 0, milliUnits: 0 }
      byDay.set(day, {
        calls: existing.calls + entry.calls,
        milliUnits: existing.milliUnits + entry.milliUnits,
      })
    }
  }
  return { milliUnits, byRoute, byDay }
}

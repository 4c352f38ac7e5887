import { DAY_MS } from '../../core/time.ts'
import type { UsageEvents } from '../../schemas/wire.ts'

/** What was charged under one name. Units are thousandths of a CU. */
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

/** Charges of the current month: this process's own, and those that others have written. */
export interface UsageTotals {
  /** A charge at a moment of this month or the one before. */
  charge(orgId: string, charge: Charge): void
  /** One request that the rate limit let pass here, whatever it costs. */
  countRequest(orgId: string, atMs: number): void
  /** Called for requests that other processes report from now on: how many more than in the report before. */
  onRequests(listener: (orgId: string, requests: number) => void): void
  /** Used in the current month, thousandths of a CU. */
  used(orgId: string): number
  month(orgId: string): MonthUsage
  /** Takes the totals of another process, or of one before this. A later record of the same process and day replaces. */
  take(record: UsageEvents): void
  /** Own totals that changed since they were last taken out, at most `limit` records; absolute, so writing one twice is harmless. */
  changed(limit: number): readonly UsageEvents[]
  /** Puts records back that could not be written. */
  putBack(records: readonly UsageEvents[]): void
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
  readonly days: Map<string, DayOfNode>
}

interface DayOfNode {
  readonly day: number
  readonly node: string
  readonly lines: UsageByRoute
  requests: number
}

const addUsage = (lines: UsageByRoute, route: string, { calls, milliUnits }: UsageEntry): void => {
  const known = lines.get(route)
  lines.set(route, {
    calls: (known?.calls ?? 0) + calls,
    milliUnits: (known?.milliUnits ?? 0) + milliUnits,
  })
}

const totalUnits = (lines: UsageByRoute): number =>
  [...lines.values()].reduce((sum, { milliUnits }) => sum + milliUnits, 0)

/** An empty book; `node` names this process and no other. Days before the last month are forgotten. */
export const createUsageTotals = (node: string, nowMs: () => number): UsageTotals => {
  const orgs = new Map<string, OrgUsage>()
  const dirty = new Map<string, { readonly orgId: string; readonly day: number }>()
  const listeners: ((orgId: string, requests: number) => void)[] = []
  const bookOf = (orgId: string): OrgUsage => {
    const monthMs = monthStartMs(nowMs())
    const known = orgs.get(orgId)
    if (known?.monthMs === monthMs) return known
    const oldest = monthStartMs(nowMs(), -1)
    const kept = [...(known?.days ?? [])].filter(([, { day }]) => day >= oldest)
    const book: OrgUsage = { monthMs, milliUnits: 0, days: new Map(kept) }
    for (const { day, lines } of book.days.values()) {
      if (day >= monthMs) book.milliUnits += totalUnits(lines)
    }
    orgs.set(orgId, book)
    return book
  }
  const markDirty = (orgId: string, day: number): void => {
    dirty.set(`${orgId}/${day}`, { orgId, day })
  }
  const ownDay = (orgId: string, atMs: number): DayOfNode => {
    const { days } = bookOf(orgId)
    const day = atMs - (atMs % DAY_MS)
    const key = `${day}/${node}`
    const entry = days.get(key) ?? { day, node, lines: new Map(), requests: 0 }
    days.set(key, entry)
    markDirty(orgId, day)
    return entry
  }
  return {
    used: (orgId) => bookOf(orgId).milliUnits,
    onRequests: (listener) => {
      listeners.push(listener)
    },
    countRequest: (orgId, atMs) => {
      ownDay(orgId, atMs).requests += 1
    },
    month: (orgId) => summarizeMonth(bookOf(orgId)),
    charge: (orgId, { route, milliUnits, atMs }) => {
      const { day, lines } = ownDay(orgId, atMs)
      addUsage(lines, route, { calls: 1, milliUnits })
      const book = bookOf(orgId)
      if (day >= book.monthMs) book.milliUnits += milliUnits
    },
    take: ({ org_id, node: other, day, lines, requests }) => {
      const book = bookOf(org_id)
      // The last day of the month before still reports requests of a moment ago.
      if (other === node || day < book.monthMs - DAY_MS) return
      const key = `${day}/${other}`
      const next: UsageByRoute = new Map()
      for (const { route, calls, milli_units } of lines) {
        addUsage(next, route, { calls, milliUnits: milli_units })
      }
      const before = book.days.get(key)
      book.days.set(key, { day, node: other, lines: next, requests })
      if (day >= book.monthMs) {
        book.milliUnits += totalUnits(next) - (before ? totalUnits(before.lines) : 0)
      }
      const more = requests - (before?.requests ?? 0)
      if (more > 0) for (const listener of listeners) listener(org_id, more)
    },
    changed: (limit) => {
      const taken = [...dirty].slice(0, limit)
      for (const [key] of taken) dirty.delete(key)
      return taken.flatMap(([, { orgId, day }]) => {
        const entry = bookOf(orgId).days.get(`${day}/${node}`)
        return entry ? [usageRecord(orgId, entry, nowMs())] : []
      })
    },
    putBack: (records) => {
      for (const { org_id, day } of records) markDirty(org_id, day)
    },
  }
}

const usageRecord = (
  orgId: string,
  { day, node, lines, requests }: DayOfNode,
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
  updated_at: nowMs,
  version: 1,
})

const summarizeMonth = ({ monthMs, milliUnits, days }: OrgUsage): MonthUsage => {
  const byRoute: UsageByRoute = new Map()
  const byDay = new Map<number, UsageEntry>()
  for (const { day, lines } of days.values()) {
    if (day < monthMs) continue
    for (const [route, line] of lines) {
      addUsage(byRoute, route, line)
      const known = byDay.get(day) ?? { calls: 0, milliUnits: 0 }
      byDay.set(day, {
        calls: known.calls + line.calls,
        milliUnits: known.milliUnits + line.milliUnits,
      })
    }
  }
  return { milliUnits, byRoute, byDay }
}

import type { MinuteRow } from './trade-queries.ts'

/** Why a minute is rolled up without all of its trades. */
export type GapReason = 'expired' | 'trades-missing'

/** Minutes that are final but whose trades are not all stored, as one finalizer has seen them. */
export interface IncompleteMinutes {
  /** Takes what a round has found; returns the minutes that wait no longer. Minutes that are not open any more are forgotten. */
  overdue(rows: readonly MinuteRow[], nowMs: number): ReadonlySet<number>
}

/** How long a minute waits for trades after the last of them came, while trades of later minutes come. */
const GRACE_MS = 300_000

/**
 * Remembers since when each open minute has not changed. A minute waits no longer when nothing was added to it for the grace and a
 * later minute has trades: the sink is past it, so what is missing is a dead letter. Should it come after all, the check beside
 * the finalizer sees it.
 */
export const createIncompleteMinutes = (graceMs = GRACE_MS): IncompleteMinutes => {
  let seen = new Map<number, { readonly stored: number; readonly sinceMs: number }>()
  return {
    overdue: (rows, nowMs) => {
      const newest = rows.findLast(({ stored }) => stored > 0)?.minute ?? Number.NEGATIVE_INFINITY
      const open = rows.filter((row) => row.open > 0)
      seen = new Map(
        open.map(({ minute, stored }) => {
          const before = seen.get(minute)
          return [minute, before?.stored === stored ? before : { stored, sinceMs: nowMs }]
        }),
      )
      const overdue = open.filter(
        ({ minute }) => minute < newest && nowMs - (seen.get(minute)?.sinceMs ?? nowMs) >= graceMs,
      )
      return new Set(overdue.map(({ minute }) => minute))
    },
  }
}

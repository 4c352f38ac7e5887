import type { Logger } from './logger.ts'
import type { Metrics } from './metrics.ts'

/** Where an error was contained: the label `reason` of `sluice_edge_errors_total`. On HTTP listeners it is `exception`. */
export type BoundaryReason =
  | 'exception'
  | 'listener'
  | 'upgrade'
  | 'open'
  | 'message'
  | 'control'
  | 'publish'
  | 'close'
  | 'timer'

/**
 * Keeps what goes wrong with one connection to that connection. Native callbacks and timers run inside it: an error that
 * leaves a callback of the socket library ends the process.
 */
export interface ErrorBoundary {
  /** Runs `work`; an error is counted and logged, then `undo` closes or refuses what it was about. Never throws. */
  run(kind: BoundaryReason, work: () => void, undo?: () => void): void
  /** Counts and logs an error that came another way. Never throws. */
  failed(kind: BoundaryReason, error: unknown): void
}

/** Shortest time between two log lines of one kind: whoever finds a way to cause errors must not fill the disk. */
const LOG_INTERVAL_MS = 1_000

/** A boundary that counts every error and logs at most one per second and kind. */
export const makeErrorBoundary = ({
  surface,
  metrics,
  log,
  nowMs,
}: {
  /** Which listener: the label `surface`. */
  readonly surface: 'public' | 'admin' | 'ops' | 'streams'
  readonly metrics: Pick<Metrics, 'edgeErrors'>
  readonly log: Logger
  readonly nowMs: () => number
}): ErrorBoundary => {
  const loggedMs = new Map<BoundaryReason, number>()
  const failed: ErrorBoundary['failed'] = (kind, error) => {
    metrics.edgeErrors.inc({ surface, reason: kind })
    const now = nowMs()
    if (now - (loggedMs.get(kind) ?? Number.NEGATIVE_INFINITY) < LOG_INTERVAL_MS) return
    loggedMs.set(kind, now)
    log.error({ err: error, surface, reason: kind }, 'unexpected error at a listener')
  }
  const run: ErrorBoundary['run'] = (kind, work, undo) => {
    try {
      work()
    } catch (error) {
      failed(kind, error)
      if (undo !== undefined) run(kind, undo)
    }
  }
  return { run, failed }
}

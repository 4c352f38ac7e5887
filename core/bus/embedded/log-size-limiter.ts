import type { Logger } from '../../ops/logger.ts'
import type { LogCapacity } from '../contract.ts'
import { shrinkLog } from './delete-records.ts'
import type { EmbeddedLog } from './log.ts'
import {
  FILL_THRESHOLDS,
  fileBytes,
  type LogSizes,
  logUsedBytes,
  unremovableBytes,
} from './log-size.ts'
import { enforceLogRetention, type RetentionOptions } from './retention.ts'

/** A sweep that commits ask for comes at most so often, unless a commit waits for room. */
const MIN_SHRINK_INTERVAL_MS = 10_000

/** Keeps the log below its limit. Sweeps run one after the other. */
export interface LogSizeLimiter {
  /** The limit as of the last sweep. */
  limitBytes(): number
  capacity(): LogCapacity
  /** Called with the bytes in use; starts a sweep when it is time. */
  used(bytes: number): void
  /** Deletes until so many bytes fit. False: the sweep failed, or the bus closes. Never throws. */
  make(bytes: number): Promise<boolean>
  /** A whole sweep, by age, size and compaction. */
  sweep(nowMs: number): Promise<void>
  /** Resolves when no sweep is under way. */
  whenIdle(): Promise<void>
}

interface LogSizeLimiterOptions extends Pick<RetentionOptions, 'retention' | 'signal'> {
  readonly mapSizeBytes: number
  /** The limit from what is in use; asked at each sweep. */
  readonly limitBytes?: (sizes: LogSizes) => number
  readonly keepMs?: number
  readonly nowMs: () => number
  readonly log: Logger
}

/** Makes the keeper of a log's size, and says what the limit is. */
export const makeLogSizeLimiter = (
  store: EmbeddedLog,
  plan: LogSizeLimiterOptions,
): LogSizeLimiter => {
  const { mapSizeBytes, retention, keepMs = 0, signal, nowMs, log } = plan
  const limitAfter = (before: number): number =>
    plan.limitBytes?.({
      fileBytes: fileBytes(store.path),
      keptBytes: unremovableBytes(store),
      limitBytes: before,
    }) ?? mapSizeBytes
  let limitBytes = limitAfter(Number.POSITIVE_INFINITY)
  let last: Promise<unknown> = Promise.resolve()
  let pressedAtMs = Number.NEGATIVE_INFINITY
  let warned = false
  const capacity = (): LogCapacity => ({
    usedBytes: logUsedBytes(store),
    limitBytes,
    retention,
    fileBytes: fileBytes(store.path),
  })
  const warn = (usedBytes: number): void => {
    const isNearlyFull = usedBytes >= FILL_THRESHOLDS.warn * limitBytes
    if (isNearlyFull && !warned) {
      log.warn({ usedBytes, limitBytes, retention }, 'embedded log is more than 80 % full')
    }
    warned = isNearlyFull
  }
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const next = last.then(work)
    last = next.catch(() => undefined)
    return next
  }
  const sweep = (atMs: number): Promise<void> =>
    inTurn(async () => {
      limitBytes = limitAfter(limitBytes)
      await enforceLogRetention(store, { nowMs: atMs, retention, keepMs, limitBytes, signal })
      warn(logUsedBytes(store))
    })
  log.info({ ...capacity(), path: store.path }, 'embedded log opened')
  return {
    limitBytes: () => limitBytes,
    capacity,
    sweep,
    whenIdle: async () => {
      await last
    },
    used: (bytes) => {
      warn(bytes)
      const isDue = performance.now() - pressedAtMs > MIN_SHRINK_INTERVAL_MS
      if (retention === 'off' || bytes <= FILL_THRESHOLDS.sweep * limitBytes || !isDue) return
      pressedAtMs = performance.now()
      inTurn(() => shrinkLog(store, { nowMs: nowMs(), retention, limitBytes, signal }, 0)).catch(
        (err: unknown) => log.error({ err }, 'embedded log retention run failed'),
      )
    },
    make: async (bytes) => {
      // No sweep can make room for what is as large as the log.
      if (bytes > (1 - FILL_THRESHOLDS.swept) * limitBytes) return true
      try {
        await sweep(nowMs())
        await inTurn(() =>
          shrinkLog(store, { nowMs: nowMs(), retention, limitBytes, signal }, bytes),
        )
        return !signal.aborted
      } catch (err) {
        log.error({ err }, 'embedded log retention could not free space')
        return false
      }
    },
  }
}

import type { Logger } from '../../ops/logger.ts'
import type { LogCapacity } from '../contract.ts'
import { shrinkLog } from './delete-records.ts'
import type { EmbeddedLog } from './log.ts'
import { fileBytes, keptBytes, type LogSizes, logBytes, SHARES } from './log-size.ts'
import { type SweepPlan, sweepLog } from './retention.ts'

/** A sweep that commits ask for comes at most so often, unless a commit waits for room. */
const PRESSED_MS = 10_000

/** Keeps the log below its limit. Sweeps run one after the other. */
export interface LogRoom {
  /** The limit as of the last sweep. */
  limitBytes(): number
  capacity(): LogCapacity
  /** Told how much is in use; starts a sweep when it is time. */
  used(bytes: number): void
  /** Deletes until so many bytes fit. False: the sweep failed, or the bus closes. Never throws. */
  make(bytes: number): Promise<boolean>
  /** A whole sweep, by age, size and compaction. */
  sweep(nowMs: number): Promise<void>
  /** Resolves when no sweep is under way. */
  rest(): Promise<void>
}

interface RoomPlan extends Pick<SweepPlan, 'retention' | 'signal'> {
  readonly mapSizeBytes: number
  /** The limit from what is in use; asked at each sweep. */
  readonly limitBytes?: (sizes: LogSizes) => number
  readonly keepMs?: number
  readonly nowMs: () => number
  readonly log: Logger
}

/** Makes the keeper of a log's size, and says what the limit is. */
export const logRoom = (store: EmbeddedLog, plan: RoomPlan): LogRoom => {
  const { mapSizeBytes, retention, keepMs = 0, signal, nowMs, log } = plan
  const limitAfter = (before: number): number =>
    plan.limitBytes?.({
      fileBytes: fileBytes(store.path),
      keptBytes: keptBytes(store),
      limitBytes: before,
    }) ?? mapSizeBytes
  let limitBytes = limitAfter(Number.POSITIVE_INFINITY)
  let last: Promise<unknown> = Promise.resolve()
  let pressedAtMs = Number.NEGATIVE_INFINITY
  let warned = false
  const capacity = (): LogCapacity => ({
    usedBytes: logBytes(store),
    limitBytes,
    retention,
    fileBytes: fileBytes(store.path),
  })
  const warn = (usedBytes: number): void => {
    const isNearlyFull = usedBytes >= SHARES.warn * limitBytes
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
      await sweepLog(store, { nowMs: atMs, retention, keepMs, limitBytes, signal })
      warn(logBytes(store))
    })
  log.info({ ...capacity(), path: store.path }, 'embedded log opened')
  return {
    limitBytes: () => limitBytes,
    capacity,
    sweep,
    rest: async () => {
      await last
    },
    used: (bytes) => {
      warn(bytes)
      const isDue = performance.now() - pressedAtMs > PRESSED_MS
      if (retention === 'off' || bytes <= SHARES.sweep * limitBytes || !isDue) return
      pressedAtMs = performance.now()
      inTurn(() => shrinkLog(store, { nowMs: nowMs(), retention, limitBytes, signal }, 0)).catch(
        (err: unknown) => log.error({ err }, 'embedded log retention run failed'),
      )
    },
    make: async (bytes) => {
      // No sweep can make room for what is as large as the log.
      if (bytes > (1 - SHARES.swept) * limitBytes) return true
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

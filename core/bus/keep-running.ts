import { Outage } from '../errors.ts'
import type { Logger } from '../ops/logger.ts'
import { pause, retry } from '../retry.ts'
import type { HaltedLane } from './contract.ts'

/** An outage that ends a lane or a tail for good: starting it again as it stands would lose data or spin. */
export class PermanentHalt extends Outage {}

/** A position that the log does not hold. */
type UnavailableOffset = Omit<HaltedLane, 'group' | 'lane'>

/** The halt of a reader whose position left the log. */
export class OffsetOutOfRange extends PermanentHalt {
  readonly at: UnavailableOffset

  constructor(at: UnavailableOffset) {
    const { topic, partition, position, low, end } = at
    super(
      'bus',
      `${topic}/${partition}: offset ${position} is outside the log, which holds ${low} to ${end}`,
      { final: true },
    )
    this.at = at
  }
}

/** Lanes of one bus that are halted because their position left the log. */
export interface HaltedLanes {
  list(): readonly HaltedLane[]
  /**
   * Runs a lane. While the log does not hold its position, the lane is halted and is tried again every few seconds, so that it
   * continues once `sluice resume` has moved the position. `work` calls `opened` when the log holds its position.
   */
  runUntilHalted(lane: LaneRunContext, work: (opened: () => void) => Promise<void>): Promise<void>
}

/** Which lane runs, and how it tells. */
export interface LaneRunContext {
  readonly group: string
  readonly partition: number
  readonly log: Logger
  readonly signal: AbortSignal
}

/** How often a halted lane checks whether its position has been moved. */
const HALTED_POLL_MS = 3_000

/** Makes an empty list. */
export const makeHaltedLanes = (): HaltedLanes => {
  const halted = new Map<string, HaltedLane>()
  return {
    list: () => [...halted.values()],
    runUntilHalted: async ({ group, partition: lane, log, signal }, work) => {
      const name = `${group}/${lane}`
      const opened = (): void => {
        if (halted.delete(name)) log.info({ group, lane }, 'partition resumed')
      }
      try {
        for (;;) {
          try {
            return await work(opened)
          } catch (error) {
            if (!(error instanceof OffsetOutOfRange) || signal.aborted) throw error
            if (!halted.has(name)) {
              log.error(
                { group, lane, err: error },
                'partition halted, resume with `sluice resume`',
              )
            }
            halted.set(name, { group, lane, ...error.at })
          }
          await pause(HALTED_POLL_MS, signal)
        }
      } finally {
        halted.delete(name)
      }
    },
  }
}

/** How something is kept running. */
export interface KeepRunningOptions {
  /** `lane`, `tail`; with its fields, for the log line. */
  readonly what: string
  readonly context: Readonly<Record<string, unknown>>
  readonly log: Logger
  readonly signal: AbortSignal
  readonly onHalt: (outage: Outage) => void
}

const INITIAL_RESTART_DELAY_MS = 50
const MAX_RESTART_DELAY_MS = 5_000
/** What ran so long had recovered. */
const RESET_AFTER_MS = 30_000

/** True for an error after which nothing on this bus can continue: a halt, a full disk. */
const isPermanentError = (error: unknown): error is Outage =>
  error instanceof PermanentHalt || (error instanceof Outage && error.of === 'disk' && error.final)

/** Runs `work` again after every throw, with a growing pause, until it returns, the signal aborts or a `PermanentHalt` is thrown. */
export const keepRunning = async (
  { what, context, log, signal, onHalt }: KeepRunningOptions,
  work: () => Promise<void>,
): Promise<void> => {
  const plan = {
    firstMs: INITIAL_RESTART_DELAY_MS,
    maxMs: MAX_RESTART_DELAY_MS,
    steadyMs: RESET_AFTER_MS,
    tries: Number.POSITIVE_INFINITY,
  }
  try {
    await retry(work, {
      ...plan,
      signal,
      again: (error) => !isPermanentError(error),
      onRetry: (error, attempt, waitMs) =>
        log.warn({ ...context, what, err: error, attempt, waitMs }, 'bus task failed, retrying'),
    })
  } catch (error) {
    if (signal.aborted) return
    const outage =
      error instanceof Outage ? error : new Outage('bus', String(error), { cause: error })
    log.error({ ...context, what, err: error }, 'bus task halted')
    onHalt(outage)
  }
}

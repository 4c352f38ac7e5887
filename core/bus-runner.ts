import { Outage } from './fault.ts'
import type { Logger } from './log.ts'
import { retry } from './retry.ts'

/** An outage that ends a lane or a tail for good: starting it again as it stands would lose data or spin. */
export class Halt extends Outage {}

/** How something is kept running. */
export interface KeepRunning {
  /** `lane`, `tail`; with its facts, for the log line. */
  readonly what: string
  readonly facts: Readonly<Record<string, unknown>>
  readonly log: Logger
  readonly signal: AbortSignal
  readonly onHalt: (outage: Outage) => void
}

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 5_000

/** True for an error after which nothing on this bus can go on: a halt, a full disk. */
const isFinal = (error: unknown): error is Outage =>
  error instanceof Halt || (error instanceof Outage && error.of === 'disk' && error.final)

/** Runs `work` again after every throw, with a growing pause, until it returns, the signal aborts or a `Halt` is thrown. */
export const keepRunning = async (
  { what, facts, log, signal, onHalt }: KeepRunning,
  work: () => Promise<void>,
): Promise<void> => {
  const plan = { firstMs: FIRST_PAUSE_MS, maxMs: LONGEST_PAUSE_MS, tries: Number.POSITIVE_INFINITY }
  try {
    await retry(work, {
      ...plan,
      signal,
      again: (error) => !isFinal(error),
      onRetry: (error, attempt, waitMs) =>
        log.warn({ ...facts, err: error, attempt, waitMs }, `${what} starts again`),
    })
  } catch (error) {
    if (signal.aborted) return
    const outage =
      error instanceof Outage ? error : new Outage('bus', String(error), { cause: error })
    log.error({ ...facts, err: error }, `${what} halted`)
    onHalt(outage)
  }
}

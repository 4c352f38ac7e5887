import { isDisconnectError } from '../../core/ops/http-server-guard.ts'
import type { Logger } from '../../core/ops/logger.ts'
import { printErrorLine } from '../../core/ops/terminal.ts'

/** How a process ends, and what ends it. */
export interface ProcessContext {
  /** Aborted when the process is to end. */
  readonly signal: AbortSignal
  /** Ends the process in order with that exit status; only the first call counts. */
  readonly end: (status: number, reason: string) => void
  /** Says what went wrong and ends with status 1. */
  readonly onFatal: (error: unknown) => void
}

/** Why and how a process ends. */
export interface ExitReason {
  readonly status: number
  readonly reason: string
}

/** Where a process says what went wrong, and what takes its secrets out of that. */
export interface ProcessOutput {
  readonly log: Logger
  readonly scrub: (text: string) => string
}

/**
 * Runs `work` under the signals of the process and its last-resort errors; `work` stops in order when the signal aborts, also by
 * throwing the reason of the signal. An error
 * that only says that the other side of a connection left is logged and ends nothing.
 */
export const runProcess = async (
  { log, scrub }: ProcessOutput,
  work: (context: ProcessContext) => Promise<number>,
): Promise<number> => {
  const ending = new AbortController()
  const end = (status: number, reason: string): void =>
    ending.abort({ status, reason } satisfies ExitReason)
  const onFatal = (error: unknown): void => {
    if (ending.signal.aborted) return
    log.fatal({ err: error }, 'fatal error, shutting down')
    printErrorLine(scrub(`sluice: ${error instanceof Error ? error.message : String(error)}`))
    end(1, 'fatal')
  }
  const release = onProcessEnd(end, (error) => {
    if (isDisconnectError(error)) log.warn({ err: error }, 'unhandled connection error')
    else onFatal(error)
  })
  try {
    return await work({ signal: ending.signal, end, onFatal })
  } catch (error) {
    // A start that was interrupted throws why it ended.
    if (ending.signal.aborted && error === ending.signal.reason) return ending.signal.reason.status
    throw error
  } finally {
    release()
  }
}

/** Listens to what ends a process; returns the way to stop listening. */
const onProcessEnd = (
  end: ProcessContext['end'],
  onFatal: ProcessContext['onFatal'],
): (() => void) => {
  const interrupt = (): void => end(0, 'SIGINT')
  const terminate = (): void => end(0, 'SIGTERM')
  process.once('SIGINT', interrupt)
  process.once('SIGTERM', terminate)
  process.on('uncaughtException', onFatal)
  process.on('unhandledRejection', onFatal)
  return () => {
    process.off('SIGINT', interrupt)
    process.off('SIGTERM', terminate)
    process.off('uncaughtException', onFatal)
    process.off('unhandledRejection', onFatal)
  }
}

/** Resolves when the process is to end. */
export const untilExit = (signal: AbortSignal): Promise<ExitReason> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason)
    else signal.addEventListener('abort', () => resolve(signal.reason), { once: true })
  })

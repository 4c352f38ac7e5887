import type { MessagePort } from 'node:worker_threads'
import { fromThreadError, type ThreadError, toThreadError } from './thread-error.ts'

/** Takes warnings: a logger, or what sends them to the thread that has one. */
export interface WarningLog {
  warn(facts: { readonly err: unknown; readonly [fact: string]: unknown }, message: string): void
}

/** A warning on its way to the thread that logs. */
export interface ThreadWarning {
  readonly kind: 'warning'
  readonly message: string
  /** Plain data. */
  readonly facts: Readonly<Record<string, unknown>>
  readonly error: ThreadError
}

/** Sends warnings to the thread that started this one. Without a port there is no such thread, and they are dropped. */
export const forwardWarnings = (port: Pick<MessagePort, 'postMessage'> | null): WarningLog => ({
  warn: ({ err, ...facts }, message) => {
    const warning: ThreadWarning = { kind: 'warning', message, facts, error: toThreadError(err) }
    port?.postMessage(warning)
  },
})

/** Whether a message of a thread is a warning. */
export const isThreadWarning = (message: unknown): message is ThreadWarning =>
  typeof message === 'object' && message !== null && 'kind' in message && message.kind === 'warning'

/** Logs a warning as the thread would have. */
export const logThreadWarning = (log: WarningLog, { message, facts, error }: ThreadWarning): void =>
  log.warn({ ...facts, err: fromThreadError(error) }, message)

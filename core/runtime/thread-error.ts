import { type Dependency, InvalidInput, Outage } from '../errors.ts'

/** Most causes of causes that are sent: an error may name itself as one. */
const MAX_CAUSES = 8

/** What every error says. */
interface ErrorText {
  readonly message: string
  readonly name?: string
  readonly stack?: string
  /** As errors of Node and of lmdb have it. */
  readonly code?: string | number
  readonly cause?: ThreadError
}

/** An error on its way between threads, where it would lose its class. */
export type ThreadError = ErrorText &
  (
    | { readonly kind: 'invalid-input'; readonly reason: string }
    | { readonly kind: 'outage'; readonly of: Dependency; readonly final: boolean }
    | { readonly kind: 'error' }
  )

/** What the other thread needs to know of an error. */
export const toThreadError = (error: unknown, causes = MAX_CAUSES): ThreadError => {
  if (!(error instanceof Error)) return { kind: 'error', message: String(error) }
  const text = errorText(error, causes)
  if (error instanceof InvalidInput) return { kind: 'invalid-input', reason: error.reason, ...text }
  if (error instanceof Outage) {
    const { of, final } = error
    return { kind: 'outage', of, final, ...text }
  }
  return { kind: 'error', ...text }
}

const errorText = (error: Error, causes: number): ErrorText => {
  const { name, message, stack, cause } = error
  const { code } = error as { readonly code?: unknown }
  return {
    message,
    name,
    ...(stack !== undefined && { stack }),
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    ...(cause !== undefined && causes > 0 && { cause: toThreadError(cause, causes - 1) }),
  }
}

/** The error again, with the class that it had where that is one of ours, and the name where it is not. */
export const fromThreadError = (sent: ThreadError): Error => {
  const { name, stack, code } = sent
  const error = makeError(sent)
  // Not enumerable, as in the error that was thrown: a log line would repeat them.
  if (name !== undefined && name !== error.name)
    Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true })
  if (stack !== undefined) error.stack = stack
  return code === undefined ? error : Object.assign(error, { code })
}

const makeError = (sent: ThreadError): Error => {
  const { message } = sent
  const options = sent.cause === undefined ? {} : { cause: fromThreadError(sent.cause) }
  if (sent.kind === 'invalid-input') return new InvalidInput(sent.reason, message, options)
  if (sent.kind === 'outage') return new Outage(sent.of, message, { ...options, final: sent.final })
  return new Error(message, options)
}

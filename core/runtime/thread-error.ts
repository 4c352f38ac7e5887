import { type Dependency, InvalidInput, Outage } from '../errors.ts'

/** An error on its way between threads, where it would lose its class. */
export type ThreadError =
  | { readonly kind: 'invalid-input'; readonly reason: string; readonly message: string }
  | {
      readonly kind: 'outage'
      readonly of: Dependency
      readonly message: string
      readonly final: boolean
    }
  | { readonly kind: 'error'; readonly message: string; readonly stack?: string }

/** What the other thread needs to know of an error. */
export const toThreadError = (error: unknown): ThreadError => {
  if (error instanceof InvalidInput) {
    const { reason, message } = error
    return { kind: 'invalid-input', reason, message }
  }
  if (error instanceof Outage) {
    const { of, message, final } = error
    return { kind: 'outage', of, message, final }
  }
  if (!(error instanceof Error)) return { kind: 'error', message: String(error) }
  const { message, stack } = error
  return { kind: 'error', message, ...(stack !== undefined && { stack }) }
}

/** The error again, with the class that it had. */
export const fromThreadError = (sent: ThreadError): Error => {
  if (sent.kind === 'invalid-input') return new InvalidInput(sent.reason, sent.message)
  if (sent.kind === 'outage') return new Outage(sent.of, sent.message, { final: sent.final })
  const error = new Error(sent.message)
  if (sent.stack !== undefined) error.stack = sent.stack
  return error
}

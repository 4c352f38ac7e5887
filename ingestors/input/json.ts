import { InvalidInput } from '../../core/errors.ts'

/** Checked readers of a node's JSON. Every one throws `InvalidInput` with a stable reason and a message of bounded length. */

/** Fields of a JSON object; unknown ones are ignored. */
export type Fields = Readonly<Record<string, unknown>>

const shown = (value: unknown): string => {
  if (typeof value === 'object' && value !== null)
    return Array.isArray(value) ? 'a list' : 'an object'
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

/** The error for a value at a path, e.g. `refuse('bad-hex', 'block.number', 7)`. */
export const invalid = (reason: string, at: string, value: unknown): InvalidInput =>
  new InvalidInput(reason, `${at} is ${shown(value)}`)

/** A JSON object. Reason: `not-an-object`. */
export const fieldsOf = (value: unknown, at: string): Fields => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid('not-an-object', at, Array.isArray(value) ? 'a list' : typeof value)
  }
  return value as Fields
}

/** A JSON list. Reason: `not-a-list`. */
export const listOf = (value: unknown, at: string): readonly unknown[] => {
  if (!Array.isArray(value)) throw invalid('not-a-list', at, typeof value)
  return value
}

/** The reader's value, or the fallback where the field is absent or null. */
export const orElse = <T, U>(
  value: unknown,
  at: string,
  { read, fallback }: { read: (value: unknown, at: string) => T; fallback: U },
): T | U => (value === undefined || value === null ? fallback : read(value, at))

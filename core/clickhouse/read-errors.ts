import { ClickHouseError } from '@clickhouse/client'
import { Fault, Outage } from '../errors.ts'

/**
 * What an engine's answer to a read means. Source: ClickHouse, src/Common/ErrorCodes.cpp.
 * `limit`: the statement passed a limit of its budget. `busy`: nothing about the statement, the engine has no room now.
 */
const ERROR_MEANINGS: Readonly<Record<string, readonly ['limit' | 'busy' | 'away', string]>> = {
  60: ['away', 'tables'],
  81: ['away', 'database'],
  158: ['limit', 'rows'],
  159: ['limit', 'time'],
  160: ['limit', 'time'],
  241: ['limit', 'memory'],
  307: ['limit', 'bytes'],
  396: ['limit', 'result'],
  173: ['busy', 'memory'],
  202: ['busy', 'queries'],
  394: ['busy', 'cancelled'],
  439: ['busy', 'threads'],
  473: ['busy', 'locks'],
  745: ['busy', 'overload'],
  74: ['away', 'disk'],
  75: ['away', 'disk'],
  209: ['away', 'network'],
  210: ['away', 'network'],
  236: ['away', 'stopping'],
  243: ['away', 'disk'],
  279: ['away', 'network'],
  516: ['away', 'login'],
}

/** Tables that are not there: not yet made by `sluice init`, or named wrongly by us. */
const MISSING_CODES: ReadonlySet<string> = new Set(['60', '81'])

/** Memory that others use as well: the answer says nothing about this statement. */
const SHARED_MEMORY_LIMIT = /\((total|for user)\)|(Total|User) memory limit/i

/** True for an error that the engine answered; the embedded driver throws it from a copy of the client of its own. */
export const isEngineError = (error: unknown): error is ClickHouseError =>
  error instanceof ClickHouseError ||
  (error instanceof Error && error.constructor.name === ClickHouseError.name)

/**
 * The error of a failed read: `Fault` QUERY_TOO_EXPENSIVE (with `limit`: rows, time, memory, bytes or result), `Fault`
 * SERVER_BUSY, `Outage`, or the driver's error where the engine refused the statement as wrong.
 */
export const toReadError = (error: unknown): unknown => {
  if (error instanceof Outage || error instanceof Fault) return error
  if (!isEngineError(error))
    return new Outage('warehouse', 'the warehouse did not answer', { cause: error })
  const [kind, limit] = ERROR_MEANINGS[error.code] ?? []
  const options = { cause: error }
  if (kind === 'away') return new Outage('warehouse', `the warehouse is away: ${limit}`, options)
  if (kind === 'busy' || (kind === 'limit' && SHARED_MEMORY_LIMIT.test(error.message)))
    return new Fault('SERVER_BUSY', undefined, undefined, options)
  if (kind === undefined) return error
  const message = `The query needs more than the plan allows (${limit})`
  return new Fault('QUERY_TOO_EXPENSIVE', message, { limit }, options)
}

/**
 * True when the engine refused a statement as wrong: a mistake of ours, whatever the caller asked. Missing tables count as well, though
 * callers get the error of a store that is away.
 */
export const isRejectedStatement = (error: unknown): boolean =>
  isEngineError(error) ||
  (error instanceof Outage && isEngineError(error.cause) && MISSING_CODES.has(error.cause.code))

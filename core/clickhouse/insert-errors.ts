import { Outage } from '../errors.ts'
import { isEngineError } from './read-errors.ts'

/**
 * What to do about an insert that failed. `row`: a value of one row can never be stored, so the row must be found and set aside.
 * `split`: the rows can be stored, but not in one insert. `passing`: the same insert may succeed later, or after an operator
 * has mended the server; nothing is set aside.
 */
export type InsertErrorClass = 'row' | 'split' | 'passing'

/**
 * Error codes with which ClickHouse refuses a value. Every other code is `passing`: outages, limits, full disks, missing tables
 * and rights are not the fault of a row. Source: ClickHouse/src/Common/ErrorCodes.cpp
 */
const INVALID_VALUE_CODES: ReadonlySet<number> = new Set([
  6, // CANNOT_PARSE_TEXT
  25, // CANNOT_PARSE_ESCAPE_SEQUENCE
  26, // CANNOT_PARSE_QUOTED_STRING
  27, // CANNOT_PARSE_INPUT_ASSERTION_FAILED
  38, // CANNOT_PARSE_DATE
  41, // CANNOT_PARSE_DATETIME
  69, // ARGUMENT_OUT_OF_BOUND: a decimal with too many digits
  70, // CANNOT_CONVERT_TYPE
  72, // CANNOT_PARSE_NUMBER
  117, // INCORRECT_DATA
  128, // TOO_LARGE_ARRAY_SIZE
  130, // CANNOT_READ_ARRAY_FROM_TEXT
  131, // TOO_LARGE_STRING_SIZE
  321, // VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
  349, // CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN
  407, // DECIMAL_OVERFLOW
  467, // CANNOT_PARSE_BOOL
  586, // CANNOT_READ_MAP_FROM_TEXT
  691, // UNKNOWN_ELEMENT_OF_ENUM
])

const INCORRECT_DATA = '117'
const UNKNOWN_FIELD = /Unknown field found while parsing \w+ format: (\w{1,64})/

/** The outage of a table that lacks a column of its rows; null for every other error. The rows are stored once it is there. */
export const missingColumnOutage = (table: string, error: unknown): Outage | null => {
  if (!isEngineError(error) || error.code !== INCORRECT_DATA) return null
  const column = UNKNOWN_FIELD.exec(error.message)?.[1]
  if (column === undefined) return null
  const text = `table ${table} lacks column ${column}: its migrations are not the ones of this version`
  return new Outage('warehouse', text, { cause: error })
}

const TOO_MANY_PARTS = 252
/** `max_partitions_per_insert_block` shares its code with a table that has too many parts for now. */
const TOO_MANY_INSERT_PARTITIONS = /partitions for single INSERT block/i

/** Classifies the error of an insert by the engine's error code. */
export const classifyInsertError = (error: unknown): InsertErrorClass => {
  if (!isEngineError(error)) return 'passing'
  const code = Number(error.code)
  if (INVALID_VALUE_CODES.has(code)) return 'row'
  return code === TOO_MANY_PARTS && TOO_MANY_INSERT_PARTITIONS.test(error.message)
    ? 'split'
    : 'passing'
}

/** A short name of an error for metrics: the engine's own name of it, `warehouse` or `registry` for an outage, else `other`. */
export const errorLabel = (error: unknown): string => {
  if (isEngineError(error) && /^[A-Z_]{1,80}$/.test(error.type ?? '')) return error.type ?? 'other'
  return error instanceof Outage ? error.of : 'other'
}

import type { Query } from '../../core/clickhouse/client.ts'

/** A sort column of a list. Only types whose text is exact: no two rows of a list have one place. */
export interface OrderColumn {
  /** SQL of the value, in terms of the statement's tables; qualified, so that no alias of the selection hides it. */
  readonly sql: string
  readonly type: 'UInt64' | 'UInt32' | 'Int64' | 'UInt256' | 'Decimal256(12)' | 'String'
}

/**
 * A double as the unsigned integer of its bits, negative ones turned round: the same order, exact as text. What is not a number counts
 * as zero, and so does minus zero.
 */
export const sortableBits = (sql: string): string => {
  const bits = `reinterpretAsUInt64(ifNotFinite(toFloat64(${sql}), 0) + 0.)`
  return `if(bitTest(${bits}, 63), bitNot(${bits}), bitOr(${bits}, bitShiftLeft(toUInt64(1), 63)))`
}

/** A list as SQL: what is selected from where, and the columns that order it, the last of them unique. */
export interface KeysetList {
  readonly with?: string
  readonly columns: string
  readonly from: string
  readonly where: readonly string[]
  readonly order: readonly OrderColumn[]
  /** True: the largest first. All columns go one way. */
  readonly descending: boolean
  readonly params: Readonly<Record<string, unknown>>
}

/** A place in a list: the sort columns as text. */
export type KeysetPosition = readonly string[]

/** A row with its place, for the cursor. */
export interface KeysetRow {
  readonly place: KeysetPosition
}

/** What is read of a list: at most `rows` behind `after`, or before it, nearest first. */
export interface KeysetSlice {
  readonly direction: 'next' | 'prev'
  readonly after: KeysetPosition | undefined
  readonly rows: number
}

const positionParameter = ({ type }: OrderColumn, index: number): string =>
  type === 'Decimal256(12)' ? `toDecimal256({place${index}:String}, 12)` : `{place${index}:${type}}`

/** The statement of a slice. Rows keep their place while others arrive or are taken back: it is a position, not a count. */
export const sliceQuery = (list: KeysetList, { direction, after, rows }: KeysetSlice): Query => {
  const { columns, from, where, order, descending, params } = list
  const isDown = descending === (direction === 'next')
  const way = isDown ? 'DESC' : 'ASC'
  const keys = order.map(({ sql }) => sql)
  const beyond = `(${keys.join(', ')}) ${isDown ? '<' : '>'} (${order.map(positionParameter).join(', ')})`
  const conditions = [...where, ...(after ? [beyond] : [])]
  return {
    sql: `${list.with === undefined ? '' : `WITH ${list.with}\n`}SELECT ${columns},
  [${keys.map((key) => `toString(${key})`).join(', ')}] AS place
FROM ${from}
${conditions.length === 0 ? '' : `WHERE ${conditions.join('\n  AND ')}\n`}ORDER BY ${keys.map((key) => `${key} ${way}`).join(', ')} LIMIT {rows:UInt32}`,
    params: {
      ...params,
      rows,
      ...Object.fromEntries((after ?? []).map((value, index) => [`place${index}`, value])),
    },
  }
}

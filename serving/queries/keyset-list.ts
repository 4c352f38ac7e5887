import type { Query } from '../../core/clickhouse/client.ts'
import { wideMoney } from './valued-amounts.ts'

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
  /**
   * A table or a subquery with its name `t`; or several statements whose rows are put together as `t`, of which each is narrowed, ordered and cut
   * to a page by itself, so that the engine reads the columns of a page alone.
   */
  readonly from: string | readonly string[]
  readonly where: readonly string[]
  readonly order: readonly OrderColumn[]
  /** True: the largest first. All columns go one way. */
  readonly descending: boolean
  readonly params: Readonly<Record<string, unknown>>
  /**
   * SQL of a row's block time, in a list whose order is that of the chain, the slot first: it may then be read in windows, `read-in-windows.ts`,
   * and a place holds the time behind the sort columns.
   */
  readonly time?: string
  /**
   * Rows count only where a table has their `column`, in a row that meets `where`. The table is asked for a few rows at a time: it may have very many
   * others.
   */
  readonly members?: { readonly column: string; readonly table: string; readonly where?: string }
  /** Lengths of the windows that are read before all of a list with times, ms, shortest first. Default: those of a list with many rows an hour. */
  readonly windowsMs?: readonly number[]
}

/** A place in a list: the sort columns as text, and in a list with times the row's, in ms. */
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

/** Bounds of block times in ms and of slots, inclusive; absent = none. */
export interface ListWindow {
  readonly fromMs?: number | undefined
  readonly toMs?: number | undefined
  readonly fromSlot?: number | undefined
  readonly toSlot?: number | undefined
}

/** True where the slice is read from the largest down. */
export const isReadDown = (
  { descending }: Pick<KeysetList, 'descending'>,
  { direction }: Pick<KeysetSlice, 'direction'>,
): boolean => descending === (direction === 'next')

const positionParameter = ({ type }: OrderColumn, index: number): string =>
  type === 'Decimal256(12)' ? `toDecimal256({place${index}:String}, 12)` : `{place${index}:${type}}`

/** Bounds of a window by parameter: a test of the time or of the slot, and the value. */
const windowBounds = (
  { time, order }: KeysetList,
  { fromMs, toMs, fromSlot, toSlot }: ListWindow,
): Readonly<Record<string, { readonly sql: string; readonly value: number | undefined }>> => ({
  window_from: { sql: `${time} >= fromUnixTimestamp64Milli({window_from:Int64})`, value: fromMs },
  window_to: { sql: `${time} <= fromUnixTimestamp64Milli({window_to:Int64})`, value: toMs },
  window_from_slot: { sql: `${order[0]?.sql} >= {window_from_slot:UInt64}`, value: fromSlot },
  window_to_slot: { sql: `${order[0]?.sql} <= {window_to_slot:UInt64}`, value: toSlot },
})

/** Rows behind a place. The condition on the first column alone follows from the other: only it lets the engine leave parts of a table out. */
const beyondConditions = (order: readonly OrderColumn[], isDown: boolean): readonly string[] => {
  const [keys, places] = [order.map(({ sql }) => sql), order.map(positionParameter)]
  const sign = isDown ? '<' : '>'
  return [
    ...(order.length > 1 ? [`${keys[0]} ${sign}= ${places[0]}`] : []),
    `(${keys.join(', ')}) ${sign} (${places.join(', ')})`,
  ]
}

/** Rows of one of several statements of a list. */
const branchSql = (select: string, narrowed: string, page: string): string =>
  `SELECT * FROM (${select}) AS t\n${narrowed}${page}`

/**
 * The statement of a slice, of a list with times within a window. Rows keep their place while others arrive or are taken back: it is a
 * position, not a count.
 */
export const sliceQuery = (
  list: KeysetList,
  slice: KeysetSlice,
  window: ListWindow = {},
): Query => {
  const { columns, from, where, order, params, time } = list
  const { after, rows } = slice
  const isDown = isReadDown(list, slice)
  const way = isDown ? 'DESC' : 'ASC'
  const keys = order.map(({ sql }) => sql)
  const bounds = Object.entries(time === undefined ? {} : windowBounds(list, window)).filter(
    ([, { value }]) => value !== undefined,
  )
  const conditions = [
    ...where,
    ...bounds.map(([, { sql }]) => sql),
    ...(after ? beyondConditions(order, isDown) : []),
  ]
  const narrowed = conditions.length === 0 ? '' : `WHERE ${conditions.join('\n  AND ')}\n`
  const page = `ORDER BY ${keys.map((key) => `${key} ${way}`).join(', ')} LIMIT {rows:UInt32}`
  const source =
    typeof from === 'string'
      ? `${from}\n${narrowed}`
      : `(${from.map((select) => branchSql(select, narrowed, page)).join('\nUNION ALL ')}) AS t\n`
  const place = [...keys, ...(time === undefined ? [] : [`toUnixTimestamp64Milli(${time})`])]
  return {
    sql: `${list.with === undefined ? '' : `WITH ${list.with}\n`}SELECT ${columns},
  [${place.map((key) => `toString(${key})`).join(', ')}] AS place
FROM ${source}${page}`,
    params: {
      ...params,
      rows,
      ...Object.fromEntries(bounds.map(([name, { value }]) => [name, value])),
      ...Object.fromEntries(
        (after ?? []).slice(0, order.length).map((value, index) => [`place${index}`, value]),
      ),
    },
  }
}

/** The list with its condition on members in the statement itself, for where rows that count are rare. */
export const membersOnly = ({ members, ...list }: KeysetList): KeysetList =>
  members === undefined
    ? list
    : {
        ...list,
        where: [
          ...list.where,
          `t.${members.column} IN (SELECT ${members.column} FROM ${members.table}${members.where === undefined ? '' : ` WHERE ${members.where}`})`,
        ],
      }

/** Which of the values are members: rows of the column alone. */
export const membersQuery = (
  {
    members: { column, table, where },
    params,
  }: { readonly members: NonNullable<KeysetList['members']> } & Pick<KeysetList, 'params'>,
  values: readonly string[],
): Query => ({
  sql: `SELECT ${column} FROM ${table} WHERE ${column} IN {values:Array(String)}${where === undefined ? '' : ` AND ${where}`}`,
  params: { ...params, values },
})

/** Order of what happened on a chain, in the columns of the row `t`. */
export const POSITION_ORDER: readonly OrderColumn[] = [
  { sql: 't.block_slot', type: 'UInt64' },
  { sql: 't.tx_index', type: 'UInt32' },
  { sql: 't.event_index', type: 'UInt32' },
]

/** Money as a column that a list is in the order of. */
export const moneyColumn = (sql: string): OrderColumn => ({
  sql: wideMoney(sql),
  type: 'Decimal256(12)',
})

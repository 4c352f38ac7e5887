import type { Query } from '../../core/clickhouse/client.ts'
import { DAY_MS, HOUR_MS } from '../../core/time.ts'
import {
  isReadDown,
  type KeysetList,
  type KeysetRow,
  type KeysetSlice,
  sliceQuery,
  type TimeWindow,
} from './keyset-list.ts'

/** Times of the first and the newest block of a chain. */
export interface ChainTimes {
  readonly sinceTimeMs: number
  readonly headTimeMs: number
}

/** How much of a chain is read before all of it. */
const WINDOWS_MS = [HOUR_MS, DAY_MS] as const
/**
 * How far from the far end of a window the last row of a page has to be, and how far a window reaches back over the place where it begins. No chain lets
 * the time of a block fall behind its parent's, and a block that replaced another has a time close to it; within the margin both may be otherwise.
 */
const MARGIN_MS = 10 * 60_000

/** Time of a place; undefined where it has none. */
const timeOf = (
  { order }: Pick<KeysetList, 'order'>,
  place: readonly string[] | undefined,
): number | undefined => {
  const text = place?.[order.length]
  return text === undefined ? undefined : Number(text)
}

/**
 * Reads a slice of a list. One with times is asked for its nearest hour first, then its nearest day, then the rest of the chain, until a page is
 * full: days are partitions of the tables. Gives what one statement over the whole chain gives. `chain` null: nothing of it is stored yet.
 */
export const readInWindows = async <Row extends KeysetRow>(
  list: KeysetList,
  slice: KeysetSlice,
  {
    chain,
    query,
  }: {
    readonly chain: ChainTimes | null
    readonly query: (statement: Query) => Promise<readonly Row[]>
  },
): Promise<readonly Row[]> => {
  if (list.time === undefined) return query(sliceQuery(list, slice))
  const isDown = isReadDown(list, slice)
  const placeMs = timeOf(list, slice.after)
  // A slice without a place begins at an end of the chain, and what lies outside that end belongs to it.
  const startMs =
    slice.after === undefined ? chain?.[isDown ? 'headTimeMs' : 'sinceTimeMs'] : placeMs
  const near: TimeWindow =
    placeMs === undefined
      ? {}
      : isDown
        ? { toMs: placeMs + MARGIN_MS }
        : { fromMs: placeMs - MARGIN_MS }
  for (const span of startMs === undefined ? [] : WINDOWS_MS) {
    const far = (startMs ?? 0) + (isDown ? -span : span)
    const window = { ...near, ...(isDown ? { fromMs: far } : { toMs: far }) }
    const rows = await query(sliceQuery(list, slice, window))
    const lastMs = timeOf(list, rows.at(-1)?.place)
    if (rows.length < slice.rows || lastMs === undefined) continue
    if (isDown ? lastMs >= far + MARGIN_MS : lastMs <= far - MARGIN_MS) return rows
  }
  return query(sliceQuery(list, slice, near))
}

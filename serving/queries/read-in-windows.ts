import type { Query } from '../../core/clickhouse/client.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/time.ts'
import {
  isReadDown,
  type KeysetList,
  type KeysetRow,
  type KeysetSlice,
  type ListWindow,
  membersOnly,
  membersQuery,
  sliceQuery,
} from './keyset-list.ts'

/** First and newest block of a chain. */
export interface ChainEnds {
  readonly sinceTimeMs: number
  readonly headTimeMs: number
  readonly sinceSlot: number
  readonly headSlot: number
}

/** How much of a chain is read before all of it, for a list that has a page of rows in most hours. */
const DEFAULT_WINDOWS_MS = [HOUR_MS, DAY_MS] as const
/** For a list of all that happens on a chain. */
export const WHOLE_CHAIN_WINDOWS_MS = [15 * MINUTE_MS, HOUR_MS, DAY_MS] as const
/** For what one wallet does. */
export const WALLET_WINDOWS_MS = [DAY_MS, 7 * DAY_MS] as const
/**
 * How far from the far end of a window the last row of a page has to be, and how far a window reaches back over the place where it begins. No chain lets
 * the time of a block fall behind its parent's, and a block that replaced another has a time close to it; within the margin both may be otherwise.
 */
const MARGIN_MS = 10 * MINUTE_MS
/** Slots of a window by those that the chain has on average: blocks may come faster than that. Others are found by the next window. */
const SLOTS_FACTOR = 2

/** Slots of a window, its margin left out; undefined where the chain's ends do not tell. */
const slotsIn = (spanMs: number, chain: ChainEnds | null): number | undefined => {
  const timeMs = (chain?.headTimeMs ?? 0) - (chain?.sinceTimeMs ?? 0)
  const slots = (chain?.headSlot ?? 0) - (chain?.sinceSlot ?? 0)
  if (timeMs <= 0 || slots <= 0) return undefined
  return Math.ceil(((spanMs - MARGIN_MS) * slots * SLOTS_FACTOR) / timeMs)
}

/** Time of a place; undefined where it has none. */
const timeOf = (
  { order }: Pick<KeysetList, 'order'>,
  place: readonly string[] | undefined,
): number | undefined => {
  const text = place?.[order.length]
  return text === undefined ? undefined : Number(text)
}

/**
 * The slot to which a window of so many ms reaches. Times alone do not tell the engine which rows of a day it may pass over: tables are kept by slot.
 * A page that is full is whole whatever the slots are, for it is in their order.
 */
const slotBound = (
  chain: ChainEnds | null,
  {
    spanMs,
    startSlot,
    isDown,
  }: { readonly spanMs: number; readonly startSlot: number; readonly isDown: boolean },
): ListWindow => {
  const slots = slotsIn(spanMs, chain)
  if (slots === undefined || !Number.isSafeInteger(startSlot)) return {}
  return isDown ? { fromSlot: Math.max(0, startSlot - slots) } : { toSlot: startSlot + slots }
}

/** Rows that are read of a list with members for each row that is wanted. */
const CANDIDATES_PER_ROW = 4

/** Rows of a slice that count: among the nearest, and where too few of these do, among all. */
const readMembers = async <Row extends KeysetRow>(
  list: KeysetList & { readonly members: NonNullable<KeysetList['members']> },
  slice: KeysetSlice,
  query: (statement: Query) => Promise<readonly Row[]>,
): Promise<readonly Row[]> => {
  const { members, ...open } = list
  const wanted = slice.rows * CANDIDATES_PER_ROW
  const candidates = await query(sliceQuery(open, { ...slice, rows: wanted }))
  if (candidates.length === 0) return []
  const memberOf = (row: Row): string => String(row[members.column as keyof Row])
  const found = await query(membersQuery(list, candidates.map(memberOf)))
  const known = new Set(found.map(memberOf))
  const rows = candidates.filter((row) => known.has(memberOf(row)))
  if (rows.length >= slice.rows || candidates.length < wanted) return rows.slice(0, slice.rows)
  return query(sliceQuery(membersOnly(list), slice))
}

/**
 * Reads a slice of a list. One with times is asked for its nearest hour first, then its nearest day, or for windows of its own, then for the rest of the
 * chain, until a page is full: days are partitions of the tables. Gives what one statement over the whole chain gives. `chain` null: nothing of it is
 * stored yet.
 */
export const readInWindows = async <Row extends KeysetRow>(
  list: KeysetList,
  slice: KeysetSlice,
  {
    chain,
    query,
  }: {
    readonly chain: ChainEnds | null
    readonly query: (statement: Query) => Promise<readonly Row[]>
  },
): Promise<readonly Row[]> => {
  const { members } = list
  if (members !== undefined) return readMembers<Row>({ ...list, members }, slice, query)
  if (list.time === undefined) return query(sliceQuery(list, slice))
  const isDown = isReadDown(list, slice)
  const placeMs = timeOf(list, slice.after)
  // A slice without a place begins at an end of the chain, and what lies outside that end belongs to it.
  const [endMs, endSlot] = isDown
    ? [chain?.headTimeMs, chain?.headSlot]
    : [chain?.sinceTimeMs, chain?.sinceSlot]
  const startMs = slice.after === undefined ? endMs : placeMs
  const startSlot = Number(slice.after?.[0] ?? endSlot)
  const near: ListWindow =
    placeMs === undefined
      ? {}
      : isDown
        ? { toMs: placeMs + MARGIN_MS }
        : { fromMs: placeMs - MARGIN_MS }
  for (const spanMs of startMs === undefined ? [] : (list.windowsMs ?? DEFAULT_WINDOWS_MS)) {
    const far = (startMs ?? 0) + (isDown ? -spanMs : spanMs)
    const rows = await query(
      sliceQuery(list, slice, {
        ...near,
        ...(isDown ? { fromMs: far } : { toMs: far }),
        ...slotBound(chain, { spanMs, startSlot, isDown }),
      }),
    )
    const lastMs = timeOf(list, rows.at(-1)?.place)
    if (rows.length < slice.rows || lastMs === undefined) continue
    if (isDown ? lastMs >= far + MARGIN_MS : lastMs <= far - MARGIN_MS) return rows
  }
  return query(sliceQuery(list, slice, near))
}

import type { Static, TObject } from 'typebox'
import { Value } from 'typebox/value'
import { Fault } from '../../core/fault.ts'

/** Longest cursor that is read. */
const MAX_LENGTH = 1_024

/** Version of the encoding; a cursor of another one has expired. */
const VERSION = 1

/** A place in a list as an opaque text. */
export interface CursorCodec<Place> {
  encode(place: Place): string
  /** Throws `Fault` INVALID_CURSOR for anything that `encode` did not write, and for a cursor of another query. */
  decode(text: string): Place
}

/**
 * Cursors of one list: base64url of `[version, fingerprint, place]`. `fingerprint` stands for the query, because a place
 * means nothing in another one.
 */
export const cursorOf = <Place extends TObject>(
  place: Place,
  fingerprint: string,
): CursorCodec<Static<Place>> => ({
  encode: (value) =>
    Buffer.from(JSON.stringify([VERSION, fingerprint, value])).toString('base64url'),
  decode: (text) => {
    const value = parse(text)
    if (
      !Array.isArray(value) ||
      value[0] !== VERSION ||
      value[1] !== fingerprint ||
      !Value.Check(place, value[2])
    ) {
      throw new Fault('INVALID_CURSOR', undefined, { parameter: 'cursor' })
    }
    return value[2]
  },
})

const parse = (text: string): unknown => {
  if (text.length > MAX_LENGTH || !/^[\w-]+$/.test(text)) return undefined
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
}

/** One page and what lies around it. */
export interface Page<Item> {
  readonly data: readonly Item[]
  readonly hasNext: boolean
  readonly hasPrev: boolean
  readonly startCursor: string | null
  readonly endCursor: string | null
}

/** What a list was asked for. */
export interface PageRequest {
  readonly limit: number
  readonly direction: 'next' | 'prev'
  readonly hasCursor: boolean
}

/** Cuts `limit + 1` rows, read in the wanted direction, to a page in list order. */
export const pageFrom = <Item>(
  rows: readonly Item[],
  { limit, direction, hasCursor }: PageRequest,
  cursor: (item: Item) => string,
): Page<Item> => {
  const more = rows.length > limit
  const kept = rows.slice(0, limit)
  const data = direction === 'next' ? kept : kept.toReversed()
  const [first, last] = [data[0], data.at(-1)]
  return {
    data,
    hasNext: direction === 'next' ? more : hasCursor,
    hasPrev: direction === 'next' ? hasCursor : more,
    startCursor: first === undefined ? null : cursor(first),
    endCursor: last === undefined ? null : cursor(last),
  }
}

/**
 * The envelope of every list: `data` and `items` are one array, `nextCursor` is empty at the end (R18). `bodiesOf` gives
 * none for an item that vanished since its place was read.
 */
export const envelope = <Item, Body>(
  page: Page<Item>,
  bodiesOf: (item: Item) => readonly Body[],
) => {
  const data = page.data.flatMap(bodiesOf)
  return {
    data,
    items: data,
    nextCursor: page.hasNext ? (page.endCursor ?? '') : '',
    hasMore: page.hasNext,
    hasNext: page.hasNext,
    hasPrev: page.hasPrev,
    startCursor: page.startCursor,
    endCursor: page.endCursor,
  }
}

import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { Static, TObject } from 'typebox'
import { Value } from 'typebox/value'
import { Fault } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'

/** Longest cursor that is read. */
const MAX_CURSOR_LENGTH = 1_024

/** Version of the encoding; a cursor of another one has expired. */
const CURSOR_VERSION = 2
const KEY_BYTES = 32
const MAC_BYTES = 16

/** A place in a list as an opaque text. */
export interface CursorCodec<Place> {
  encode(position: Place): string
  /** Throws `Fault` INVALID_CURSOR for anything that `encode` did not write, and for a cursor of another query. */
  decode(text: string): Place
}

/**
 * Cursors of one list. `query` names the list and all that a place in it depends on: a cursor of another query, list or installation
 * is refused. Numbers of a place that may exceed 2^53 or are not whole are carried as text.
 */
export type Cursors = <Place extends TObject>(
  position: Place,
  query: readonly unknown[],
) => CursorCodec<Static<Place>>

/**
 * Makes the cursors of an installation: base64url of `[version, place, MAC]`, where the MAC is HMAC-SHA256 over version, place and
 * query under a key that HKDF-SHA256 (RFC 5869) draws from the installation's secret.
 */
export const createCursors = (secret: string): Cursors => {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'cursors', KEY_BYTES))
  return (position, query) => {
    const macOf = (value: unknown): Buffer =>
      createHmac('sha256', key)
        .update(JSON.stringify([CURSOR_VERSION, value, query]))
        .digest()
        .subarray(0, MAC_BYTES)
    return {
      encode: (value) =>
        Buffer.from(
          JSON.stringify([CURSOR_VERSION, value, macOf(value).toString('base64url')]),
        ).toString('base64url'),
      decode: (text) => {
        const [version, value, mac] = parseCursor(text)
        if (
          version !== CURSOR_VERSION ||
          typeof mac !== 'string' ||
          !Value.Check(position, value)
        ) {
          throw new Fault('INVALID_CURSOR', undefined, { parameter: 'cursor' })
        }
        const given = Buffer.from(mac, 'base64url')
        if (given.length !== MAC_BYTES || !timingSafeEqual(given, macOf(value))) {
          throw new Fault('INVALID_CURSOR', undefined, { parameter: 'cursor' })
        }
        return value
      },
    }
  }
}

const parseCursor = (text: string): readonly unknown[] => {
  if (text.length > MAX_CURSOR_LENGTH || !/^[\w-]+$/.test(text)) return []
  try {
    const value = parseJson(Buffer.from(text, 'base64url').toString('utf8'))
    return Array.isArray(value) && value.length === 3 ? value : []
  } catch {
    return []
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
export const createPage = <Item>(
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
 * The envelope of every list: `data` and `items` are one array, `nextCursor` is empty at the end. `bodiesOf` gives
 * none for an item that vanished since its place was read.
 */
export const pageEnvelope = <Item, Body>(
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

import { coinType, moveAddress } from '../../../core/move-type.ts'
import type { MoveEvent } from '../../../schemas/events.ts'
import {
  type BcsCursor,
  bcsOf,
  takeAddress,
  takeBool,
  takeLength,
  takeText,
  takeUint,
} from './bcs.ts'
import { namedFields } from './raw-transaction.ts'

/**
 * Fields of an event, whether the node printed them by name or gave their bytes. Each type is read both ways; undefined is
 * what cannot be read.
 */
interface FieldReader<T> {
  readonly told: (value: unknown) => T | undefined
  readonly bytes: (cursor: BcsCursor) => T | undefined
}

/** Longest list that is read: the largest pools hold eight coins. */
const MAX_LIST = 64

/** Nodes print numbers above 32 bits as texts, all others as numbers. */
const uint = (width: 1 | 4 | 8 | 16): FieldReader<bigint> => {
  const limit = 1n << BigInt(8 * width)
  return {
    told: (value) => {
      const isWhole =
        typeof value === 'number'
          ? Number.isSafeInteger(value) && value >= 0
          : typeof value === 'string' && /^\d{1,39}$/.test(value)
      const number = isWhole ? BigInt(value as string | number) : limit
      return number < limit ? number : undefined
    },
    bytes: (cursor) => takeUint(cursor, width),
  }
}

const bool: FieldReader<boolean> = {
  told: (value) => (typeof value === 'boolean' ? value : undefined),
  bytes: takeBool,
}

const address: FieldReader<string> = {
  told: (value) => (typeof value === 'string' ? moveAddress(value) : undefined),
  bytes: takeAddress,
}

const text: FieldReader<string> = {
  told: (value) => (typeof value === 'string' ? value : undefined),
  bytes: takeText,
}

/** A coin by its type: a text, or a `TypeName`, which is a struct of one. */
const coin: FieldReader<string> = {
  told: (value) => {
    const name = namedFields(value)?.name ?? value
    return typeof name === 'string' ? coinType(name) : undefined
  },
  bytes: (cursor) => {
    const name = takeText(cursor)
    return name === undefined ? undefined : coinType(name)
  },
}

/** Two's complement in a struct of one: `{bits: u32}`. */
const i32: FieldReader<bigint> = {
  told: (value) => signed(uint(4).told(namedFields(value)?.bits)),
  bytes: (cursor) => signed(takeUint(cursor, 4)),
}

const signed = (bits: bigint | undefined): bigint | undefined =>
  bits === undefined ? undefined : BigInt.asIntN(32, bits)

const optional = <T>({ told, bytes }: FieldReader<T>): FieldReader<T | null> => ({
  told: (value) => (value === null ? null : told(value)),
  bytes: (cursor) => {
    const isThere = takeBool(cursor)
    return isThere === false ? null : isThere === true ? bytes(cursor) : undefined
  },
})

const list = <T>({ told, bytes }: FieldReader<T>): FieldReader<readonly T[]> => ({
  told: (value) =>
    Array.isArray(value)
      ? filled(Math.min(value.length, MAX_LIST + 1), (at) => told(value[at]))
      : undefined,
  bytes: (cursor) => {
    const length = takeLength(cursor)
    return length === undefined ? undefined : filled(length, () => bytes(cursor))
  },
})

const filled = <T>(
  length: number,
  read: (at: number) => T | undefined,
): readonly T[] | undefined => {
  const items: T[] = []
  if (length > MAX_LIST) return undefined
  while (items.length < length) {
    const item = read(items.length)
    if (item === undefined) return undefined
    items.push(item)
  }
  return items
}

const READERS = {
  bool,
  address,
  text,
  coin,
  i32,
  u8: uint(1),
  u32: uint(4),
  u64: uint(8),
  u128: uint(16),
  'address?': optional(address),
  'coin[]': list(coin),
  'u64[]': list(uint(8)),
} as const

/** Field names in the order in which their bytes stand, with their types. */
export type Layout = Readonly<Record<string, keyof typeof READERS>>

type ValueOf<T extends keyof typeof READERS> =
  (typeof READERS)[T] extends FieldReader<infer V> ? V : never

/** What was read: what was asked for is there, all else may not be. */
export type Values<L extends Layout, N extends keyof L> = {
  readonly [K in N]: ValueOf<L[K]>
} & { readonly [K in keyof L]?: ValueOf<L[K]> }

/** How an event is read. */
export interface EventShape<L extends Layout, N extends keyof L & string> {
  readonly layout: L
  /** Fields without which the event says nothing. */
  readonly needs: readonly N[]
}

/** What an event says, or why it cannot be taken. */
export type Read<T> = { readonly values: T } | { readonly reason: string }

/**
 * Reads an event. Fields that came later than the layout are left alone, fields that it does not know yet are not there.
 * Reasons: `missing-field`, `bad-field`, `short-data`, `no-fields`.
 */
export const readEvent = <L extends Layout, N extends keyof L & string>(
  { fields, bytes }: Pick<MoveEvent, 'fields' | 'bytes'>,
  shape: EventShape<L, N>,
): Read<Values<L, N>> => {
  if (fields === null && bytes === null) return { reason: 'no-fields' }
  const read =
    fields === null ? fromBytes(bytesOr(bytes), shape.layout) : fromNames(fields, shape.layout)
  if ('reason' in read) return read
  const missing = shape.needs.some((name) => read.values[name] === undefined)
  if (missing) return { reason: fields === null ? 'short-data' : 'missing-field' }
  return { values: read.values as Values<L, N> }
}

const NO_BYTES = new Uint8Array()
const bytesOr = (bytes: Uint8Array | null): Uint8Array => bytes ?? NO_BYTES

type Loose = Record<string, unknown>

const fromNames = (fields: Readonly<Record<string, unknown>>, layout: Layout): Read<Loose> => {
  const values: Loose = {}
  for (const [name, type] of Object.entries(layout)) {
    const told = fields[name]
    if (told === undefined) continue
    const value = READERS[type].told(told)
    if (value === undefined) return { reason: 'bad-field' }
    values[name] = value
  }
  return { values }
}

const fromBytes = (bytes: Uint8Array, layout: Layout): Read<Loose> => {
  const cursor = bcsOf(bytes)
  const values: Loose = {}
  for (const [name, type] of Object.entries(layout)) {
    const value = READERS[type].bytes(cursor)
    if (cursor.short) break
    if (value === undefined) return { reason: 'bad-field' }
    values[name] = value
  }
  return { values }
}

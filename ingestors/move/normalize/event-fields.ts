import { normalizeCoinType, normalizeMoveAddress } from '../../../core/move-type.ts'
import type { DropReason } from '../../../schemas/drop-reasons.ts'
import type { MoveEvent } from '../../../schemas/events.ts'
import {
  type BcsCursor,
  bcsCursor,
  readAddress,
  readBool,
  readString,
  readUint,
  readUleb128Length,
} from './bcs.ts'
import { objectFieldsOrNull } from './raw-transaction.ts'

/**
 * Fields of an event, whether the node printed them by name or gave their bytes. Each type is read both ways; undefined is
 * what cannot be read.
 */
interface FieldReader<T> {
  readonly fromJson: (value: unknown) => T | undefined
  readonly fromBcs: (cursor: BcsCursor) => T | undefined
}

/** Longest list that is read: the largest pools hold eight coins. */
const MAX_LIST_LENGTH = 64

/** Nodes print numbers above 32 bits as texts, all others as numbers. */
const uint = (width: 1 | 4 | 8 | 16): FieldReader<bigint> => {
  const limit = 1n << BigInt(8 * width)
  return {
    fromJson: (value) => {
      const isWhole =
        typeof value === 'number'
          ? Number.isSafeInteger(value) && value >= 0
          : typeof value === 'string' && /^\d{1,39}$/.test(value)
      const number = isWhole ? BigInt(value as string | number) : limit
      return number < limit ? number : undefined
    },
    fromBcs: (cursor) => readUint(cursor, width),
  }
}

const bool: FieldReader<boolean> = {
  fromJson: (value) => (typeof value === 'boolean' ? value : undefined),
  fromBcs: readBool,
}

const address: FieldReader<string> = {
  fromJson: (value) => (typeof value === 'string' ? normalizeMoveAddress(value) : undefined),
  fromBcs: readAddress,
}

const text: FieldReader<string> = {
  fromJson: (value) => (typeof value === 'string' ? value : undefined),
  fromBcs: readString,
}

/** A coin by its type: a text, or a `TypeName`, which is a struct of one. */
const coin: FieldReader<string> = {
  fromJson: (value) => {
    const name = objectFieldsOrNull(value)?.name ?? value
    return typeof name === 'string' ? normalizeCoinType(name) : undefined
  },
  fromBcs: (cursor) => {
    const name = readString(cursor)
    return name === undefined ? undefined : normalizeCoinType(name)
  },
}

/** Two's complement in a struct of one: `{bits: u32}`. */
const i32: FieldReader<bigint> = {
  fromJson: (value) => toSigned32(uint(4).fromJson(objectFieldsOrNull(value)?.bits)),
  fromBcs: (cursor) => toSigned32(readUint(cursor, 4)),
}

const toSigned32 = (bits: bigint | undefined): bigint | undefined =>
  bits === undefined ? undefined : BigInt.asIntN(32, bits)

const optional = <T>({ fromJson, fromBcs }: FieldReader<T>): FieldReader<T | null> => ({
  fromJson: (value) => (value === null ? null : fromJson(value)),
  fromBcs: (cursor) => {
    const isThere = readBool(cursor)
    return isThere === false ? null : isThere === true ? fromBcs(cursor) : undefined
  },
})

const list = <T>({ fromJson, fromBcs }: FieldReader<T>): FieldReader<readonly T[]> => ({
  fromJson: (value) =>
    Array.isArray(value)
      ? readList(Math.min(value.length, MAX_LIST_LENGTH + 1), (at) => fromJson(value[at]))
      : undefined,
  fromBcs: (cursor) => {
    const length = readUleb128Length(cursor)
    return length === undefined ? undefined : readList(length, () => fromBcs(cursor))
  },
})

const readList = <T>(
  length: number,
  read: (at: number) => T | undefined,
): readonly T[] | undefined => {
  const items: T[] = []
  if (length > MAX_LIST_LENGTH) return undefined
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
export type EventLayout = Readonly<Record<string, keyof typeof READERS>>

type FieldValue<T extends keyof typeof READERS> =
  (typeof READERS)[T] extends FieldReader<infer V> ? V : never

/** What was read: what was asked for is there, all else may not be. */
export type EventValues<L extends EventLayout, N extends keyof L> = {
  readonly [K in N]: FieldValue<L[K]>
} & { readonly [K in keyof L]?: FieldValue<L[K]> }

/** How an event is read. */
export interface EventSchema<L extends EventLayout, N extends keyof L & string> {
  readonly layout: L
  /** Fields without which the event says nothing. */
  readonly needs: readonly N[]
}

/** What an event says, or why it cannot be taken. */
export type ReadResult<T> = { readonly values: T } | { readonly reason: DropReason }

/**
 * Reads an event. Fields that came later than the layout are left alone, fields that it does not know yet are not there.
 * Reasons: `missing-field`, `bad-field`, `truncated-data`, `missing-event-data`.
 */
export const readEvent = <L extends EventLayout, N extends keyof L & string>(
  { fields, bytes }: Pick<MoveEvent, 'fields' | 'bytes'>,
  shape: EventSchema<L, N>,
): ReadResult<EventValues<L, N>> => {
  if (fields === null && bytes === null) return { reason: 'missing-event-data' }
  const read =
    fields === null
      ? readBcsFields(bytesOrEmpty(bytes), shape.layout)
      : readJsonFields(fields, shape.layout)
  if ('reason' in read) return read
  const missing = shape.needs.some((name) => read.values[name] === undefined)
  if (missing) return { reason: fields === null ? 'truncated-data' : 'missing-field' }
  return { values: read.values as EventValues<L, N> }
}

const NO_BYTES = new Uint8Array()
const bytesOrEmpty = (bytes: Uint8Array | null): Uint8Array => bytes ?? NO_BYTES

type UntypedValues = Record<string, unknown>

const readJsonFields = (
  fields: Readonly<Record<string, unknown>>,
  layout: EventLayout,
): ReadResult<UntypedValues> => {
  const values: UntypedValues = {}
  for (const [name, type] of Object.entries(layout)) {
    const reported = fields[name]
    if (reported === undefined) continue
    const value = READERS[type].fromJson(reported)
    if (value === undefined) return { reason: 'bad-field' }
    values[name] = value
  }
  return { values }
}

const readBcsFields = (bytes: Uint8Array, layout: EventLayout): ReadResult<UntypedValues> => {
  const cursor = bcsCursor(bytes)
  const values: UntypedValues = {}
  for (const [name, type] of Object.entries(layout)) {
    const value = READERS[type].fromBcs(cursor)
    if (cursor.isTruncated) break
    if (value === undefined) return { reason: 'bad-field' }
    values[name] = value
  }
  return { values }
}

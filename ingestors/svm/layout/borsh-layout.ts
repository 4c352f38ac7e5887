import { base58Encode } from '../../../core/base58.ts'

/** Borsh layouts as tables: fields of fixed width that follow each other become byte offsets. Numbers are little endian. */

const FIELD_WIDTHS = {
  bool: 1,
  u8: 1,
  u16: 2,
  i32: 4,
  u64: 8,
  i64: 8,
  u128: 16,
  i128: 16,
  key: 32,
} as const

/** Field names in order, with their types. */
type FieldTypes = Readonly<Record<string, keyof typeof FIELD_WIDTHS>>

/** Where each field starts, counted from the first; `end` is behind the last. */
export type FieldOffsets<F extends FieldTypes> = { readonly [K in keyof F]: number } & {
  readonly end: number
}

/** Offsets of a list of fields. */
export const fieldOffsets = <const F extends FieldTypes>(fields: F): FieldOffsets<F> => {
  const offsets: Record<string, number> = {}
  let end = 0
  for (const [name, type] of Object.entries(fields)) {
    offsets[name] = end
    end += FIELD_WIDTHS[type]
  }
  return { ...offsets, end } as FieldOffsets<F>
}

/** Bytes as numbers. */
export const dataViewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength)

/** An unsigned 64-bit number; the caller knows that it is there. */
export const u64 = (view: DataView, at: number): bigint => view.getBigUint64(at, true)

/** An unsigned 128-bit number; the caller knows that it is there. */
export const u128 = (view: DataView, at: number): bigint =>
  u64(view, at) | (u64(view, at + 8) << 64n)

/** A signed 128-bit number; the caller knows that it is there. */
export const i128 = (view: DataView, at: number): bigint => BigInt.asIntN(128, u128(view, at))

/** An address as text: dear, so only for those that are published and stand in no account list. */
export const readPubkey = (data: Uint8Array, at: number): string =>
  base58Encode(data.subarray(at, at + FIELD_WIDTHS.key))

/** Two addresses by their bytes, the lower one first: the order in which programs name a pool's tokens. */
export const sortPubkeys = (one: string, other: string): readonly [string, string] =>
  isLowerKey(significantDigits(one), significantDigits(other)) ? [one, other] : [other, one]

/** Leading ones are zero bytes; without them more digits are a higher number. */
const significantDigits = (address: string): string => address.replace(/^1+/, '')

/** The digits of base 58 stand in the order of their character codes. */
const isLowerKey = (one: string, other: string): boolean =>
  one.length === other.length ? one < other : one.length < other.length

/** The key is all zeros: the system address, which stands for "none" and for the chain's native token. */
export const isDefaultPubkey = (view: DataView, at: number): boolean => {
  for (let word = at; word < at + FIELD_WIDTHS.key; word += 4) {
    if (view.getUint32(word) !== 0) return false
  }
  return true
}

/** Texts that follow each other, each behind its length, and where they end; undefined when the data ends before. */
export const readStrings = (
  data: Uint8Array,
  start: number,
  count: number,
): { readonly texts: readonly string[]; readonly end: number } | undefined => {
  const view = dataViewOf(data)
  const texts: string[] = []
  let at = start
  while (texts.length < count) {
    if (at + 4 > data.length) return undefined
    const from = at + 4
    at = from + view.getUint32(at, true)
    if (at > data.length) return undefined
    texts.push(decodePaddedString(data.subarray(from, at)))
  }
  return { texts, end: at }
}

/** Fixed-width texts are filled up with zero bytes. */
const decodePaddedString = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString('utf8')
    .replaceAll('\0', '')

/** Four bytes as a number, the first one highest; 0 for bytes that are not there. */
export const readU32BigEndian = (data: Uint8Array, at: number): number =>
  (((data[at] ?? 0) << 24) |
    ((data[at + 1] ?? 0) << 16) |
    ((data[at + 2] ?? 0) << 8) |
    (data[at + 3] ?? 0)) >>>
  0

/** Looks rows up by eight bytes of data. Throws on two rows with the same first half: the look-up compares it first. */
export const matchDiscriminator = <Row>(
  rows: Readonly<Record<string, Row>>,
): ((data: Uint8Array, at: number) => Row | undefined) => {
  const table = new Map<number, { readonly second: number; readonly row: Row }>()
  for (const [tag, row] of Object.entries(rows)) {
    const first = Number.parseInt(tag.slice(0, 8), 16)
    if (table.has(first)) throw new Error(`duplicate discriminator prefix: ${tag}`)
    table.set(first, { second: Number.parseInt(tag.slice(8), 16), row })
  }
  return (data, at) => {
    if (data.length < at + 8) return undefined
    const found = table.get(readU32BigEndian(data, at))
    return found?.second === readU32BigEndian(data, at + 4) ? found.row : undefined
  }
}

import { base58Encode } from '../../../core/base58.ts'
import { InvalidInput } from '../../../core/errors.ts'
import {
  type BcsCursor,
  bcsCursor,
  readAddress,
  readBool,
  readBytes,
  readString,
  readUint,
  readUleb128Length,
} from '../normalize/bcs.ts'

/** Deepest nesting of types that is followed. */
const MAX_TYPE_DEPTH = 16

/** Reads the parts of a checkpoint file front to back. Every read throws `InvalidInput`: `truncated-file`, `unknown-variant`. */
export interface BcsReader {
  u8(): number
  u16(): number
  u32(): number
  u64(): bigint
  bool(): boolean
  text(): string
  /** Bytes behind their length. */
  byteVector(): Uint8Array
  /** So many bytes. */
  bytes(count: number): Uint8Array
  /** Address or object id, with all its digits. */
  id(): string
  /** A digest is a list of 32 bytes. */
  digest(): string
  option<T>(read: () => T): T | null
  list<T>(read: () => T): readonly T[]
  /** The case of an enum by its number, each with what stands behind it. */
  variant<T>(at: string, cases: readonly (() => T)[]): T
  /** A type as nodes print it. */
  typeTag(): string
  /** A type that a package defines. */
  structTag(): string
  /** Skips parts that are not needed, in order. */
  skip(...parts: readonly (() => unknown)[]): void
  /** Bytes that were read so far. */
  offset(): number
  /** Bytes from a place up to here. */
  since(place: number): Uint8Array
  isDone(): boolean
}

/** A reader before the first byte. */
export const createBcsReader = (bytes: Uint8Array): BcsReader => {
  const cursor: BcsCursor = bcsCursor(bytes)
  const must = <T>(value: T | undefined): T => {
    if (value === undefined) {
      throw new InvalidInput(
        'truncated-file',
        `file is empty or truncated at byte ${cursor.offset}`,
      )
    }
    return value
  }
  const number = (width: 1 | 4): number => Number(must(readUint(cursor, width)))
  const list = <T>(read: () => T): readonly T[] => {
    const count = must(readUleb128Length(cursor))
    if (count > bytes.length - cursor.offset) must(undefined)
    return Array.from({ length: count }, read)
  }
  const variant = <T>(at: string, cases: readonly (() => T)[]): T => {
    const tag = must(readUleb128Length(cursor))
    const read = cases[tag]
    if (read === undefined) throw new InvalidInput('unknown-variant', `${at} is of variant ${tag}`)
    return read()
  }
  const typeAt = (depth: number): string => {
    if (depth > MAX_TYPE_DEPTH)
      throw new InvalidInput('too-deep', `a type nests deeper than ${MAX_TYPE_DEPTH}`)
    const named = (name: string) => (): string => name
    return variant('type', [
      ...['bool', 'u8', 'u64', 'u128', 'address', 'signer'].map(named),
      () => `vector<${typeAt(depth + 1)}>`,
      () => structAt(depth + 1),
      ...['u16', 'u32', 'u256'].map(named),
    ])
  }
  const structAt = (depth: number): string => {
    const head = [must(readAddress(cursor)), must(readString(cursor)), must(readString(cursor))]
    const inside = list(() => typeAt(depth))
    return `${head.join('::')}${inside.length === 0 ? '' : `<${inside.join(', ')}>`}`
  }
  return {
    u8: () => number(1),
    u16: () => number(1) + number(1) * 256,
    u32: () => number(4),
    u64: () => must(readUint(cursor, 8)),
    bool: () => must(readBool(cursor)),
    text: () => must(readString(cursor)),
    byteVector: () => must(readBytes(cursor, must(readUleb128Length(cursor)))),
    bytes: (count) => must(readBytes(cursor, count)),
    id: () => must(readAddress(cursor)),
    digest: () => {
      if (must(readUleb128Length(cursor)) !== 32)
        throw new InvalidInput('bad-digest', 'no 32 bytes')
      return base58Encode(must(readBytes(cursor, 32)))
    },
    option: (read) => (must(readBool(cursor)) ? read() : null),
    list,
    variant,
    typeTag: () => typeAt(0),
    structTag: () => structAt(0),
    skip: (...parts) => {
      for (const part of parts) part()
    },
    offset: () => cursor.offset,
    since: (place) => bytes.subarray(place, cursor.offset),
    isDone: () => cursor.offset === bytes.length,
  }
}

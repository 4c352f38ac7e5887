import { base58Encode } from '../../../core/base58.ts'
import { Malformed } from '../../../core/errors.ts'
import {
  type BcsCursor,
  bcsOf,
  takeAddress,
  takeBool,
  takeBytes,
  takeLength,
  takeText,
  takeUint,
} from '../normalize/bcs.ts'

/** Deepest nesting of types that is followed. */
const MAX_DEPTH = 16

/** Reads the parts of a checkpoint file front to back. Every read throws `Malformed`: `short-file`, `unknown-variant`. */
export interface ChkReader {
  u8(): number
  u16(): number
  u32(): number
  u64(): bigint
  bool(): boolean
  text(): string
  /** Bytes behind their length. */
  blob(): Uint8Array
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
  type(): string
  /** A type that a package defines. */
  struct(): string
  /** Reads parts that nobody needs, in order. */
  skip(...parts: readonly (() => unknown)[]): void
  /** Bytes that were read so far. */
  place(): number
  /** Bytes from a place up to here. */
  since(place: number): Uint8Array
  isDone(): boolean
}

/** A reader before the first byte. */
export const chkReader = (bytes: Uint8Array): ChkReader => {
  const cursor: BcsCursor = bcsOf(bytes)
  const must = <T>(value: T | undefined): T => {
    if (value === undefined) {
      throw new Malformed('short-file', `the file is none or ends at byte ${cursor.at}`)
    }
    return value
  }
  const number = (width: 1 | 4): number => Number(must(takeUint(cursor, width)))
  const list = <T>(read: () => T): readonly T[] => {
    const count = must(takeLength(cursor))
    if (count > bytes.length - cursor.at) must(undefined)
    return Array.from({ length: count }, read)
  }
  const variant = <T>(at: string, cases: readonly (() => T)[]): T => {
    const tag = must(takeLength(cursor))
    const read = cases[tag]
    if (read === undefined) throw new Malformed('unknown-variant', `${at} is of variant ${tag}`)
    return read()
  }
  const typeAt = (depth: number): string => {
    if (depth > MAX_DEPTH) throw new Malformed('too-deep', `a type nests deeper than ${MAX_DEPTH}`)
    const named = (name: string) => (): string => name
    return variant('type', [
      ...['bool', 'u8', 'u64', 'u128', 'address', 'signer'].map(named),
      () => `vector<${typeAt(depth + 1)}>`,
      () => structAt(depth + 1),
      ...['u16', 'u32', 'u256'].map(named),
    ])
  }
  const structAt = (depth: number): string => {
    const head = [must(takeAddress(cursor)), must(takeText(cursor)), must(takeText(cursor))]
    const inside = list(() => typeAt(depth))
    return `${head.join('::')}${inside.length === 0 ? '' : `<${inside.join(', ')}>`}`
  }
  return {
    u8: () => number(1),
    u16: () => number(1) + number(1) * 256,
    u32: () => number(4),
    u64: () => must(takeUint(cursor, 8)),
    bool: () => must(takeBool(cursor)),
    text: () => must(takeText(cursor)),
    blob: () => must(takeBytes(cursor, must(takeLength(cursor)))),
    bytes: (count) => must(takeBytes(cursor, count)),
    id: () => must(takeAddress(cursor)),
    digest: () => {
      if (must(takeLength(cursor)) !== 32) throw new Malformed('bad-digest', 'no 32 bytes')
      return base58Encode(must(takeBytes(cursor, 32)))
    },
    option: (read) => (must(takeBool(cursor)) ? read() : null),
    list,
    variant,
    type: () => typeAt(0),
    struct: () => structAt(0),
    skip: (...parts) => {
      for (const part of parts) part()
    },
    place: () => cursor.at,
    since: (place) => bytes.subarray(place, cursor.at),
    isDone: () => cursor.at === bytes.length,
  }
}

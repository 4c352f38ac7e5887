import { base58Encode } from '../../../core/base58.ts'
import { InvalidInput } from '../../../core/errors.ts'

/** An instruction of a message: indexes into the joined account list, data as it stands. */
export interface CompiledInstruction {
  readonly programIndex: number
  readonly accounts: Uint8Array
  readonly data: Uint8Array
}

/** What the wire form of a transaction says. */
export interface WireTransaction {
  readonly version: 'legacy' | 0 | 1
  /** First signature, base 58. */
  readonly signature: string
  readonly signatures: number
  /** Without those of look-up tables. */
  readonly staticKeys: readonly string[]
  readonly instructions: readonly CompiledInstruction[]
}

const SIGNATURE_BYTES = 64
const KEY_BYTES = 32
/** Top bit of a message's first byte: the rest is its version. */
const VERSION_FLAG = 0x80

/**
 * Reads a transaction's wire bytes: signatures and a legacy or v0 message, or a v1 message with its signatures behind it
 * (SIMD-0385). Throws `InvalidInput`: `truncated-transaction`, `unknown-version`.
 */
export const parseWireTransaction = (bytes: Uint8Array): WireTransaction =>
  bytes[0] === VERSION_FLAG + 1 ? parseV1(byteCursor(bytes)) : parseLegacyOrV0(byteCursor(bytes))

interface ByteCursor {
  take(length: number): Uint8Array
  u8(): number
  u16(): number
  u32(): number
  /** compact-u16: seven bits a byte, at most three bytes. */
  compactU16(): number
  peek(): number
}

const byteCursor = (bytes: Uint8Array): ByteCursor => {
  let at = 0
  const take = (length: number): Uint8Array => {
    if (at + length > bytes.length) {
      throw new InvalidInput('truncated-transaction', `a transaction ends at byte ${bytes.length}`)
    }
    at += length
    return bytes.subarray(at - length, at)
  }
  const little = (length: number): number =>
    take(length).reduce((sum, byte, index) => sum + byte * 2 ** (8 * index), 0)
  return {
    take,
    u8: () => little(1),
    u16: () => little(2),
    u32: () => little(4),
    compactU16: () => {
      let value = 0
      for (let shift = 0; shift < 21; shift += 7) {
        const byte = little(1)
        value |= (byte & 0x7f) << shift
        if (byte < 0x80) return value
      }
      throw new InvalidInput('truncated-transaction', 'a length has more than three bytes')
    },
    peek: () => bytes[at] ?? 0,
  }
}

const readTimes = <T>(count: number, read: () => T): T[] => Array.from({ length: count }, read)

const encodeFirstSignature = (first: Uint8Array | undefined): string => {
  if (first === undefined)
    throw new InvalidInput('truncated-transaction', 'transaction has no signatures')
  return base58Encode(first)
}

/** Legacy and v0: signatures, header, keys, block hash, instructions and, in v0, look-ups that `loadedAddresses` answers. */
const parseLegacyOrV0 = (cursor: ByteCursor): WireTransaction => {
  const signatures = readTimes(cursor.compactU16(), () => cursor.take(SIGNATURE_BYTES))
  const version = readMessageVersion(cursor)
  cursor.take(3)
  const staticKeys = readTimes(cursor.compactU16(), () => base58Encode(cursor.take(KEY_BYTES)))
  cursor.take(KEY_BYTES)
  const instructions = readTimes(cursor.compactU16(), () => ({
    programIndex: cursor.u8(),
    accounts: cursor.take(cursor.compactU16()),
    data: cursor.take(cursor.compactU16()),
  }))
  return {
    version,
    signature: encodeFirstSignature(signatures[0]),
    signatures: signatures.length,
    staticKeys,
    instructions,
  }
}

const readMessageVersion = (cursor: ByteCursor): 'legacy' | 0 => {
  if (cursor.peek() < VERSION_FLAG) return 'legacy'
  const version = cursor.u8() - VERSION_FLAG
  if (version !== 0) throw new InvalidInput('unknown-version', `transaction version ${version}`)
  return version
}

const parseV1 = (cursor: ByteCursor): WireTransaction => {
  cursor.take(1)
  const signatureCount = cursor.u8()
  cursor.take(2)
  const mask = cursor.u32()
  cursor.take(KEY_BYTES)
  const instructionCount = cursor.u8()
  const staticKeys = readTimes(cursor.u8(), () => base58Encode(cursor.take(KEY_BYTES)))
  cursor.take(4 * countSetBits(mask))
  const heads = readTimes(instructionCount, () => ({
    programIndex: cursor.u8(),
    accountCount: cursor.u8(),
    dataLength: cursor.u16(),
  }))
  const instructions = heads.map(({ programIndex, accountCount, dataLength }) => ({
    programIndex,
    accounts: cursor.take(accountCount),
    data: cursor.take(dataLength),
  }))
  const signatures = readTimes(signatureCount, () => cursor.take(SIGNATURE_BYTES))
  return {
    version: 1,
    signature: encodeFirstSignature(signatures[0]),
    signatures: signatureCount,
    staticKeys,
    instructions,
  }
}

const countSetBits = (mask: number): number => {
  let bits = 0
  for (let rest = mask; rest > 0; rest = Math.floor(rest / 2)) bits += rest % 2
  return bits
}

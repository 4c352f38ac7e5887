import { dataViewOf } from '../../svm/layout/borsh-layout.ts'

/** Reads BCS front to back: numbers are little endian, lists and texts stand behind their length. Source: diem/bcs. */
export interface BcsCursor {
  readonly bytes: Uint8Array
  offset: number
  /** More was asked for than there was. */
  isTruncated: boolean
}

/** A cursor before the first byte. */
export const bcsCursor = (bytes: Uint8Array): BcsCursor => ({
  bytes,
  offset: 0,
  isTruncated: false,
})

/** An unsigned number of up to 16 bytes. */
export const readUint = (cursor: BcsCursor, width: 1 | 4 | 8 | 16): bigint | undefined => {
  const bytes = readBytes(cursor, width)
  if (bytes === undefined) return undefined
  const view = dataViewOf(bytes)
  if (width === 1) return BigInt(view.getUint8(0))
  if (width === 4) return BigInt(view.getUint32(0, true))
  const low = view.getBigUint64(0, true)
  return width === 8 ? low : low | (view.getBigUint64(8, true) << 64n)
}

/** A yes or no; undefined behind the end and for a byte that is neither. */
export const readBool = (cursor: BcsCursor): boolean | undefined => {
  const byte = readBytes(cursor, 1)?.[0]
  return byte === 0 ? false : byte === 1 ? true : undefined
}

/** A length in seven bits a byte, of up to 28 bits: undefined behind the end and for more. */
export const readUleb128Length = (cursor: BcsCursor): number | undefined => {
  let length = 0
  for (let shift = 0; shift < 28; shift += 7) {
    const byte = readBytes(cursor, 1)?.[0]
    if (byte === undefined) return undefined
    length |= (byte & 0x7f) << shift
    if (byte < 0x80) return length
  }
  return undefined
}

/** An address with all its digits. */
export const readAddress = (cursor: BcsCursor): string | undefined => {
  const bytes = readBytes(cursor, 32)
  return bytes && `0x${Buffer.from(bytes).toString('hex')}`
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** A text; undefined behind the end and for bytes that are not valid UTF-8. */
export const readString = (cursor: BcsCursor): string | undefined => {
  const length = readUleb128Length(cursor)
  const bytes = length === undefined ? undefined : readBytes(cursor, length)
  if (bytes === undefined) return undefined
  try {
    return UTF8.decode(bytes)
  } catch {
    return undefined
  }
}

/** The next bytes; undefined behind the end. */
export const readBytes = (cursor: BcsCursor, count: number): Uint8Array | undefined => {
  const end = cursor.offset + count
  if (end > cursor.bytes.length) {
    cursor.isTruncated = true
    return undefined
  }
  const taken = cursor.bytes.subarray(cursor.offset, end)
  cursor.offset = end
  return taken
}

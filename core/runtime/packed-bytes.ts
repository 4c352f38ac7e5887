/** Values for another thread: their bytes one after the other in memory of their own, and how many each has, -1 for null. */
export interface PackedBytes {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly lengths: Int32Array<ArrayBuffer>
}

/**
 * Copies values into one block that can be moved. A value alone cannot be: it often is a part of memory that belongs to
 * others, and a copy between threads would take all of that.
 */
export const packBytes = (values: readonly (Uint8Array | null)[]): PackedBytes => {
  const bytes = new Uint8Array(values.reduce((sum, value) => sum + (value?.byteLength ?? 0), 0))
  let at = 0
  for (const value of values) {
    if (value === null) continue
    bytes.set(value, at)
    at += value.byteLength
  }
  return { bytes, lengths: Int32Array.from(values, (value) => value?.byteLength ?? -1) }
}

/** The values again, each a view of the block. */
export const unpackBytes = ({ bytes, lengths }: PackedBytes): readonly (Buffer | null)[] => {
  let at = bytes.byteOffset
  return Array.from(lengths, (length) => {
    if (length < 0) return null
    at += length
    return Buffer.from(bytes.buffer, at - length, length)
  })
}

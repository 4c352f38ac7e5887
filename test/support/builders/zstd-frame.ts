/** Magic number, no size, and a window of 2 MB, as an encoder writes it that does not know what comes. Source: RFC 8878, 3.1.1. */
export const FRAME_HEADER = Buffer.of(0x28, 0xb5, 0x2f, 0xfd, 0, 0x58)

const BLOCK_BYTES = 128 * 1024

/** The head of a block: 0 as it stands, 1 one byte so many times, 2 compressed. */
export const blockHeader = (type: number, size: number, isLast: boolean): Buffer => {
  const head = Buffer.alloc(3)
  head.writeUIntLE(size * 8 + type * 2 + (isLast ? 1 : 0), 0, 3)
  return head
}

/** Bytes as a frame of Zstandard whose blocks hold them as they are. */
export const buildRawFrame = (bytes: Uint8Array): Buffer => {
  const count = Math.max(1, Math.ceil(bytes.length / BLOCK_BYTES))
  const blocks = Array.from({ length: count }, (_, place) => {
    const block = bytes.subarray(place * BLOCK_BYTES, (place + 1) * BLOCK_BYTES)
    return Buffer.concat([blockHeader(0, block.length, place === count - 1), block])
  })
  return Buffer.concat([FRAME_HEADER, ...blocks])
}

const NONE: Buffer = Buffer.alloc(0)
const FIN_AND_OPCODE = 0b1000_1111
const LENGTH = 0b0111_1111
const MASKED = 0b1000_0000
const SHORT = 126
const LONG = 127

/** Opcodes of a whole frame, with its FIN bit. Source: RFC 6455 5.2. */
export const FRAME_KINDS = { text: 0x81, ping: 0x89, pong: 0x8a } as const

/** Called with a whole frame of a server; its payload is `bytes` from `from` to `to`, good until the call returns. */
export type OnFrame = (kind: number, bytes: Buffer, from: number, to: number) => void

/** Takes the bytes that came in, cut anywhere, and calls `onFrame` for each frame that is whole. Fragments are frames as well. */
export const createFrameReader = (onFrame: OnFrame): ((chunk: Buffer) => void) => {
  let rest = NONE
  return (chunk) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let at = 0
    while (at + 2 <= bytes.length) {
      const short = (bytes[at + 1] ?? 0) & LENGTH
      const from = at + (short < SHORT ? 2 : short === SHORT ? 4 : 10)
      if (from > bytes.length) break
      const length =
        short < SHORT
          ? short
          : short === LONG
            ? Number(bytes.readBigUInt64BE(at + 2))
            : bytes.readUInt16BE(at + 2)
      if (from + length > bytes.length) break
      onFrame((bytes[at] ?? 0) & FIN_AND_OPCODE, bytes, from, from + length)
      at = from + length
    }
    rest = bytes.subarray(at)
  }
}

/** A frame as a client sends it: masked, with a mask of zeros, which leaves the payload as it is. Up to 65,535 bytes. */
export const clientFrame = (kind: number, payload: Buffer): Buffer => {
  const { length } = payload
  const header =
    length < SHORT ? [kind, MASKED | length] : [kind, MASKED | SHORT, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([...header, 0, 0, 0, 0]), payload])
}

/** Calls `onLine` for each line of a text frame: Centrifuge's JSON protocol has one message a line. */
export const eachLine = (
  bytes: Buffer,
  from: number,
  to: number,
  onLine: (bytes: Buffer, from: number, to: number) => void,
): void => {
  // A search in the frame alone: in all bytes it would go on to the end of what follows.
  const text = bytes.subarray(from, to)
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf(10, start)
    const end = found === -1 ? text.length : found
    if (end > start) onLine(bytes, from + start, from + end)
    start = end + 1
  }
}

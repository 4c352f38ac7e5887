import { ZSTDDecoder } from 'zstddec'
import { InvalidInput } from '../../../core/errors.ts'

/** Layout of a frame. Source: RFC 8878, 3.1.1. */
const MAGIC = 0xfd2fb528
const MAX_BLOCK_BYTES = 128 * 1024

/** Largest window, as much as the format's own tool takes unasked. */
const MAX_WINDOW_BYTES = 128 * 1024 * 1024

/**
 * What was packed into one frame of Zstandard, by the format's own decoder. Frame and blocks are measured before anything is
 * unpacked: memory stays below twice the limit. Frames that need a dictionary and files of several frames are refused.
 * Throws `InvalidInput`: `not-zstd`, `truncated-file`, `too-big`, `trailing-bytes`.
 */
export const decompressZstd = async (bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> => {
  const mostBytes = maxDecompressedBytes(bytes, maxBytes)
  if (mostBytes === 0) return new Uint8Array()
  const decoder = new ZSTDDecoder()
  await decoder.init()
  const unpacked = decoder.decode(bytes, Math.min(mostBytes, maxBytes))
  if (unpacked.length > 0) return unpacked
  throw mostBytes > maxBytes
    ? tooBig(`more than ${maxBytes} bytes, or cannot be unpacked`)
    : notZstd('has a block that cannot be unpacked')
}

const notZstd = (problem: string): InvalidInput =>
  new InvalidInput('not-zstd', `the frame ${problem}`)
const tooBig = (what: string): InvalidInput =>
  new InvalidInput('too-big', `the frame asks for ${what}`)

/** What a frame's header says. */
interface FrameHeader {
  readonly blocksAt: number
  readonly windowBytes: number
  readonly contentBytes: number | null
  readonly checksumBytes: number
}

/** To how many bytes the frame unpacks at most. */
const maxDecompressedBytes = (bytes: Uint8Array, maxBytes: number): number => {
  const header = parseFrameHeader(bytes)
  const { windowBytes, contentBytes, checksumBytes } = header
  if ((contentBytes ?? 0) > maxBytes) throw tooBig(`${contentBytes} bytes`)
  if (windowBytes > MAX_WINDOW_BYTES) throw tooBig(`a window of ${windowBytes} bytes`)
  const { end, packed, plainBytes } = scanBlocks(bytes, header)
  if (plainBytes > maxBytes) throw tooBig(`${plainBytes} bytes`)
  if (end + checksumBytes > bytes.length) throw truncatedFile(bytes.length)
  if (end + checksumBytes < bytes.length) {
    throw new InvalidInput(
      'trailing-bytes',
      `the file continues behind byte ${end + checksumBytes}`,
    )
  }
  const mostBytes = plainBytes + packed * Math.min(windowBytes, MAX_BLOCK_BYTES)
  if (contentBytes !== null && contentBytes > mostBytes) throw notZstd('holds less than it says')
  return contentBytes ?? mostBytes
}

const truncatedFile = (at: number): InvalidInput =>
  new InvalidInput('truncated-file', `file is empty or truncated at byte ${at}`)

/** A number of so many bytes, little endian. */
const uintAt = (bytes: Uint8Array, at: number, width: number): number => {
  if (at + width > bytes.length) throw truncatedFile(bytes.length)
  let value = 0
  for (let place = width - 1; place >= 0; place -= 1) value = value * 256 + (bytes[at + place] ?? 0)
  return value
}

const parseFrameHeader = (bytes: Uint8Array): FrameHeader => {
  if (uintAt(bytes, 0, 4) !== MAGIC) throw notZstd('has another magic number')
  const flags = uintAt(bytes, 4, 1)
  if ((flags & 8) !== 0) throw notZstd('uses a reserved bit')
  const isSingle = (flags & 32) !== 0
  const windowWidth = isSingle ? 0 : 1
  const dictionaryWidth = [0, 1, 2, 4][flags & 3] ?? 0
  const contentWidth = [isSingle ? 1 : 0, 2, 4, 8][flags >> 6] ?? 0
  const dictionaryAt = 5 + windowWidth
  if (uintAt(bytes, dictionaryAt, dictionaryWidth) !== 0) throw notZstd('needs a dictionary')
  const contentAt = dictionaryAt + dictionaryWidth
  const stated = uintAt(bytes, contentAt, contentWidth) + (contentWidth === 2 ? 256 : 0)
  return {
    blocksAt: contentAt + contentWidth,
    windowBytes: isSingle ? stated : windowBytesOf(uintAt(bytes, 5, 1)),
    contentBytes: contentWidth === 0 ? null : stated,
    checksumBytes: (flags & 4) === 0 ? 0 : 4,
  }
}

const windowBytesOf = (descriptor: number): number => {
  const base = 2 ** (10 + (descriptor >> 3))
  return base + (base / 8) * (descriptor & 7)
}

/** Where the blocks end, how many of them are compressed, and to how much the others unpack. */
const scanBlocks = (bytes: Uint8Array, { blocksAt, windowBytes }: FrameHeader) => {
  let end = blocksAt
  let packed = 0
  let plainBytes = 0
  for (let isLast = false; !isLast; ) {
    const head = uintAt(bytes, end, 3)
    const size = head >> 3
    const type = (head >> 1) & 3
    isLast = (head & 1) === 1
    if (type === 3) throw notZstd('has a block of no type')
    if (size > Math.min(windowBytes, MAX_BLOCK_BYTES)) throw notZstd('has too large a block')
    if (type === COMPRESSED_BLOCK) packed += 1
    else plainBytes += size
    end += 3 + (type === RLE_BLOCK ? 1 : size)
    if (end > bytes.length) throw truncatedFile(bytes.length)
  }
  return { end, packed, plainBytes }
}

/** Types of blocks; the third stands as it is. */
const RLE_BLOCK = 1
const COMPRESSED_BLOCK = 2

import { brotliDecompressSync } from 'node:zlib'
import { InvalidInput } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import { addressAt, countOf, hashAt, hexOf } from '../evm/abi/json.ts'
import { type Fields, fieldsOf, invalid, listOf, orElse } from '../input/json.ts'

/** Longest frame as it comes, and as JSON: whole blocks of the fullest chains stay far below. */
export const MAX_FRAME_BYTES = 8 * 1_024 * 1_024
const MAX_JSON_BYTES = 32 * 1_024 * 1_024

/** What holds for all parts of a pre-confirmed block. */
export interface FlashblockBase {
  readonly height: number
  readonly parentHash: string
  readonly timeMs: number
  readonly coinbase: string
}

/** One part of a pre-confirmed block. */
export interface Flashblock {
  /** Names the attempt at the block: another one of the same height replaces it. */
  readonly payloadId: string
  /** Index among the parts, from 0. */
  readonly index: number
  /** With the first part only. */
  readonly base: FlashblockBase | null
  /** null: not reported. */
  readonly height: number | null
  /** What this part adds, as signed. */
  readonly transactions: readonly string[]
  /** By hash of the transaction. */
  readonly receipts: Fields
  /** Of its JSON. */
  readonly bytes: number
}

/**
 * A frame of the flashblocks stream: JSON, as text or bytes, or compressed with Brotli. Sources: Base's websocket reference,
 * ethereum-optimism/specs flashblocks.md. Throws `InvalidInput`; reasons: `bad-compression`, `too-big`, `not-json` and those of the readers.
 */
export const flashblockOf = (data: Buffer, isBinary: boolean): Flashblock => {
  const isPlain = !isBinary || data[0] === OPENING_BRACE
  const json = isPlain ? data : inflated(data)
  const fields = fieldsOf(parsed(json), 'flashblock')
  const diff = fieldsOf(fields.diff, 'flashblock.diff')
  const metadata = orElse(fields.metadata, 'flashblock.metadata', {
    read: fieldsOf,
    fallback: NONE,
  })
  return {
    payloadId: hexOf(fields.payload_id, 'flashblock.payload_id', 8),
    index: wholeOf(fields.index, 'flashblock.index'),
    base: orElse(fields.base, 'flashblock.base', { read: baseOf, fallback: null }),
    height: orElse(metadata.block_number, 'metadata.block_number', {
      read: wholeOf,
      fallback: null,
    }),
    transactions: listOf(diff.transactions, 'diff.transactions').map((raw) =>
      hexOf(raw, 'diff.transactions[]'),
    ),
    receipts: orElse(metadata.receipts, 'metadata.receipts', { read: fieldsOf, fallback: NONE }),
    bytes: json.length,
  }
}

const OPENING_BRACE = 0x7b
const NONE: Fields = {}

const inflated = (data: Buffer): Buffer => {
  try {
    return brotliDecompressSync(data, { maxOutputLength: MAX_JSON_BYTES })
  } catch (cause) {
    const isLong = (cause as { readonly code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE'
    const reason = isLong ? 'too-big' : 'bad-compression'
    throw new InvalidInput(reason, `a frame of ${data.length} bytes does not inflate`, { cause })
  }
}

const parsed = (json: Buffer): unknown => {
  try {
    return parseJson(json.toString('utf8'), { maxLength: MAX_JSON_BYTES })
  } catch (cause) {
    throw new InvalidInput('not-json', 'a frame is not JSON', { cause })
  }
}

const baseOf = (value: unknown, at: string): FlashblockBase => {
  const fields = fieldsOf(value, at)
  const timeMs = countOf(fields.timestamp, `${at}.timestamp`) * 1_000
  if (!Number.isSafeInteger(timeMs)) throw invalid('too-big', `${at}.timestamp`, fields.timestamp)
  return {
    height: countOf(fields.block_number, `${at}.block_number`),
    parentHash: hashAt(fields.parent_hash, `${at}.parent_hash`),
    timeMs,
    coinbase: addressAt(fields.fee_recipient, `${at}.fee_recipient`),
  }
}

/** A whole number, as such or as a hex quantity. */
const wholeOf = (value: unknown, at: string): number => {
  if (typeof value === 'string') return countOf(value, at)
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw invalid('bad-number', at, value)
  }
  return value
}

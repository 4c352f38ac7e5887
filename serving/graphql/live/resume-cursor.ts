import { Fault } from '../../../core/errors.ts'
import { sha256 } from '../../../core/sha256.ts'

/** The newest block of a chain that a subscription has come to; its slot and a digest of its hash identify it on every fork. */
export interface BlockTip {
  readonly slot: number
  /** First 8 bytes of SHA-256 of the block's hash, base64url; `NO_DIGEST` before the first block. */
  readonly digest: string
}

const VERSION = 1
const DIGEST_BYTES = 8
/** A number holds 6 bytes exactly. */
const SLOT_BYTES = 6
const CHECKSUM_BYTES = 4
/** Longest cursor that is read; one of ten chains has 270 characters. */
const MAX_CURSOR_LENGTH = 1_024
const CHAIN_ID = /^[a-z][a-z\d_]{0,31}$/

const NO_DIGEST = Buffer.alloc(DIGEST_BYTES).toString('base64url')

/** Position of a chain that has no block. */
export const EMPTY_TIP: BlockTip = { slot: 0, digest: NO_DIGEST }

/** The tip that a block is. */
export const blockTip = ({
  slot,
  hash,
}: {
  readonly slot: number
  readonly hash: string
}): BlockTip => ({
  slot,
  digest: sha256(hash).subarray(0, DIGEST_BYTES).toString('base64url'),
})

const isSameTip = (one: BlockTip, other: BlockTip): boolean =>
  one.slot === other.slot && one.digest === other.digest

/** Whether a block is the one that a tip identifies. */
export const isTip = (tip: BlockTip, block: { readonly slot: number; readonly hash: string }) =>
  block.slot === tip.slot && isSameTip(tip, blockTip(block))

/** Whether no block had come. */
export const isEmptyTip = (tip: BlockTip): boolean => isSameTip(tip, EMPTY_TIP)

const checksumOf = (body: Buffer): Buffer =>
  sha256(body.toString('latin1')).subarray(0, CHECKSUM_BYTES)

/**
 * Positions by chain as a text: base64url of the version, of each chain in the order of ids the length of the id, the id, the
 * slot (6 bytes) and the digest (8 bytes), and a checksum (4 bytes of SHA-256). It holds nothing of a process or of a store:
 * every installation that has the blocks reads it alike. Not signed, because it grants nothing.
 */
export const encodeCursor = (tips: ReadonlyMap<string, BlockTip>): string => {
  const chains = [...tips].toSorted(([one], [other]) => (one < other ? -1 : 1))
  const parts = chains.map(([chain, { slot, digest }]) => {
    const id = Buffer.from(chain, 'latin1')
    const place = Buffer.alloc(SLOT_BYTES)
    place.writeUIntBE(slot, 0, SLOT_BYTES)
    return Buffer.concat([Buffer.of(id.length), id, place, Buffer.from(digest, 'base64url')])
  })
  const body = Buffer.concat([Buffer.of(VERSION), ...parts])
  return Buffer.concat([body, checksumOf(body)]).toString('base64url')
}

const invalidCursor = (why: string): Fault =>
  new Fault('INVALID_CURSOR', `The cursor of 'extensions.resume' ${why}`, { parameter: 'resume' })

const UNREADABLE = 'is not one that a delivery had in extensions.delivery.cursor'

const readTips = (body: Buffer): ReadonlyMap<string, BlockTip> | undefined => {
  const tips = new Map<string, BlockTip>()
  let at = 1
  while (at < body.length) {
    const length = body[at] ?? 0
    const slotAt = at + 1 + length
    const end = slotAt + SLOT_BYTES + DIGEST_BYTES
    if (end > body.length) return undefined
    const chain = body.toString('latin1', at + 1, slotAt)
    if (!CHAIN_ID.test(chain)) return undefined
    const digest = body.toString('base64url', slotAt + SLOT_BYTES, end)
    tips.set(chain, { slot: body.readUIntBE(slotAt, SLOT_BYTES), digest })
    at = end
  }
  return tips
}

/** Reads what `encodeCursor` wrote. Throws `Fault` INVALID_CURSOR for everything else. */
export const decodeCursor = (value: unknown): ReadonlyMap<string, BlockTip> => {
  if (typeof value !== 'string') throw invalidCursor('must be a text')
  if (value.length > MAX_CURSOR_LENGTH || !/^[\w-]+$/.test(value)) throw invalidCursor(UNREADABLE)
  const bytes = Buffer.from(value, 'base64url')
  const body = bytes.subarray(0, Math.max(0, bytes.length - CHECKSUM_BYTES))
  const isWhole = checksumOf(body).equals(bytes.subarray(body.length))
  if (!isWhole || body.length === 0) throw invalidCursor(UNREADABLE)
  if (body[0] !== VERSION)
    throw invalidCursor(`has version ${body[0]}; this server reads version ${VERSION}`)
  const tips = readTips(body)
  // One position has one text: nothing beside it, nothing twice, in order.
  if (!tips || tips.size === 0 || encodeCursor(tips) !== value) throw invalidCursor(UNREADABLE)
  return tips
}

/** The positions of a cursor for a subscription of these chains. Throws `Fault` INVALID_CURSOR. */
export const decodeCursorFor = (
  chains: readonly string[],
  value: unknown,
): ReadonlyMap<string, BlockTip> => {
  const tips = decodeCursor(value)
  const [expected, given] = [chains, [...tips.keys()]].map((ids) => ids.toSorted().join(', '))
  if (expected === given) return tips
  throw invalidCursor(`is of ${given}; the subscription is of ${expected}`)
}

import { InvalidInput } from '../../core/errors.ts'
import { MAX_JSON_DEPTH, parseJson } from '../../core/json.ts'
import type { Vm } from '../../schemas/chains.ts'
import type { Block, DroppedEvent, PoolMetadata } from '../../schemas/events.ts'
import type { DecodeContext } from '../decode/contract.ts'
import { type Fields, fieldsOf } from '../input/json.ts'

/** Where a chain stood. */
interface Above {
  readonly height: number | null
  readonly hash: string | null
  readonly seq: number | null
}

/** What a dead letter of an ingestor holds, by what was rejected. */
export type DeadLetterPayload =
  /** An event of a transaction, with all that decoding it again takes. */
  | (DroppedEvent & {
      readonly kind: 'event'
      readonly height: number
      readonly hash: string
      readonly verification: DecodeContext['verification']
      /** The block with this transaction alone; null where the transaction is not reported or too large. */
      readonly block: Block | null
      readonly pools: readonly PoolMetadata[]
    })
  /** A transaction that no endpoint gives in shape, in the node's own words. */
  | {
      readonly kind: 'transaction'
      readonly reason: string
      readonly txHash: string
      readonly index: number
      readonly vm: Vm
      readonly height: number
      readonly hash: string
      /** null where it is too large. */
      readonly input: unknown
    }
  /** A token's name or symbol. */
  | {
      readonly kind: 'name'
      readonly reason: string
      readonly address: string
      readonly input: string
      readonly height: number
      readonly hash: string
    }
  /** An answer of one endpoint while others gave a good one or it gave one later. */
  | {
      readonly kind: 'answer'
      readonly reason: string
      readonly message: string
      readonly endpoint: string | null
      readonly above: Above
    }
  /** What the chain stood still for. */
  | {
      readonly kind: 'chain'
      readonly reason: string
      readonly message: string
      readonly above: Above
    }

/** Longest dead letter, in characters; a larger one goes without what can be decoded again. */
const MAX_TEXT = 256 * 1_024
/** A body holds what a node said, as deep as that may nest, a few levels down. */
const LIMITS = { maxLength: 4 * MAX_TEXT, maxDepth: MAX_JSON_DEPTH + 16 } as const
const KINDS: readonly string[] = ['event', 'transaction', 'name', 'answer', 'chain']

/** A body as text: JSON in which whole numbers beyond a double are `{"$int": "1"}` and bytes `{"$bytes": "base64"}`. */
export const deadLetterPayloadText = (payload: DeadLetterPayload): string => {
  const text = JSON.stringify(tagged(payload))
  if (text.length <= MAX_TEXT) return text
  if (payload.kind === 'event') return deadLetterPayloadText({ ...payload, block: null, pools: [] })
  return payload.kind === 'transaction' ? deadLetterPayloadText({ ...payload, input: null }) : text
}

/** The payload of a dead letter. Throws `InvalidInput` for what `deadLetterPayloadText` did not write. */
export const parseDeadLetterPayload = (bytes: Uint8Array): DeadLetterPayload => {
  let value: unknown
  try {
    value = untagged(parseJson(Buffer.from(bytes).toString('utf8'), LIMITS))
  } catch (cause) {
    throw new InvalidInput('not-json', 'the dead letter is not JSON', { cause })
  }
  const fields = fieldsOf(value, 'dead letter')
  const { kind } = fields
  if (typeof kind !== 'string' || !KINDS.includes(kind))
    throw new InvalidInput('unknown-shape', 'dead letter has no kind')
  return currentNames(fields) as unknown as DeadLetterPayload
}

/** Dead letters outlive an upgrade: fields that an earlier version wrote by other names are read under the names they have now. */
const currentNames = ({ said: input, proof: verification, pools, ...rest }: Fields): Fields => ({
  ...rest,
  ...(input !== undefined && { input: currentPosition(input) }),
  ...(verification !== undefined && { verification }),
  ...(Array.isArray(pools) && { pools: pools.map(currentPool) }),
})

const currentPool = (pool: Fields): Fields => {
  const { proven, ...rest } = pool
  return proven === undefined ? pool : { ...rest, verified: proven }
}

const currentPosition = (input: unknown): unknown => {
  if (typeof input !== 'object' || input === null || !('place' in input)) return input
  const { unplaced, ...place } = fieldsOf(input.place, 'place')
  return unplaced === undefined
    ? input
    : { ...input, place: { ...place, withoutPosition: unplaced } }
}

const tagged = (value: unknown): unknown => {
  if (typeof value === 'bigint') return { $int: String(value) }
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString('base64') }
  return mapped(value, tagged)
}

const untagged = (value: unknown): unknown => {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const { $int, $bytes } = value as { readonly $int?: unknown; readonly $bytes?: unknown }
    if (typeof $int === 'string' && /^-?\d{1,80}$/.test($int)) return BigInt($int)
    if (typeof $bytes === 'string') return new Uint8Array(Buffer.from($bytes, 'base64'))
  }
  return mapped(value, untagged)
}

const mapped = (value: unknown, change: (value: unknown) => unknown): unknown => {
  if (Array.isArray(value)) return value.map(change)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, change(each)]))
}

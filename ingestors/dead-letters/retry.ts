import { InvalidInput } from '../../core/errors.ts'
import type { DecodedBlock } from '../../schemas/events.ts'
import type { DecodeContext } from '../decode/contract.ts'
import { protocolRegistry } from '../decode/protocol-registry.ts'
import { callText } from '../evm/abi/call-text.ts'
import { type TransactionPosition, transactionAt } from '../evm/normalize/block.ts'
import { type Fields, fieldsOf } from '../input/json.ts'
import { normalizeTransaction as moveTransaction } from '../move/normalize/checkpoint.ts'
import { normalizeTransaction as svmTransaction } from '../svm/normalize/block.ts'
import { ALL_PROGRAMS } from '../svm/programs/programs.ts'
import { decodeBlock } from '../vm/decode-block.ts'
import { namelessSwaps } from './dead-letters.ts'
import type { DeadLetterPayload } from './payload.ts'

/** What this build makes of what a dead letter holds. */
export type RetryResult =
  /** Not taken again, and why. */
  | { readonly outcome: 'failed-again'; readonly reason: string }
  /** It is taken now: what it says. */
  | { readonly outcome: 'decodes-now'; readonly what: string }
  /** The dead letter does not hold it. */
  | { readonly outcome: 'not-retained' }

/** A dead letter that can be decoded again by itself; the others depend on the state of the chain. */
export type Decodable = Extract<
  DeadLetterPayload,
  { readonly kind: 'event' | 'transaction' | 'name' }
>

/**
 * Decodes again what a dead letter holds, with the prices of pools where these are known by now. Pure; nothing is published: the operation
 * of its block is closed.
 */
export const retryDecode = (
  payload: Decodable,
  chain: string,
  price?: DecodeContext['price'],
): RetryResult => {
  if (payload.kind === 'event') return retryEvent(payload, chain, price)
  if (payload.kind === 'transaction') return retryTransaction(payload)
  const text = callText(payload.input, MAX_NAME)
  return text === null
    ? { outcome: 'failed-again', reason: payload.reason }
    : { outcome: 'decodes-now', what: `the name ${JSON.stringify(text)}` }
}

const MAX_NAME = 64

const retryEvent = (
  { block, pools, verification, logIndex }: Extract<Decodable, { readonly kind: 'event' }>,
  chain: string,
  price: DecodeContext['price'],
): RetryResult => {
  if (block === null) return { outcome: 'not-retained' }
  const known = new Map(pools.map((metadata) => [metadata.address, metadata]))
  const decoded = decodeBlock(block, {
    verification,
    protocols: protocolRegistry(chain),
    pool: (address) => known.get(address),
    ...(price && { price }),
  })
  const dropped = [...decoded.dropped, ...namelessSwaps(decoded.swaps, block)]
  const again = dropped.find((each) => each.logIndex === logIndex)
  return again === undefined
    ? { outcome: 'decodes-now', what: contentOf(decoded) }
    : { outcome: 'failed-again', reason: again.reason }
}

const contentOf = (decoded: DecodedBlock): string => {
  const counts = Object.entries(decoded)
    .filter(([name, list]) => name !== 'dropped' && list.length > 0)
    .map(([name, list]) => `${list.length} ${name}`)
  return counts.length === 0 ? 'nothing that is an event' : counts.join(', ')
}

const retryTransaction = ({
  input,
  vm,
  index,
  height,
  hash,
}: Extract<Decodable, { readonly kind: 'transaction' }>): RetryResult => {
  if (input === null) return { outcome: 'not-retained' }
  try {
    if (vm === 'evm') {
      const { transaction = null, receipt, place } = fieldsOf(input, 'transaction')
      const name = { height, hash }
      transactionAt(
        name,
        { transaction, receipt },
        fieldsOf(place, 'place') as TransactionPosition & Fields,
      )
    } else if (vm === 'svm') svmTransaction(input, { index, programs: ALL_PROGRAMS })
    else moveTransaction(input, { index })
    return { outcome: 'decodes-now', what: 'a transaction in shape' }
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    return { outcome: 'failed-again', reason: error.reason }
  }
}

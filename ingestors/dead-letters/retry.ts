import { InvalidInput } from '../../core/errors.ts'
import type { DecodedBlock } from '../../schemas/events.ts'
import type { Books } from '../decode/contract.ts'
import { protocolBook } from '../decode/protocol-registry.ts'
import { callText } from '../evm/abi/call-text.ts'
import { placedTransaction, type TransactionPlace } from '../evm/normalize/block.ts'
import { type Fields, fieldsOf } from '../input/json.ts'
import { normalizeTransaction as moveTransaction } from '../move/normalize/checkpoint.ts'
import { normalizeTransaction as svmTransaction } from '../svm/normalize/block.ts'
import { ALL_PROGRAMS } from '../svm/programs/programs.ts'
import { decodeBlock } from '../vm/decode-block.ts'
import { namelessSwaps } from './dead-letters.ts'
import type { LetterBody } from './payload.ts'

/** What this build makes of what a dead letter holds. */
export type Verdict =
  /** Not taken again, and why. */
  | { readonly outcome: 'failed-again'; readonly reason: string }
  /** It is taken now: what it says. */
  | { readonly outcome: 'decodes-now'; readonly what: string }
  /** The letter does not hold it. */
  | { readonly outcome: 'not-retained' }

/** A letter that can be decoded again where it lies; the others are of the chain's own course. */
export type Decodable = Extract<LetterBody, { readonly kind: 'event' | 'transaction' | 'name' }>

/**
 * Decodes again what a letter holds, with the prices of pools where these are known by now. Pure; nothing is published: the operation
 * of its block is closed.
 */
export const rerun = (body: Decodable, chain: string, price?: Books['price']): Verdict => {
  if (body.kind === 'event') return rerunEvent(body, chain, price)
  if (body.kind === 'transaction') return rerunTransaction(body)
  const text = callText(body.said, MAX_NAME)
  return text === null
    ? { outcome: 'failed-again', reason: body.reason }
    : { outcome: 'decodes-now', what: `the name ${JSON.stringify(text)}` }
}

const MAX_NAME = 64

const rerunEvent = (
  { block, pools, proof, logIndex }: Extract<Decodable, { readonly kind: 'event' }>,
  chain: string,
  price: Books['price'],
): Verdict => {
  if (block === null) return { outcome: 'not-retained' }
  const known = new Map(pools.map((fact) => [fact.address, fact]))
  const decoded = decodeBlock(block, {
    proof,
    protocols: protocolBook(chain),
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

const rerunTransaction = ({
  said,
  vm,
  index,
  height,
  hash,
}: Extract<Decodable, { readonly kind: 'transaction' }>): Verdict => {
  if (said === null) return { outcome: 'not-retained' }
  try {
    if (vm === 'evm') {
      const { transaction = null, receipt, place } = fieldsOf(said, 'said')
      const name = { height, hash }
      placedTransaction(
        name,
        { transaction, receipt },
        fieldsOf(place, 'place') as TransactionPlace & Fields,
      )
    } else if (vm === 'svm') svmTransaction(said, { index, programs: ALL_PROGRAMS })
    else moveTransaction(said, { index })
    return { outcome: 'decodes-now', what: 'a transaction in shape' }
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    return { outcome: 'failed-again', reason: error.reason }
  }
}

import { fitsPacked, packNumbers, unpackNumbers } from '../../../core/packed-numbers.ts'
import type { Prediction } from '../../../schemas/prediction-events.ts'
import type { StoredAmounts } from '../../decode/contract.ts'

/** What is known of an outcome token. */
export interface OutcomeMetadata {
  readonly conditionId: string
  /** Index among the outcomes of its condition; null: not reported. */
  readonly index: number | null
}

/** Conditions and questions behind prediction events, as far as the run has seen them set up. */
export interface Outcomes {
  readonly outcome: (tokenId: bigint) => OutcomeMetadata | undefined
  /** Question of a condition. */
  readonly question: (conditionId: string) => string | undefined
  /** Group of a condition's question. */
  readonly group: (conditionId: string) => string | undefined
  /** Shares of a condition's payout by outcome, once it is decided. */
  readonly payouts: (conditionId: string) => readonly bigint[] | undefined
  /** Amounts to store, by key. */
  readonly amounts: ReadonlyMap<string, bigint>
}

const outcomeKey = (tokenId: bigint): string => `outcome/${tokenId}`
const questionKey = (conditionId: string): string => `question/${conditionId}`
const groupKey = (questionId: string): string => `group/${questionId}`
const payoutsKey = (conditionId: string): string => `payouts/${conditionId}`
/** Outcomes of a condition whose payout is kept: those of exchanges have two. */
const MAX_PAYOUTS = 16

/** A larger index is not stored: no condition has more outcomes. Source: gnosis ConditionalTokens.sol. */
const MAX_INDEX = 255
/** A condition stands above the index of its outcome, counted from 1; 0 = not told. */
const INDEX_BITS = 8n

const hashOf = (value: bigint): string => `0x${value.toString(16).padStart(64, '0')}`

/**
 * Reads from a block's events which condition an outcome token belongs to: an exchange registered it, or a split of the
 * condition made it; which question a condition answers, and which group the question is of. What is known stays as it is. Pure.
 */
export const trackOutcomes = (
  predictions: readonly Prediction[],
  kept: StoredAmounts,
): Outcomes => {
  const amounts = new Map<string, bigint>()
  const get = (key: string): bigint | undefined => amounts.get(key) ?? kept(key)
  const remember = (key: string, value: bigint): void => {
    if (get(key) === undefined) amounts.set(key, value)
  }
  for (const event of predictions) {
    if (event.kind === 'prediction-management' && event.questionId && event.marketId) {
      remember(groupKey(event.questionId), BigInt(event.marketId))
    }
    if (event.kind === 'prediction-trade' || event.conditionId === null) continue
    const { conditionId } = event
    const condition = BigInt(conditionId) << INDEX_BITS
    if (event.kind === 'prediction-management') {
      for (const tokenId of event.tokenIds) remember(outcomeKey(tokenId), condition)
      const { questionId, payouts } = event
      if (questionId !== null) remember(questionKey(conditionId), BigInt(questionId))
      if (payouts.length > 0 && payouts.length <= MAX_PAYOUTS && payouts.every(fitsPacked))
        remember(payoutsKey(conditionId), packNumbers([BigInt(payouts.length), ...payouts]))
      continue
    }
    for (const [tokenId, index] of madeBy(event)) {
      const key = outcomeKey(tokenId)
      const place = index === null ? 0n : BigInt(index + 1)
      // A registration names no index, a split does.
      if (get(key) === condition && place > 0n) amounts.set(key, condition | place)
      else remember(key, condition | place)
    }
  }
  const hashAt = (key: string): string | undefined => {
    const value = get(key)
    return value === undefined ? undefined : hashOf(value)
  }
  const question = (conditionId: string) => hashAt(questionKey(conditionId))
  return {
    amounts,
    question,
    group: (conditionId) => {
      const questionId = question(conditionId)
      return questionId === undefined ? undefined : hashAt(groupKey(questionId))
    },
    outcome: (tokenId) => {
      const value = get(outcomeKey(tokenId))
      return value === undefined ? undefined : outcomeMetadata(value)
    },
    payouts: (conditionId) => {
      const value = get(payoutsKey(conditionId))
      if (value === undefined) return undefined
      const [count = 0n, ...payouts] = unpackNumbers(value, MAX_PAYOUTS + 1)
      return payouts.slice(0, Number(count))
    },
  }
}

const outcomeMetadata = (value: bigint): OutcomeMetadata => {
  const place = Number(value & ((1n << INDEX_BITS) - 1n))
  return { conditionId: hashOf(value >> INDEX_BITS), index: place === 0 ? null : place - 1 }
}

type Settlement = Extract<Prediction, { readonly kind: 'prediction-settlement' }>

/** An adapter's conditions have two outcomes. Source: Polymarket/neg-risk-ctf-adapter. */
const ADAPTED = 2

/**
 * Outcome tokens that a split made, with their indexes: the contract makes them in the order of the sets that the split names,
 * and an adapter names none. Only where no other token was made beside them.
 */
const madeBy = ({
  type,
  indexSets,
  moved,
}: Settlement): readonly (readonly [bigint, number | null])[] => {
  if (type !== 'Split' || moved.length !== (indexSets.length || ADAPTED)) return []
  return moved.map(({ tokenId }, at) => [tokenId, slotIndex(indexSets[at])] as const)
}

/** Index of the only outcome in a set; null for a set of several. */
const slotIndex = (set: bigint | undefined): number | null => {
  if (set === undefined || set <= 0n || (set & (set - 1n)) !== 0n) return null
  const place = set.toString(2).length - 1
  return place < MAX_INDEX ? place : null
}

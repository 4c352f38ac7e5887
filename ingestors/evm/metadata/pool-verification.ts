import type { PoolMetadata } from '../../../schemas/events.ts'
import type { ProtocolRegistry } from '../../decode/protocol-registry.ts'
import type { Call, CallAnswer, CallResult } from '../abi/call.ts'
import { PROVABLE } from '../protocols/families.ts'
import type { PoolVerification, VerificationContext } from '../verify/contract.ts'

/** A pool as an event named it, and the family of that event. */
export interface PoolLookupSubject {
  readonly address: string
  readonly family: string
}

/** A pool between the two rounds. */
export interface VerificationRun extends VerificationContext {
  readonly verification: PoolVerification
  /** Names tokens as pools name them. */
  readonly canonicalForTrades: ProtocolRegistry['canonicalForTrades']
}

/** First round: what to ask about a pool. Empty where the family's pools cannot be asked for, or the chain lists none. */
export const poolCalls = (
  { address, family }: PoolLookupSubject,
  book: ProtocolRegistry,
): readonly Call[] => {
  const listed = book.protocolsEmitting(family)
  return listed.length === 0 ? [] : (PROVABLE.get(family)?.ask(address, listed) ?? [])
}

/** The answers to `poolCalls`, in their order; `no-state` when the node could not say. */
export const startVerification = (
  { address, family }: PoolLookupSubject,
  book: ProtocolRegistry,
  answers: readonly CallAnswer[],
): VerificationRun | 'no-pool' | 'no-state' => {
  const proof = PROVABLE.get(family)
  if (proof === undefined) return 'no-pool'
  const given = callResults(answers)
  return given === 'no-state'
    ? given
    : {
        verification: proof,
        pool: address,
        listed: book.protocolsEmitting(family),
        results: given,
        canonicalForTrades: book.canonicalForTrades,
      }
}

/** Second round. */
export const confirmCalls = (open: VerificationRun): readonly Call[] =>
  open.verification.confirm?.(open) ?? []

/** The metadata from the answers to `confirmCalls`; `no-state` when no node had the state. */
export const verifiedPool = (
  open: VerificationRun,
  answers: readonly CallAnswer[],
): PoolMetadata | 'no-pool' | 'no-state' => {
  const given = callResults(answers)
  if (given === 'no-state') return given
  const metadata = open.verification.conclude(open, given)
  if (metadata === undefined) return open.verification.later ? 'no-state' : 'no-pool'
  return canonicalPool(metadata, open)
}

/** The pool's metadata with the chain's native token as trades name it. */
const canonicalPool = (
  metadata: PoolMetadata,
  { canonicalForTrades: traded }: VerificationRun,
): PoolMetadata => ({
  ...metadata,
  tokenA: traded(metadata.tokenA),
  tokenB: traded(metadata.tokenB),
  ...(metadata.coins && { coins: metadata.coins.map(traded) }),
  ...(metadata.underlying && { underlying: metadata.underlying.map(traded) }),
})

const callResults = (answers: readonly CallAnswer[]): readonly CallResult[] | 'no-state' =>
  answers.some(({ kind }) => kind === 'no-state')
    ? 'no-state'
    : answers.map((answer) => (answer.kind === 'value' ? answer.data : undefined))

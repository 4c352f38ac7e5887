import type { PoolMetadata } from '../../../schemas/events.ts'
import type { ProtocolBook } from '../../decode/protocol-registry.ts'
import type { Call, CallAnswer } from '../../follow/contract.ts'
import { PROVABLE } from '../protocols/families.ts'
import type { Given, PoolProof, Questions } from '../verify/contract.ts'

/** A pool as an event named it, and the family of that event. */
export interface PoolSubject {
  readonly address: string
  readonly family: string
}

/** A pool between the two rounds. */
export interface OpenProof extends Questions {
  readonly proof: PoolProof
  /** Names tokens as pools name them. */
  readonly traded: ProtocolBook['traded']
}

/** First round: what to ask about a pool. Empty where the family's pools cannot be asked for, or the chain lists none. */
export const poolCalls = (
  { address, family }: PoolSubject,
  book: ProtocolBook,
): readonly Call[] => {
  const listed = book.speakers(family)
  return listed.length === 0 ? [] : (PROVABLE.get(family)?.ask(address, listed) ?? [])
}

/** The answers to `poolCalls`, in their order; `no-state` when the node could not say. */
export const openProof = (
  { address, family }: PoolSubject,
  book: ProtocolBook,
  answers: readonly CallAnswer[],
): OpenProof | 'no-pool' | 'no-state' => {
  const proof = PROVABLE.get(family)
  if (proof === undefined) return 'no-pool'
  const given = givenOf(answers)
  return given === 'no-state'
    ? given
    : { proof, pool: address, listed: book.speakers(family), given, traded: book.traded }
}

/** Second round. */
export const confirmCalls = (open: OpenProof): readonly Call[] => open.proof.confirm?.(open) ?? []

/** The verdict from the answers to `confirmCalls`; `no-state` when no node had the state. */
export const poolFact = (
  open: OpenProof,
  answers: readonly CallAnswer[],
): PoolMetadata | 'no-pool' | 'no-state' => {
  const given = givenOf(answers)
  if (given === 'no-state') return given
  const fact = open.proof.conclude(open, given)
  if (fact === undefined) return open.proof.later ? 'no-state' : 'no-pool'
  return tradedFact(fact, open)
}

/** The fact with the chain's coin as trades name it. */
const tradedFact = (fact: PoolMetadata, { traded }: OpenProof): PoolMetadata => ({
  ...fact,
  tokenA: traded(fact.tokenA),
  tokenB: traded(fact.tokenB),
  ...(fact.coins && { coins: fact.coins.map(traded) }),
  ...(fact.underlying && { underlying: fact.underlying.map(traded) }),
})

const givenOf = (answers: readonly CallAnswer[]): readonly Given[] | 'no-state' =>
  answers.some(({ kind }) => kind === 'no-state')
    ? 'no-state'
    : answers.map((answer) => (answer.kind === 'value' ? answer.data : undefined))

import type { PoolFact, TokenFact } from '../../schemas/events.ts'
import { EVM_FAMILIES } from '../protocols/all.ts'
import type { ProtocolBook } from '../protocols/book.ts'
import type { PoolProof } from '../protocols/types.ts'
import { addressIn, wordAt, wordCount } from '../protocols/words.ts'
import type { Call, CallAnswer } from '../source.ts'
import { callText } from './text.ts'

/**
 * Which calls prove a pool (contract/chains.md 2.8) and describe a token, and what their answers mean. Pure: two rounds for a
 * pool, `poolCalls` then `lookupCall` of the claim; one for a token. Every answer is at the block's own hash (R46).
 */

const FACTORY = '0xc45a0155' // factory()
const TOKEN0 = '0x0dfe1681' // token0()
const TOKEN1 = '0xd21220a7' // token1()
const FEE = '0xddca3f43' // fee()
const NAME = '0x06fdde03' // name()
const SYMBOL = '0x95d89b41' // symbol()
const DECIMALS = '0x313ce567' // decimals()
const TOTAL_SUPPLY = '0x18160ddd' // totalSupply()

const ZERO = `0x${'0'.repeat(40)}`
const MAX_NAME = 128
const MAX_SYMBOL = 64

/** What a pool says of itself; worth nothing until its factory agrees. */
export interface PoolClaim {
  readonly pool: string
  readonly family: string
  readonly factory: string
  readonly tokenA: string
  readonly tokenB: string
  readonly feePips: number | null
}

const proofOf = (family: string): PoolProof | undefined =>
  EVM_FAMILIES.find((row) => row.family === family)?.proof

/** First round: what to ask a pool of a decoder family. Empty where the family's pools are not contracts. */
export const poolCalls = (pool: string, family: string): readonly Call[] => {
  const proof = proofOf(family)
  if (proof === undefined) return []
  return [FACTORY, TOKEN0, TOKEN1, ...(proof.hasFee ? [FEE] : [])].map((data) => ({
    to: pool,
    data,
  }))
}

/** The answers to `poolCalls`, in their order: a claim, `no-pool` for a contract of another kind, or `no-state`. */
export const poolClaim = (
  { address, family }: { readonly address: string; readonly family: string },
  answers: readonly CallAnswer[],
): PoolClaim | 'no-pool' | 'no-state' => {
  if (answers.some(({ kind }) => kind === 'no-state')) return 'no-state'
  const proof = proofOf(family)
  const [factory, tokenA, tokenB] = answers.slice(0, 3).map(addressAnswer)
  const fee = proof?.hasFee ? numberAnswer(answers[3], (1n << 24n) - 1n) : null
  if (proof === undefined || !factory || !tokenA || !tokenB || tokenA >= tokenB) return 'no-pool'
  if (proof.hasFee && fee === null) return 'no-pool'
  return {
    pool: address,
    family,
    factory,
    tokenA,
    tokenB,
    feePips: fee === null ? null : Number(fee),
  }
}

/** Second round: the factory's own look-up; undefined where the factory is not listed for the family, so nothing is asked. */
export const lookupCall = (
  { family, factory, tokenA, tokenB, feePips }: PoolClaim,
  book: ProtocolBook,
): Call | undefined => {
  const proof = proofOf(family)
  if (proof === undefined || book.factory(factory)?.family !== family) return undefined
  const fee = proof.hasFee ? [(feePips ?? 0).toString(16)] : []
  const words = [tokenA.slice(2), tokenB.slice(2), ...fee].map((word) => word.padStart(64, '0'))
  return { to: factory, data: proof.lookup + words.join('') }
}

/**
 * The fact: proven when the listed factory names this very pool. `answer` is undefined where `lookupCall` was; `no-state` when
 * the node could not say.
 */
export const poolFact = (
  claim: PoolClaim,
  book: ProtocolBook,
  answer: CallAnswer | undefined,
): PoolFact | 'no-state' => {
  if (answer?.kind === 'no-state') return 'no-state'
  const row = book.factory(claim.factory)
  const listed = row?.family === claim.family ? row : undefined
  const proven =
    listed !== undefined && answer !== undefined && addressAnswer(answer) === claim.pool
  return {
    address: claim.pool,
    tokenA: claim.tokenA,
    tokenB: claim.tokenB,
    protocol: proven ? listed.id : null,
    factory: claim.factory,
    feePips: claim.feePips ?? (proven ? (listed.feePips ?? null) : null),
    proven,
  }
}

/** What to ask a token. */
export const tokenCalls = (token: string): readonly Call[] =>
  [NAME, SYMBOL, DECIMALS, TOTAL_SUPPLY].map((data) => ({ to: token, data }))

/** The answers to `tokenCalls`, in their order. What was not answered in shape is null (R46). */
export const tokenFact = (
  address: string,
  [name, symbol, decimals, totalSupply]: readonly CallAnswer[],
): TokenFact => {
  const places = numberAnswer(decimals, 255n)
  return {
    address,
    decimals: places === null ? null : Number(places),
    name: name?.kind === 'value' ? callText(name.data, MAX_NAME) : null,
    symbol: symbol?.kind === 'value' ? callText(symbol.data, MAX_SYMBOL) : null,
    totalSupplyRaw: numberAnswer(totalSupply, (1n << 256n) - 1n),
  }
}

const numberAnswer = (answer: CallAnswer | undefined, max: bigint): bigint | null => {
  if (answer?.kind !== 'value' || wordCount(answer.data) < 1) return null
  const value = wordAt(answer.data, 0)
  return value <= max ? value : null
}

const addressAnswer = (answer: CallAnswer): string | undefined => {
  if (numberAnswer(answer, (1n << 160n) - 1n) === null || answer.kind !== 'value') return undefined
  const address = addressIn(answer.data, 0).toLowerCase()
  return address === ZERO ? undefined : address
}

import { computeLimit, computePrice } from './solana-calls.ts'
import type { SolanaInstruction } from './solana-message.ts'
import { MAX_COMPUTE_UNITS } from './solana-node.ts'

/** What a transaction of Solana may compute, and what a wallet pays for it. */

/** Units of computation of the run that finds out how many a transaction needs, for each swap. */
const FIRST_LIMIT = 400_000
/** More than the run took, percent. */
const LIMIT_MARGIN_PERCENT = 15
/** Fewest units of a transaction: a run that says less did not do everything. */
const LEAST_LIMIT = 20_000
const MICRO_LAMPORTS = 1_000_000n

/** Units of the run that finds out how many a transaction with so many swaps needs. */
export const firstLimit = (swaps = 1): number => Math.min(FIRST_LIMIT * swaps, MAX_COMPUTE_UNITS)

/** Units that a transaction may take after a run; the limit of the run where the node does not report them. */
export const limitAfterRun = (unitsConsumed: number | null, first = firstLimit()): number => {
  if (unitsConsumed === null) return first
  const limit = Math.ceil((unitsConsumed * (100 + LIMIT_MARGIN_PERCENT)) / 100)
  return Math.min(Math.max(limit, LEAST_LIMIT), MAX_COMPUTE_UNITS)
}

/** Instructions that set the limit, and the price of a unit for a fee in lamports for all of them. */
export const computeBudget = (limit: number, priorityFee: bigint): readonly SolanaInstruction[] => {
  const price = (priorityFee * MICRO_LAMPORTS) / BigInt(limit)
  return [computeLimit(limit), ...(price > 0n ? [computePrice(price)] : [])]
}

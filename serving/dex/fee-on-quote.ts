import { ceilDiv } from '../../core/bigint-math.ts'

/**
 * Trades of pools that take their fees of the quote, in parts that are each rounded up: the curve of pump.fun and the pools of PumpSwap,
 * in exact integers. Source: pump-fun/pump-public-docs idl/pump.json, @pump-fun/pump-swap-sdk (MIT) src/sdk/.
 */

/** Numbers of such a pool, base units. */
export interface FeeOnQuotePool {
  /** A curve rounds the price of a purchase up by a whole unit, a pool by what is missing to one. */
  readonly kind: 'curve' | 'pool'
  /** What it prices with. */
  readonly quote: bigint
  readonly base: bigint
  /** What it can pay. */
  readonly heldQuote: bigint
  readonly heldBase: bigint
  /** Hundredths of a basis point. */
  readonly feePips: readonly number[]
}

const PIPS = 1_000_000n

const feesOf = (amount: bigint, { feePips }: FeeOnQuotePool): bigint =>
  feePips.reduce((sum, part) => sum + ceilDiv(amount * BigInt(part), PIPS), 0n)

const totalPips = ({ feePips }: FeeOnQuotePool): bigint =>
  BigInt(feePips.reduce((sum, part) => sum + part, 0))

/** Base that a budget buys; undefined where it buys none, or all that there is. */
export const buyBaseExactIn = (pool: FeeOnQuotePool, budget: bigint): bigint | undefined => {
  const most = (budget * PIPS) / (PIPS + totalPips(pool))
  const over = most + feesOf(most, pool) - budget
  const net = over > 0n ? most - over : most
  if (net <= 1n) return undefined
  const bought = ((net - 1n) * pool.base) / (pool.quote + net - 1n)
  return bought > 0n && bought < pool.heldBase ? bought : undefined
}

/** What exactly `bought` costs, fees included; undefined where the pool does not have it. */
export const buyBaseExactOut = (pool: FeeOnQuotePool, bought: bigint): bigint | undefined => {
  if (bought <= 0n || bought >= pool.heldBase || bought >= pool.base) return undefined
  const [of, by] = [bought * pool.quote, pool.base - bought]
  const net = pool.kind === 'curve' ? of / by + 1n : ceilDiv(of, by)
  return net + feesOf(net, pool)
}

/** What exactly `sold` gives after fees; undefined where that is nothing, or more than the pool holds. */
export const sellBaseExactIn = (pool: FeeOnQuotePool, sold: bigint): bigint | undefined => {
  if (sold <= 0n) return undefined
  const net = (sold * pool.quote) / (pool.base + sold)
  const got = net - feesOf(net, pool)
  return got > 0n && net <= pool.heldQuote ? got : undefined
}

/** The least that gives at least `wanted` after fees; undefined where the pool does not hold that much. */
export const sellBaseExactOut = (pool: FeeOnQuotePool, wanted: bigint): bigint | undefined => {
  if (wanted <= 0n || totalPips(pool) >= PIPS) return undefined
  let net = (wanted * PIPS) / (PIPS - totalPips(pool))
  // Each part of the fee rounds by less than a unit.
  while (net - feesOf(net, pool) < wanted) net += 1n
  while (net > wanted && net - 1n - feesOf(net - 1n, pool) >= wanted) net -= 1n
  if (net > pool.heldQuote || net >= pool.quote) return undefined
  return ceilDiv(net * pool.base, pool.quote - net)
}

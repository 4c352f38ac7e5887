import { ceilDiv } from '../bigint-math.ts'

/** Swaps of pools that take their fee of the input and round it up. Source: raydium-io/raydium-amm math.rs, raydium-cp-swap curve/. */

const PIPS = 1_000_000n

/** Reserves by the direction of a swap, base units; the fee in hundredths of a basis point. */
export interface DirectedPool {
  readonly in: bigint
  readonly out: bigint
  readonly feePips: number
}

/** Output for exactly `amountIn`, rounded down; 0 where it gives nothing. */
export const feeOnInputAmountOut = (
  amountIn: bigint,
  { in: reserveIn, out: reserveOut, feePips }: DirectedPool,
): bigint => {
  const net = amountIn - ceilDiv(amountIn * BigInt(feePips), PIPS)
  return net <= 0n ? 0n : (reserveOut * net) / (reserveIn + net)
}

/** Input for exactly `amountOut`, rounded up; undefined where the pool does not hold that much. */
export const feeOnInputAmountIn = (
  amountOut: bigint,
  { in: reserveIn, out: reserveOut, feePips }: DirectedPool,
): bigint | undefined => {
  if (amountOut <= 0n || amountOut >= reserveOut) return undefined
  const net = ceilDiv(reserveIn * amountOut, reserveOut - amountOut)
  return ceilDiv(net * PIPS, PIPS - BigInt(feePips))
}

/** True for amounts that a swap of such a pool moves, whichever of them was the exact one. */
export const isFeeOnInputSwap = (
  pool: DirectedPool,
  amountIn: bigint,
  amountOut: bigint,
): boolean =>
  feeOnInputAmountOut(amountIn, pool) === amountOut ||
  feeOnInputAmountIn(amountOut, pool) === amountIn

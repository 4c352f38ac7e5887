import type { DirectedPool } from '../../core/prices/fee-on-input.ts'

/** Swaps of a constant-product pool in exact integers. Source: Uniswap/v2-periphery UniswapV2Library.sol, v2-core UniswapV2Pair.sol. */

/** Fees are hundredths of a basis point. */
export const PIPS = 1_000_000n

/** Largest reserve that a pair can hold: it keeps them as uint112. */
const MAX_RESERVE = (1n << 112n) - 1n

/** Largest output for exactly `amountIn`; undefined where the pool is empty or the pair would refuse its new reserve. */
export const constantProductAmountOut = (
  amountIn: bigint,
  { in: reserveIn, out: reserveOut, feePips }: DirectedPool,
): bigint | undefined => {
  if (reserveIn <= 0n || reserveOut <= 0n || amountIn <= 0n) return undefined
  if (reserveIn + amountIn > MAX_RESERVE) return undefined
  const net = amountIn * (PIPS - BigInt(feePips))
  const amountOut = (net * reserveOut) / (reserveIn * PIPS + net)
  return amountOut > 0n ? amountOut : undefined
}

/** Smallest input for exactly `amountOut`; undefined where the pool does not hold that much. */
export const constantProductAmountIn = (
  amountOut: bigint,
  { in: reserveIn, out: reserveOut, feePips }: DirectedPool,
): bigint | undefined => {
  if (reserveIn <= 0n || amountOut <= 0n || amountOut >= reserveOut) return undefined
  const amountIn =
    (reserveIn * amountOut * PIPS) / ((reserveOut - amountOut) * (PIPS - BigInt(feePips))) + 1n
  return reserveIn + amountIn > MAX_RESERVE ? undefined : amountIn
}

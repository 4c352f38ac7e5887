/** Constant product with 0.3 % fee. Source: Uniswap/v2-periphery UniswapV2Library.sol, v2-core UniswapV2Pair.sol. */

/** Liquidity units of the first Mint that go to the zero address. */
export const MINIMUM_LIQUIDITY = 1_000n

/** Largest output for an exact input. */
export const amountOutOf = (amountIn: bigint, reserveIn: bigint, reserveOut: bigint): bigint => {
  const withFee = amountIn * 997n
  return (withFee * reserveOut) / (reserveIn * 1_000n + withFee)
}

/** Smallest input for an exact output below `reserveOut`. */
export const amountInOf = (amountOut: bigint, reserveIn: bigint, reserveOut: bigint): bigint =>
  (reserveIn * amountOut * 1_000n) / ((reserveOut - amountOut) * 997n) + 1n

/** True when balances after the swap, less the fee on what came in, do not lower the product. */
export const keepsProduct = (
  reserves: readonly [bigint, bigint],
  balances: readonly [bigint, bigint],
  amountsIn: readonly [bigint, bigint],
): boolean =>
  (balances[0] * 1_000n - amountsIn[0] * 3n) * (balances[1] * 1_000n - amountsIn[1] * 3n) >=
  reserves[0] * reserves[1] * 1_000_000n

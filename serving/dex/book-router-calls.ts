import { type Address, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { Fault } from '../../core/errors.ts'
import type { RouterSwap } from './router-swap.ts'
import type { Hop } from './search.ts'

/** Calls of LBRouter. Source: traderjoe-xyz/joe-v2 interfaces ILBRouter.sol; in its enumeration of versions V2.1 is 2 and V2.2 is 3. */

const BOOK_ROUTER = parseAbi([
  'struct Path { uint256[] pairBinSteps; uint8[] versions; address[] tokenPath; }',
  'function swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, Path path, address to, uint256 deadline)',
  'function swapExactTokensForNATIVE(uint256 amountIn, uint256 amountOutMinNATIVE, Path path, address to, uint256 deadline)',
  'function swapExactNATIVEForTokens(uint256 amountOutMin, Path path, address to, uint256 deadline) payable',
  'function swapTokensForExactTokens(uint256 amountOut, uint256 amountInMax, Path path, address to, uint256 deadline)',
  'function swapTokensForExactNATIVE(uint256 amountNATIVEOut, uint256 amountInMax, Path path, address to, uint256 deadline)',
  'function swapNATIVEForExactTokens(uint256 amountOut, Path path, address to, uint256 deadline) payable',
])

/** The call that swaps over pools with bins. Throws `Fault` DEX_ROUTE_BUILD_FAILED for others. */
export const bookRouterData = (swap: RouterSwap): Hex => {
  const { path, mode, minOutRaw, maxInRaw, sellsNativeToken, buysNativeToken } = swap
  const abi = BOOK_ROUTER
  const tail = [bookPath(path.hops), swap.recipient as Address, BigInt(swap.deadline)] as const
  if (mode === 'exact_in') {
    if (sellsNativeToken) {
      const args = [minOutRaw, ...tail] as const
      return encodeFunctionData({ abi, functionName: 'swapExactNATIVEForTokens', args })
    }
    const functionName = buysNativeToken ? 'swapExactTokensForNATIVE' : 'swapExactTokensForTokens'
    return encodeFunctionData({ abi, functionName, args: [maxInRaw, minOutRaw, ...tail] })
  }
  if (sellsNativeToken) {
    const args = [minOutRaw, ...tail] as const
    return encodeFunctionData({ abi, functionName: 'swapNATIVEForExactTokens', args })
  }
  const functionName = buysNativeToken ? 'swapTokensForExactNATIVE' : 'swapTokensForExactTokens'
  return encodeFunctionData({ abi, functionName, args: [minOutRaw, maxInRaw, ...tail] })
}

/** Bin steps, versions and tokens along a path. */
const bookPath = (hops: readonly Hop[]) => {
  const pools = hops.map(({ pool }) => {
    if (pool.kind === 'bins') return pool
    throw new Fault('DEX_ROUTE_BUILD_FAILED', undefined, {
      pool: pool.address,
      reason: 'the router does not swap over this kind of pool',
    })
  })
  const tokens = [hops[0]?.tokenIn ?? '', ...hops.map(({ tokenOut }) => tokenOut)]
  return {
    pairBinSteps: pools.map(({ binStep }) => BigInt(binStep)),
    versions: pools.map(({ version }) => version),
    tokenPath: tokens as Address[],
  }
}

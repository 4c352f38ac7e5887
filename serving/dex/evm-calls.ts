import {
  type Address,
  concatHex,
  encodeFunctionData,
  type Hex,
  hexToBigInt,
  numberToHex,
  parseAbi,
  serializeTransaction,
} from 'viem'
import { EVM_ZERO_ADDRESS } from '../../schemas/burn-addresses.ts'
import type { RouterKind } from '../../schemas/dex-routers.ts'
import { bookRouterData } from './book-router-calls.ts'
import type { RouterSwap } from './router-swap.ts'
import type { Hop } from './search.ts'

/** Calls of routers and tokens, and transactions that carry them. Source: Uniswap/v2-periphery, Uniswap/v3-periphery interfaces. */

const V2_ROUTER = parseAbi([
  'function swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline)',
  'function swapTokensForExactTokens(uint256 amountOut, uint256 amountInMax, address[] path, address to, uint256 deadline)',
  'function swapExactETHForTokens(uint256 amountOutMin, address[] path, address to, uint256 deadline) payable',
  'function swapETHForExactTokens(uint256 amountOut, address[] path, address to, uint256 deadline) payable',
  'function swapExactTokensForETH(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline)',
  'function swapTokensForExactETH(uint256 amountOut, uint256 amountInMax, address[] path, address to, uint256 deadline)',
])
const V3_ROUTER = parseAbi([
  'function exactInput((bytes path, address recipient, uint256 deadline, uint256 amountIn, uint256 amountOutMinimum)) payable',
  'function exactOutput((bytes path, address recipient, uint256 deadline, uint256 amountOut, uint256 amountInMaximum)) payable',
  'function multicall(bytes[] data) payable',
  'function unwrapWETH9(uint256 amountMinimum, address recipient) payable',
  'function refundETH() payable',
])
const TOKEN = parseAbi([
  'function approve(address spender, uint256 amount)',
  'function allowance(address owner, address spender)',
  'function balanceOf(address owner)',
  'function transfer(address to, uint256 amount)',
])

/** What a router is called with. */
export interface RouterCall {
  readonly data: Hex
  readonly valueRaw: bigint
}

/** The call that swaps. */
export const routerCall = (swap: RouterSwap): RouterCall => ({
  data: CALLS[swap.kind](swap),
  valueRaw: swap.sellsNativeToken ? swap.maxInRaw : 0n,
})

const v2Data = (swap: RouterSwap): Hex => {
  const { path, mode, minOutRaw, maxInRaw, sellsNativeToken, buysNativeToken } = swap
  const tail = [tokensOf(path.hops), swap.recipient as Address, BigInt(swap.deadline)] as const
  const abi = V2_ROUTER
  if (mode === 'exact_in') {
    if (sellsNativeToken) {
      const args = [minOutRaw, ...tail] as const
      return encodeFunctionData({ abi, functionName: 'swapExactETHForTokens', args })
    }
    const functionName = buysNativeToken ? 'swapExactTokensForETH' : 'swapExactTokensForTokens'
    return encodeFunctionData({ abi, functionName, args: [maxInRaw, minOutRaw, ...tail] })
  }
  if (sellsNativeToken) {
    const args = [minOutRaw, ...tail] as const
    return encodeFunctionData({ abi, functionName: 'swapETHForExactTokens', args })
  }
  const functionName = buysNativeToken ? 'swapTokensForExactETH' : 'swapTokensForExactTokens'
  return encodeFunctionData({ abi, functionName, args: [minOutRaw, maxInRaw, ...tail] })
}

/** Tokens along a path. */
export const tokensOf = (hops: readonly Hop[]): Address[] =>
  [hops[0]?.tokenIn ?? '', ...hops.map(({ tokenOut }) => tokenOut)] as Address[]

/** Token, fee, token, fee, token: an ExactOut path from its end. */
export const packedPath = (hops: readonly Hop[]): Hex =>
  hops.reduce<Hex>(
    (packed, { pool, tokenOut }) =>
      concatHex([packed, numberToHex(pool.feePips, { size: 3 }), tokenOut as Hex]),
    (hops[0]?.tokenIn ?? '0x') as Hex,
  )

/** The same hops from the end of a path. */
export const turned = (hops: readonly Hop[]): readonly Hop[] =>
  hops.toReversed().map((hop) => ({ ...hop, tokenIn: hop.tokenOut, tokenOut: hop.tokenIn }))

const v3Data = (swap: RouterSwap): Hex => {
  const { path, mode, minOutRaw, maxInRaw, buysNativeToken } = swap
  const abi = V3_ROUTER
  const head = {
    // The router itself: it holds the wrapped native token until it is unwrapped.
    recipient: buysNativeToken ? EVM_ZERO_ADDRESS : (swap.recipient as Address),
    deadline: BigInt(swap.deadline),
  }
  const data =
    mode === 'exact_in'
      ? encodeFunctionData({
          abi,
          functionName: 'exactInput',
          args: [
            {
              ...head,
              path: packedPath(path.hops),
              amountIn: maxInRaw,
              amountOutMinimum: minOutRaw,
            },
          ],
        })
      : encodeFunctionData({
          abi,
          functionName: 'exactOutput',
          args: [
            {
              ...head,
              path: packedPath(turned(path.hops)),
              amountOut: minOutRaw,
              amountInMaximum: maxInRaw,
            },
          ],
        })
  const calls = [...(swap.selfPermit ? [swap.selfPermit] : []), data, ...v3Ending(swap)]
  if (calls.length === 1) return data
  return encodeFunctionData({ abi, functionName: 'multicall', args: [calls] })
}

/** Native tokens that are bought are unwrapped; those that are not needed are refunded. */
const v3Ending = (swap: RouterSwap): readonly Hex[] => {
  const { mode, minOutRaw, sellsNativeToken, buysNativeToken } = swap
  const abi = V3_ROUTER
  const args = [minOutRaw, swap.recipient as Address] as const
  if (buysNativeToken) return [encodeFunctionData({ abi, functionName: 'unwrapWETH9', args })]
  const isRefunded = sellsNativeToken && mode === 'exact_out'
  return isRefunded ? [encodeFunctionData({ abi, functionName: 'refundETH' })] : []
}

/** Data of the swap by the kind of router. */
const CALLS: Readonly<Record<RouterKind, (swap: RouterSwap) => Hex>> = {
  v2: v2Data,
  v3: v3Data,
  book: bookRouterData,
}

/** Lets `spender` take exactly so much of a token. */
export const approveData = (spender: string, amountRaw: bigint): Hex =>
  encodeFunctionData({
    abi: TOKEN,
    functionName: 'approve',
    args: [spender as Address, amountRaw],
  })

/** Asks a token how much `spender` may take of the owner's. */
export const allowanceData = (owner: string, spender: string): Hex =>
  encodeFunctionData({
    abi: TOKEN,
    functionName: 'allowance',
    args: [owner as Address, spender as Address],
  })

/** Asks a token how much the owner holds. */
export const balanceData = (owner: string): Hex =>
  encodeFunctionData({ abi: TOKEN, functionName: 'balanceOf', args: [owner as Address] })

/** Sends so much of a token. */
export const transferData = (to: string, amountRaw: bigint): Hex =>
  encodeFunctionData({ abi: TOKEN, functionName: 'transfer', args: [to as Address, amountRaw] })

/** A number that a node or a contract answered in one word; undefined for anything else. */
export const answeredNumber = (answer: unknown): bigint | undefined =>
  typeof answer === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(answer)
    ? hexToBigInt(answer as Hex)
    : undefined

/** A quantity as nodes take it. */
export const quantity = (value: bigint | number): Hex => numberToHex(value)

/** What a transaction pays for gas, wei per unit. */
export type GasFees =
  | { readonly gasPrice: bigint }
  | { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }

/** A transaction before it is signed. */
export interface UnsignedTransaction {
  readonly chainId: number
  readonly nonce: number
  readonly gas: bigint
  readonly to: string
  readonly value: bigint
  readonly data: Hex
  readonly fees: GasFees
}

/** RLP of a transaction without a signature: EIP-1559, or with a gas price legacy after EIP-155. */
export const unsignedHex = ({ fees, to, ...rest }: UnsignedTransaction): Hex =>
  'gasPrice' in fees
    ? serializeTransaction({ ...rest, ...fees, to: to as Address, type: 'legacy' })
    : serializeTransaction({ ...rest, ...fees, to: to as Address, type: 'eip1559' })

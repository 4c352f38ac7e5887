import { decodeFunctionData, type Hex, parseAbi } from 'viem'

/** Calls of KyberSwap's router. Source: IMetaAggregationRouterV2.sol, the interface of the router as integrators publish it. */

const DESCRIPTION =
  'struct SwapDescriptionV2 { address srcToken; address dstToken; address[] srcReceivers; uint256[] srcAmounts; address[] feeReceivers; uint256[] feeAmounts; address dstReceiver; uint256 amount; uint256 minReturnAmount; uint256 flags; bytes permit; }'
const EXECUTION =
  'struct SwapExecutionParams { address callTarget; address approveTarget; bytes targetData; SwapDescriptionV2 desc; bytes clientData; }'
const ROUTER = parseAbi([
  DESCRIPTION,
  EXECUTION,
  'function swap(SwapExecutionParams execution) payable',
  'function swapGeneric(SwapExecutionParams execution) payable',
  'function swapSimpleMode(address caller, SwapDescriptionV2 desc, bytes executorData, bytes clientData)',
])

/** How KyberSwap names native tokens. */
export const NATIVE = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'

/** What a call is to do; null: the native token. */
interface CallTerms {
  readonly tokenIn: string | null
  readonly tokenOut: string | null
  readonly amountRaw: bigint
  readonly recipient: string
}

/** The least that a call of the router lets the recipient get, which the router itself holds to; a text: why it is not the call of these terms. */
export const readKyberswapCall = (
  data: Hex,
  { tokenIn, tokenOut, amountRaw, recipient }: CallTerms,
): { readonly minOutRaw: bigint } | string => {
  const description = descriptionOf(data)
  if (description === undefined) return 'the call is none that swaps'
  const { srcToken, dstToken, dstReceiver, amount, minReturnAmount } = description
  if (!isSame(srcToken, tokenIn ?? NATIVE)) return 'the call sells another token'
  if (!isSame(dstToken, tokenOut ?? NATIVE)) return 'the call buys another token'
  if (!isSame(dstReceiver, recipient)) return 'the call pays another recipient'
  if (amount !== amountRaw) return 'the call sells another amount'
  return { minOutRaw: minReturnAmount }
}

const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

const descriptionOf = (data: Hex) => {
  try {
    const { functionName, args } = decodeFunctionData({ abi: ROUTER, data })
    return functionName === 'swapSimpleMode' ? args[1] : args[0].desc
  } catch {
    return undefined
  }
}

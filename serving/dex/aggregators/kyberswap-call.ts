import {
  decodeAbiParameters,
  decodeFunctionData,
  type Hex,
  parseAbi,
  parseAbiParameters,
} from 'viem'

/** Calls of KyberSwap's router. Source: IMetaAggregationRouterV2.sol and MetaAggregationRouterV2.sol, as integrators and explorers publish them. */

const DESCRIPTION =
  'struct SwapDescriptionV2 { address srcToken; address dstToken; address[] srcReceivers; uint256[] srcAmounts; address[] feeReceivers; uint256[] feeAmounts; address dstReceiver; uint256 amount; uint256 minReturnAmount; uint256 flags; bytes permit; }'
const EXECUTION =
  'struct SwapExecutionParams { address callTarget; address approveTarget; bytes targetData; SwapDescriptionV2 desc; bytes clientData; }'
/** Its generic swap, which calls any allowed contract, is missing: recorded answers of the interface do not use it. */
const ROUTER = parseAbi([
  DESCRIPTION,
  EXECUTION,
  'function swap(SwapExecutionParams execution) payable',
  'function swapSimpleMode(address caller, SwapDescriptionV2 desc, bytes executorData, bytes clientData)',
])
/** What the router itself reads in simple mode; in any other the data are the executor's. */
const SIMPLE_DATA = parseAbiParameters([
  'SimpleSwapData data',
  'struct SimpleSwapData { address[] firstPools; uint256[] firstSwapAmounts; bytes[] swapDatas; uint256 deadline; bytes destTokenFeeData; }',
])

/** How KyberSwap names native tokens. */
export const NATIVE = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'

/** The router sends what is sold to the first pools itself. */
const SIMPLE_SWAP = 0x20n
/** Set in recorded calls; the router does not read it. */
const UNREAD = 0x200n
/**
 * Flags of a call without fees. Of the others 0x01 (partial fill) makes the floor a proportion of what is left after fees, 0x02 takes more of the
 * native token, 0x04 and 0x100 let the router take and approve, 0x40 and 0x80 say how fees are taken, 0x08 and 0x10 are of no published code.
 */
const ALLOWED_FLAGS = SIMPLE_SWAP | UNREAD

/** What a call is to do; null: the native token. */
interface CallTerms {
  readonly tokenIn: string | null
  readonly tokenOut: string | null
  readonly amountRaw: bigint
  readonly recipient: string
  /** Unix seconds. */
  readonly deadline: number
}

/**
 * The least that a call of the router lets the recipient get, which the router holds to as an amount, and not as a proportion; a text: why it is
 * not the call of these terms, without fees and for the executor alone. The deadline is found again in simple mode alone.
 */
export const readKyberswapCall = (
  data: Hex,
  terms: CallTerms,
): { readonly minOutRaw: bigint } | string => {
  const call = callOf(data)
  if (call === undefined) return 'the call is none that swaps'
  const { srcToken, dstToken, dstReceiver, amount, minReturnAmount } = call.description
  if (!isSame(srcToken, terms.tokenIn ?? NATIVE)) return 'the call sells another token'
  if (!isSame(dstToken, terms.tokenOut ?? NATIVE)) return 'the call buys another token'
  if (!isSame(dstReceiver, terms.recipient)) return 'the call pays another recipient'
  if (amount !== terms.amountRaw) return 'the call sells another amount'
  return extraOf(call, terms) ?? { minOutRaw: minReturnAmount }
}

type RouterCall = NonNullable<ReturnType<typeof callOf>>

/** What a call does beside the swap; undefined: nothing. */
const extraOf = (call: RouterCall, terms: CallTerms): string | undefined => {
  const { flags, feeReceivers, feeAmounts, permit } = call.description
  if ((flags & ~ALLOWED_FLAGS) !== 0n) return 'the call has flags of another kind of swap'
  if (feeReceivers.length > 0 || feeAmounts.length > 0) return 'the call takes a fee'
  if (permit !== '0x') return 'the call uses a permit'
  const isSimple = call.isSimple || (flags & SIMPLE_SWAP) !== 0n
  if (!isForExecutor(call, terms.tokenIn === null, isSimple))
    return 'the call sends what is sold to others than its executor'
  if (!isSimple) return undefined
  if (terms.tokenIn === null) return 'the call sells the native token in simple mode'
  const deadline = deadlineOf(call.executorData)
  if (deadline === undefined) return 'the call has no data of its mode'
  return deadline > BigInt(terms.deadline) ? 'the call has a later deadline' : undefined
}

/** Whether the executor alone is sent all that is sold: by the list of receivers, or with the call where it is the native token. */
const isForExecutor = (
  { executor, description }: RouterCall,
  sellsNativeToken: boolean,
  isSimple: boolean,
): boolean => {
  const { srcReceivers, srcAmounts, amount } = description
  if (srcReceivers.length !== srcAmounts.length) return false
  if (srcReceivers.length === 0) return sellsNativeToken || isSimple
  if (sellsNativeToken || srcReceivers.some((receiver) => !isSame(receiver, executor))) return false
  return srcAmounts.reduce((all, each) => all + each, 0n) === amount
}

const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

const callOf = (data: Hex) => {
  try {
    const { functionName, args } = decodeFunctionData({ abi: ROUTER, data })
    if (functionName === 'swapSimpleMode') {
      const [executor, description, executorData] = args
      return { isSimple: true, executor, description, executorData }
    }
    const [{ callTarget, targetData, desc }] = args
    return { isSimple: false, executor: callTarget, description: desc, executorData: targetData }
  } catch {
    return undefined
  }
}

const deadlineOf = (executorData: Hex): bigint | undefined => {
  try {
    const [{ deadline }] = decodeAbiParameters(SIMPLE_DATA, executorData)
    return deadline
  } catch {
    return undefined
  }
}

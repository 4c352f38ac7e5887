import {
  type Address,
  concatHex,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  numberToHex,
  parseAbi,
  parseAbiParameters,
} from 'viem'
import { Fault } from '../../core/errors.ts'
import { packedPath, type RouterCall, tokensOf, turned } from './evm-calls.ts'
import type { Pool } from './pool.ts'
import type { SwapQuote } from './quote.ts'
import type { Hop, Path } from './search.ts'

/** Calls of Uniswap's Universal Router. Source: Uniswap/universal-router contracts/libraries/Commands.sol, contracts/base/Dispatcher.sol. */

const ROUTER = parseAbi([
  'function execute(bytes commands, bytes[] inputs, uint256 deadline) payable',
])
const COMMAND = {
  v3ExactIn: 0x00,
  v3ExactOut: 0x01,
  sweep: 0x04,
  v2ExactIn: 0x08,
  v2ExactOut: 0x09,
  permit2Permit: 0x0a,
  wrap: 0x0b,
  unwrap: 0x0c,
} as const
/** The command may fail: a permit that another has submitted before has done its work. */
const MAY_FAIL = 0x80
const INPUT = {
  v2: parseAbiParameters('address, uint256, uint256, address[], bool'),
  v3: parseAbiParameters('address, uint256, uint256, bytes, bool'),
  sweep: parseAbiParameters('address, address, uint256'),
  nativeTransfer: parseAbiParameters('address, uint256'),
}
/** Words for the caller and for the router itself. Source: Uniswap/v4-periphery src/libraries/ActionConstants.sol. */
const CALLER: Address = '0x0000000000000000000000000000000000000001'
const ROUTER_ITSELF: Address = '0x0000000000000000000000000000000000000002'
/** All that the router holds of a token; of a V2 swap, what the pair was sent before. */
const [WHOLE_BALANCE, ALREADY_SENT] = [1n << 255n, 0n]

/** A swap along all paths of a quote. */
export interface UniversalSwap {
  readonly quote: SwapQuote
  readonly owner: string
  readonly recipient: string
  /** Unix seconds. */
  readonly deadline: number
  readonly sellsNativeToken: boolean
  readonly buysNativeToken: boolean
  /** Input of the command that hands a signed permit to Permit2. */
  readonly permitInput?: Hex
}

interface Command {
  readonly code: number
  readonly input: Hex
}

/** True for addresses that routers read as words: what is sent to them stays with the router or its caller. */
export const isRouterWord = (address: string): boolean => BigInt(address) <= 2n

/** The one call that swaps over every path. Throws `Fault` DEX_ROUTE_BUILD_FAILED for a pool that the router does not swap over. */
export const universalCall = (swap: UniversalSwap): RouterCall => {
  const { quote, deadline, sellsNativeToken, permitInput } = swap
  const valueRaw = sellsNativeToken ? quote.maxInRaw : 0n
  const commands: readonly Command[] = [
    ...(permitInput ? [{ code: COMMAND.permit2Permit | MAY_FAIL, input: permitInput }] : []),
    ...(sellsNativeToken ? [nativeTransfer(COMMAND.wrap, ROUTER_ITSELF, valueRaw)] : []),
    ...swaps(swap),
    ...ending(swap),
  ]
  const data = encodeFunctionData({
    abi: ROUTER,
    functionName: 'execute',
    args: [
      concatHex(commands.map(({ code }) => numberToHex(code, { size: 1 }))),
      commands.map(({ input }) => input),
      BigInt(deadline),
    ],
  })
  return { data, valueRaw }
}

const nativeTransfer = (code: number, to: Address, amountRaw: bigint): Command => ({
  code,
  input: encodeAbiParameters(INPUT.nativeTransfer, [to, amountRaw]),
})

/** Outputs of several paths are collected, so that the least output counts for their sum. */
const isCollected = ({ quote, buysNativeToken }: UniversalSwap): boolean =>
  buysNativeToken || (quote.request.mode === 'exact_in' && quote.route.paths.length > 1)

const swaps = (swap: UniversalSwap): readonly Command[] => {
  const { quote, sellsNativeToken, recipient } = swap
  const to = isCollected(swap) ? ROUTER_ITSELF : (recipient as Address)
  const isPaidByCaller = !sellsNativeToken
  if (quote.request.mode === 'exact_in') {
    const minOutRaw = isCollected(swap) ? 0n : quote.minOutRaw
    return quote.route.paths.flatMap((path) =>
      exactInSwaps(path, { to, minOutRaw, isPaidByCaller }),
    )
  }
  const limits = shareLimit(quote)
  return quote.route.paths.map((path, index) =>
    familySwap({
      hops: path.hops,
      isExactIn: false,
      to,
      isPaidByCaller,
      amountRaw: path.amountOutRaw,
      limitRaw: limits[index] ?? 0n,
    }),
  )
}

/** The largest input of each path: in the ratio of the quoted inputs, and together the largest input of the swap. */
const shareLimit = ({ route, maxInRaw }: SwapQuote): readonly bigint[] => {
  let left = maxInRaw
  return route.paths.map(({ amountInRaw }, index) => {
    const isLast = index === route.paths.length - 1
    const limit = isLast ? left : (maxInRaw * amountInRaw) / route.amountInRaw
    left -= limit
    return limit
  })
}

type Family = 'v2' | 'v3'

/** Commands of the router by how a pool is priced; null: it has none. */
const FAMILIES: Readonly<Record<Pool['kind'], Family | null>> = {
  bins: null,
  constant_product: 'v2',
  concentrated: 'v3',
  dlmm: null,
  fee_on_input: null,
  fee_on_quote: null,
  whirlpool: null,
}

/** Throws `Fault` DEX_ROUTE_BUILD_FAILED for a pool that the router does not swap over. */
const familyOf = ({ pool }: Hop): Family => {
  const family = FAMILIES[pool.kind]
  if (family !== null) return family
  throw new Fault('DEX_ROUTE_BUILD_FAILED', undefined, {
    pool: pool.address,
    reason: 'the router does not swap over this kind of pool',
  })
}

/** Hops of one family, one after the other, of a path. */
interface Stretch {
  readonly family: Family
  readonly hops: Hop[]
}

/** Neighbouring hops of one family: one command runs them. */
const stretches = (hops: readonly Hop[]): readonly Stretch[] => {
  const all: Stretch[] = []
  for (const hop of hops) {
    const family = familyOf(hop)
    const last = all.at(-1)
    if (last?.family === family) last.hops.push(hop)
    else all.push({ family, hops: [hop] })
  }
  return all
}

const exactInSwaps = (
  path: Path,
  end: { readonly to: Address; readonly minOutRaw: bigint; readonly isPaidByCaller: boolean },
): readonly Command[] => {
  const all = stretches(path.hops)
  return all.map(({ family, hops }, index) => {
    const next = all[index + 1]
    // A pair is paid before its swap; a V3 pool asks the router for its payment.
    const nextTo = next?.family === 'v2' ? (next.hops[0]?.pool.address as Address) : ROUTER_ITSELF
    const fromBefore = family === 'v2' ? ALREADY_SENT : WHOLE_BALANCE
    return familySwap({
      hops,
      isExactIn: true,
      to: next ? nextTo : end.to,
      amountRaw: index === 0 ? path.amountInRaw : fromBefore,
      limitRaw: next ? 0n : end.minOutRaw,
      isPaidByCaller: index === 0 && end.isPaidByCaller,
    })
  })
}

/** A command that swaps along pools of one family. Throws `Fault` DEX_ROUTE_BUILD_FAILED for others. */
const familySwap = (swap: {
  readonly hops: readonly Hop[]
  readonly isExactIn: boolean
  readonly to: Address
  readonly amountRaw: bigint
  readonly limitRaw: bigint
  readonly isPaidByCaller: boolean
}): Command => {
  const { hops, isExactIn, to, amountRaw, limitRaw, isPaidByCaller } = swap
  const [stretch, other] = stretches(hops)
  if (stretch === undefined || other !== undefined) throw new Fault('DEX_ROUTE_BUILD_FAILED')
  if (stretch.family === 'v2') {
    const path = tokensOf(hops)
    return {
      code: isExactIn ? COMMAND.v2ExactIn : COMMAND.v2ExactOut,
      input: encodeAbiParameters(INPUT.v2, [to, amountRaw, limitRaw, path, isPaidByCaller]),
    }
  }
  const path = packedPath(isExactIn ? hops : turned(hops))
  return {
    code: isExactIn ? COMMAND.v3ExactIn : COMMAND.v3ExactOut,
    input: encodeAbiParameters(INPUT.v3, [to, amountRaw, limitRaw, path, isPaidByCaller]),
  }
}

/** What was collected goes to the recipient, native tokens that were not needed back to the caller. */
const ending = (swap: UniversalSwap): readonly Command[] => {
  const { quote, recipient, sellsNativeToken, buysNativeToken } = swap
  const { minOutRaw, request } = quote
  if (buysNativeToken) return [nativeTransfer(COMMAND.unwrap, recipient as Address, minOutRaw)]
  const back = sellsNativeToken ? [nativeTransfer(COMMAND.unwrap, CALLER, 0n)] : []
  if (!isCollected(swap)) return back
  const args = [request.tokenOut as Address, recipient as Address, minOutRaw] as const
  return [{ code: COMMAND.sweep, input: encodeAbiParameters(INPUT.sweep, args) }, ...back]
}

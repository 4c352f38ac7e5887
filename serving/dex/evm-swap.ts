import { Fault } from '../../core/errors.ts'
import type { Holding } from './balance-share.ts'
import type { EvmAccountReader } from './evm-account.ts'
import {
  approveData,
  type GasFees,
  routerCall,
  type UnsignedTransaction,
  unsignedHex,
} from './evm-calls.ts'
import type { permitTypedData } from './permit2.ts'
import type { SwapQuote } from './quote.ts'
import type { RouterVenue } from './router-venues.ts'
import { requireTakenPermit, type SignedTokenPermit } from './signed-token-permit.ts'
import { requireBalance } from './swap-terms.ts'
import { permitFor, selfPermitData, tokenPermitTypedData } from './token-permit.ts'
import { requireFairSwap, trialApprovals, trialQuote } from './trial-swap.ts'

/** What a caller wants of a transaction beside the swap. */
export interface SwapOrder {
  readonly quote: SwapQuote
  readonly venue: RouterVenue
  readonly chainId: number
  readonly owner: string
  readonly recipient: string
  /** Unix seconds. */
  readonly deadline: number
  readonly sellsNativeToken: boolean
  readonly buysNativeToken: boolean
  /** Default: as the node proposes. */
  readonly fees?: GasFees
  readonly gas?: bigint
  /** The caller can hand in permits of tokens; `signed` fits the order, but for what the token says of it. */
  readonly tokenPermits?: { readonly signed: SignedTokenPermit | undefined }
}

/** A transaction that is ready to be signed. */
export interface BuiltSwap {
  readonly hex: `0x${string}`
  readonly transaction: UnsignedTransaction
  /** What must be signed first: the router may not yet take what is sold. */
  readonly approval: {
    readonly token: string
    readonly spender: string
    readonly data: string
  } | null
  /** EIP-712 typed data whose signature may stand for the approval of the router. */
  readonly permitData?: ReturnType<typeof permitTypedData> | ReturnType<typeof tokenPermitTypedData>
  /** It was run against the newest block. */
  readonly simulated: boolean
}

/** Gas of a swap that cannot be run yet, because its approval is missing: the transaction, and each pool. */
const [BASE_GAS, GAS_PER_POOL] = [120_000n, 130_000n]
/** Most pools on a path and on all paths of a route, and the reserve of the native token besides its gas, percent of the gas. */
const [MAX_POOLS, RESERVE_PERCENT] = [{ path: 3n, route: 12n }, 150n]
/** More gas than a run took, percent: what the next block does to a pool may cost a little more. */
const GAS_MARGIN_PERCENT = 20n

/** Gas that a transaction is given, from what its run took. */
export const withGasMargin = (gas: bigint): bigint => gas + (gas * GAS_MARGIN_PERCENT) / 100n

/** What the signer holds of what is sold; of the native token, one and a half times the gas of the longest swap stays. Throws as the reader. */
export const readEvmHolding = async (
  reader: EvmAccountReader,
  order: Pick<SwapOrder, 'owner' | 'sellsNativeToken' | 'fees' | 'gas'> & {
    readonly isSplit: boolean
  },
  sold: string,
): Promise<Holding> => {
  const { owner, sellsNativeToken, fees, gas, isSplit } = order
  const balanceRaw = await reader.balance(owner, sellsNativeToken ? null : sold)
  if (!sellsNativeToken) return { balanceRaw, reserveRaw: 0n }
  const paid = fees ?? (await reader.fees())
  const price = 'gasPrice' in paid ? paid.gasPrice : paid.maxFeePerGas
  const units = gas ?? BASE_GAS + GAS_PER_POOL * MAX_POOLS[isSplit ? 'route' : 'path']
  return { balanceRaw, reserveRaw: (units * price * RESERVE_PERCENT) / 100n }
}

/** A call of a router, and what the transaction of it is made with. */
interface UnsignedCall {
  readonly to: string
  readonly data: UnsignedTransaction['data']
  readonly valueRaw: bigint
  readonly nonce: number
  /** The router may take what is sold: the call can be run. */
  readonly isRunnable: boolean
  /** Gas of a call that cannot be run. */
  readonly defaultGas: bigint
}

/** The unsigned transaction of a call, which is run against the newest block where it can be. Throws as the reader. */
export const unsignedCall = async (
  reader: EvmAccountReader,
  order: Pick<SwapOrder, 'owner' | 'chainId' | 'gas' | 'fees'>,
  { to, data, valueRaw, nonce, isRunnable, defaultGas }: UnsignedCall,
): Promise<Pick<BuiltSwap, 'hex' | 'transaction' | 'simulated'>> => {
  const call = { from: order.owner, to, data, valueRaw }
  const run = isRunnable ? await reader.gasOf(call) : undefined
  const gas = order.gas ?? (run === undefined ? defaultGas : withGasMargin(run))
  const fees = order.fees ?? (await reader.fees())
  const transaction = { chainId: order.chainId, nonce, gas, to, value: valueRaw, data, fees }
  return { hex: unsignedHex(transaction), transaction, simulated: run !== undefined }
}

/**
 * The unsigned transaction of a quoted swap. Throws `Fault` INSUFFICIENT_BALANCE, DEX_SWAP_SIMULATED_FAILED where it would revert at the
 * newest block, CHAIN_CONNECTION_ERROR, and as `requireFairSwap` and `requireTakenPermit`.
 */
export const buildEvmSwap = async (
  reader: EvmAccountReader,
  order: SwapOrder,
): Promise<BuiltSwap> => {
  const { quote, venue, owner, sellsNativeToken } = order
  const [path] = quote.route.paths
  if (path === undefined) throw new Fault('DEX_ROUTE_BUILD_FAILED')
  const sold = quote.request.tokenIn
  const account = await reader.account(owner, sellsNativeToken ? null : sold, venue.router)
  const needed = quote.maxInRaw
  requireBalance(account.balanceRaw, needed)
  const hasAllowance = account.allowanceRaw >= needed
  const { selfPermit, permitData } = await permitOf(reader, order, hasAllowance)
  const swap = { ...order, path, kind: venue.kind, mode: quote.request.mode }
  await requireFairSwap(reader, {
    ...order,
    approvals: sellsNativeToken ? [] : trialApprovals(sold, venue.router, needed),
    swap: { to: venue.router, ...routerCall({ ...swap, ...trialQuote(quote) }) },
  })
  const { data, valueRaw } = routerCall({ ...swap, ...quote, ...(selfPermit && { selfPermit }) })
  const isAllowed = hasAllowance || selfPermit !== undefined
  const built = await unsignedCall(reader, order, {
    to: venue.router,
    data,
    valueRaw,
    nonce: account.nonce,
    isRunnable: isAllowed,
    defaultGas: BASE_GAS + GAS_PER_POOL * BigInt(path.hops.length),
  })
  return {
    ...built,
    approval: isAllowed
      ? null
      : { token: sold, spender: venue.router, data: approveData(venue.router, needed) },
    ...(permitData && { permitData }),
  }
}

/** The router's call for the permit of an order, or what may be signed where the allowance is missing and the token takes permits. */
const permitOf = async (
  reader: EvmAccountReader,
  order: SwapOrder,
  hasAllowance: boolean,
): Promise<Pick<BuiltSwap, 'permitData'> & { readonly selfPermit?: `0x${string}` }> => {
  const { quote, venue, owner, chainId, deadline, sellsNativeToken, tokenPermits } = order
  if (tokenPermits === undefined || venue.kind !== 'v3' || sellsNativeToken) return {}
  const { signed } = tokenPermits
  if (signed === undefined && hasAllowance) return {}
  const token = quote.request.tokenIn
  const state = await reader.tokenPermit({ chainId, token, owner })
  if (signed) {
    const { nonceRaw } = await requireTakenPermit(signed, state)
    return { selfPermit: selfPermitData(token, signed, nonceRaw) }
  }
  if (state === undefined) return {}
  const permit = permitFor(state, {
    owner,
    spender: venue.router,
    amountRaw: quote.maxInRaw,
    deadline: BigInt(deadline),
  })
  return { permitData: tokenPermitTypedData(state, permit) }
}

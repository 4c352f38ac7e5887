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
import type { SwapQuote } from './quote.ts'
import type { RouterVenue } from './router-venues.ts'

/** What a caller wants of a transaction beside the swap. */
export interface SwapOrder {
  readonly quote: SwapQuote
  readonly venue: RouterVenue
  readonly chainId: number
  readonly owner: string
  readonly recipient: string
  /** Unix seconds. */
  readonly deadline: number
  readonly sellsCoin: boolean
  readonly buysCoin: boolean
  /** Default: as the node proposes. */
  readonly fees?: GasFees
  readonly gas?: bigint
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
  /** It was run against the newest block. */
  readonly simulated: boolean
}

/** Gas of a swap that cannot be run yet, because its approval is missing: the transaction, and each pool. */
const [BASE_GAS, GAS_PER_POOL] = [120_000n, 130_000n]
/** Most pools on the way of a swap, and what is kept of the coin beside its gas, percent of it. */
const [MAX_POOLS, RESERVE_PERCENT] = [3n, 150n]
/** More gas than a run took, percent: what the next block does to a pool may cost a little more. */
const GAS_MARGIN_PERCENT = 20n

/** Gas that a transaction is given, from what its run took. */
export const withGasMargin = (gas: bigint): bigint => gas + (gas * GAS_MARGIN_PERCENT) / 100n

/** What the signer holds of what is sold; of the coin, one and a half times the gas of the longest swap stays. Throws as the reader. */
export const readEvmHolding = async (
  reader: EvmAccountReader,
  { owner, sellsCoin, fees, gas }: Pick<SwapOrder, 'owner' | 'sellsCoin' | 'fees' | 'gas'>,
  sold: string,
): Promise<Holding> => {
  const balanceRaw = await reader.balance(owner, sellsCoin ? null : sold)
  if (!sellsCoin) return { balanceRaw, reserveRaw: 0n }
  const paid = fees ?? (await reader.fees())
  const price = 'gasPrice' in paid ? paid.gasPrice : paid.maxFeePerGas
  const units = gas ?? BASE_GAS + GAS_PER_POOL * MAX_POOLS
  return { balanceRaw, reserveRaw: (units * price * RESERVE_PERCENT) / 100n }
}

/**
 * The unsigned transaction of a quoted swap. Throws `Fault` INSUFFICIENT_BALANCE, DEX_SWAP_SIMULATED_FAILED where it would revert at the
 * newest block, CHAIN_CONNECTION_ERROR.
 */
export const buildEvmSwap = async (
  reader: EvmAccountReader,
  order: SwapOrder,
): Promise<BuiltSwap> => {
  const { quote, venue, owner, sellsCoin, chainId } = order
  const [path] = quote.route.paths
  if (path === undefined) throw new Fault('DEX_ROUTE_BUILD_FAILED')
  const sold = quote.request.tokenIn
  const account = await reader.account(owner, sellsCoin ? null : sold, venue.router)
  const needed = quote.maxInRaw
  if (account.balanceRaw < needed) {
    throw new Fault('INSUFFICIENT_BALANCE', undefined, {
      required: needed.toString(),
      available: account.balanceRaw.toString(),
    })
  }
  const { data, valueRaw } = routerCall({
    ...order,
    ...quote,
    path,
    kind: venue.kind,
    mode: quote.request.mode,
  })
  const isAllowed = account.allowanceRaw >= needed
  const call = { from: owner, to: venue.router, data, valueRaw }
  const run = isAllowed ? await reader.gasOf(call) : undefined
  const gas =
    run === undefined ? BASE_GAS + GAS_PER_POOL * BigInt(path.hops.length) : withGasMargin(run)
  const transaction = {
    ...{ chainId, nonce: account.nonce, gas: order.gas ?? gas, to: venue.router },
    ...{ value: valueRaw, data, fees: order.fees ?? (await reader.fees()) },
  }
  return {
    hex: unsignedHex(transaction),
    transaction,
    simulated: run !== undefined,
    approval: isAllowed
      ? null
      : { token: sold, spender: venue.router, data: approveData(venue.router, needed) },
  }
}

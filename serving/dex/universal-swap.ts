import { Fault } from '../../core/errors.ts'
import type { EvmAccountReader } from './evm-account.ts'
import { approveData } from './evm-calls.ts'
import { type BuiltSwap, type SwapOrder, unsignedCall } from './evm-swap.ts'
import {
  MAX_APPROVAL,
  MAX_PERMIT_AMOUNT,
  type Permit2Allowance,
  type PermitSingle,
  permit2ApproveData,
  permitInput,
  permitTypedData,
} from './permit2.ts'
import type { UniversalVenue } from './router-venues.ts'
import { requireNonce, type SignedPermit } from './signed-permit.ts'
import { requireBalance } from './swap-terms.ts'
import { requireFairSwap, trialApprovals, trialQuote } from './trial-swap.ts'
import { universalCall } from './universal-calls.ts'

/** A swap through the Universal Router. */
export interface UniversalOrder extends Omit<SwapOrder, 'venue'> {
  readonly venue: UniversalVenue
  /** Fits the order, but for its nonce and its amount. */
  readonly permit?: SignedPermit
  readonly nowSeconds: number
}

/** Gas of a swap that cannot be run yet, with a permit: the transaction, and each pool. */
const [BASE_GAS, GAS_PER_POOL] = [250_000n, 130_000n]

/**
 * The unsigned transaction of a swap over all paths of its quote. Throws as `buildEvmSwap`, and `Fault` AMOUNT_TOO_LARGE for what Permit2 does
 * not count, INVALID_PARAMETER for a permit that was used before.
 */
export const buildUniversalSwap = async (
  reader: EvmAccountReader,
  order: UniversalOrder,
): Promise<BuiltSwap> => {
  const { quote, venue, owner, sellsNativeToken, chainId, permit } = order
  const needed = quote.maxInRaw
  if (needed > MAX_PERMIT_AMOUNT) throw new Fault('AMOUNT_TOO_LARGE')
  const sold = quote.request.tokenIn
  const account = await reader.account(owner, sellsNativeToken ? null : sold, venue.permit2)
  requireBalance(account.balanceRaw, needed)
  const held = sellsNativeToken
    ? undefined
    : await reader.permit2Allowance(venue, { owner, token: sold, spender: venue.router })
  if (permit && held) requireNonce(permit, held.nonce)
  const isApproved = account.allowanceRaw >= needed
  const missing = held && !permit && isMissing(held, order) ? nextPermit(held, order) : undefined
  const { permit: _signed, ...plain } = order
  const allowance = held && permit2ApproveData(nextPermit(held, order))
  await requireFairSwap(reader, {
    ...plain,
    approvals: allowance
      ? [
          ...trialApprovals(sold, venue.permit2, MAX_APPROVAL),
          { to: venue.permit2, data: allowance },
        ]
      : [],
    swap: { to: venue.router, ...universalCall({ ...plain, quote: trialQuote(quote) }) },
  })
  const { data, valueRaw } = universalCall({
    ...order,
    ...(permit && held && { permitInput: permitInput(permit.permit, permit.signature) }),
  })
  const pools = quote.route.paths.reduce((count, { hops }) => count + hops.length, 0)
  const built = await unsignedCall(reader, order, {
    to: venue.router,
    data,
    valueRaw,
    nonce: account.nonce,
    isRunnable: isApproved && missing === undefined,
    defaultGas: BASE_GAS + GAS_PER_POOL * BigInt(pools),
  })
  return {
    ...built,
    approval: approvalOf(venue, { sold, isApproved, missing }),
    ...(missing && { permitData: permitTypedData({ chainId, permit2: venue.permit2 }, missing) }),
  }
}

const isMissing = (held: Permit2Allowance, { quote, nowSeconds }: UniversalOrder): boolean =>
  held.amountRaw < quote.maxInRaw || held.expiration <= nowSeconds

/** A permit for what the swap may sell, until its deadline. */
const nextPermit = (
  { nonce }: Permit2Allowance,
  { quote, venue, deadline }: UniversalOrder,
): PermitSingle => ({
  token: quote.request.tokenIn,
  amountRaw: quote.maxInRaw,
  nonce,
  expiration: deadline,
  sigDeadline: BigInt(deadline),
  spender: venue.router,
})

/** The next call that is missing: the token lets Permit2 take it, then Permit2 the router; a signed permit stands for the second. */
const approvalOf = (
  { permit2, router }: UniversalVenue,
  state: {
    readonly sold: string
    readonly isApproved: boolean
    readonly missing: PermitSingle | undefined
  },
): BuiltSwap['approval'] => {
  const { sold, isApproved, missing } = state
  if (!isApproved) {
    return { token: sold, spender: permit2, data: approveData(permit2, MAX_APPROVAL) }
  }
  return missing ? { token: permit2, spender: router, data: permit2ApproveData(missing) } : null
}

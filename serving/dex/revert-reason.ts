/** Why a swap fails, or gives less than it says, as the details of the error name it. */
export type TrialReason =
  | 'transfer_fee'
  | 'sale_blocked'
  | 'purchase_blocked'
  | 'pool_drained'
  | 'price_moved'
  | 'reverted'

/** Revert messages of routers and pools, by what they mean. Source: Uniswap/v2-core, v2-periphery, v3-core, v3-periphery, traderjoe-xyz/joe-v2, KyberSwap's router. */
const REASON_BY_MESSAGE: readonly (readonly [message: RegExp, reason: TrialReason])[] = [
  [
    /INSUFFICIENT_OUTPUT|EXCESSIVE_INPUT|Too ?Little ?Received|Too ?Much ?Requested/i,
    'price_moved',
  ],
  [
    /LBRouter__InsufficientAmountOut|MaxAmountInExceeded|OutOfLiquidity|Return amount is not enough/,
    'price_moved',
  ],
  [/: K$|\bIIA$/, 'transfer_fee'],
  [/TRANSFER_FROM_FAILED$|transferFrom failed$|\bSTF$/, 'sale_blocked'],
  [/: TRANSFER_FAILED$|\bTF$/, 'purchase_blocked'],
]

/** What a revert message means, that of a contract or a node's message that ends with it. */
export const revertReason = (message: string): TrialReason =>
  REASON_BY_MESSAGE.find(([pattern]) => pattern.test(message))?.[1] ?? 'reverted'

/** Why a swap fails, or gives less than it says, as the details of the error name it. */
export type TrialReason =
  | 'transfer_fee'
  | 'sale_blocked'
  | 'purchase_blocked'
  | 'pool_drained'
  | 'price_moved'
  | 'reverted'

/** What routers and pools say, by what it means. Source: Uniswap/v2-core, v2-periphery, v3-core, v3-periphery. */
const SAID: readonly (readonly [said: RegExp, reason: TrialReason])[] = [
  [
    /INSUFFICIENT_OUTPUT|EXCESSIVE_INPUT|Too ?Little ?Received|Too ?Much ?Requested/i,
    'price_moved',
  ],
  [/: K$|\bIIA$/, 'transfer_fee'],
  [/TRANSFER_FROM_FAILED$|transferFrom failed$|\bSTF$/, 'sale_blocked'],
  [/: TRANSFER_FAILED$|\bTF$/, 'purchase_blocked'],
]

/** What the words of a revert mean, those of a contract or a node's message that ends with them. */
export const revertReason = (said: string): TrialReason =>
  SAID.find(([pattern]) => pattern.test(said))?.[1] ?? 'reverted'

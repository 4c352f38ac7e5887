/**
 * What a pool prices with once an event is over, where the event proves it: reserves without the fees that lie in the vaults for others,
 * with those that the program only counts. Of a swap as [of tokenIn, of tokenOut], else in the pool's own order.
 */
export interface ReservePricing {
  readonly reserves: readonly [bigint, bigint]
  /** The same before the event, as the event has it. */
  readonly found: readonly [bigint, bigint]
  /** Parts of the fee in hundredths of a basis point, each of them rounded up; none = the event does not tell. */
  readonly feePips: readonly number[]
  /** Token whose amounts the fee is taken of; null: the one that is sold. */
  readonly feeToken: string | null
}

import type { DexPoolEvent, ReservePricing } from '../../schemas/wire.ts'

/**
 * What a pool prices with after an event, from what it did before; null where the event does not tell. Events that name no fee leave it
 * as it was. `is_doubted`: the event found other reserves than the one before it had left, so that one of them is not understood.
 */
export const pricingAfter = (
  { pricing }: Pick<DexPoolEvent, 'pricing'>,
  before: ReservePricing | null,
): ReservePricing | null => {
  if (pricing === null) return null
  if (before === null) return pricing
  const is_doubted = pricing.found_a !== before.reserve_a || pricing.found_b !== before.reserve_b
  const { fees, fee_token } = pricing.fees.length > 0 ? pricing : before
  return { ...pricing, fees, fee_token, is_doubted }
}

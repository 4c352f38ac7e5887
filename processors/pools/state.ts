import { formatDecimal, parseDecimal } from '../../core/amounts.ts'
import { binsAfter } from '../../core/prices/bin-state.ts'
import { concentratedAfter, virtualReservesAt } from '../../core/prices/concentrated-state.ts'
import { pricingAfter } from '../../core/prices/reserve-pricing.ts'
import type {
  BinState,
  ConcentratedState,
  DexPool,
  DexPoolEvent,
  DexPoolProcessed,
  PoolState,
} from '../../schemas/wire.ts'
import { multiply, tokenUnits } from '../runtime/valuation.ts'
import { isSoldOut, poolPrice } from './valuation.ts'

/** What both vaults are worth after an event, as the wire tells it. */
export type VaultValues = Pick<
  DexPoolProcessed,
  | 'token_a_vault_post_amount_in_usd'
  | 'token_a_vault_post_amount_in_native'
  | 'token_b_vault_post_amount_in_usd'
  | 'token_b_vault_post_amount_in_native'
>

const sumText = (one: string, other: string): string => {
  const [left, right] = [parseDecimal(one), parseDecimal(other)]
  return left === null || right === null ? '' : formatDecimal(left + right)
}

/** Both sides together; nothing of a curve that is sold out. */
export const liquidityAfter = (
  event: DexPoolEvent,
  pool: DexPool,
  processed: VaultValues,
): Pick<PoolState, 'liquidity_in_usd' | 'liquidity_in_native'> =>
  isSoldOut(event, pool)
    ? { liquidity_in_usd: '0', liquidity_in_native: '0' }
    : {
        liquidity_in_usd: sumText(
          processed.token_a_vault_post_amount_in_usd,
          processed.token_b_vault_post_amount_in_usd,
        ),
        liquidity_in_native: sumText(
          processed.token_a_vault_post_amount_in_native,
          processed.token_b_vault_post_amount_in_native,
        ),
      }

/** The pool as an event left it: what the tables show of it until the next one. */
export const poolStateAfter = (
  event: DexPoolEvent,
  pool: DexPool,
  processed: VaultValues & Pick<DexPoolProcessed, 'curve_progress' | 'before'>,
  timeMs: number,
): PoolState => ({
  token_a_vault_amount: pool.token_a_vault_post_amount,
  token_b_vault_amount: pool.token_b_vault_post_amount,
  ...liquidityAfter(event, pool, processed),
  price: formatDecimal(poolPrice(event, pool)),
  curve_progress: processed.curve_progress,
  time: timeMs,
  concentrated: rangesAfter(event, pool, processed.before),
  pricing: pricingAfter(event, processed.before?.pricing ?? null),
  bins: valuedBins(event, pool, { before: processed.before, timeMs }),
})

/** The bins after an event. Their depth is twice what they hold of the quote: the base token is worth what its maker likes. */
const valuedBins = (
  event: DexPoolEvent,
  pool: DexPool,
  { before, timeMs }: { readonly before: PoolState | null; readonly timeMs: number },
): BinState | null => {
  const after = binsAfter(event, before?.bins ?? null, timeMs)
  if (after === null || !event.bins) return after
  const held = after.token_x === pool.token_b_address ? after.amount_x : after.amount_y
  const units = held.startsWith('-') ? null : tokenUnits(held, pool.token_b_decimals)
  const value = multiply(units, parseDecimal(event.quote_price_in_usd))
  return { ...after, depth_in_usd: formatDecimal(multiply(value, 2)) }
}

/** Price and liquidity of a concentrated pool after an event, and how much money trades around that price. */
const rangesAfter = (
  event: DexPoolEvent,
  pool: DexPool,
  before: PoolState | null,
): ConcentratedState | null => {
  const after = concentratedAfter(event, before?.concentrated ?? null)
  if (after === null || !event.concentrated) return after
  const reserves = virtualReservesAt(BigInt(after.sqrt_price_x96), BigInt(after.liquidity))
  const quoteRaw = reserves[pool.token_b_address < pool.token_a_address ? 0 : 1]
  const units = tokenUnits(String(quoteRaw), pool.token_b_decimals)
  const value = multiply(units, parseDecimal(event.quote_price_in_usd))
  return { ...after, depth_in_usd: formatDecimal(multiply(value, 2)) }
}

import { decimalNumber, decimalText } from '../core/amounts.ts'
import type { DexPool, DexPoolEvent, DexPoolProcessed, PoolState } from '../schemas/wire.ts'
import { knownRaw, over, unitsOf } from './trade.ts'

const sumText = (one: string, other: string): string => {
  const [left, right] = [decimalNumber(one), decimalNumber(other)]
  return left === null || right === null ? '' : decimalText(left + right)
}

/** Quote per base: from both reserves, else from what a swap paid; null where neither tells. */
const ratioOf = (event: DexPoolEvent, pool: DexPool): number | null => {
  const [a, b] = [pool.token_a_vault_post_amount, pool.token_b_vault_post_amount]
  const swapped = event.type === 'DEX_POOL_EVENT_TYPE_SWAP'
  const [baseText, quoteText] =
    a !== '' && b !== '' ? [a, b] : swapped ? [pool.token_a_amount, pool.token_b_amount] : ['', '']
  if (knownRaw(baseText) === null || knownRaw(quoteText) === null) return null
  return over(unitsOf(quoteText, pool.token_b_decimals), unitsOf(baseText, pool.token_a_decimals))
}

/** The pool as an event left it: what the tables show of it until the next one. */
export const poolStateAfter = (
  event: DexPoolEvent,
  pool: DexPool,
  processed: Omit<DexPoolProcessed, 'before'>,
  timeMs: number,
): PoolState => ({
  token_a_vault_amount: pool.token_a_vault_post_amount,
  token_b_vault_amount: pool.token_b_vault_post_amount,
  liquidity_in_usd: sumText(
    processed.token_a_vault_post_amount_in_usd,
    processed.token_b_vault_post_amount_in_usd,
  ),
  liquidity_in_native: sumText(
    processed.token_a_vault_post_amount_in_native,
    processed.token_b_vault_post_amount_in_native,
  ),
  price: decimalText(ratioOf(event, pool)),
  curve_progress: processed.curve_progress,
  time: timeMs,
})

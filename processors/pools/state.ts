import { formatDecimal, parseDecimal } from '../../core/amounts.ts'
import type { DexPool, DexPoolEvent, DexPoolProcessed, PoolState } from '../../schemas/wire.ts'
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
  processed: VaultValues & Pick<DexPoolProcessed, 'curve_progress'>,
  timeMs: number,
): PoolState => ({
  token_a_vault_amount: pool.token_a_vault_post_amount,
  token_b_vault_amount: pool.token_b_vault_post_amount,
  ...liquidityAfter(event, pool, processed),
  price: formatDecimal(poolPrice(event, pool)),
  curve_progress: processed.curve_progress,
  time: timeMs,
})

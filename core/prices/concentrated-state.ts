import type { ConcentratedState, DexPoolEvent } from '../../schemas/wire.ts'

/** What an event says of a concentrated pool. */
type ConcentratedEvent = Pick<DexPoolEvent, 'type' | 'concentrated'>

/**
 * Price, tick, liquidity in range and fee of a concentrated pool after an event, from those before it; null where they are not known.
 * Swaps and the opening tell all of it, positions only what they add to the range that they lie in. `is_complete`: followed
 * since the pool opened, so that every position is known. The depth is the caller's to fill.
 */
export const concentratedAfter = (
  { type, concentrated: change }: ConcentratedEvent,
  before: ConcentratedState | null,
): ConcentratedState | null => {
  if (!change) return before
  const fee_pips = change.fee_pips ?? before?.fee_pips ?? null
  const depth_in_usd = before?.depth_in_usd ?? ''
  const { sqrt_price_x96, tick } = change
  if (type === 'DEX_POOL_EVENT_TYPE_INITIALIZE' && tick !== null) {
    return { sqrt_price_x96, tick, fee_pips, liquidity: '0', is_complete: true, depth_in_usd }
  }
  if (type === 'DEX_POOL_EVENT_TYPE_SWAP' && tick !== null) {
    const is_complete = before?.is_complete ?? false
    return {
      sqrt_price_x96,
      tick,
      fee_pips,
      liquidity: change.liquidity,
      is_complete,
      depth_in_usd,
    }
  }
  if (before === null) return null
  const { tick_lower: lower, tick_upper: upper } = change
  const isInRange = lower !== null && upper !== null && lower <= before.tick && before.tick < upper
  return isInRange
    ? {
        ...before,
        fee_pips,
        liquidity: String(
          BigInt(before.liquidity) + movedLiquidity({ type, concentrated: change }),
        ),
      }
    : { ...before, fee_pips }
}

/** Liquidity that an event put into its range, below zero where it took it out; 0 for events of no position. */
export const movedLiquidity = ({ type, concentrated }: ConcentratedEvent): bigint => {
  const moved = BigInt(concentrated?.position_liquidity || '0')
  if (type === 'DEX_POOL_EVENT_TYPE_INCREASE_LIQUIDITY') return moved
  return type === 'DEX_POOL_EVENT_TYPE_DECREASE_LIQUIDITY' ? -moved : 0n
}

const Q96 = 1n << 96n

/** Reserves that a pool with the same price and depth but without ranges would hold, as [of token 0, of token 1]. */
export const virtualReservesAt = (
  sqrtPriceX96: bigint,
  liquidity: bigint,
): readonly [bigint, bigint] =>
  sqrtPriceX96 === 0n
    ? [0n, 0n]
    : [(liquidity * Q96) / sqrtPriceX96, (liquidity * sqrtPriceX96) / Q96]

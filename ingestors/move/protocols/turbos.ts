import type { PoolLiquidityChange } from '../../../schemas/events.ts'
import { addLiquidityChange, addSwap } from './pool-events.ts'
import { coinsFromWrittenObject, feePipsOf, registerPool } from './tx-context.ts'
import { eventReader, type MoveEventReader, type MoveFamily } from './types.ts'

/** The order of its bytes is that of a recorded event which the node gave both ways. */
const swapReader = eventReader({
  layout: {
    pool: 'address',
    recipient: 'address',
    amount_a: 'u64',
    amount_b: 'u64',
    liquidity: 'u128',
    tick_current_index: 'i32',
    tick_pre_index: 'i32',
    sqrt_price: 'u128',
    protocol_fee: 'u64',
    fee_amount: 'u64',
    a_to_b: 'bool',
    is_exact_in: 'bool',
  },
  needs: ['pool', 'amount_a', 'amount_b', 'a_to_b'],
  pool: 'pool',
  emit: (scope, listed, { pool, amount_a: a, amount_b: b, a_to_b: aToB, ...raw }) =>
    addSwap(scope, listed, {
      pool,
      direction: aToB ? 'a-to-b' : 'b-to-a',
      amountInRaw: aToB ? a : b,
      amountOutRaw: aToB ? b : a,
      sqrtPriceX64: raw.sqrt_price,
      liquidityRaw: raw.liquidity,
    }),
})

const liquidityReader = (change: PoolLiquidityChange['kind']): MoveEventReader =>
  eventReader({
    layout: {
      pool: 'address',
      owner: 'address',
      tick_lower_index: 'i32',
      tick_upper_index: 'i32',
      amount_a: 'u64',
      amount_b: 'u64',
      liquidity_delta: 'u128',
    },
    needs: ['pool', 'amount_a', 'amount_b'],
    pool: 'pool',
    emit: (scope, listed, { pool, amount_a: a, amount_b: b }) =>
      addLiquidityChange(scope, listed, { pool, change, amountsRaw: [a, b] }),
  })

/** The event does not name the coins: they are the new object's types. */
const poolCreatedReader = eventReader({
  layout: {
    account: 'address',
    pool: 'address',
    /** In millionths. */
    fee: 'u32',
    tick_spacing: 'u32',
    fee_protocol: 'u32',
    sqrt_price: 'u128',
  },
  needs: ['pool'],
  pool: 'pool',
  emit: (scope, listed, { pool, fee }) => {
    const coins = coinsFromWrittenObject(scope, listed.row, pool)
    if (coins !== undefined) registerPool(scope, listed, { pool, coins, feePips: feePipsOf(fee) })
    return addLiquidityChange(scope, listed, { pool, change: 'initialize', amountsRaw: [0n, 0n] })
  },
})

/**
 * Concentrated liquidity of Turbos. Who collects fees or rewards of a position burns nothing of it first, which logs too.
 * Sources: turbos-finance/turbos-sui-move-interface; the package's modules pool, pool_factory and position_manager.
 */
export const turbos: MoveFamily = {
  family: 'turbos',
  events: {
    'pool::SwapEvent': swapReader,
    'pool::MintEvent': liquidityReader('increase'),
    'pool::BurnEvent': liquidityReader('decrease'),
    'pool_factory::PoolCreatedEvent': poolCreatedReader,
  },
}

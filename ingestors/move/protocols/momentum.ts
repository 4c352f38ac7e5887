import type { PoolLiquidityChange } from '../../../schemas/events.ts'
import { addLiquidityChange, addSwap } from './pool-events.ts'
import { feePipsOf, registerPool } from './tx-context.ts'
import { eventReader, type MoveEventReader, type MoveFamily } from './types.ts'

/** Its reserves are left alone: whether they are those before or after the swap is not said. */
const swapReader = eventReader({
  layout: {
    sender: 'address',
    pool_id: 'address',
    x_for_y: 'bool',
    amount_x: 'u64',
    amount_y: 'u64',
    sqrt_price_before: 'u128',
    sqrt_price_after: 'u128',
    liquidity: 'u128',
    tick_index: 'i32',
    fee_amount: 'u64',
    protocol_fee: 'u64',
    reserve_x: 'u64',
    reserve_y: 'u64',
  },
  needs: ['pool_id', 'x_for_y', 'amount_x', 'amount_y'],
  pool: 'pool_id',
  emit: (scope, listed, { pool_id: pool, x_for_y: xForY, amount_x: x, amount_y: y, ...raw }) =>
    addSwap(scope, listed, {
      pool,
      direction: xForY ? 'a-to-b' : 'b-to-a',
      amountInRaw: xForY ? x : y,
      amountOutRaw: xForY ? y : x,
      trader: raw.sender,
      sqrtPriceX64: raw.sqrt_price_after,
      liquidityRaw: raw.liquidity,
    }),
})

const liquidityReader = (change: PoolLiquidityChange['kind']): MoveEventReader =>
  eventReader({
    layout: {
      sender: 'address',
      pool_id: 'address',
      position_id: 'address',
      liquidity: 'u128',
      amount_x: 'u64',
      amount_y: 'u64',
      upper_tick_index: 'i32',
      lower_tick_index: 'i32',
      reserve_x: 'u64',
      reserve_y: 'u64',
    },
    needs: ['pool_id', 'amount_x', 'amount_y'],
    pool: 'pool_id',
    emit: (scope, listed, { pool_id: pool, amount_x: x, amount_y: y, sender: owner }) =>
      addLiquidityChange(scope, listed, { pool, change, amountsRaw: [x, y], owner }),
  })

const poolCreatedReader = eventReader({
  layout: {
    sender: 'address',
    pool_id: 'address',
    type_x: 'coin',
    type_y: 'coin',
    /** Millionths. */
    fee_rate: 'u64',
    tick_spacing: 'u32',
  },
  needs: ['pool_id', 'type_x', 'type_y'],
  emit: (scope, listed, { pool_id: pool, type_x: x, type_y: y, sender: owner, ...raw }) => {
    registerPool(scope, listed, { pool, coins: [x, y], feePips: feePipsOf(raw.fee_rate) })
    return addLiquidityChange(scope, listed, {
      pool,
      change: 'initialize',
      amountsRaw: [0n, 0n],
      owner,
    })
  },
})

/** Concentrated liquidity of Momentum. Source: mmt-finance/mmt-contract-interface mmt_v3/sources. */
export const momentum: MoveFamily = {
  family: 'momentum',
  events: {
    'trade::SwapEvent': swapReader,
    'liquidity::AddLiquidityEvent': liquidityReader('increase'),
    'liquidity::RemoveLiquidityEvent': liquidityReader('decrease'),
    'create_pool::PoolCreatedEvent': poolCreatedReader,
  },
}

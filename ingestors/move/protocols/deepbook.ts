import { addLiquidityChange, addSwap } from './pool-events.ts'
import { registerPool } from './tx-context.ts'
import { eventReader, type MoveFamily } from './types.ts'

/** A resting order met another: a trade of who sent the later one. Pools hold their base coin first. */
const orderFilledReader = eventReader({
  layout: {
    pool_id: 'address',
    maker_order_id: 'u128',
    taker_order_id: 'u128',
    maker_client_order_id: 'u64',
    taker_client_order_id: 'u64',
    price: 'u64',
    taker_is_bid: 'bool',
    taker_fee: 'u64',
    taker_fee_is_deep: 'bool',
    maker_fee: 'u64',
    maker_fee_is_deep: 'bool',
    base_quantity: 'u64',
    quote_quantity: 'u64',
    maker_balance_manager_id: 'address',
    taker_balance_manager_id: 'address',
    timestamp: 'u64',
  },
  needs: ['pool_id', 'taker_is_bid', 'base_quantity', 'quote_quantity'],
  pool: 'pool_id',
  emit: (scope, listed, { pool_id: pool, taker_is_bid: buys, ...raw }) =>
    addSwap(scope, listed, {
      pool,
      direction: buys ? 'b-to-a' : 'a-to-b',
      amountInRaw: buys ? raw.quote_quantity : raw.base_quantity,
      amountOutRaw: buys ? raw.base_quantity : raw.quote_quantity,
    }),
})

/** The coins are the arguments of the event's own type. */
const poolCreatedReader = eventReader({
  layout: { pool_id: 'address' },
  needs: ['pool_id'],
  emit: (scope, listed, { pool_id: pool }) => {
    const [base, quote] = listed.event.typeArguments
    if (base === undefined || quote === undefined) return 'unknown-pool'
    registerPool(scope, listed, { pool, coins: [base, quote] })
    return addLiquidityChange(scope, listed, { pool, change: 'initialize', amountsRaw: [0n, 0n] })
  },
})

/** The order book of DeepBook v3. Source: MystenLabs/deepbookv3 packages/deepbook order_info.move and pool.move. */
export const deepbook: MoveFamily = {
  family: 'deepbook',
  events: {
    'order_info::OrderFilled': orderFilledReader,
    'pool::PoolCreated': poolCreatedReader,
  },
}

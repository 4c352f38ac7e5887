import type { PoolLiquidityChange } from '../../../schemas/events.ts'
import { addLiquidityChange, addSwap, pairIfBoth } from './pool-events.ts'
import { feePipsOf, registerPool } from './tx-context.ts'
import { eventReader, type MoveEventReader, type MoveFamily } from './types.ts'

const SWAP_AMOUNTS = {
  pool_id: 'address',
  a2b: 'bool',
  amount_in: 'u64',
  amount_out: 'u64',
} as const
/** After the event. */
const POOL_RESERVES = { pool_coin_a_amount: 'u64', pool_coin_b_amount: 'u64' } as const
const SWAP_STATE = {
  fee: 'u64',
  before_liquidity: 'u128',
  after_liquidity: 'u128',
  before_sqrt_price: 'u128',
  after_sqrt_price: 'u128',
  current_tick: 'i32',
  exceeded: 'bool',
  sequence_number: 'u128',
} as const
const SWAP = { ...SWAP_AMOUNTS, ...POOL_RESERVES, ...SWAP_STATE } as const
/** Does not say what the pool holds: the coins that go in come later in the transaction. */
const FLASH_SWAP = { ...SWAP_AMOUNTS, ...SWAP_STATE } as const

const swapReader = (layout: typeof SWAP | typeof FLASH_SWAP): MoveEventReader =>
  eventReader({
    layout: layout as typeof SWAP,
    needs: ['pool_id', 'a2b', 'amount_in', 'amount_out'],
    pool: 'pool_id',
    emit: (scope, listed, raw) =>
      addSwap(scope, listed, {
        pool: raw.pool_id,
        direction: raw.a2b ? 'a-to-b' : 'b-to-a',
        amountInRaw: raw.amount_in,
        amountOutRaw: raw.amount_out,
        reserves: pairIfBoth(raw.pool_coin_a_amount, raw.pool_coin_b_amount),
        sqrtPriceX64: raw.after_sqrt_price,
        liquidityRaw: raw.after_liquidity,
      }),
  })

const liquidityReader = (change: PoolLiquidityChange['kind']): MoveEventReader =>
  eventReader({
    layout: {
      pool_id: 'address',
      position_id: 'address',
      coin_a_amount: 'u64',
      coin_b_amount: 'u64',
      ...POOL_RESERVES,
      liquidity: 'u128',
      before_liquidity: 'u128',
      after_liquidity: 'u128',
      current_sqrt_price: 'u128',
      current_tick_index: 'i32',
      lower_tick: 'i32',
      upper_tick: 'i32',
      sequence_number: 'u128',
    },
    needs: ['pool_id', 'coin_a_amount', 'coin_b_amount'],
    pool: 'pool_id',
    emit: (scope, listed, raw) =>
      addLiquidityChange(scope, listed, {
        pool: raw.pool_id,
        change,
        amountsRaw: [raw.coin_a_amount, raw.coin_b_amount],
        reserves: pairIfBoth(raw.pool_coin_a_amount, raw.pool_coin_b_amount),
      }),
  })

const poolCreatedReader = eventReader({
  layout: {
    id: 'address',
    coin_a: 'coin',
    coin_a_symbol: 'text',
    coin_a_decimals: 'u8',
    coin_a_url: 'text',
    coin_b: 'coin',
    coin_b_symbol: 'text',
    coin_b_decimals: 'u8',
    coin_b_url: 'text',
    current_sqrt_price: 'u128',
    current_tick_index: 'i32',
    tick_spacing: 'u32',
    /** In millionths. */
    fee_rate: 'u64',
    protocol_fee_share: 'u64',
  },
  needs: ['id', 'coin_a', 'coin_b'],
  emit: (scope, listed, { id: pool, coin_a: a, coin_b: b, fee_rate: fee }) => {
    registerPool(scope, listed, { pool, coins: [a, b], feePips: feePipsOf(fee) })
    return addLiquidityChange(scope, listed, { pool, change: 'initialize', amountsRaw: [0n, 0n] })
  },
})

/** Concentrated liquidity of Bluefin. Source: fireflyprotocol/bluefin-spot-contract-interface sources/events.move. */
export const bluefin: MoveFamily = {
  family: 'bluefin',
  events: {
    'events::AssetSwap': swapReader(SWAP),
    'events::FlashSwap': swapReader(FLASH_SWAP),
    'events::LiquidityProvided': liquidityReader('increase'),
    'events::LiquidityRemoved': liquidityReader('decrease'),
    'events::PoolCreated': poolCreatedReader,
  },
}

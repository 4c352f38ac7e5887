import type { PoolChange } from '../../../schemas/events.ts'
import { bothOf, takeChange, takeSwap } from './resolve-swaps.ts'
import { feePipsOf, showPool } from './tx-context.ts'
import { type MoveFamily, type MoveReader, moveEvent } from './types.ts'

const SIDES = { pool_id: 'address', a2b: 'bool', amount_in: 'u64', amount_out: 'u64' } as const
/** After the event. */
const HELD = { pool_coin_a_amount: 'u64', pool_coin_b_amount: 'u64' } as const
const PRICED = {
  fee: 'u64',
  before_liquidity: 'u128',
  after_liquidity: 'u128',
  before_sqrt_price: 'u128',
  after_sqrt_price: 'u128',
  current_tick: 'i32',
  exceeded: 'bool',
  sequence_number: 'u128',
} as const
const SWAP = { ...SIDES, ...HELD, ...PRICED } as const
/** Does not say what the pool holds: the coins that go in come later in the transaction. */
const FLASH_SWAP = { ...SIDES, ...PRICED } as const

const swap = (layout: typeof SWAP | typeof FLASH_SWAP): MoveReader =>
  moveEvent({
    layout: layout as typeof SWAP,
    needs: ['pool_id', 'a2b', 'amount_in', 'amount_out'],
    pool: 'pool_id',
    take: (scope, listed, said) =>
      takeSwap(scope, listed, {
        pool: said.pool_id,
        way: said.a2b ? 'a-to-b' : 'b-to-a',
        amountInRaw: said.amount_in,
        amountOutRaw: said.amount_out,
        reserves: bothOf(said.pool_coin_a_amount, said.pool_coin_b_amount),
        sqrtPriceX64: said.after_sqrt_price,
        liquidityRaw: said.after_liquidity,
      }),
  })

const moved = (change: PoolChange['kind']): MoveReader =>
  moveEvent({
    layout: {
      pool_id: 'address',
      position_id: 'address',
      coin_a_amount: 'u64',
      coin_b_amount: 'u64',
      ...HELD,
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
    take: (scope, listed, said) =>
      takeChange(scope, listed, {
        pool: said.pool_id,
        change,
        amountsRaw: [said.coin_a_amount, said.coin_b_amount],
        reserves: bothOf(said.pool_coin_a_amount, said.pool_coin_b_amount),
      }),
  })

const created = moveEvent({
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
  take: (scope, listed, { id: pool, coin_a: a, coin_b: b, fee_rate: fee }) => {
    showPool(scope, listed, { pool, coins: [a, b], feePips: feePipsOf(fee) })
    return takeChange(scope, listed, { pool, change: 'initialize', amountsRaw: [0n, 0n] })
  },
})

/** Concentrated liquidity of Bluefin. Source: fireflyprotocol/bluefin-spot-contract-interface sources/events.move. */
export const bluefin: MoveFamily = {
  family: 'bluefin',
  events: {
    'events::AssetSwap': swap(SWAP),
    'events::FlashSwap': swap(FLASH_SWAP),
    'events::LiquidityProvided': moved('increase'),
    'events::LiquidityRemoved': moved('decrease'),
    'events::PoolCreated': created,
  },
}

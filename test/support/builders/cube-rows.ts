import type { Warehouse } from '../../../core/clickhouse/client.ts'

const WALLETS = ['0xa1', '0xa2', '0xa3', '0xa4'] as const
const TOKENS = ['0xb1', '0xb2', '0xb3'] as const
const at = (ms: number): string => new Date(ms).toISOString()
const pick = <T>(from: readonly T[], index: number): T => from[index % from.length] as T

/** Rows of the cubes that are not made of trades, on one chain: several per token, with gaps in what is known. */
export const storeCubeRows = async (
  warehouse: Warehouse,
  chain: string,
  startMs: number,
  count = 24,
): Promise<void> => {
  const numbers = Array.from({ length: count }, (_, index) => index)
  const place = (index: number): object => ({
    block_time: at(startMs + index * 12_000),
    block_slot: 500 + index,
    block_height: 490 + index,
    block_hash: `0xb10c${index}`,
    tx_hash: `0xf00${index}`,
    tx_index: index % 5,
    event_index: index,
    _ver: 1,
  })
  const token = (index: number): object => ({ token_address: pick(TOKENS, index), decimals: 6 })
  const usd = (index: number, value: number): string | null =>
    index % 4 === 0 ? null : (value + 0.25).toFixed(2)
  await warehouse.insert(
    `${chain}_transfers`,
    numbers.map((index) => ({
      ...place(index),
      ...token(index),
      sender: pick(WALLETS, index),
      receiver: pick(WALLETS, index + 1),
      success: index % 2,
      amount: String(1_500_000 + index * 7_919),
      amount_usd: usd(index, index * 3),
      price_usd: index % 5 === 0 ? null : 0.5 + index / 8,
    })),
  )
  await warehouse.insert(
    `${chain}_balance_updates`,
    numbers.map((index) => ({
      ...place(index),
      ...token(index),
      owner: pick(WALLETS, index),
      token_account: '',
      pre_balance: String(5_000_000 + index * 1_000),
      post_balance: String(3_500_000 + index * 3_000),
      pre_balance_usd: usd(index, index),
      post_balance_usd: usd(index + 1, index),
    })),
  )
  await storeStateCubeRows(warehouse, chain, startMs, numbers)
}

/** Rows of the cubes that show the state of now. */
const storeStateCubeRows = async (
  warehouse: Warehouse,
  chain: string,
  startMs: number,
  numbers: readonly number[],
): Promise<void> => {
  await warehouse.insert(
    `${chain}_token_holders`,
    numbers.map((index) => ({
      token_address: pick(TOKENS, index),
      holder: `0xc${index}`,
      balance: String(4_000_000 + index * 11),
      first_seen: at(startMs + index * 1_000),
      last_seen: at(startMs + index * 2_000),
      decimals: index % 6 === 0 ? null : 6,
      _ver: 1,
    })),
  )
  await warehouse.insert(
    `${chain}_wallet_token_pnl`,
    numbers.map((index) => ({
      wallet: `0xd${index}`,
      token_address: pick(TOKENS, index),
      buys: index,
      sells: index % 3,
      buy_amount_usd: String(index * 10),
      sell_amount_usd: String(index * 4),
      total_realized_usd: `${index - 8}.25`,
      position_amount: String(index * 8),
      position_cost_usd: String(index * 3),
      first_time: at(startMs + index * 1_000),
      last_time: at(startMs + index * 5_000),
      _ver: 1,
    })),
  )
  await warehouse.insert(
    `${chain}_dex_pools`,
    numbers.map((index) => ({
      pool_address: `0xe${index}`,
      token_a: pick(TOKENS, index),
      token_b: pick(TOKENS, index + 1),
      decimals_a: 6,
      decimals_b: 9,
      protocol_name: pick(['Uniswap', 'Curve'], index),
      reserve_a: String(2_000_000 + index),
      reserve_b: String(3_000_000_000 - index),
      liquidity_usd: index % 5 === 0 ? null : String(12 + index),
      price_a_to_b: 1.5 + index / 4,
      price_b_to_a: 0.6,
      last_updated: at(startMs + index * 1_000),
      _ver: 1,
    })),
  )
}

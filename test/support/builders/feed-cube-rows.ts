import type { Warehouse } from '../../../core/clickhouse/client.ts'
import { CHAINS } from '../../../schemas/chains.ts'

const at = (ms: number): string => new Date(ms).toISOString()
const pick = <T>(from: readonly T[], index: number): T => from[index % from.length] as T
const WALLETS = ['0xa1', '0xa2', '0xa3'] as const
const TOKENS = ['0xb1', '0xb2', '0xb3'] as const
const TRANSFER_TOPIC = `0xdd${'1'.repeat(62)}`

interface RowMaker {
  readonly numbers: readonly number[]
  /** Block, transaction and version of a row. */
  readonly place: (index: number) => Readonly<Record<string, unknown>>
}

const rowMaker = (startMs: number, count: number): RowMaker => ({
  numbers: Array.from({ length: count }, (_, index) => index),
  place: (index) => ({
    block_time: at(startMs + index * 12_000),
    block_slot: 500 + index,
    block_height: 490 + index,
    block_hash: `0xb10c${index}`,
    tx_hash: `0xf00${index}`,
    tx_index: index % 5,
    tx_signer: pick(WALLETS, index),
    tx_fee: '21000',
    tx_fee_native: '0.000021',
    tx_status: index % 7 === 0 ? 'FAILED' : 'SUCCESS',
    event_index: index,
    _ver: 1,
  }),
})

/** The part of a place that tables without transactions have. */
const blockOnly = (row: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !name.startsWith('tx_')))

/** What `place` says, by column. */
const PLACE_COLUMNS: ReadonlySet<string> = new Set(Object.keys(rowMaker(0, 1).place(0)))

/** Stores rows without those parts of their place that the table has no column for. */
const insertPlaced = async (
  warehouse: Warehouse,
  table: string,
  rows: readonly Readonly<Record<string, unknown>>[],
): Promise<void> => {
  const found = await warehouse.query<{ readonly name: string }>({
    sql: 'SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {table:String}',
    params: { table },
  })
  const columns = new Set(found.rows.map(({ name }) => name))
  await warehouse.insert(
    table,
    rows.map((row) =>
      Object.fromEntries(
        Object.entries(row).filter(([name]) => columns.has(name) || !PLACE_COLUMNS.has(name)),
      ),
    ),
  )
}

const known = <T>(index: number, value: T): T | null => (index % 4 === 0 ? null : value)

const storeEvmFeeds = async (
  warehouse: Warehouse,
  chain: string,
  { numbers, place }: RowMaker,
): Promise<void> => {
  await insertPlaced(
    warehouse,
    `${chain}_logs_enriched`,
    numbers.map((index) => ({
      ...blockOnly(place(index)),
      tx_hash: `0xf00${index}`,
      tx_index: index % 5,
      tx_from: pick(WALLETS, index),
      tx_to: index % 6 === 0 ? '' : pick(TOKENS, index),
      log_index: index * 2,
      contract: pick(TOKENS, index),
      topic0: index % 5 === 0 ? '' : TRANSFER_TOPIC,
      topics: index % 5 === 0 ? [] : [TRANSFER_TOPIC, ...WALLETS.slice(0, index % 4)],
      data: `0x${index.toString(16).padStart(4, '0')}`,
      sig_name: known(index, 'Transfer'),
      signature: known(index, 'Transfer(address,address,uint256)'),
    })),
  )
  await insertPlaced(
    warehouse,
    `${chain}_traces_enriched`,
    numbers.map((index) => ({
      ...place(index),
      call_index: index % 3,
      depth: index % 4,
      from_address: pick(WALLETS, index),
      to_address: pick(TOKENS, index),
      opcode: pick(['CALL', 'STATICCALL', 'CREATE2'], index),
      gas: 21_000 + index,
      gas_used: 20_000 + index,
      input: index % 5 === 0 ? '0x' : `0xa9059cbb${index}`,
      output: '0x',
      value: `${index}000000000000001`,
      sig_name: known(index, 'transfer'),
      success: index % 2,
      error: known(index, 'reverted'),
    })),
  )
  await insertPlaced(
    warehouse,
    `${chain}_miner_rewards`,
    numbers.map((index) => ({
      ...blockOnly(place(index)),
      miner: pick(WALLETS, index),
      total_reward: `${index + 1}000000000000000003`,
      dynamic_reward: `${index}`,
      tx_fees: `${index}7`,
    })),
  )
  await insertPlaced(
    warehouse,
    `${chain}_uncles`,
    numbers.map((index) => ({
      ...blockOnly(place(index)),
      uncle_index: index % 2,
      uncle_hash: `0xc${index}`,
      uncle_parent_hash: `0xd${index}`,
      miner: pick(WALLETS, index),
      difficulty: `${index}000`,
      uncle_number: 499 + index,
      gas_limit: 30_000_000,
      gas_used: index,
      uncle_time: place(index).block_time,
    })),
  )
}

const storeSvmFeeds = async (
  warehouse: Warehouse,
  chain: string,
  { numbers, place }: RowMaker,
): Promise<void> => {
  await insertPlaced(
    warehouse,
    `${chain}_instructions_enriched`,
    numbers.map((index) => ({
      ...place(index),
      ix_index: index % 3,
      depth: 1 + (index % 3),
      internal_seq: index,
      program_address: pick(TOKENS, index),
      program_name: known(index, 'Token'),
      method: known(index, pick(['transfer', 'swap'], index)),
      accounts: WALLETS.slice(0, index % 4),
      data: `d${index}`,
      call_path: index % 3 === 0 ? [index] : [index, index % 5],
      logs: index % 2 === 0 ? [] : ['Program log: "quoted" \\ [x]', `line ${index}`],
    })),
  )
  await insertPlaced(
    warehouse,
    `${chain}_rewards`,
    numbers.map((index) => ({
      ...blockOnly(place(index)),
      address: pick(WALLETS, index),
      amount: String(index * 1_000_007 - 3_000_000),
      post_balance: String(5_000_000_000 + index),
      reward_type: pick(['Fee', 'Voting'], index),
      commission: known(index, index % 100),
    })),
  )
  await insertPlaced(
    warehouse,
    `${chain}_dex_orders`,
    numbers.map((index) => ({
      ...place(index),
      event_type: pick(['OPEN', 'UPDATE', 'CANCEL', 'FILL'], index),
      market_address: pick(TOKENS, index),
      order_id: index % 5 === 0 ? '' : String(index),
      buy_side: index % 2,
      limit_price: known(index, 1.5 + index / 8),
      owner: pick(WALLETS, index),
      program_address: 'book',
      protocol_name: 'Phoenix',
      protocol_family: 'phoenix',
      price_ticks: String(index * 10),
      size_lots: String(index),
    })),
  )
}

const storePredictions = async (
  warehouse: Warehouse,
  chain: string,
  { numbers, place }: RowMaker,
): Promise<void> => {
  const market = (index: number): object => ({
    ...place(index),
    log_index: index,
    marketplace: 'Polymarket',
    protocol_family: 'polymarket',
    condition_id: pick(['0xc01', '0xc02', ''], index),
    question_id: pick(['0xd01', '0xd02', ''], index),
    market_id: '',
    collateral_token: pick(
      CHAINS.polygon.quotes.map(({ address }) => address),
      index,
    ),
  })
  await insertPlaced(
    warehouse,
    `${chain}_prediction_trades`,
    numbers.map((index) => ({
      ...market(index),
      buyer: pick(WALLETS, index),
      seller: pick(WALLETS, index + 1),
      is_outcome_buy: index % 2,
      amount: String(1_000_001 * (index + 1)),
      collateral_amount: String(500_000 * (index + 1)),
      price: known(index, 0.125 + index / 64),
      fee: String(index * 100),
      fee_in: pick(['collateral', 'shares'], index),
      outcome: pick(['0', '1', ''], index),
      outcome_token: pick(['111', '222'], index),
      order_id: index % 6 === 0 ? '' : `0x0d${index}`,
      exchange: '0xe4',
    })),
  )
  await insertPlaced(
    warehouse,
    `${chain}_prediction_managements`,
    numbers.map((index) => ({
      ...market(index),
      event_type: pick(['ConditionPreparation', 'ConditionResolution'], index),
      description: index % 3 === 0 ? '' : `text ${index}`,
      payouts: index % 2 === 0 ? [] : ['1', '0'],
      outcome_token_ids: ['111', String(index)],
    })),
  )
  await insertPlaced(
    warehouse,
    `${chain}_prediction_settlements`,
    numbers.map((index) => ({
      ...market(index),
      event_type: pick(['Split', 'Merge', 'Redemption'], index),
      holder: pick(WALLETS, index),
      collateral_amount: String(index * 1_000_000),
      outcome_token_ids: ['111', String(index)],
      amounts: [String(index * 500_000), '2500000'],
    })),
  )
}

const storeMarketFacts = async (
  warehouse: Warehouse,
  chain: string,
  { numbers, place }: RowMaker,
): Promise<void> => {
  await insertPlaced(
    warehouse,
    `${chain}_dex_pool_events_enriched`,
    numbers.map((index) => ({
      ...place(index),
      event_type: pick(['SWAP', 'INCREASE_LIQUIDITY', 'DECREASE_LIQUIDITY', 'INITIALIZE'], index),
      pool_address: pick(['0xe1', '0xe2', '0xe3'], index),
      program_address: '0xfac',
      protocol_name: pick(['Uniswap V2', 'PancakeSwap V2', 'Uniswap V3'], index),
      protocol_family: pick(['uniswap_v2', 'pancakeswap_v2', 'uniswap_v3'], index),
      base_token: pick(TOKENS, index),
      base_decimals: 6,
      base_change: String(index % 2 === 0 ? index * 1_000 : index * -1_000),
      base_post: known(index, String(4_000_000 + index * 1_001)),
      base_price_usd: known(index, 0.25 + index),
      quote_token: pick(TOKENS, index + 1),
      quote_decimals: 9,
      quote_change: String(index * 7),
      quote_post: known(index, String(9_000_000_000 + index)),
      quote_price_usd: 1,
      liquidity_usd: known(index, `${index}.5`),
    })),
  )
  await insertPlaced(
    warehouse,
    `${chain}_token_supplies`,
    numbers.map((index) => ({
      ...place(index),
      event_type: pick(['MINT', 'BURN', 'INITIALIZE_MINT'], index),
      token_address: pick(TOKENS, index),
      decimals: index % 5 === 0 ? null : 6,
      amount: String(index * 250_000),
      post_supply: known(index, `${1_000 + index}.25`),
      market_cap_usd: known(index, 5_000 + index * 3),
    })),
  )
  await insertPlaced(
    warehouse,
    `${chain}_blocks`,
    numbers.map((index) => ({
      ...blockOnly(place(index)),
      parent_hash: `0xb10c${index - 1}`,
      parent_slot: 499 + index,
      tx_count: index * 3,
      rewards_count: index,
      coinbase: pick(WALLETS, index),
      gas_limit: 30_000_000,
      gas_used: 1_000 * index,
      base_fee: String(1_000_000_007 + index),
      difficulty: String(index),
      seq: index,
    })),
  )
  await insertPlaced(
    warehouse,
    `${chain}_transactions`,
    numbers.map((index) => ({
      ...place(index),
      to_address: index % 5 === 0 ? '' : pick(TOKENS, index),
      contract_address: index % 5 === 0 ? `0xc0de${index}` : '',
      value: known(index, `${index}000000000000000001`),
      gas_limit: known(index, 50_000),
      gas_used: known(index, 21_000 + index),
      cumulative_gas_used: known(index, 42_000 + index),
      gas_price: known(index, '1000000007'),
      priority_fee: known(index, '7'),
      burnt: known(index, '21000000000000'),
      nonce: known(index, index),
      tx_type: known(index, index % 3),
      instructions_count: known(index, index % 4),
    })),
  )
}

/** Trades of wrapped coins: the candles of assets are made of them. */
const storeCoinTrades = async (
  warehouse: Warehouse,
  chain: 'eth' | 'sol',
  { numbers, place }: RowMaker,
): Promise<void> => {
  const [stable, bitcoin] = [CHAINS[chain].quotes[0], CHAINS[chain].quotes.at(-1)]
  const coin = { address: CHAINS[chain].wrappedNative, decimals: CHAINS[chain].nativeDecimals }
  await insertPlaced(
    warehouse,
    `${chain}_dex_trades`,
    numbers.map((index) => {
      const base = index % 3 === 0 ? bitcoin : coin
      return {
        ...place(index),
        program_address: '0xfac',
        protocol_name: 'Uniswap V2',
        protocol_family: 'uniswap_v2',
        pool_address: '0xe9',
        buy_token: base?.address,
        buy_decimals: base?.decimals,
        buy_amount: String(10 ** 9 + index),
        buy_owner: pick(WALLETS, index),
        buy_price_usd: 100 + index,
        buy_amount_usd: `${index + 1}.5`,
        sell_token: stable?.address,
        sell_decimals: stable?.decimals,
        sell_amount: String((index + 1) * 1_500_000),
        sell_owner: pick(WALLETS, index),
        sell_price_usd: 1,
        sell_amount_usd: `${index + 1}.5`,
        base_is_buy: 1,
      }
    }),
  )
}

/** Rows of every table behind a cube that `storeCubeRows` leaves out: of EVM feeds on `evm`, of Solana's on `svm`. */
export const storeFeedCubeRows = async (
  warehouse: Warehouse,
  { evm, svm, startMs }: { readonly evm: 'eth'; readonly svm: 'sol'; readonly startMs: number },
): Promise<void> => {
  const rows = rowMaker(startMs, 24)
  await storeMarketFacts(warehouse, evm, rows)
  await storeEvmFeeds(warehouse, evm, rows)
  await storePredictions(warehouse, evm, rows)
  await storeSvmFeeds(warehouse, svm, rows)
  await storeCoinTrades(warehouse, evm, rows)
  await storeCoinTrades(warehouse, svm, rows)
}

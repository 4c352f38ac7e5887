import type { Topic } from '../../schemas/topics.ts'

/** What `sluice checksum` compares of a topic. */
export type TopicRule =
  /** Every event that stands after its retractions, of blocks up to the height. */
  | { readonly how: 'netted' }
  /** The applied blocks that were not taken back, up to the height. */
  | { readonly how: 'blocks' }
  /** Newest candle per series, resolution and bucket, of buckets that end at or before the height's time; without trades = absent. */
  | { readonly how: 'candles' }
  /**
   * Newest value per key as of the tip; all zero = absent. `endsByRevert`: so is a value that a retraction carries. `omit`: fields
   * that differ between runs over the same chain.
   */
  | {
      readonly how: 'newest'
      readonly key: readonly string[]
      readonly endsByRevert?: true
      readonly omit?: readonly string[]
    }
  | { readonly how: 'left out'; readonly why: string }

const NOT_FROM_CHAIN = 'answers of the product to its users, not to a chain'
const FETCHED_BY_URL = 'fetched by URL when a fetch is due, not part of the chain'
const COMPARED_ELSEWHERE = 'the same facts are compared where they are published'

/** One row per topic; a test holds the list against `schemas/topics.ts`. */
export const TOPIC_RULES: Readonly<Record<Topic, TopicRule>> = {
  blocks: { how: 'blocks' },
  trades: { how: 'netted' },
  tradesPending: { how: 'left out', why: 'what a block may come to hold, not what it holds' },
  tradesProcessed: { how: 'netted' },
  pools: { how: 'netted' },
  poolsProcessed: { how: 'netted' },
  transfers: { how: 'netted' },
  transfersProcessed: { how: 'netted' },
  balances: { how: 'netted' },
  balancesProcessed: { how: 'netted' },
  holderDeltas: { how: 'left out', why: COMPARED_ELSEWHERE },
  tokenSupplies: { how: 'netted' },
  tokenSuppliesProcessed: { how: 'netted' },
  tokenPrices: { how: 'newest', key: ['token_price.token_address'] },
  tokenMarketCaps: { how: 'newest', key: ['market_cap.token_address'] },
  tokenHoldings: { how: 'newest', key: ['token_address'] },
  // A reorg tells the same windows again, at the time of the block to which it went back.
  tradeStats: { how: 'newest', key: ['token_address', 'resolution'], omit: ['timestamp'] },
  walletTokenPnls: { how: 'newest', key: ['wallet_address', 'token_address'] },
  tokens: { how: 'netted' },
  tokensCreated: { how: 'netted' },
  tokensMigrated: { how: 'netted' },
  tokenMetadata: { how: 'netted' },
  tokenDocuments: {
    how: 'left out',
    why: 'fetched by URL when the fetch is due, not by the chain',
  },
  tokensProcessed: { how: 'newest', key: ['token.address'], endsByRevert: true },
  candlesticks: { how: 'candles' },
  calls: { how: 'netted' },
  events: { how: 'netted' },
  minerRewards: { how: 'netted' },
  uncles: { how: 'netted' },
  instructions: { how: 'netted' },
  rewards: { how: 'netted' },
  orders: { how: 'netted' },
  transactions: { how: 'netted' },
  predictionTrades: { how: 'netted' },
  predictionManagements: { how: 'netted' },
  predictionSettlements: { how: 'netted' },
  predictionPositions: { how: 'netted' },
  redpackets: { how: 'netted' },
  addressLabels: { how: 'netted' },
  controlOrgs: { how: 'left out', why: NOT_FROM_CHAIN },
  controlApplications: { how: 'left out', why: NOT_FROM_CHAIN },
  controlApiKeys: { how: 'left out', why: NOT_FROM_CHAIN },
  controlSigningKeys: { how: 'left out', why: NOT_FROM_CHAIN },
  controlAdminTokens: { how: 'left out', why: NOT_FROM_CHAIN },
  controlWalletLinks: { how: 'left out', why: NOT_FROM_CHAIN },
  controlPlanPurchases: { how: 'left out', why: NOT_FROM_CHAIN },
  controlPayments: { how: 'left out', why: NOT_FROM_CHAIN },
  controlAudit: { how: 'left out', why: NOT_FROM_CHAIN },
  controlWebhooks: { how: 'left out', why: NOT_FROM_CHAIN },
  controlWebhookRequests: { how: 'left out', why: NOT_FROM_CHAIN },
  controlWebhookTasks: { how: 'left out', why: NOT_FROM_CHAIN },
  controlJobs: { how: 'left out', why: NOT_FROM_CHAIN },
  riskAssessments: { how: 'left out', why: NOT_FROM_CHAIN },
  usageEvents: { how: 'left out', why: NOT_FROM_CHAIN },
  webhookMessages: { how: 'left out', why: NOT_FROM_CHAIN },
  webhookOutbox: { how: 'left out', why: NOT_FROM_CHAIN },
  webhookDue: { how: 'left out', why: NOT_FROM_CHAIN },
  webhookAttempts: { how: 'left out', why: NOT_FROM_CHAIN },
  webhookOps: { how: 'left out', why: NOT_FROM_CHAIN },
}

/** Names of topics that no row of `schemas/topics.ts` makes, by their beginning. */
export const OTHER_TOPICS: Readonly<Record<string, string>> = {
  '_state.*': 'state of lanes: what it leads to is compared',
  'dlq.*': 'dead letters name offsets and hosts of their own run',
}

/** Fields of events that differ between runs over the same chain, wherever they stand. */
export const TECHNICAL_FIELDS: ReadonlySet<string> = new Set([
  ...['version', 'is_final', 'spans', 'cursor', 'final_seq', 'final_height'],
  // Priced on arrival: transfers, balances.
  ...['transfer_processed', 'balance_processed'],
])

/**
 * Fields that say where an event stands. What a reorg emptied is published as zeros at such a position: it is as absent as what
 * was never published.
 */
export const POSITION_FIELDS: ReadonlySet<string> = new Set(['block', 'chain', 'timestamp'])

/** What `sluice checksum` compares of a table or view. */
export type TableRule =
  /** Rows of blocks up to the height. */
  | { readonly how: 'blocks'; readonly omit?: readonly string[] }
  /** Rows of buckets of that many seconds that end at or before the height's time. */
  | { readonly how: 'buckets'; readonly seconds: number }
  /** Every row as of the tip: the table holds the newest state only. `absent`: rows that say nothing any more. */
  | { readonly how: 'newest'; readonly omit?: readonly string[]; readonly absent?: string }
  | { readonly how: 'left out'; readonly why: string }

const comparedThroughView = (view: string): TableRule => ({
  how: 'left out',
  why: `its rows are compared through the view ${view}`,
})

/** One row per table and view of `schemas/tables`, without the chain prefix; a test holds the list against those files. */
export const TABLE_RULES: Readonly<Record<string, TableRule>> = {
  blocks: { how: 'blocks', omit: ['commitment', 'trades_by_partition'] },
  chain_state: { how: 'left out', why: 'watermarks of the run' },
  dex_trades: { how: 'blocks' },
  dex_trades_enriched: { how: 'blocks' },
  dex_trades_by_wallet: { how: 'blocks' },
  rollup_gaps: { how: 'left out', why: 'which minutes one run closed without all of their trades' },
  trades_final: { how: 'left out', why: 'holds nothing: rows pass through' },
  ohlc_1s: { how: 'left out', why: 'as ohlc_1m, from the same insert' },
  ohlc_1m: comparedThroughView('ohlc_mv'),
  ohlc_1h: { how: 'left out', why: 'as ohlc_1m, from the same insert' },
  ohlc_1d: { how: 'left out', why: 'as ohlc_1m, from the same insert' },
  token_trade_stats_1m: comparedThroughView('token_trade_stats_mv'),
  dex_pool_events_enriched: { how: 'blocks' },
  liquidity_changes: { how: 'blocks' },
  dex_pools: { how: 'newest' },
  token_pools: { how: 'left out', why: 'made from dex_pools, which are compared' },
  dex_pool_births: { how: 'newest' },
  dex_pool_positions: { how: 'newest' },
  dex_pool_bins: { how: 'newest' },
  tokens: { how: 'newest' },
  tokens_by_dev: { how: 'left out', why: 'made from tokens, which are compared' },
  transfers: { how: 'blocks' },
  transfer_edges: { how: 'left out', why: 'sums of final transfers, which are compared' },
  edge_minutes: {
    how: 'left out',
    why: 'what one run summed of final transfers, which are compared',
  },
  balance_updates: { how: 'blocks', omit: ['pre_balance_usd', 'post_balance_usd', 'price_usd'] },
  token_holders: { how: 'newest' },
  wallet_balances: { how: 'newest' },
  token_holdings: { how: 'newest' },
  wallet_token_pnl: { how: 'newest' },
  token_traders: { how: 'newest' },
  wallet_pnl_trades: { how: 'blocks' },
  token_prices: { how: 'newest', absent: 'price_usd IS NULL AND price_native IS NULL' },
  token_markets: { how: 'newest', absent: 'total_supply IS NULL AND market_cap_usd IS NULL' },
  token_supplies: { how: 'blocks', omit: ['market_cap_usd', 'market_cap_native'] },
  token_stats: { how: 'newest', omit: ['stat_time'], absent: 'buys + sells = 0' },
  token_documents: { how: 'left out', why: FETCHED_BY_URL },
  traces_enriched: { how: 'blocks' },
  logs_enriched: { how: 'blocks' },
  miner_rewards: { how: 'blocks' },
  uncles: { how: 'blocks' },
  instructions_enriched: { how: 'blocks' },
  transactions: { how: 'blocks' },
  dex_orders: { how: 'blocks' },
  rewards: { how: 'blocks' },
  prediction_trades: { how: 'blocks' },
  prediction_managements: { how: 'blocks' },
  prediction_settlements: { how: 'blocks' },
  prediction_position_changes: { how: 'blocks' },
  prediction_positions: { how: 'newest' },
  prediction_wallet_positions: { how: 'newest' },
  prediction_wallet_days: { how: 'newest' },
  prediction_wallets: { how: 'newest' },
  prediction_prices: { how: 'newest' },
  redpackets: {
    how: 'left out',
    why: 'holds the last creation of an address, retracted or not; redpacket_creations is compared',
  },
  redpacket_creations: { how: 'blocks' },
  redpacket_claims: { how: 'blocks' },
  redpacket_refunds: { how: 'blocks' },
  address_label_events: { how: 'blocks' },
  ohlc_mv: { how: 'buckets', seconds: 60 },
  token_trade_stats_mv: { how: 'buckets', seconds: 60 },
}

/** Columns that differ between runs over the same chain, in every table. */
export const TECHNICAL_COLUMNS: ReadonlySet<string> = new Set([
  ...['seq', '_ver', '_del', 'version', 'updated_at'],
])

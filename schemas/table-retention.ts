/** How long a table keeps its rows where retention is on; tables that are not listed keep everything. */
export interface TableRetentionRow {
  /** Name behind the chain prefix. */
  readonly table: string
  /** Column that the age is counted from. */
  readonly column: 'block_time' | 'bucket'
  readonly days: number
}

/** The contract's days. */
export const TABLE_RETENTION: readonly TableRetentionRow[] = [
  { table: 'dex_trades', column: 'block_time', days: 10 },
  { table: 'dex_trades_enriched', column: 'block_time', days: 10 },
  { table: 'dex_trades_by_wallet', column: 'block_time', days: 10 },
  { table: 'dex_pool_events_enriched', column: 'block_time', days: 10 },
  { table: 'liquidity_changes', column: 'block_time', days: 10 },
  { table: 'transfers', column: 'block_time', days: 10 },
  { table: 'balance_updates', column: 'block_time', days: 31 },
  { table: 'wallet_pnl_trades', column: 'block_time', days: 31 },
  { table: 'transactions', column: 'block_time', days: 10 },
  { table: 'traces_enriched', column: 'block_time', days: 3 },
  { table: 'logs_enriched', column: 'block_time', days: 10 },
  { table: 'miner_rewards', column: 'block_time', days: 10 },
  { table: 'uncles', column: 'block_time', days: 10 },
  { table: 'instructions_enriched', column: 'block_time', days: 3 },
  { table: 'dex_orders', column: 'block_time', days: 10 },
  { table: 'rewards', column: 'block_time', days: 10 },
  { table: 'ohlc_1s', column: 'bucket', days: 2 },
  { table: 'ohlc_1m', column: 'bucket', days: 60 },
  { table: 'ohlc_1h', column: 'bucket', days: 730 },
  { table: 'token_trade_stats_1m', column: 'bucket', days: 60 },
]

/** The same for tables of no chain, by their whole names. */
export const GLOBAL_TABLE_RETENTION = [
  { table: 'webhook_messages', column: 'created_at', days: 30 },
  { table: 'webhook_attempts', column: 'at', days: 30 },
] as const

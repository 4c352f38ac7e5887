import type { Query } from '../../core/clickhouse/client.ts'
import { valuedAmountsSql } from './valued-amounts.ts'

/** What a wallet made of one token, as the warehouse answers it. Amounts are token units as text. */
export interface WalletStatRow {
  readonly token_address: string
  readonly price_usd: number | null
  readonly open_ms: string
  readonly close_ms: string
  readonly last_ms: string
  /** Balance on the chain; null where it is not known. */
  readonly balance: string | null
  readonly decimals: number | null
  readonly buy_amount: string | null
  readonly buy_usd: string
  readonly buys: string
  readonly sell_amount: string | null
  /** The parts of them whose value is known: averages are over these. */
  readonly valued_bought: string | null
  readonly valued_sold: string | null
  readonly sell_usd: string
  readonly sells: string
  readonly realized_usd: string
  readonly total_realized_usd: string
  readonly position_amount: string | null
  readonly position_cost_usd: string
}

/** Most tokens of one answer, which is an array without pages; a wallet that traded more is not a person. */
export const MAX_WALLET_STATS = 1_000

/** The tokens that a wallet traded last, newest trade first; `tokens` narrows to some. */
export const walletStatsQuery = (
  chain: string,
  wallet: string,
  tokens: readonly string[] | undefined,
): Query => {
  const some = tokens === undefined ? '' : 'AND token_address IN {tokens:Array(String)}'
  const traded = `SELECT token_address FROM ${chain}_wallet_token_pnl FINAL WHERE wallet = {wallet:String} ${some}`
  return {
    sql: `SELECT p.token_address AS token_address, t.price_usd AS price_usd,
  toString(toUnixTimestamp64Milli(p.open_time)) AS open_ms, toString(toUnixTimestamp64Milli(p.close_time)) AS close_ms,
  toString(toUnixTimestamp64Milli(p.last_time)) AS last_ms,
  if(b.holder = '', NULL, toString(b.balance)) AS balance, b.decimals AS decimals,
  toString(p.buy_amount) AS buy_amount, toString(p.buy_amount_usd) AS buy_usd, toString(p.buys) AS buys,
  toString(p.sell_amount) AS sell_amount, toString(p.sell_amount_usd) AS sell_usd, toString(p.sells) AS sells,
  toString(p.valued_bought) AS valued_bought, toString(p.valued_sold) AS valued_sold,
  toString(p.realized_usd) AS realized_usd, toString(p.total_realized_usd) AS total_realized_usd,
  toString(p.position_amount) AS position_amount, toString(p.position_cost_usd) AS position_cost_usd
FROM (SELECT *, ${valuedAmountsSql()} FROM ${chain}_wallet_token_pnl FINAL WHERE wallet = {wallet:String} ${some}) AS p
LEFT JOIN (SELECT * FROM ${chain}_token_prices FINAL WHERE token_address IN (${traded})) AS t ON t.token_address = p.token_address
LEFT JOIN (SELECT * FROM ${chain}_wallet_balances FINAL WHERE holder = {wallet:String}) AS b ON b.token_address = p.token_address
ORDER BY p.last_time DESC, p.token_address LIMIT ${MAX_WALLET_STATS}`,
    params: { wallet, ...(tokens !== undefined && { tokens }) },
  }
}

import type { Query } from '../../core/clickhouse/client.ts'
import { wideMoney } from './valued-amounts.ts'

/** What a wallet made in one window of block time. Amounts in token units over all tokens, money in USD, as exact text. */
export interface PnlSummaryRow {
  readonly resolution: string
  readonly buys: string
  readonly sells: string
  readonly buy_amount: string
  /** The part of it whose value is known. */
  readonly valued_bought: string
  readonly sell_amount: string
  readonly buy_usd: string
  readonly sell_usd: string
  readonly wins: string
  readonly losses: string
  readonly realized_usd: string
  /** Cost of what was sold. */
  readonly cost_usd: string
  /** Days, UTC, with a realized profit, and with a realized loss. */
  readonly profitable_days: string
  readonly losing_days: string
  readonly tokens: string
}

/** Windows in days; 0 = every trade that is kept. */
const WINDOWS = "[('1d', 1), ('7d', 7), ('30d', 30), ('all', 0)]"

/** Realized profit of a wallet by window, shortest first; a window without trades is missing. */
export const pnlSummaryQuery = (chain: string, wallet: string): Query => ({
  sql: `WITH (SELECT max(block_time) FROM ${chain}_blocks) AS head
SELECT resolution, toString(sum(day_buys)) AS buys, toString(sum(day_sells)) AS sells,
  toString(sum(day_buy_amount)) AS buy_amount, toString(sum(day_sell_amount)) AS sell_amount,
  toString(sum(day_valued_bought)) AS valued_bought,
  toString(sum(day_buy_usd)) AS buy_usd, toString(sum(day_sell_usd)) AS sell_usd,
  toString(sum(day_wins)) AS wins, toString(sum(day_losses)) AS losses,
  toString(sum(day_realized)) AS realized_usd, toString(sum(day_cost)) AS cost_usd,
  toString(countIf(day_realized > 0)) AS profitable_days, toString(countIf(day_realized < 0)) AS losing_days,
  toString(length(arrayDistinct(arrayFlatten(groupArray(day_tokens))))) AS tokens
FROM (SELECT w.1 AS resolution, w.2 AS days, toDate(e.block_time) AS day,
    countIf(e.side = 'BUY') AS day_buys, countIf(e.side = 'SELL') AS day_sells,
    sumIf(ifNull(e.amount, 0), e.side = 'BUY') AS day_buy_amount, sumIf(ifNull(e.amount, 0), e.side = 'SELL') AS day_sell_amount,
    sumIf(ifNull(e.amount, 0), e.side = 'BUY' AND isNotNull(e.amount_usd)) AS day_valued_bought,
    sumIf(${wideMoney('ifNull(e.amount_usd, 0)')}, e.side = 'BUY') AS day_buy_usd,
    sumIf(${wideMoney('ifNull(e.amount_usd, 0)')}, e.side = 'SELL') AS day_sell_usd,
    countIf(e.realized_usd > 0) AS day_wins, countIf(e.realized_usd < 0) AS day_losses,
    sum(${wideMoney('e.realized_usd')}) AS day_realized, sumIf(${wideMoney('e.cost_usd')}, e.side = 'SELL') AS day_cost,
    groupUniqArray(e.token_address) AS day_tokens
  FROM (SELECT * FROM ${chain}_wallet_pnl_trades FINAL WHERE wallet = {wallet:String}) AS e
  ARRAY JOIN ${WINDOWS} AS w
  WHERE w.2 = 0 OR e.block_time > head - toIntervalDay(w.2)
  GROUP BY resolution, days, day)
GROUP BY resolution, days ORDER BY days = 0, days`,
  params: { wallet },
})

import type { Query } from '../../core/clickhouse/client.ts'
import type { PnlResolution } from '../../schemas/api/wallet-pnl.ts'
import { type KeysetList, type KeysetRow, sortableBits } from './keyset-list.ts'
import { newestRowsSql } from './newest-rows.ts'
import { valuedAmountsSql, wideMoney } from './valued-amounts.ts'

/** Profit and loss of a wallet with one token. Amounts in token units, money in USD, both as exact text. */
export interface PnlRow extends KeysetRow {
  readonly wallet: string
  readonly token: string
  readonly buys: string
  readonly sells: string
  readonly wins: string
  readonly losses: string
  readonly buy_amount: string | null
  readonly sell_amount: string | null
  /** The parts of them whose value is known: averages are over these. */
  readonly valued_bought: string | null
  readonly valued_sold: string | null
  readonly buy_usd: string
  readonly sell_usd: string
  readonly realized_usd: string
  /** Cost at the start of the window and what was bought in it. */
  readonly cost_usd: string
  /** null: the token has no price. */
  readonly unrealized_usd: number | null
  readonly price_usd: number | null
  readonly balance: string | null
  readonly balance_units: number
  readonly decimals: number | null
  readonly is_closed: number
  readonly first_buy_ms: string | null
  readonly last_sell_ms: string | null
}

/** Totals over the rows of a query. */
export interface PnlTotalsRow {
  readonly tokens: string
  readonly buys: string
  readonly sells: string
  readonly wins: string
  readonly losses: string
  readonly buy_usd: string
  readonly sell_usd: string
  readonly realized_usd: string
  readonly cost_usd: string
  readonly unrealized_usd: number
  readonly current_value: number
  readonly head_ms: string
}

/** Whose profit with what is asked for. */
export interface PnlRequest {
  readonly chain: string
  readonly wallets: readonly string[]
  /** undefined = every token that the wallets traded. */
  readonly tokens?: readonly string[] | undefined
  readonly resolution: PnlResolution
  readonly state?: 'all' | 'open' | 'closed' | undefined
}

const RESOLUTION_DAYS: Readonly<Record<PnlResolution, number>> = {
  '1d': 1,
  '7d': 7,
  '30d': 30,
  all: 0,
}

/** Whole lives, from the state that is kept for each wallet and token. */
const lifetimeSelect = (
  chain: string,
  which: string,
): string => `SELECT wallet, token_address AS token, buys, sells, wins, losses,
    buy_amount, sell_amount, ${valuedAmountsSql()}, buy_amount_usd AS buy_usd, sell_amount_usd AS sell_usd, total_realized_usd AS realized_usd,
    buy_amount_usd AS cost_usd, position_amount, position_cost_usd,
    CAST(NULL, 'Nullable(Int64)') AS first_buy_ms, CAST(NULL, 'Nullable(Int64)') AS last_sell_ms
  FROM ${chain}_wallet_token_pnl FINAL WHERE ${which}`

/** A window, from what each trade did; the cost at its start is that of the last trade before it. */
const windowSelect = (
  chain: string,
  which: string,
): string => `SELECT e.wallet AS wallet, e.token_address AS token,
    countIf(e.inside AND e.side = 'BUY') AS buys, countIf(e.inside AND e.side = 'SELL') AS sells,
    countIf(e.inside AND e.realized_usd > 0) AS wins, countIf(e.inside AND e.realized_usd < 0) AS losses,
    sumIf(e.amount, e.inside AND e.side = 'BUY') AS buy_amount, sumIf(e.amount, e.inside AND e.side = 'SELL') AS sell_amount,
    sumIf(e.amount, e.inside AND e.side = 'BUY' AND isNotNull(e.amount_usd)) AS valued_bought,
    sumIf(e.amount, e.inside AND e.side = 'SELL' AND isNotNull(e.amount_usd)) AS valued_sold,
    sumIf(${wideMoney('ifNull(e.amount_usd, 0)')}, e.inside AND e.side = 'BUY') AS buy_usd,
    sumIf(${wideMoney('ifNull(e.amount_usd, 0)')}, e.inside AND e.side = 'SELL') AS sell_usd,
    sumIf(${wideMoney('e.realized_usd')}, e.inside) AS realized_usd,
    argMaxIf(e.position_cost_usd, (e.block_slot, e.event_index), NOT e.inside) + buy_usd AS cost_usd,
    argMax(e.position_amount, (e.block_slot, e.event_index)) AS position_amount,
    argMax(e.position_cost_usd, (e.block_slot, e.event_index)) AS position_cost_usd,
    if(buys = 0, NULL, minIf(toUnixTimestamp64Milli(e.block_time), e.inside AND e.side = 'BUY')) AS first_buy_ms,
    if(sells = 0, NULL, maxIf(toUnixTimestamp64Milli(e.block_time), e.inside AND e.side = 'SELL')) AS last_sell_ms
  FROM (SELECT *, block_time > head - toIntervalDay({days:UInt16}) AS inside FROM ${chain}_wallet_pnl_trades FINAL WHERE ${which}) AS e
  GROUP BY e.wallet, e.token_address HAVING buys + sells > 0`

const STATE_CONDITIONS = {
  all: [],
  open: ['t.is_closed = 0'],
  closed: ['t.is_closed = 1'],
} as const

/** Rows of a query as a subquery `t`; the open part is at most what the wallet still holds, its cost in proportion. */
const pnlSubquery = (request: PnlRequest) => {
  const { chain, wallets, tokens, resolution, state = 'all' } = request
  const which = `wallet IN {wallets:Array(String)}${tokens ? ' AND token_address IN {tokens:Array(String)}' : ''}`
  const source = resolution === 'all' ? lifetimeSelect(chain, which) : windowSelect(chain, which)
  const held = `holder IN {wallets:Array(String)}${tokens ? ' AND token_address IN {tokens:Array(String)}' : ''}`
  return {
    with: `(SELECT max(block_time) FROM ${chain}_blocks) AS head`,
    from: `(SELECT p.*, price.price_usd AS price_usd, if(b.holder = '', NULL, b.balance) AS balance, b.decimals AS decimals,
    toFloat64(ifNull(p.position_amount, 0)) AS position,
    if(b.holder = '' OR isNull(b.decimals), position, toFloat64(b.balance) / exp10(assumeNotNull(b.decimals))) AS balance_units,
    least(position, balance_units) AS open_units,
    position = 0 AS is_closed,
    if(position = 0, 0, price.price_usd * open_units - toFloat64(p.position_cost_usd) * open_units / position) AS unrealized_usd
  FROM (${source}) AS p
  LEFT JOIN (${newestRowsSql(chain, 'token_prices', {
    key: 'token_address',
    columns: 'price_usd',
    where: `token_address IN (SELECT token_address FROM ${chain}_wallet_token_pnl WHERE ${which})`,
  })}) AS price ON price.token_address = p.token
  LEFT JOIN (SELECT holder, token_address, balance, decimals FROM ${chain}_wallet_balances FINAL WHERE ${held}) AS b
    ON b.holder = p.wallet AND b.token_address = p.token) AS t`,
    where: STATE_CONDITIONS[state],
    params: { wallets, ...(tokens && { tokens }), days: RESOLUTION_DAYS[resolution] },
  }
}

const PNL_SORTS = {
  totalPnl: 'toFloat64(t.realized_usd) + ifNull(t.unrealized_usd, 0)',
  realizedPnl: 'toFloat64(t.realized_usd)',
  unrealizedPnl: 'ifNull(t.unrealized_usd, 0)',
} as const

/** Orders of details. */
export type PnlSort = keyof typeof PNL_SORTS

/** Rows of a query, the most profitable first. */
export const pnlList = (request: PnlRequest, sort: PnlSort): KeysetList => ({
  ...pnlSubquery(request),
  columns: `t.wallet AS wallet, t.token AS token, toString(t.buys) AS buys, toString(t.sells) AS sells,
  toString(t.wins) AS wins, toString(t.losses) AS losses, toString(t.buy_amount) AS buy_amount, toString(t.sell_amount) AS sell_amount,
  toString(t.valued_bought) AS valued_bought, toString(t.valued_sold) AS valued_sold,
  toString(t.buy_usd) AS buy_usd, toString(t.sell_usd) AS sell_usd, toString(t.realized_usd) AS realized_usd,
  toString(t.cost_usd) AS cost_usd, t.unrealized_usd AS unrealized_usd, t.price_usd AS price_usd, toString(t.balance) AS balance,
  t.balance_units AS balance_units, t.decimals AS decimals, t.is_closed AS is_closed,
  toString(t.first_buy_ms) AS first_buy_ms, toString(t.last_sell_ms) AS last_sell_ms`,
  order: [
    { sql: sortableBits(PNL_SORTS[sort]), type: 'UInt64' },
    { sql: 't.wallet', type: 'String' },
    { sql: 't.token', type: 'String' },
  ],
  descending: true,
})

/** Totals over all rows of a query. */
export const pnlTotalsQuery = (request: PnlRequest): Query => {
  const { with: head, from, where, params } = pnlSubquery(request)
  return {
    sql: `WITH ${head} SELECT toString(count()) AS tokens, toString(sum(t.buys)) AS buys, toString(sum(t.sells)) AS sells,
  toString(sum(t.wins)) AS wins, toString(sum(t.losses)) AS losses, toString(sum(${wideMoney('t.buy_usd')})) AS buy_usd,
  toString(sum(${wideMoney('t.sell_usd')})) AS sell_usd, toString(sum(${wideMoney('t.realized_usd')})) AS realized_usd,
  toString(sum(${wideMoney('t.cost_usd')})) AS cost_usd,
  sum(ifNull(t.unrealized_usd, 0)) AS unrealized_usd, sum(t.balance_units * ifNull(t.price_usd, 0)) AS current_value,
  toString(toUnixTimestamp64Milli(any(head))) AS head_ms
FROM ${from}${where.length === 0 ? '' : ` WHERE ${where.join(' AND ')}`}`,
    params,
  }
}

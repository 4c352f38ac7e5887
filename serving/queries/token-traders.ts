import type { Query } from '../../core/clickhouse/client.ts'
import type { TraderSort, TraderTag } from '../../schemas/api/trader.ts'
import {
  type KeysetList,
  type KeysetRow,
  moneyColumn,
  type OrderColumn,
  sortableBits,
} from './keyset-list.ts'
import { walletsWithTagsSql } from './trader-tags.ts'
import { valuedAmountsSql } from './valued-amounts.ts'

/** A trader of a token; amounts in token units, money in USD, exact text. */
export interface TraderRow {
  readonly wallet: string
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
  readonly open_cost_usd: number
  readonly unrealized_usd: number | null
  readonly price_usd: number | null
  readonly balance: string | null
  readonly decimals: number | null
  readonly position: number
  readonly close_ms: string
  readonly first_ms: string
  readonly last_ms: string
  readonly is_dev: number
}

/** Place of a trader in a list. */
export interface TraderPlaceRow extends KeysetRow {
  readonly wallet: string
}

interface TraderOrder {
  readonly column: OrderColumn
  /** True: it also depends on the price and on what the trader holds. */
  readonly needsValue: boolean
}

const stored = (column: OrderColumn): TraderOrder => ({ column, needsValue: false })
const valued = (sql: string): TraderOrder => ({
  column: { sql: sortableBits(sql), type: 'UInt64' },
  needsValue: true,
})

const TRADER_SORTS: Readonly<Record<TraderSort, TraderOrder>> = {
  totalPnl: valued('toFloat64(t.realized_usd) + ifNull(t.unrealized_usd, 0)'),
  realizedPnl: stored(moneyColumn('t.realized_usd')),
  unrealizedPnl: valued('ifNull(t.unrealized_usd, 0)'),
  buyVolume: stored(moneyColumn('t.buy_usd')),
  sellVolume: stored(moneyColumn('t.sell_usd')),
  netflowUsd: stored(moneyColumn('t.buy_usd - t.sell_usd')),
  lastActiveAt: stored({ sql: 't.last_ms', type: 'Int64' }),
  createdAt: stored({ sql: 't.first_ms', type: 'Int64' }),
}

const priceSql = (chain: string): string =>
  `(SELECT any(price_usd) FROM ${chain}_token_prices FINAL WHERE token_address = {token:String}) AS price`

/** What the trader of a row `p` still has of what it bought, at most what it holds by the row `h`, with cost and profit. */
const OPEN_PART_SQL = `toFloat64(ifNull(p.position_amount, 0)) AS position,
    if(h.holder = '' OR isNull(h.decimals), position, least(position, toFloat64(h.balance) / exp10(assumeNotNull(h.decimals)))) AS open_units,
    if(position = 0, 0, toFloat64(p.position_cost_usd) * open_units / position) AS open_cost_usd,
    if(position = 0, 0, price * open_units - open_cost_usd) AS unrealized_usd`

const holdingsSql = (chain: string, which = ''): string =>
  `(SELECT holder, balance, decimals FROM ${chain}_token_holders FINAL WHERE token_address = {token:String}${which}) AS h ON h.holder = p.wallet`

/** Addresses of a token's traders over their lives, by a sort; `tag` narrows them to a kind. */
export const tokenTradersList = (
  chain: string,
  token: string,
  {
    sort,
    descending,
    tag,
  }: {
    readonly sort: TraderSort
    readonly descending: boolean
    readonly tag: TraderTag | undefined
  },
): KeysetList => {
  const { column, needsValue } = TRADER_SORTS[sort]
  const tagged =
    tag === undefined
      ? ''
      : ` AND wallet IN (SELECT wallet FROM (${walletsWithTagsSql(chain, [tag])}))`
  return {
    ...(needsValue && { with: priceSql(chain) }),
    columns: 't.wallet AS wallet',
    from: `(SELECT p.wallet AS wallet, p.buy_amount_usd AS buy_usd, p.sell_amount_usd AS sell_usd, p.total_realized_usd AS realized_usd,
    toUnixTimestamp64Milli(p.first_time) AS first_ms, toUnixTimestamp64Milli(p.last_time) AS last_ms${needsValue ? `, ${OPEN_PART_SQL}` : ''}
  FROM (SELECT * FROM ${chain}_token_traders FINAL WHERE token_address = {token:String}${tagged}) AS p${needsValue ? `\n  LEFT JOIN ${holdingsSql(chain)}` : ''}) AS t`,
    where: [],
    order: [column, { sql: 't.wallet', type: 'String' }],
    descending,
    params: { token },
  }
}

/** What trading a token brought to the given wallets, in no order; who did not trade it is missing. */
export const tokenTradersQuery = (
  chain: string,
  token: string,
  wallets: readonly string[],
): Query => ({
  sql: `WITH ${priceSql(chain)},
  (SELECT any(dev) FROM ${chain}_tokens FINAL WHERE token_address = {token:String}) AS maker
SELECT p.wallet AS wallet, toString(p.buys) AS buys, toString(p.sells) AS sells, toString(p.wins) AS wins, toString(p.losses) AS losses,
  toString(p.buy_amount) AS buy_amount, toString(p.sell_amount) AS sell_amount, toString(p.valued_bought) AS valued_bought,
  toString(p.valued_sold) AS valued_sold, toString(p.buy_amount_usd) AS buy_usd, toString(p.sell_amount_usd) AS sell_usd,
  toString(p.total_realized_usd) AS realized_usd, price AS price_usd, if(h.holder = '', NULL, toString(h.balance)) AS balance, h.decimals AS decimals,
  ${OPEN_PART_SQL},
  toString(toUnixTimestamp64Milli(p.close_time)) AS close_ms, toString(toUnixTimestamp64Milli(p.first_time)) AS first_ms,
  toString(toUnixTimestamp64Milli(p.last_time)) AS last_ms, p.wallet = maker AND maker != '' AS is_dev
FROM (SELECT *, ${valuedAmountsSql()} FROM ${chain}_wallet_token_pnl FINAL
  WHERE wallet IN {wallets:Array(String)} AND token_address = {token:String}) AS p
LEFT JOIN ${holdingsSql(chain, ' AND holder IN {wallets:Array(String)}')}`,
  params: { token, wallets },
})

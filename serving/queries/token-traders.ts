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
export interface TraderRow extends KeysetRow {
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

const TRADER_SORTS: Readonly<Record<TraderSort, OrderColumn>> = {
  totalPnl: {
    sql: sortableBits('toFloat64(t.realized_usd) + ifNull(t.unrealized_usd, 0)'),
    type: 'UInt64',
  },
  realizedPnl: moneyColumn('t.realized_usd'),
  unrealizedPnl: { sql: sortableBits('ifNull(t.unrealized_usd, 0)'), type: 'UInt64' },
  buyVolume: moneyColumn('t.buy_usd'),
  sellVolume: moneyColumn('t.sell_usd'),
  netflowUsd: moneyColumn('t.buy_usd - t.sell_usd'),
  lastActiveAt: { sql: 't.last_ms', type: 'Int64' },
  createdAt: { sql: 't.first_ms', type: 'Int64' },
}

/** Traders of a token over their lives, by a sort; `tag` narrows them to a kind. */
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
): KeysetList => ({
  with: `(SELECT any(price_usd) FROM ${chain}_token_prices FINAL WHERE token_address = {token:String}) AS price,
  (SELECT any(dev) FROM ${chain}_tokens FINAL WHERE token_address = {token:String}) AS maker`,
  columns: `t.wallet AS wallet, toString(t.buys) AS buys, toString(t.sells) AS sells, toString(t.wins) AS wins, toString(t.losses) AS losses,
  toString(t.buy_amount) AS buy_amount, toString(t.sell_amount) AS sell_amount,
  toString(t.valued_bought) AS valued_bought, toString(t.valued_sold) AS valued_sold, toString(t.buy_usd) AS buy_usd,
  toString(t.sell_usd) AS sell_usd, toString(t.realized_usd) AS realized_usd, t.open_cost_usd AS open_cost_usd,
  t.unrealized_usd AS unrealized_usd, t.price_usd AS price_usd, toString(t.balance) AS balance, t.decimals AS decimals,
  t.position AS position, toString(t.close_ms) AS close_ms, toString(t.first_ms) AS first_ms, toString(t.last_ms) AS last_ms,
  t.is_dev AS is_dev`,
  from: `(SELECT p.wallet AS wallet, p.buys AS buys, p.sells AS sells, p.wins AS wins, p.losses AS losses,
    p.buy_amount AS buy_amount, p.sell_amount AS sell_amount, ${valuedAmountsSql('p')}, p.buy_amount_usd AS buy_usd, p.sell_amount_usd AS sell_usd,
    p.total_realized_usd AS realized_usd, price AS price_usd, if(h.holder = '', NULL, h.balance) AS balance, h.decimals AS decimals,
    toFloat64(ifNull(p.position_amount, 0)) AS position,
    if(h.holder = '' OR isNull(h.decimals), position, least(position, toFloat64(h.balance) / exp10(assumeNotNull(h.decimals)))) AS open_units,
    if(position = 0, 0, toFloat64(p.position_cost_usd) * open_units / position) AS open_cost_usd,
    if(position = 0, 0, price * open_units - open_cost_usd) AS unrealized_usd,
    toUnixTimestamp64Milli(p.close_time) AS close_ms, toUnixTimestamp64Milli(p.first_time) AS first_ms,
    toUnixTimestamp64Milli(p.last_time) AS last_ms, p.wallet = maker AND maker != '' AS is_dev
  FROM (SELECT * FROM ${chain}_wallet_token_pnl FINAL WHERE token_address = {token:String}${
    tag === undefined
      ? ''
      : ` AND wallet IN (SELECT wallet FROM (${walletsWithTagsSql(chain, [tag])}))`
  }) AS p
  LEFT JOIN (SELECT holder, balance, decimals FROM ${chain}_token_holders FINAL WHERE token_address = {token:String}) AS h
    ON h.holder = p.wallet) AS t`,
  where: [],
  order: [TRADER_SORTS[sort], { sql: 't.wallet', type: 'String' }],
  descending,
  params: { token },
})

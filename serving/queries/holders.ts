import type { Query } from '../../core/clickhouse/client.ts'
import type { HolderSort } from '../../schemas/api/holder.ts'
import { burnAddressesOf } from '../../schemas/burn-addresses.ts'
import { sortableBits } from './keyset-list.ts'
import { valuedAmountsSql } from './valued-amounts.ts'

/** A holder with what trading the token brought, as the warehouse answers it. */
export interface HolderRow {
  readonly holder: string
  readonly balance: string
  readonly decimals: number | null
  readonly first_ms: string
  readonly last_ms: string
  readonly price_usd: number | null
  readonly price_native: number | null
  /** Total supply in token units. */
  readonly supply: string | null
  /** null: the wallet did not trade the token. */
  readonly buys: string | null
  readonly sells: string | null
  readonly buy_amount: string | null
  readonly sell_amount: string | null
  /** The parts of them whose value is known: averages are over these. */
  readonly valued_bought: string | null
  readonly valued_sold: string | null
  readonly buy_usd: string | null
  readonly sell_usd: string | null
  readonly realized_usd: string | null
  readonly position_amount: string | null
  readonly position_cost_usd: string | null
  readonly wins: string | null
  readonly losses: string | null
  readonly dev: string
  readonly creators: readonly string[]
}

/** A holder's place, as the warehouse answers it. */
export interface HolderPlaceRow {
  readonly holder: string
  /** Sort key as exact text. */
  readonly sort_key: string
}

/** A place in a list of holders. */
export interface HolderPosition {
  /** Sort key as exact text. */
  readonly key: string
  readonly holder: string
}

/** A list of holders to read. */
export interface HolderSearch {
  readonly chain: string
  readonly token: string
  readonly sort: HolderSort
  readonly descending: boolean
  readonly direction: 'next' | 'prev'
  readonly after: HolderPosition | undefined
  readonly rows: number
}

interface SortDefinition {
  readonly sql: string
  /** A sort key read from its exact text. */
  readonly read: string
  /** True: it depends on what trading the token brought, the row `p`. */
  readonly needsTrades: boolean
}

/** What a holder's numbers are read from again: exact types only, so that no two places of a list have one text. */
const PARAMETER_SQL = {
  amount: 'toUInt256({key:String})',
  money: 'toDecimal256({key:String}, 12)',
  time: 'toInt64({key:String})',
  bits: 'toUInt64({key:String})',
} as const

const ofHolder = (sql: string, key: 'amount' | 'time'): SortDefinition => ({
  sql,
  read: PARAMETER_SQL[key],
  needsTrades: false,
})
const ofTrades = (sql: string, key: 'money' | 'bits'): SortDefinition => ({
  sql,
  read: PARAMETER_SQL[key],
  needsTrades: true,
})
const moneySql = (column: string): string => `toDecimal256(ifNull(p.${column}, 0), 12)`

const REALIZED_SQL = 'toFloat64(ifNull(p.total_realized_usd, 0))'
const OPEN_POSITION_SQL =
  'least(ifNull(p.position_amount, 0), toFloat64(h.balance) / pow(10, ifNull(h.decimals, 0)))'
const UNREALIZED_SQL = `if(toFloat64(ifNull(p.position_amount, 0)) = 0, 0,
  (${OPEN_POSITION_SQL} * ifNull(price, 0) - toFloat64(p.position_cost_usd) * ${OPEN_POSITION_SQL} / toFloat64(p.position_amount)))`

const AMOUNT_SORT = ofHolder('h.balance', 'amount')
const HOLDER_SORTS: Readonly<Record<HolderSort, SortDefinition>> = {
  amountPercentage: AMOUNT_SORT,
  holdingUsd: AMOUNT_SORT,
  usdValue: AMOUNT_SORT,
  totalPnl: ofTrades(sortableBits(`${REALIZED_SQL} + ${UNREALIZED_SQL}`), 'bits'),
  realizedPnl: ofTrades(moneySql('total_realized_usd'), 'money'),
  unrealizedPnl: ofTrades(sortableBits(UNREALIZED_SQL), 'bits'),
  buyVolume: ofTrades(moneySql('buy_amount_usd'), 'money'),
  sellVolume: ofTrades(moneySql('sell_amount_usd'), 'money'),
  netflowUsd: ofTrades(`${moneySql('buy_amount_usd')} - ${moneySql('sell_amount_usd')}`, 'money'),
  lastActiveAt: ofHolder('toUnixTimestamp64Milli(h.last_seen)', 'time'),
  createdAt: ofHolder('toUnixTimestamp64Milli(h.first_seen)', 'time'),
}

const optionalColumn = (column: string, name: string): string =>
  `if(p.wallet = '', NULL, toString(p.${column})) AS ${name}`

const TRADING_COLUMNS = [
  optionalColumn('buys', 'buys'),
  optionalColumn('sells', 'sells'),
  optionalColumn('buy_amount', 'buy_amount'),
  optionalColumn('sell_amount', 'sell_amount'),
  optionalColumn('valued_bought', 'valued_bought'),
  optionalColumn('valued_sold', 'valued_sold'),
  optionalColumn('buy_amount_usd', 'buy_usd'),
  optionalColumn('sell_amount_usd', 'sell_usd'),
  optionalColumn('total_realized_usd', 'realized_usd'),
  optionalColumn('position_amount', 'position_amount'),
  optionalColumn('position_cost_usd', 'position_cost_usd'),
  optionalColumn('wins', 'wins'),
  optionalColumn('losses', 'losses'),
].join(', ')

const priceSql = (chain: string, columns: string): string =>
  `(SELECT ${columns} FROM (SELECT * FROM ${chain}_token_prices FINAL WHERE token_address = {token:String})) AS price`

const HOLDER_SQL =
  'token_address = {token:String} AND balance > 0 AND holder NOT IN {burnt:Array(String)}'

/** Holders of a page, read in the wanted direction; of every holder only what the order needs is read. */
export const holdersQuery = (search: HolderSearch): Query => {
  const { chain, token, sort, descending, direction, after, rows } = search
  const { sql, read, needsTrades } = HOLDER_SORTS[sort]
  const down = descending === (direction === 'next')
  const way = down ? 'DESC' : 'ASC'
  const past = down ? '<' : '>'
  const position =
    after === undefined ? '' : `WHERE (sort_value, holder) ${past} (${read}, {holder:String})`
  const trades = needsTrades
    ? `\nLEFT JOIN (SELECT * FROM ${chain}_token_traders FINAL WHERE token_address = {token:String}) AS p ON p.wallet = h.holder`
    : ''
  return {
    sql: `SELECT holder, toString(sort_value) AS sort_key FROM (
${needsTrades ? `WITH ${priceSql(chain, 'any(price_usd)')} ` : ''}SELECT h.holder AS holder, ${sql} AS sort_value
FROM (SELECT * FROM ${chain}_token_holders FINAL WHERE ${HOLDER_SQL}) AS h${trades}
) ${position} ORDER BY sort_value ${way}, holder ${way} LIMIT {rows:UInt32}`,
    params: {
      token,
      rows,
      burnt: burnAddressesOf(chain),
      ...(after && { key: after.key, holder: after.holder }),
    },
  }
}

/** The given wallets as holders of a token with every number, in no order; who holds nothing is missing. */
export const walletHoldersQuery = (
  chain: string,
  token: string,
  wallets: readonly string[],
): Query => ({
  sql: `WITH ${priceSql(chain, '(any(price_usd), any(price_native))')},
  (SELECT any(total_supply) FROM (SELECT * FROM ${chain}_token_markets FINAL WHERE token_address = {token:String})) AS total,
  (SELECT (any(dev), any(creators.address)) FROM (SELECT * FROM ${chain}_tokens FINAL WHERE token_address = {token:String})) AS birth
SELECT h.holder AS holder, toString(h.balance) AS balance, h.decimals AS decimals,
  toString(toUnixTimestamp64Milli(h.first_seen)) AS first_ms, toString(toUnixTimestamp64Milli(h.last_seen)) AS last_ms,
  price.1 AS price_usd, price.2 AS price_native, toString(total) AS supply, ${TRADING_COLUMNS},
  birth.1 AS dev, birth.2 AS creators
FROM (SELECT * FROM ${chain}_token_holders FINAL WHERE ${HOLDER_SQL} AND holder IN {wallets:Array(String)}) AS h
LEFT JOIN (SELECT *, ${valuedAmountsSql()} FROM ${chain}_wallet_token_pnl FINAL
  WHERE wallet IN {wallets:Array(String)} AND token_address = {token:String}) AS p ON p.wallet = h.holder`,
  params: { token, wallets, burnt: burnAddressesOf(chain) },
})

/** Those of some holders that are pools, which keep what they trade under their own address. */
export const poolsAmongQuery = (chain: string, holders: readonly string[]): Query => ({
  sql: `SELECT pool_address AS pool FROM ${chain}_dex_pools FINAL WHERE pool_address IN {holders:Array(String)}`,
  params: { holders },
})

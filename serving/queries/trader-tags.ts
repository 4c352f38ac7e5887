import type { TraderTag } from '../../schemas/api/trader.ts'
import type { KeysetList } from './keyset-list.ts'

/** How soon after the first trade of a token a purchase counts as sniping, ms. */
const SNIPER_WINDOW_MS = 10_000
/** Days over which wallets are compared. */
const PRO_DAYS = 30
/** Share of wallets that a professional trades as often and as much as, at least. */
const MIN_PRO_PERCENTILE = 0.95

const creatorSql = (chain: string): string =>
  `(SELECT any(dev) FROM ${chain}_tokens FINAL WHERE token_address = {token:String})`

const tokenTradesSql = (chain: string): string =>
  `${chain}_dex_trades_enriched FINAL WHERE token_address = {token:String}`

/** Columns that every kind has: the wallet, and the trade that shows its kind. */
const evidenceColumns = (of: string): string =>
  `owner AS wallet, argMin(tx_hash, ${of}) AS tx, toUnixTimestamp64Milli(min(block_time)) AS time_ms`

const EMPTY_SUMS = `toUInt64(0) AS trades, toDecimal256(0, 12) AS usd, toDecimal256(0, 12) AS native, toFloat64(0) AS count_rank, toFloat64(0) AS usd_rank`

const EVENT_POSITION = '(block_slot, tx_index, event_index)'

/** Wallets that carry a tag, as a SELECT of `wallet, tx, time_ms, trades, usd, native, count_rank, usd_rank`. */
const SQL_BY_TAG: Partial<Readonly<Record<TraderTag, (chain: string) => string>>> = {
  dev: (chain) => `SELECT dev AS wallet, '' AS tx, toInt64(0) AS time_ms, ${EMPTY_SUMS}
  FROM ${chain}_tokens FINAL WHERE token_address = {token:String} AND dev != ''`,
  sniper: (
    chain,
  ) => `SELECT ${evidenceColumns(EVENT_POSITION)}, ${EMPTY_SUMS} FROM ${tokenTradesSql(chain)} AND side = 'BUY'
  AND block_time <= (SELECT min(block_time) FROM ${tokenTradesSql(chain)}) + toIntervalMillisecond(${SNIPER_WINDOW_MS})
  AND owner != ${creatorSql(chain)} GROUP BY owner`,
  bundle: (chain) => `SELECT ${evidenceColumns(EVENT_POSITION)}, ${EMPTY_SUMS}
  FROM (SELECT buy_owner AS owner, tx_hash, block_time, block_slot, tx_index, event_index FROM ${chain}_dex_trades FINAL
    WHERE buy_token = {token:String} AND bundle_source != '') GROUP BY owner`,
  sandwich: (chain) => `SELECT ${evidenceColumns(EVENT_POSITION)}, ${EMPTY_SUMS} FROM (
    SELECT owner, tx_hash, block_time, block_slot, tx_index, event_index, pool_address,
      countIf(side = 'BUY') OVER own AS buys, countIf(side = 'SELL') OVER own AS sells,
      min(tx_index) OVER own AS first_tx, max(tx_index) OVER own AS last_tx,
      groupArray((tx_index, owner)) OVER (PARTITION BY pool_address, block_slot) AS block
    FROM ${tokenTradesSql(chain)} WINDOW own AS (PARTITION BY pool_address, block_slot, owner))
  WHERE buys > 0 AND sells > 0 AND arrayExists(x -> x.1 > first_tx AND x.1 < last_tx AND x.2 != owner, block)
  GROUP BY owner`,
  pro: (
    chain,
  ) => `SELECT wallet, '' AS tx, toInt64(0) AS time_ms, trades, usd, native, count_rank, usd_rank FROM (
    SELECT owner AS wallet, count() AS trades, sum(toDecimal256(ifNull(amount_usd, 0), 12)) AS usd,
      sum(toDecimal256(ifNull(amount_native, 0), 12)) AS native,
      count() OVER (ORDER BY trades RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) / count() OVER () AS count_rank,
      count() OVER (ORDER BY usd RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) / count() OVER () AS usd_rank
    FROM ${chain}_dex_trades_by_wallet FINAL
    WHERE is_base = 1 AND block_time > (SELECT max(block_time) FROM ${chain}_blocks) - toIntervalDay(${PRO_DAYS})
    GROUP BY owner)
  WHERE count_rank >= ${MIN_PRO_PERCENTILE} AND usd_rank >= ${MIN_PRO_PERCENTILE} AND wallet IN (SELECT owner FROM ${tokenTradesSql(chain)})`,
}

const NO_WALLETS_SQL = `SELECT '' AS wallet, '' AS tx, toInt64(0) AS time_ms, ${EMPTY_SUMS} WHERE 0`

const TAG_ALIASES: Partial<Readonly<Record<TraderTag, TraderTag>>> = {
  sandwish: 'sandwich',
  smart_money: 'smart',
}

/** The tag that a word means, where blocks alone tell it. */
const knownTag = (word: string): TraderTag | undefined => {
  const tag = (Object.hasOwn(TAG_ALIASES, word) && TAG_ALIASES[word as TraderTag]) || word
  return Object.hasOwn(SQL_BY_TAG, tag) ? (tag as TraderTag) : undefined
}

/** SELECT of the wallets that carry a tag for the token `{token:String}`; none for tags that blocks alone do not tell. */
const taggedWalletsSql = (chain: string, word: string): string => {
  const tag = knownTag(word)
  return (tag && SQL_BY_TAG[tag]?.(chain)) ?? NO_WALLETS_SQL
}

/** SELECT of the wallets that carry one of the tags, each kind once however often it is named; unknown words match none. */
export const walletsWithTagsSql = (chain: string, words: readonly string[]): string => {
  const tags = new Set(words.flatMap((word) => knownTag(word) ?? []))
  return tags.size === 0
    ? NO_WALLETS_SQL
    : [...tags]
        .map((tag) => `SELECT wallet FROM (${taggedWalletsSql(chain, tag)})`)
        .join(' UNION ALL ')
}

/** A wallet that carries a tag, with what shows it. */
export interface TaggedTraderRow {
  readonly wallet: string
  readonly tx: string
  readonly time_ms: string
  readonly trades: string
  readonly usd: string
  readonly native: string
  readonly count_rank: number
  readonly usd_rank: number
}

/** Wallets that carry a tag for a token: the earliest first, professionals by what they traded. */
export const taggedTraderList = (chain: string, token: string, tag: TraderTag): KeysetList => ({
  columns: `t.wallet AS wallet, t.tx AS tx, toString(t.time_ms) AS time_ms, toString(t.trades) AS trades, toString(t.usd) AS usd,
  toString(t.native) AS native, t.count_rank AS count_rank, t.usd_rank AS usd_rank`,
  from: `(${taggedWalletsSql(chain, tag)}) AS t`,
  where: [],
  order: [
    { sql: 'toInt64(-t.time_ms)', type: 'Int64' },
    { sql: 't.usd', type: 'Decimal256(12)' },
    { sql: 't.wallet', type: 'String' },
  ],
  descending: true,
  params: { token },
})

import type { TraderTag } from '../../schemas/api/trader.ts'
import type { List } from './keyset.ts'

/** How soon after the first trade of a token a purchase counts as sniping, ms. */
const SNIPE_MS = 10_000
/** Days over which wallets are compared. */
const PRO_DAYS = 30
/** Share of wallets that a professional trades as often and as much as, at least. */
const PRO_SHARE = 0.95

const MAKER = (chain: string): string =>
  `(SELECT any(dev) FROM ${chain}_tokens FINAL WHERE token_address = {token:String})`

const OF_TOKEN = (chain: string): string =>
  `${chain}_dex_trades_enriched FINAL WHERE token_address = {token:String}`

/** Columns that every kind has: the wallet, and the trade that shows its kind. */
const evidence = (of: string): string =>
  `owner AS wallet, argMin(tx_hash, ${of}) AS tx, toUnixTimestamp64Milli(min(block_time)) AS time_ms`

const NO_SUMS = `toUInt64(0) AS trades, toDecimal256(0, 12) AS usd, toDecimal256(0, 12) AS native, toFloat64(0) AS count_rank, toFloat64(0) AS usd_rank`

const POSITION = '(block_slot, tx_index, event_index)'

/** Wallets that carry a tag, as a SELECT of `wallet, tx, time_ms, trades, usd, native, count_rank, usd_rank`. */
const TAGS: Partial<Readonly<Record<TraderTag, (chain: string) => string>>> = {
  dev: (chain) => `SELECT dev AS wallet, '' AS tx, toInt64(0) AS time_ms, ${NO_SUMS}
  FROM ${chain}_tokens FINAL WHERE token_address = {token:String} AND dev != ''`,
  sniper: (
    chain,
  ) => `SELECT ${evidence(POSITION)}, ${NO_SUMS} FROM ${OF_TOKEN(chain)} AND side = 'BUY'
  AND block_time <= (SELECT min(block_time) FROM ${OF_TOKEN(chain)}) + toIntervalMillisecond(${SNIPE_MS})
  AND owner != ${MAKER(chain)} GROUP BY owner`,
  bundle: (chain) => `SELECT ${evidence(POSITION)}, ${NO_SUMS}
  FROM (SELECT buy_owner AS owner, tx_hash, block_time, block_slot, tx_index, event_index FROM ${chain}_dex_trades FINAL
    WHERE buy_token = {token:String} AND bundle_source != '') GROUP BY owner`,
  sandwich: (chain) => `SELECT ${evidence(POSITION)}, ${NO_SUMS} FROM (
    SELECT owner, tx_hash, block_time, block_slot, tx_index, event_index, pool_address,
      countIf(side = 'BUY') OVER own AS buys, countIf(side = 'SELL') OVER own AS sells,
      min(tx_index) OVER own AS first_tx, max(tx_index) OVER own AS last_tx,
      groupArray((tx_index, owner)) OVER (PARTITION BY pool_address, block_slot) AS block
    FROM ${OF_TOKEN(chain)} WINDOW own AS (PARTITION BY pool_address, block_slot, owner))
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
  WHERE count_rank >= ${PRO_SHARE} AND usd_rank >= ${PRO_SHARE} AND wallet IN (SELECT owner FROM ${OF_TOKEN(chain)})`,
}

const NOBODY = `SELECT '' AS wallet, '' AS tx, toInt64(0) AS time_ms, ${NO_SUMS} WHERE 0`

const SPELLINGS: Partial<Readonly<Record<TraderTag, TraderTag>>> = {
  sandwish: 'sandwich',
  smart_money: 'smart',
}

/** SELECT of the wallets that carry a tag for the token `{token:String}`; nobody for tags that blocks alone do not tell. */
const taggedSql = (chain: string, tag: TraderTag): string =>
  TAGS[SPELLINGS[tag] ?? tag]?.(chain) ?? NOBODY

/** SELECT of the wallets that carry one of the tags; unknown words carry nobody. */
export const taggedWallets = (chain: string, tags: readonly string[]): string =>
  tags.length === 0
    ? NOBODY
    : tags
        .map((tag) => `SELECT wallet FROM (${taggedSql(chain, tag as TraderTag)})`)
        .join(' UNION ALL ')

/** A wallet that carries a tag, with what shows it. */
export interface TaggedRow {
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
export const taggedList = (chain: string, token: string, tag: TraderTag): List => ({
  columns: `t.wallet AS wallet, t.tx AS tx, toString(t.time_ms) AS time_ms, toString(t.trades) AS trades, toString(t.usd) AS usd,
  toString(t.native) AS native, t.count_rank AS count_rank, t.usd_rank AS usd_rank`,
  from: `(${taggedSql(chain, tag)}) AS t`,
  where: [],
  order: [
    { sql: 'toInt64(-t.time_ms)', type: 'Int64' },
    { sql: 't.usd', type: 'Decimal256(12)' },
    { sql: 't.wallet', type: 'String' },
  ],
  descending: true,
  params: { token },
})

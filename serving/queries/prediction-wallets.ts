import type { Query } from '../../core/clickhouse/client.ts'
import type { PredictionInterval } from '../../schemas/api/prediction-positions.ts'
import type { KeysetList, KeysetRow } from './keyset-list.ts'

/** What a wallet did on one day, UTC; amounts in base units. */
export interface PredictionDayRow {
  readonly wallet: string
  readonly day: string
  readonly activities: string
  /** Conditions whose newest day this is: over the days of a window that ends with the newest they add up to its distinct conditions. */
  readonly last_conditions: string
  readonly volume: string
  readonly realized: string
  readonly wins: string
  readonly losses: string
}

/** Days of a wallet that are served, the newest day of the chain the last of them. */
export const PREDICTION_DAYS = 30

/** What narrows the days of wallets. */
export interface PredictionDaysRequest {
  readonly wallets: readonly string[]
  readonly conditionId?: string | undefined
  readonly tokenId?: string | undefined
  /** As `2026-11-20`. */
  readonly today: string
}

/** Days of at most a page of wallets, newest first. */
export const predictionDaysQuery = (
  chain: string,
  { wallets, conditionId, tokenId, today }: PredictionDaysRequest,
): Query => {
  const narrowed = [
    ...(conditionId === undefined ? [] : [' AND condition_id = {condition:String}']),
    ...(tokenId === undefined ? [] : [' AND outcome_token = {token:String}']),
  ].join('')
  return {
    sql: `SELECT d.wallet AS wallet, toString(d.date) AS day, toString(sum(d.changes)) AS activities,
  toString(uniqExactIf(d.condition, d.condition != '' AND d.date = d.newest)) AS last_conditions, toString(sum(d.traded)) AS volume,
  toString(sum(d.gain)) AS realized, toString(countIf(d.gain > 0)) AS wins, toString(countIf(d.gain < 0)) AS losses
FROM (SELECT wallet, date, condition, changes, traded, gain, max(date) OVER (PARTITION BY wallet, condition) AS newest
  FROM (SELECT wallet, toDate(block_time, 'UTC') AS date, outcome_token, max(condition_id) AS condition, count() AS changes,
      sum(traded_amount) AS traded, sum(realized) AS gain
    FROM ${chain}_prediction_position_changes FINAL
    WHERE wallet IN {wallets:Array(String)} AND date > toDate({today:String}) - {days:UInt32} AND date <= toDate({today:String})${narrowed}
    GROUP BY wallet, date, outcome_token)) AS d
GROUP BY d.wallet, d.date ORDER BY d.date DESC`,
    params: {
      wallets,
      today,
      days: PREDICTION_DAYS,
      ...(conditionId !== undefined && { condition: conditionId }),
      ...(tokenId !== undefined && { token: tokenId }),
    },
  }
}

/** Where the last change of a position stands. */
export interface PredictionLastChangeRow {
  readonly token: string
  readonly tx: string
  readonly log: number
}

/** Last changes of a wallet's positions in at most a page of tokens. */
export const predictionLastChangesQuery = (
  chain: string,
  wallet: string,
  tokens: readonly string[],
): Query => ({
  sql: `SELECT outcome_token AS token, argMax((tx_hash, log_index), (block_slot, event_index)) AS newest, newest.1 AS tx, newest.2 AS log
FROM ${chain}_prediction_position_changes FINAL
WHERE wallet = {wallet:String} AND outcome_token IN {tokens:Array(String)} GROUP BY outcome_token`,
  params: { wallet, tokens },
})

/** A wallet of the leaderboard. */
export interface PredictionLeaderRow extends KeysetRow {
  readonly wallet: string
  /** Base units. */
  readonly score: string
}

/** Days of the shorter interval: the newest with any activity and the six before it. */
const WEEK_DAYS = 7

const leadersSql = (chain: string, interval: PredictionInterval): string =>
  interval === 'all'
    ? `(SELECT wallet, realized FROM ${chain}_prediction_wallets FINAL)`
    : `(SELECT wallet, sum(realized) AS realized FROM ${chain}_prediction_wallet_days FINAL
  WHERE day > (SELECT max(day) FROM ${chain}_prediction_wallet_days FINAL) - ${WEEK_DAYS} GROUP BY wallet)`

/** Wallets by what they realized in an interval, the most first. */
export const predictionLeaderList = (chain: string, interval: PredictionInterval): KeysetList => ({
  columns: 't.wallet AS wallet, toString(t.realized) AS score',
  from: `${leadersSql(chain, interval)} AS t`,
  where: [],
  order: [
    { sql: 'toDecimal256(t.realized, 12)', type: 'Decimal256(12)' },
    { sql: 't.wallet', type: 'String' },
  ],
  descending: true,
  params: {},
})

/** How many wallets stand before one. */
export const predictionRankQuery = (
  chain: string,
  interval: PredictionInterval,
  { wallet, score }: Pick<PredictionLeaderRow, 'wallet' | 'score'>,
): Query => ({
  sql: `SELECT toString(count()) AS before FROM ${leadersSql(chain, interval)} AS t
WHERE (t.realized, t.wallet) > ({score:Int256}, {wallet:String})`,
  params: { wallet, score },
})

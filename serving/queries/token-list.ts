import type { Query } from '../../core/clickhouse/client.ts'
import {
  LIST_BOUNDS,
  LIST_WINDOWS,
  type ListBound,
  type ListNumber,
  type ListWindow,
} from '../../schemas/api/ranking.ts'
import { type KeysetList, sortableBits } from './keyset-list.ts'
import { headTimeSql } from './latest-block.ts'

/** Numbers of a window of a token's statistics. */
const NUMBER_SQL: Readonly<Record<ListNumber, string>> = {
  VolumeInUsd: 'toFloat64(buy_volume_usd + sell_volume_usd)',
  PriceChangeRatio: 'if(open_usd > 0, close_usd / open_usd - 1, 0)',
  Buys: 'toFloat64(buys)',
  Sells: 'toFloat64(sells)',
  Trades: 'toFloat64(buys + sells)',
  Buyers: 'toFloat64(buyers)',
  Sellers: 'toFloat64(sellers)',
  BuyVolumeInUsd: 'toFloat64(buy_volume_usd)',
  SellVolumeInUsd: 'toFloat64(sell_volume_usd)',
}

const windowColumn = (window: ListWindow, number: ListNumber): string => `${window}_${number}`

/** Parses the name of a sort: a window and a number. */
const parseSort = (name: string): { readonly window: ListWindow; readonly number: ListNumber } => {
  const [, window, number] = /^(h24|h4|h1|m30|m15|m5|m1)(\w+)$/.exec(name) ?? []
  return { window: window as ListWindow, number: number as ListNumber }
}

const LONGEST = LIST_WINDOWS.h24

/** What the list of tokens is asked for: a sort by its name, and bounds by parameter as decimal text. */
export interface TokenListRequest {
  readonly sortBy: string
  readonly descending: boolean
  readonly bounds: Readonly<Record<string, string>>
}

/** Tokens with trades, by a number of a window; tokens without it last, whatever the direction. */
export const tokenList = (chain: string, request: TokenListRequest): KeysetList => {
  const { sortBy, descending, bounds } = request
  const sort = parseSort(sortBy)
  const asked: readonly ListBound[] = LIST_BOUNDS.filter(({ parameter }) =>
    Object.hasOwn(bounds, parameter),
  )
  const numbers = new Map(
    [sort, ...asked].map(({ window, number }) => [
      windowColumn(window, number),
      { window, number },
    ]),
  )
  // Every token with trades on the last day has the longest window.
  const resolutions = [
    ...new Set([LONGEST, ...[...numbers.values()].map(({ window }) => LIST_WINDOWS[window])]),
  ]
  const isOne = resolutions.length === 1
  const columns = [...numbers].map(([name, { window, number }]) =>
    isOne
      ? `toNullable(${NUMBER_SQL[number]}) AS ${name}`
      : `anyIf(toNullable(${NUMBER_SQL[number]}), resolution = '${LIST_WINDOWS[window]}') AS ${name}`,
  )
  const sorted = `t.${windowColumn(sort.window, sort.number)}`
  const last = descending ? '0' : '18446744073709551615'
  return {
    columns: 't.token_address AS token_address',
    from: `(SELECT token_address, ${columns.join(', ')} FROM ${chain}_token_stats FINAL
  WHERE resolution IN (${resolutions.map((name) => `'${name}'`).join(', ')}) AND stat_time > (SELECT max(block_time) FROM ${chain}_blocks) - INTERVAL 1 DAY${isOne ? '' : '\n  GROUP BY token_address'}) AS t`,
    members: {
      column: 'token_address',
      table: `${chain}_tokens FINAL`,
    },
    where: asked.map(
      ({ side, window, number, parameter }) =>
        `t.${windowColumn(window, number)} ${side === 'min' ? '>=' : '<='} toFloat64({${parameter}:String})`,
    ),
    order: [
      {
        sql: `if(isNull(${sorted}), toUInt64(${last}), assumeNotNull(${sortableBits(sorted)}))`,
        type: 'UInt64',
      },
      { sql: 't.token_address', type: 'String' },
    ],
    descending,
    params: Object.fromEntries(asked.map(({ parameter }) => [parameter, bounds[parameter]])),
  }
}

/** Most tokens that a ranking looks at before its filters. */
const MAX_RANKING_CANDIDATES = 500

const RANKING_SQL = {
  newTokens: (chain: string) =>
    `SELECT token_address FROM ${chain}_tokens FINAL WHERE created_tx != '' ORDER BY created_at DESC, token_address LIMIT {rows:UInt32}`,
  migrated: (chain: string) =>
    `SELECT token_address FROM ${chain}_tokens FINAL WHERE isNotNull(migrated_at) ORDER BY migrated_at DESC, token_address LIMIT {rows:UInt32}`,
  // Half sold, and not migrated yet.
  finalStretch: (chain: string) =>
    `SELECT token_a AS token_address FROM ${chain}_dex_pools AS p FINAL
WHERE p.curve_progress >= 0.5 AND p.token_a IN (SELECT token_address FROM ${chain}_tokens FINAL
  WHERE isNull(migrated_at) AND token_address IN (SELECT token_a FROM ${chain}_dex_pools WHERE curve_progress >= 0.5))
GROUP BY token_a ORDER BY max(p.curve_progress) DESC, token_a LIMIT {rows:UInt32}`,
} as const

/** Rankings without parameters. */
export type RankingName = keyof typeof RANKING_SQL

/** Tokens of a ranking in its own order. */
export const rankingQuery = (chain: string, name: RankingName): Query => ({
  sql: RANKING_SQL[name](chain),
  params: { rows: MAX_RANKING_CANDIDATES },
})

/** Tokens with the largest volume in a window that reaches to the newest block. */
export const hotTokensQuery = (chain: string, window: string, windowMs: number): Query => ({
  sql: `SELECT s.token_address AS token_address FROM ${chain}_token_stats AS s FINAL
WHERE s.resolution = {window:String} AND s.buys + s.sells > 0
  AND s.stat_time > ${headTimeSql(chain)} - toIntervalMillisecond({window_ms:UInt64})
  AND s.token_address IN (SELECT token_address FROM ${chain}_tokens FINAL WHERE token_address IN (SELECT token_address FROM ${chain}_token_stats
    WHERE resolution = {window:String} AND stat_time > ${headTimeSql(chain)} - toIntervalMillisecond({window_ms:UInt64})))
ORDER BY s.buy_volume_usd + s.sell_volume_usd DESC, s.buys + s.sells DESC, s.token_address LIMIT {rows:UInt32}`,
  params: { window, window_ms: windowMs, rows: MAX_RANKING_CANDIDATES },
})

import type { Query } from '../../core/clickhouse/client.ts'
import type { KeysetList } from './keyset-list.ts'

/** Who made a token, and what else that wallet made. */
export interface CreatorRow {
  readonly token_address: string
  readonly tokens: string
  readonly last_ms: string
}

const makersSql = (chain: string): string =>
  `SELECT dev FROM ${chain}_tokens FINAL WHERE token_address IN {addresses:Array(String)} AND dev != ''`

/** Makers of the given tokens with the number of tokens that each made; tokens without a known maker are missing. */
export const creatorsQuery = (chain: string, addresses: readonly string[]): Query => ({
  sql: `SELECT t.token_address AS token_address, toString(m.tokens) AS tokens, toString(m.last_ms) AS last_ms
FROM (SELECT token_address, dev FROM ${chain}_tokens FINAL WHERE token_address IN {addresses:Array(String)} AND dev != '') AS t
INNER JOIN (SELECT dev, count() AS tokens, max(toUnixTimestamp64Milli(created_at)) AS last_ms
  FROM ${chain}_tokens FINAL
  WHERE token_address IN (SELECT token_address FROM ${chain}_tokens_by_dev WHERE dev IN (${makersSql(chain)})) AND dev IN (${makersSql(chain)})
  GROUP BY dev) AS m ON m.dev = t.dev`,
  params: { addresses },
})

/** Tokens that a wallet made, newest first. */
export const createdTokenList = (chain: string, dev: string): KeysetList => ({
  columns: 't.token_address AS token_address',
  from: `(SELECT token_address, toUnixTimestamp64Milli(created_at) AS created_ms FROM ${chain}_tokens_by_dev FINAL WHERE dev = {dev:String}) AS t`,
  // A reorg may let another wallet make a token of the same address.
  members: { column: 'token_address', table: `${chain}_tokens FINAL`, where: 'dev = {dev:String}' },
  where: [],
  order: [
    { sql: 't.created_ms', type: 'Int64' },
    { sql: 't.token_address', type: 'String' },
  ],
  descending: true,
  params: { dev },
})

import type { Query } from '../../core/clickhouse/client.ts'
import { newestRowsSql } from './newest-rows.ts'

/** What a token is called. */
export interface TokenName {
  readonly token_address: string
  readonly name: string
  readonly symbol: string
  readonly decimals: number | null
  readonly image_url: string
}

const TOKEN_KEY = {
  key: 'token_address',
  where: 'token_address IN {addresses:Array(String)}',
} as const

/** Names of the given tokens; unknown ones are missing. */
export const tokenNamesQuery = (chain: string, addresses: readonly string[]): Query => ({
  sql: `SELECT token_address, name, symbol, decimals, document.image AS image_url
FROM (${newestRowsSql(chain, 'tokens', { ...TOKEN_KEY, columns: 'name, symbol, decimals' })}) AS token
LEFT JOIN (${newestRowsSql(chain, 'token_documents', { ...TOKEN_KEY, columns: 'image_url AS image' })}) AS document USING (token_address)`,
  params: { addresses },
})

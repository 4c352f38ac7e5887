import type { Query } from '../../core/clickhouse/client.ts'

/** What a token is called. */
export interface TokenName {
  readonly token_address: string
  readonly name: string
  readonly symbol: string
  readonly decimals: number | null
  readonly image_url: string
}

/** Names of the given tokens; unknown ones are missing. */
export const tokenNamesQuery = (chain: string, addresses: readonly string[]): Query => ({
  sql: `SELECT token_address, name, symbol, decimals, document.image AS image_url
FROM (SELECT token_address, name, symbol, decimals FROM ${chain}_tokens FINAL WHERE token_address IN {addresses:Array(String)}) AS token
LEFT JOIN (SELECT token_address, image_url AS image FROM ${chain}_token_documents FINAL
  WHERE token_address IN {addresses:Array(String)}) AS document USING (token_address)`,
  params: { addresses },
})

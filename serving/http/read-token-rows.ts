import { type TokenRow, tokensQuery } from '../queries/tokens.ts'
import type { RouteDeps } from './deps.ts'

/** Name of a token over all chains. */
export const tokenKey = (chain: string, address: string): string => `${chain}/${address}`

/** Rows of the given tokens by chain and address, one statement per chain; one that is gone meanwhile is missing. */
export const readTokenRows = async (
  { warehouse }: RouteDeps,
  tokens: readonly { readonly chain: string; readonly address: string }[],
): Promise<ReadonlyMap<string, TokenRow>> => {
  const chains = [...new Set(tokens.map(({ chain }) => chain))]
  const answers = await Promise.all(
    chains.map((chain) => {
      const own = tokens.filter((token) => token.chain === chain)
      return warehouse.query<TokenRow>(
        tokensQuery(
          chain,
          own.map(({ address }) => address),
        ),
      )
    }),
  )
  const rows = answers.flatMap((answer) => answer.rows)
  return new Map(rows.map((row) => [tokenKey(row.chain, row.token_address), row]))
}

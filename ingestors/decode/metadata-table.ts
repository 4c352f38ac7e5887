import { Malformed } from '../../core/errors.ts'
import { coinType } from '../../core/move-type.ts'
import type { PoolFact, TokenFact } from '../../schemas/events.ts'
import { type FactFile, readFactFile } from '../../schemas/fact-file.ts'
import { PROTOCOLS } from '../../schemas/protocols.ts'

/** Facts that an operator vouches for. */
export interface FactTable {
  readonly tokens: readonly TokenFact[]
  readonly pools: readonly PoolFact[]
}

/**
 * A parsed facts file: `{tokens: [{token, decimals, name, symbol, totalSupply, origin}], pools: [{pool, token0, token1,
 * protocol, factory, feePips, origin}]}`, or a list of token rows. Throws `Malformed` with the place of the first mistake.
 */
export const factTable = (json: unknown): FactTable => {
  const read = readFactFile(Array.isArray(json) ? { tokens: json } : json)
  if ('problem' in read) throw new Malformed('bad-facts', `facts: ${read.problem}`)
  const { tokens = [], pools = [] } = read.file
  return { tokens: tokens.map(tokenOf), pools: pools.map(poolOf) }
}

type TokenRow = NonNullable<FactFile['tokens']>[number]
type PoolRow = NonNullable<FactFile['pools']>[number]

/** Coin types are written in one way, other hex is kept in lower case; in base 58 case counts. */
const addressOf = (said: string): string => {
  if (said.includes('::')) return coinType(said) ?? said
  return said.startsWith('0x') ? said.toLowerCase() : said
}

const tokenOf = (row: TokenRow): TokenFact => ({
  address: addressOf(row.token),
  decimals: row.decimals ?? null,
  name: row.name ?? null,
  symbol: row.symbol ?? null,
  totalSupplyRaw: row.totalSupply === undefined ? null : BigInt(row.totalSupply),
})

const poolOf = (row: PoolRow): PoolFact => {
  if (!PROTOCOLS.some(({ id }) => id === row.protocol)) {
    throw new Malformed('bad-facts', `facts: pool ${row.pool} names no protocol of this build`)
  }
  return {
    address: addressOf(row.pool),
    tokenA: addressOf(row.token0),
    tokenB: addressOf(row.token1),
    protocol: row.protocol,
    factory: row.factory === undefined ? null : addressOf(row.factory),
    feePips: row.feePips ?? null,
    proven: true,
  }
}

import { InvalidInput } from '../../core/errors.ts'
import { normalizeCoinType } from '../../core/move-type.ts'
import type { PoolMetadata, TokenMetadata } from '../../schemas/events.ts'
import { type MetadataFile, parseMetadataFile } from '../../schemas/metadata-file.ts'
import { PROTOCOLS } from '../../schemas/protocols.ts'

/** Metadata that an operator vouches for. */
export interface MetadataTable {
  readonly tokens: readonly TokenMetadata[]
  readonly pools: readonly PoolMetadata[]
}

/**
 * A parsed metadata file: `{tokens: [{token, decimals, name, symbol, totalSupply, origin}], pools: [{pool, token0, token1,
 * protocol, factory, feePips, origin}]}`, or a list of token rows. Throws `InvalidInput` with the path of the first invalid field.
 */
export const parseMetadataTable = (json: unknown): MetadataTable => {
  const read = parseMetadataFile(Array.isArray(json) ? { tokens: json } : json)
  if ('problem' in read) throw new InvalidInput('bad-facts', `metadata file: ${read.problem}`)
  const { tokens = [], pools = [] } = read.file
  return { tokens: tokens.map(tokenOf), pools: pools.map(poolOf) }
}

type TokenRow = NonNullable<MetadataFile['tokens']>[number]
type PoolRow = NonNullable<MetadataFile['pools']>[number]

/** Coin types are written in one way, other hex is kept in lower case; in base 58 case counts. */
const addressOf = (said: string): string => {
  if (said.includes('::')) return normalizeCoinType(said) ?? said
  return said.startsWith('0x') ? said.toLowerCase() : said
}

const tokenOf = (row: TokenRow): TokenMetadata => ({
  address: addressOf(row.token),
  decimals: row.decimals ?? null,
  name: row.name ?? null,
  symbol: row.symbol ?? null,
  totalSupplyRaw: row.totalSupply === undefined ? null : BigInt(row.totalSupply),
})

const poolOf = (row: PoolRow): PoolMetadata => {
  if (!PROTOCOLS.some(({ id }) => id === row.protocol)) {
    throw new InvalidInput(
      'bad-facts',
      `metadata file: the protocol of pool ${row.pool} is unknown; expected a protocol of this build`,
    )
  }
  return {
    address: addressOf(row.pool),
    tokenA: addressOf(row.token0),
    tokenB: addressOf(row.token1),
    protocol: row.protocol,
    factory: row.factory === undefined ? null : addressOf(row.factory),
    feePips: row.feePips ?? null,
    verified: true,
  }
}

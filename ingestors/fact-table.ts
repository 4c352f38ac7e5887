import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { Malformed } from '../core/fault.ts'
import type { PoolFact, TokenFact } from '../schemas/events.ts'
import { PROTOCOLS } from '../schemas/protocols.ts'

const address = Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' })
const origin = Type.Optional(Type.String({ maxLength: 200 }))

const TokenRow = Type.Object({
  token: address,
  decimals: Type.Optional(Type.Union([Type.Integer({ minimum: 0, maximum: 255 }), Type.Null()])),
  name: Type.Optional(Type.Union([Type.String({ maxLength: 128 }), Type.Null()])),
  symbol: Type.Optional(Type.Union([Type.String({ maxLength: 64 }), Type.Null()])),
  totalSupply: Type.Optional(Type.String({ pattern: '^\\d{1,78}$' })),
  /** Where the row was taken from; for people. */
  origin,
})
const PoolRow = Type.Object({
  pool: address,
  token0: address,
  token1: address,
  protocol: Type.String(),
  factory: Type.Optional(address),
  feePips: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
  origin,
})
const FactFile = Type.Object({
  tokens: Type.Optional(Type.Array(TokenRow)),
  pools: Type.Optional(Type.Array(PoolRow)),
})

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
  const file = Array.isArray(json) ? { tokens: json } : json
  if (!Value.Check(FactFile, file)) {
    const [first] = Value.Errors(FactFile, file)
    throw new Malformed('bad-facts', `facts${first?.instancePath ?? ''}: ${first?.message ?? ''}`)
  }
  return { tokens: (file.tokens ?? []).map(tokenOf), pools: (file.pools ?? []).map(poolOf) }
}

const tokenOf = (row: Static<typeof TokenRow>): TokenFact => ({
  address: row.token.toLowerCase(),
  decimals: row.decimals ?? null,
  name: row.name ?? null,
  symbol: row.symbol ?? null,
  totalSupplyRaw: row.totalSupply === undefined ? null : BigInt(row.totalSupply),
})

const poolOf = (row: Static<typeof PoolRow>): PoolFact => {
  if (!PROTOCOLS.some(({ id }) => id === row.protocol)) {
    throw new Malformed('bad-facts', `facts: pool ${row.pool} names no protocol of this build`)
  }
  const [tokenA, tokenB] = [row.token0.toLowerCase(), row.token1.toLowerCase()]
  return {
    address: row.pool.toLowerCase(),
    tokenA,
    tokenB,
    protocol: row.protocol,
    factory: row.factory?.toLowerCase() ?? null,
    feePips: row.feePips ?? null,
    proven: true,
  }
}

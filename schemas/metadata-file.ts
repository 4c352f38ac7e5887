import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'

/** EVM and Solana addresses, Move objects with all their digits, and coins by their type. */
const address = Type.String({
  pattern:
    '^(0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44}|0x[0-9a-fA-F]{64}|0x[0-9a-fA-F]{1,64}(::\\w{1,128}){2})$',
})
const text = (maxLength: number) =>
  Type.Optional(Type.Union([Type.String({ maxLength }), Type.Null()]))
/** Where a row was taken from; for people. */
const sourceNote = Type.Optional(Type.String({ maxLength: 200 }))

const TokenRow = Type.Object({
  token: address,
  decimals: Type.Optional(Type.Union([Type.Integer({ minimum: 0, maximum: 255 }), Type.Null()])),
  name: text(128),
  symbol: text(64),
  totalSupply: Type.Optional(Type.String({ pattern: '^\\d{1,78}$' })),
  origin: sourceNote,
})
const PoolRow = Type.Object({
  pool: address,
  token0: address,
  token1: address,
  protocol: Type.String({ minLength: 1 }),
  factory: Type.Optional(address),
  feePips: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
  origin: sourceNote,
})

/** Facts that an operator vouches for where no node can be asked. */
const MetadataFile = Type.Object({
  tokens: Type.Optional(Type.Array(TokenRow)),
  pools: Type.Optional(Type.Array(PoolRow)),
})
export type MetadataFile = Static<typeof MetadataFile>

/** Checks a parsed facts file; `problem` names the first mistake and its place. */
export const parseMetadataFile = (
  json: unknown,
): { readonly file: MetadataFile } | { readonly problem: string } => {
  if (Value.Check(MetadataFile, json)) return { file: json }
  const [first] = Value.Errors(MetadataFile, json)
  return { problem: `${first?.instancePath ?? ''} ${first?.message ?? 'is not a facts file'}` }
}

import { type Static, Type } from 'typebox'
import { TokenStats } from './stats.ts'
import { TokenMarketData, TokenMetadata } from './token.ts'

/** A token that a wallet made. */
export const DevToken = Type.Object({
  address: Type.String(),
  metadata: TokenMetadata,
  marketData: TokenMarketData,
  stats: TokenStats,
})
export type DevToken = Static<typeof DevToken>

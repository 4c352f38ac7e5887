import { type Static, Type } from 'typebox'
import { namedObject } from './common.ts'
import { TokenStats } from './stats.ts'
import { TokenMarketData, TokenMetadata } from './token.ts'

/** A token that a wallet made. */
export const DevToken = namedObject('DevToken', {
  address: Type.String(),
  metadata: TokenMetadata,
  marketData: TokenMarketData,
  stats: TokenStats,
})
export type DevToken = Static<typeof DevToken>

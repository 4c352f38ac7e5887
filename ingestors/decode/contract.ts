import type { DecodedBlock, PoolMetadata, TokenMetadata } from '../../schemas/events.ts'
import type { ProtocolRegistry } from './protocol-registry.ts'

/** What decoding may look up. */
export interface DecodeContext {
  /**
   * `facts`: a pool counts when its fact is `verified`. `evidence` (no node): also when its transaction shows tokens going
   * in and out of it, or, V2-shaped, its own `Sync`. A Solana program proves its pools itself.
   */
  readonly verification: 'facts' | 'evidence'
  readonly protocols: ProtocolRegistry
  pool(address: string): PoolMetadata | undefined
  /** Names the tokens that EVM transactions make; without it they are born nameless. */
  token?(address: string): TokenMetadata | undefined
  /** Square root price of a pool before the block, of those in `RequiredLookups.prices`; undefined: unknown. */
  price?(pool: string): bigint | undefined
}

/** A pool of a contract that holds many, whose price before the block its events need. */
export interface PriceLookup {
  readonly pool: string
  /** Who keeps it, and whose kind of contract that is. */
  readonly manager: string
  readonly family: string
}

/** Whose facts a block's events need. */
export interface RequiredLookups {
  readonly pools: readonly { readonly address: string; readonly family: string }[]
  readonly tokens: readonly string[]
  readonly prices?: readonly PriceLookup[]
}

/** Decoded events of a block while they are collected. */
export type DecodedBlockBuilder = { [K in keyof DecodedBlock]: DecodedBlock[K][number][] }

/** A block of which nothing was decoded yet. */
export const emptyDecodedBlock = (): DecodedBlockBuilder => ({
  swaps: [],
  poolChanges: [],
  transfers: [],
  balances: [],
  supplies: [],
  tokenCreations: [],
  migrations: [],
  predictions: [],
  outcomeChanges: [],
  redPackets: [],
  pools: [],
  dropped: [],
})

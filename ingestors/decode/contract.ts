import type { DecodedBlock, PoolMetadata, TokenMetadata } from '../../schemas/events.ts'
import type { ProtocolRegistry } from './protocol-registry.ts'

/** What decoding may look up. */
export interface DecodeContext {
  /**
   * `facts`: a pool counts when its metadata is `verified`. `evidence` (no node): also when its transaction shows tokens going
   * in and out of it, or, V2-shaped, its own `Sync`. A Solana program proves its pools itself.
   */
  readonly verification: 'facts' | 'evidence'
  readonly protocols: ProtocolRegistry
  pool(address: string): PoolMetadata | undefined
  /** Names the tokens that EVM transactions make; without it they are created nameless. */
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

/** Tokens and pools whose metadata a block's events need. */
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
  labelChanges: [],
  pools: [],
  dropped: [],
})

/** Facts that a node or a file gave, by address. */
export interface Facts {
  readonly token: (address: string) => TokenMetadata | undefined
  readonly pool: (address: string) => PoolMetadata | undefined
}

/** Facts of one block. */
export interface FetchedMetadata {
  readonly tokens: readonly TokenMetadata[]
  readonly pools: readonly PoolMetadata[]
  /** Names that tokens gave and that cannot be displayed. */
  readonly unread?: readonly UnreadName[]
}

/** What a token answered for its name or symbol. */
export interface UnreadName {
  readonly address: string
  readonly reason: string
  /** The beginning of the answer. */
  readonly said: string
}

/** Source of a token's metadata: the node's own answers, or rows that the operator gave. */
export type MetadataSource = 'node' | 'file'

/** Running amounts that are kept from block to block; undefined = nothing is kept under that name. */
export type StoredAmounts = (key: string) => bigint | undefined

/** Running amounts while a block is folded into them. */
export interface RunningAmounts {
  readonly get: StoredAmounts
  /** null = forget. */
  readonly set: (key: string, value: bigint | null) => void
}

/** Running amounts of tokens. */
export interface TokenAmounts extends RunningAmounts {
  /** The token's creation was seen: everything it ever did is known. */
  readonly isWhole: (token: string) => boolean
}

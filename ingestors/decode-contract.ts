import type { Decoded, PoolFact, TokenFact } from '../schemas/events.ts'
import type { ProtocolBook } from './protocols/book.ts'

/** What decoding may look up. */
export interface Books {
  /**
   * `facts`: a pool counts when its fact is `proven`. `evidence` (no node, R39): also when its transaction shows tokens going
   * in and out of it, or, V2-shaped, its own `Sync`. A Solana program proves its pools itself.
   */
  readonly proof: 'facts' | 'evidence'
  readonly protocols: ProtocolBook
  pool(address: string): PoolFact | undefined
  /** Names the tokens that EVM transactions make; without it they are born nameless. */
  token?(address: string): TokenFact | undefined
}

/** Whose facts a block's events need. */
export interface Subjects {
  readonly pools: readonly { readonly address: string; readonly family: string }[]
  readonly tokens: readonly string[]
}

/** Decoded events of a block while they are collected. */
export type Draft = { [K in keyof Decoded]: Decoded[K][number][] }

/** A block of which nothing was decoded yet. */
export const emptyDraft = (): Draft => ({
  swaps: [],
  poolChanges: [],
  transfers: [],
  balances: [],
  supplies: [],
  births: [],
  migrations: [],
  predictions: [],
  pools: [],
  dropped: [],
})

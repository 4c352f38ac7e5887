import type { QuoteAssets } from '../../core/prices/quote-assets.ts'
import type { PriceEntry } from '../../core/prices/quote-state.ts'
import type { ReferencePool } from '../../schemas/chains.ts'
import type { Block } from '../../schemas/events.ts'
import type { MetadataReader } from '../decode/metadata-reader.ts'
import type { ProtocolRegistry } from '../decode/protocol-registry.ts'
import type { SeedPriceAt } from '../decode/seed-prices.ts'
import type { RejectedResponse } from '../input/rejected-responses.ts'
import type { Head } from './head-tracker.ts'

/** Names one block. */
export interface BlockRef {
  readonly height: number
  readonly hash: string
  readonly parentHash: string
  readonly timeMs: number
}

/** One operation of a chain, in order: what the ingestor commits, one transaction each. */
export type ChainOp =
  | { readonly op: 'apply'; readonly block: Block }
  /** The newest applied block is no longer canonical. */
  | { readonly op: 'revert'; readonly ref: BlockRef }
  /** Every block up to and including this one is final. */
  | { readonly op: 'finalize'; readonly ref: BlockRef }

/** Where to continue: the applied blocks that are not final, oldest first, the newest last; the last one is the cursor. */
export interface Position {
  readonly stack: readonly BlockRef[]
  /** Newest final block, null before the first FINALIZE. */
  readonly final: BlockRef | null
  /** Blocks that are not final lie below the stack: they are beyond the window and cannot be taken back, nor can its oldest. */
  readonly truncated?: boolean
  /** Height to continue at where the stack is empty: every block so far was taken back. */
  readonly from?: number
}

/** What a node tells beside its blocks. */
export interface NodeAnswers {
  metadataReader(protocols: ProtocolRegistry): MetadataReader
  /** Prices of quote assets from the state of their reference pools; a pool that cannot be read is passed over. */
  seedPrices(
    pools: readonly ReferencePool[],
    quoteAssets: QuoteAssets,
    at: SeedPriceAt,
  ): Promise<readonly PriceEntry[]>
}

/** How sure a chain is of the blocks that are read from it: processed, confirmed, or finalized. */
export type Commitment = 'processed' | 'confirmed' | 'finalized'

/** A chain to follow: a node, or recorded files. */
export interface Source {
  /** What the data comes from, e.g. genesis hash; a data folder belongs to one origin. */
  readonly origin: string
  /** Time of the block that a first run starts with, where the source knows it. */
  readonly startMs?: number
  /** At which its blocks are read. */
  readonly commitment: Commitment
  /** True: heights need not be contiguous (recorded files). */
  readonly gaps: boolean
  /** null: no node to ask; metadata comes from the caller's tables. */
  readonly node: NodeAnswers | null
  /**
   * Operations after `position`, endless unless the source is a recording. `null` position: from the configured start.
   * Throws `Outage` (retry later) or `InvalidInput` (a block no endpoint gives in shape); the caller decides.
   */
  operations(position: Position | null, signal: AbortSignal): AsyncIterable<ChainOp>
  /** Head of the node as last seen, for lag and progress; null before the first answer. */
  head(): Head | null
  /** What nodes said since the last time and was not taken; recordings have none. */
  takeRejectedResponses?(): readonly RejectedResponse[]
}

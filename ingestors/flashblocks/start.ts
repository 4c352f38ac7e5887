import type { Bus } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { QuoteAssets } from '../../core/prices/quote-assets.ts'
import type { ChainRow } from '../../schemas/chains.ts'
import { type MetadataReader, readTableMetadata } from '../decode/metadata-reader.ts'
import type { ProtocolRegistry } from '../decode/protocol-registry.ts'
import type { Source } from '../follow/contract.ts'
import type { RejectedResponses } from '../input/rejected-responses.ts'
import type { Session } from '../publish/session.ts'
import { followFlashblocks } from './worker.ts'

/** Where the pre-confirmed blocks of a chain are streamed from. */
export interface FlashblocksFeed {
  readonly url: string
  /** Limit of the handshake. */
  readonly timeoutMs: number
}

/** What pre-confirmed blocks are decoded with, and where what is wrong with them goes. */
export interface FlashblocksParts {
  readonly quoteAssets: QuoteAssets
  readonly protocols: ProtocolRegistry
  readonly rejectedResponses: RejectedResponses
}

/** The ingestor whose chain's pre-confirmed blocks are followed; without `flashblocks` none are. */
export interface PendingFollowerOptions {
  readonly chain: ChainRow
  readonly source: Source
  readonly flashblocks?: FlashblocksFeed
  readonly bus: Bus
  readonly codec: Codec
  /** Default: the source's node, or nothing where it has none. */
  readonly metadata?: MetadataReader
  readonly metrics: Metrics
  readonly log: Logger
  readonly nowMs?: () => number
}

/** Follows the pre-confirmed blocks of an ingestor's chain beside the chain itself, where there is a feed of them. Never rejects. */
export const startPendingFollower = async (
  options: PendingFollowerOptions,
  { quoteAssets, protocols, rejectedResponses }: FlashblocksParts,
  session: Session,
  signal: AbortSignal,
): Promise<void> => {
  const { chain, source, flashblocks, bus, codec, metrics, log, nowMs = Date.now } = options
  const { chainId } = chain
  if (flashblocks === undefined || chainId === undefined) return
  await followFlashblocks(
    {
      ...flashblocks,
      bus,
      codec,
      metrics,
      log,
      nowMs,
      quoteAssets,
      protocols,
      rejectedResponses,
      chain: { ...chain, chainId },
      metadata: options.metadata ?? source.node?.metadataReader(protocols) ?? readTableMetadata(),
      base: () => {
        const { seq, tip } = session.head()
        return tip === null ? null : { seq, tip, known: session.known }
      },
      head: () => source.head()?.height ?? null,
    },
    signal,
  )
}

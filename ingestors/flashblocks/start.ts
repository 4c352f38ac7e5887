import type { QuoteAssets } from '../../core/prices/quote-assets.ts'
import { readTableMetadata } from '../decode/metadata-reader.ts'
import type { ProtocolRegistry } from '../decode/protocol-registry.ts'
import type { RejectedResponses } from '../input/rejected-responses.ts'
import type { Session } from '../publish/session.ts'
import type { IngestorOptions } from '../start.ts'
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

/** Follows the pre-confirmed blocks of an ingestor's chain beside the chain itself, where there is a feed of them. Never rejects. */
export const startPendingFollower = async (
  options: IngestorOptions,
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
      metadata: options.metadata ?? source.node?.facts(protocols) ?? readTableMetadata(),
      base: () => {
        const { seq, tip } = session.standing()
        return tip === null ? null : { seq, tip, known: session.known }
      },
      head: () => source.head()?.height ?? null,
    },
    signal,
  )
}

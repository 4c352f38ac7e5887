import type { Metrics } from '../../core/ops/metrics.ts'
import type { PriceEntry } from '../../core/prices/quote-state.ts'
import type { Block } from '../../schemas/events.ts'
import { blockDeadLetters, namelessSwaps } from '../dead-letters/dead-letters.ts'
import { fetchMissing, type MetadataReader, withFetched } from '../decode/metadata-reader.ts'
import type { ProtocolRegistry } from '../decode/protocol-registry.ts'
import { parentHeightOf } from '../follow/chain-position.ts'
import type { RejectedResponse } from '../input/rejected-responses.ts'
import { decodeBlock, requiredLookups } from '../vm/decode-block.ts'
import type { ReadBlock } from './block-operation.ts'
import type { Ledger } from './metadata-store.ts'
import { countRejectedParts } from './metrics.ts'

/** What a block is read with. */
export interface BlockReading {
  readonly protocols: ProtocolRegistry
  readonly metadataReader: MetadataReader
  /** Prices to start with at a start and across a gap. */
  readonly seedPrices: (block: Block, signal: AbortSignal) => Promise<readonly PriceEntry[]>
  /** What nodes said meanwhile and was not taken. */
  readonly takeRejectedResponses?: () => readonly RejectedResponse[]
  readonly metrics: Metrics
}

/** Everything that is asked and decoded before a block can be committed. */
export const readBlock = async (
  { metadataReader, protocols, seedPrices, takeRejectedResponses, metrics }: BlockReading,
  ledger: Ledger,
  block: Block,
  signal: AbortSignal,
): Promise<Omit<ReadBlock, 'expired'>> => {
  const lookups = requiredLookups(block, protocols)
  const fetched = await fetchMissing(
    { reader: metadataReader, known: ledger },
    lookups,
    block,
    signal,
  )
  const { pool, token } = withFetched(ledger, fetched)
  const priceLookups = (lookups.prices ?? []).filter((each) => pool(each.pool)?.verified)
  const prices =
    priceLookups.length > 0 ? await metadataReader.prices?.(priceLookups, block, signal) : undefined
  const price = (address: string) => prices?.get(address)
  const context = { verification: metadataReader.verification, protocols, pool, token, price }
  const decoded = decodeBlock(block, context)
  const { clock } = ledger.quotes()
  const contiguous = clock?.height === parentHeightOf(block)
  const dropped = [...decoded.dropped, ...namelessSwaps(decoded.swaps, block)]
  const unread = fetched.unread ?? []
  countRejectedParts(metrics, block, { dropped, unread, lookups, pools: fetched.pools })
  return {
    block,
    fetched,
    decoded,
    origin: metadataReader.metadataSource,
    seedPrices: contiguous ? [] : await seedPrices(block, signal),
    deadLetters: blockDeadLetters(block, {
      dropped,
      unread,
      rejectedResponses: takeRejectedResponses?.() ?? [],
      context,
    }),
  }
}

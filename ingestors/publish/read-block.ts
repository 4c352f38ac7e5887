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
import { countUntaken } from './metrics.ts'

/** What a block is read with. */
export interface BlockReading {
  readonly protocols: ProtocolRegistry
  readonly facts: MetadataReader
  /** Prices to start with at a start and across a gap. */
  readonly primes: (block: Block, signal: AbortSignal) => Promise<readonly PriceEntry[]>
  /** What nodes said meanwhile and was not taken. */
  readonly takeRejectedResponses?: () => readonly RejectedResponse[]
  readonly metrics: Metrics
}

/** Everything that is asked and decoded before a block can be committed. */
export const readBlock = async (
  { facts, protocols, primes, takeRejectedResponses, metrics }: BlockReading,
  ledger: Ledger,
  block: Block,
  signal: AbortSignal,
): Promise<Omit<ReadBlock, 'expired'>> => {
  const subjects = requiredLookups(block, protocols)
  const learned = await fetchMissing({ reader: facts, known: ledger }, subjects, block, signal)
  const { pool, token } = withFetched(ledger, learned)
  const asked = (subjects.prices ?? []).filter((each) => pool(each.pool)?.verified)
  const prices = asked.length > 0 ? await facts.prices?.(asked, block, signal) : undefined
  const price = (address: string) => prices?.get(address)
  const books = { verification: facts.verification, protocols, pool, token, price }
  const decoded = decodeBlock(block, books)
  const { clock } = ledger.quotes()
  const contiguous = clock?.height === parentHeightOf(block)
  const dropped = [...decoded.dropped, ...namelessSwaps(decoded.swaps, block)]
  const unread = learned.unread ?? []
  countUntaken(metrics, block, { dropped, unread, subjects, pools: learned.pools })
  return {
    block,
    learned,
    decoded,
    origin: facts.metadataSource,
    primes: contiguous ? [] : await primes(block, signal),
    letters: blockDeadLetters(block, {
      dropped,
      unread,
      rejectedResponses: takeRejectedResponses?.() ?? [],
      context: books,
    }),
  }
}

import { LRUCache } from 'lru-cache'
import type { Bus } from '../../core/bus/contract.ts'
import { partitionOf } from '../../core/bus/partitioner.ts'
import { Outage } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import { TOPICS, topicName } from '../../schemas/topics.ts'
import type { Hub } from './hub.ts'
import type { TokenMetadata } from './publication.ts'

/** Tokens in memory; a token beyond that is published without a name. */
const MAX_TOKEN_NAMES = 200_000
/** By size: with `max` the cache would take the memory of all of them at once. */
export const TOKEN_CACHE = { maxSize: MAX_TOKEN_NAMES, sizeCalculation: () => 1 }
/** Longest name or symbol that is passed on. */
const MAX_TOKEN_NAME_LENGTH = 256

/** Topics with names of tokens that the ingestor commits before or with the first trade of a token. */
const INGESTED_NAME_TOPICS = ['tokens', 'tokenMetadata'] as const
/** Suffixes of all topics with names of tokens. */
export const NAME_SUFFIXES: ReadonlySet<string> = new Set(
  (['tokensProcessed', ...INGESTED_NAME_TOPICS] as const).map((topic) => TOPICS[topic].suffix),
)
/** Offsets at the end of a partition that are read for a name. Older tokens are in `tokens.processed`. */
const MAX_OFFSETS_PER_LOOKUP = 500

const NO_TOKENS: readonly string[] = []

/** Names, symbols and decimals of tokens, by chain. */
export class TokenNames {
  readonly #names = new LRUCache<string, TokenMetadata>(TOKEN_CACHE)
  /** Tokens that were looked up without a result. */
  readonly #unresolved = new LRUCache<string, true>(TOKEN_CACHE)
  /** Tokens by their key among the unresolved. */
  readonly #missing = new Map<string, string>()

  get(chain: string, token: string): TokenMetadata | undefined {
    const key = `${chain}/${token}`
    const known = this.#names.get(key)
    if (known === undefined && !this.#unresolved.has(key)) {
      this.#unresolved.set(key, true)
      this.#missing.set(key, token)
    }
    return known
  }

  /** A blank name replaces no other: an event of a token may tell only what changed. */
  learn(chain: string, token: string, { name, symbol, decimals }: TokenMetadata): void {
    const key = `${chain}/${token}`
    if (name === '' && symbol === '' && this.#names.has(key)) return
    const cut = (text: string): string => (text.length > MAX_TOKEN_NAME_LENGTH ? '' : text)
    this.#names.set(key, { name: cut(name), symbol: cut(symbol), decimals })
  }

  /** Tokens without a name that were asked for since the last call: those of one record. Each is given once. */
  takeMissing(): readonly string[] {
    if (this.#missing.size === 0) return NO_TOKENS
    const missing = [...this.#missing.values()]
    this.#missing.clear()
    return missing
  }

  /** Forgets the tokens that a record asked for which was left out: the next record that names them asks again. */
  dropMissing(): void {
    for (const key of this.#missing.keys()) this.#unresolved.delete(key)
    this.#missing.clear()
  }
}

/**
 * Reads names from the topics of the ingestor into the hub. The processor writes `tokens.processed` and the trades of the same
 * block independently, so a trade may arrive first; the ingestor commits both in one transaction.
 */
export const createNameReader = (
  { bus, hub, log }: { readonly bus: Bus; readonly hub: Hub; readonly log: Logger },
  chain: string,
) => {
  const next = new Map<string, number>()
  const readTopic = async (topic: string, tokens: readonly string[]): Promise<void> => {
    const bounds = await bus.ends(topic)
    const wanted = new Set(tokens.map((token) => partitionOf(token, bounds.length)))
    for (const { partition, low, end } of bounds) {
      if (!wanted.has(partition)) continue
      const at = `${topic}/${partition}`
      const from = Math.max(low, end - MAX_OFFSETS_PER_LOOKUP, next.get(at) ?? 0)
      for await (const record of bus.read(topic, partition, from, end)) hub.accept(record)
      next.set(at, end)
    }
  }
  return async (tokens: readonly string[]): Promise<void> => {
    try {
      for (const topic of INGESTED_NAME_TOPICS) await readTopic(topicName(topic, chain), tokens)
    } catch (error) {
      if (!(error instanceof Outage)) throw error
      log.warn({ err: error, chain }, 'failed to read token names, publishing trades without them')
    }
  }
}

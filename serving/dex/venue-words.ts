import { Fault } from '../../core/errors.ts'
import { isVenue, PROTOCOLS, type ProtocolRow } from '../../schemas/protocols.ts'
import type { PoolGraph } from './pool-graph.ts'
import type { ChainVenues } from './quotable-protocols.ts'

/** Words that ask for the best of all venues, and the chains that each is for; `null` = every chain. */
const AGGREGATE_WORDS: Readonly<Record<string, 'svm' | 'evm' | null>> = {
  auto: null,
  jupiter: 'svm',
  kyberswap: 'evm',
}

/** Words of the interface for venues of Solana that are not ids of protocols, and the protocols that each stands for. */
const SOLANA_WORDS: Readonly<Record<string, readonly string[]>> = {
  raydium: ['raydium_amm_v4', 'raydium_cpmm'],
  pumpfun: ['pump_fun', 'pumpswap'],
  orca: ['orca_whirlpool'],
  meteora: ['meteora_dlmm'],
  moonshot: [],
  candy: [],
  launchpad: [],
}

/**
 * The protocols that `dex` names; undefined for all of them. Throws `Fault` DEX_NOT_FOUND for an unknown word, or a venue that the
 * chain does not have, and DEX_NOT_SUPPORTED for one whose pools cannot be quoted here.
 */
export const parseVenue = (
  word: string,
  vm: 'evm' | 'svm' | 'move',
  venues: ChainVenues,
): ReadonlySet<string> | undefined => {
  const details = {
    parameter: 'dex',
    value: word.slice(0, 64),
    allowed_values: allowed(vm, venues),
  }
  if (Object.hasOwn(AGGREGATE_WORDS, word)) {
    const only = AGGREGATE_WORDS[word]
    if (only === null || only === vm) return undefined
    throw new Fault('DEX_NOT_FOUND', undefined, details)
  }
  if (vm === 'svm' && Object.hasOwn(SOLANA_WORDS, word)) {
    const named = SOLANA_WORDS[word]?.filter((id) => venues.quotable.has(id)) ?? []
    if (named.length > 0) return new Set(named)
    throw new Fault('DEX_NOT_SUPPORTED', undefined, details)
  }
  const rows: readonly ProtocolRow[] = PROTOCOLS
  if (!rows.some((row) => row.id === word && isVenue(row)) || !venues.ids.has(word)) {
    throw new Fault('DEX_NOT_FOUND', undefined, details)
  }
  if (!venues.quotable.has(word)) throw new Fault('DEX_NOT_SUPPORTED', undefined, details)
  return new Set([word])
}

const allowed = (vm: string, { quotable }: ChainVenues): readonly string[] => [
  ...Object.keys(AGGREGATE_WORDS).filter((word) => (AGGREGATE_WORDS[word] ?? vm) === vm),
  ...Object.keys(vm === 'svm' ? SOLANA_WORDS : {}).filter((word) =>
    SOLANA_WORDS[word]?.some((id) => quotable.has(id)),
  ),
  ...quotable,
]

/** The pools of a graph that `wanted` lets through. */
export const filterGraph = (
  graph: PoolGraph,
  wanted: (pool: ReturnType<PoolGraph['poolsOf']>[number]) => boolean,
): PoolGraph => ({
  // Too many to look at the pools of each: a search finds none for those that are not wanted.
  neighbours: graph.neighbours,
  poolsOf: (token, other, alsoWanted) =>
    graph.poolsOf(token, other, (pool) => wanted(pool) && (alsoWanted?.(pool) ?? true)),
  ...(graph.failed && { failed: graph.failed }),
})

import type { Block, PoolMetadata, TokenMetadata } from '../../schemas/events.ts'
import type { Facts, FetchedMetadata } from '../publish/metadata-store.ts'
import type { MetadataSource } from '../to-wire/tokens.ts'
import type { DecodeContext, PriceLookup, RequiredLookups } from './contract.ts'

/** Where facts come from. */
export interface MetadataReader {
  readonly metadataSource: MetadataSource
  /** What a swap needs to count: see `DecodeContext`. */
  readonly verification: DecodeContext['verification']
  /** Facts of subjects, as of the block's own hash; what nothing is known of is left out. Aborts with the signal. */
  read(subjects: RequiredLookups, block: Block, signal: AbortSignal): Promise<FetchedMetadata>
  /** Square root prices of pools as of the block's parent; those without state are left out. Absent: no node is asked. */
  prices?(
    asked: readonly PriceLookup[],
    block: Block,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, bigint>>
}

/** Facts that an operator gave; nothing is asked of anyone. */
export const readTableMetadata = (
  tokens: readonly TokenMetadata[] = [],
  pools: readonly PoolMetadata[] = [],
): MetadataReader => {
  const tokenRows = new Map(tokens.map((metadata) => [metadata.address, metadata]))
  const poolRows = new Map(pools.map((metadata) => [metadata.address, metadata]))
  return {
    metadataSource: 'file',
    verification: 'evidence',
    read: async (subjects) => ({
      tokens: subjects.tokens.flatMap((address) => tokenRows.get(address) ?? []),
      pools: subjects.pools.flatMap(({ address }) => poolRows.get(address) ?? []),
    }),
  }
}

/** Subjects that the ledger knows nothing of. */
const missingLookups = (subjects: RequiredLookups, known: Facts): RequiredLookups => ({
  pools: subjects.pools.filter(({ address }) => known.pool(address) === undefined),
  tokens: subjects.tokens.filter((address) => known.token(address) === undefined),
})

/** Facts of one block over those that were known before. */
export const withFetched = (known: Facts, { tokens, pools }: FetchedMetadata): Facts => {
  const newTokens = new Map(tokens.map((metadata) => [metadata.address, metadata]))
  const newPools = new Map(pools.map((metadata) => [metadata.address, metadata]))
  return {
    token: (address) => newTokens.get(address) ?? known.token(address),
    pool: (address) => newPools.get(address) ?? known.pool(address),
  }
}

/**
 * What a block needs and the ledger lacks: first its pools, then its tokens with those of its pools. A fact is asked for
 * once and travels in the transaction of the block that first needed it.
 */
export const fetchMissing = async (
  { reader, known }: { readonly reader: MetadataReader; readonly known: Facts },
  subjects: RequiredLookups,
  block: Block,
  signal: AbortSignal,
): Promise<FetchedMetadata> => {
  const missing = missingLookups(subjects, known)
  const { pools } =
    missing.pools.length === 0
      ? { pools: [] }
      : await reader.read({ pools: missing.pools, tokens: [] }, block, signal)
  const facts = withFetched(known, { pools, tokens: [] })
  const ofPools = subjects.pools.flatMap(({ address }) => {
    const metadata = facts.pool(address)
    if (metadata === undefined || !metadata.verified) return []
    return [
      ...(metadata.coins ?? [metadata.tokenA, metadata.tokenB]),
      ...(metadata.underlying ?? []),
    ]
  })
  const wanted = [...new Set([...subjects.tokens, ...ofPools])]
  const lacking = missingLookups({ pools: [], tokens: wanted }, known)
  if (lacking.tokens.length === 0) return { pools, tokens: [] }
  const { tokens, unread = [] } = await reader.read(lacking, block, signal)
  return { pools, tokens, ...(unread.length > 0 && { unread }) }
}

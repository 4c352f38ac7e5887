import type { Block, PoolMetadata, TokenMetadata } from '../../schemas/events.ts'
import type {
  DecodeContext,
  Facts,
  FetchedMetadata,
  MetadataSource,
  PriceLookup,
  RequiredLookups,
} from './contract.ts'

/** A source of token and pool metadata. */
export interface MetadataReader {
  readonly metadataSource: MetadataSource
  /** What a swap needs to count: see `DecodeContext`. */
  readonly verification: DecodeContext['verification']
  /** Metadata of the requested tokens and pools, as of the block's own hash; what nothing is known of is left out. Aborts with the signal. */
  read(lookups: RequiredLookups, block: Block, signal: AbortSignal): Promise<FetchedMetadata>
  /** Square root prices of pools as of the block's parent; those without state are left out. Absent: no node is asked. */
  prices?(
    lookups: readonly PriceLookup[],
    block: Block,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, bigint>>
}

/** Metadata that an operator gave; no node is called. */
export const readTableMetadata = (
  tokens: readonly TokenMetadata[] = [],
  pools: readonly PoolMetadata[] = [],
): MetadataReader => {
  const tokenRows = new Map(tokens.map((metadata) => [metadata.address, metadata]))
  const poolRows = new Map(pools.map((metadata) => [metadata.address, metadata]))
  return {
    metadataSource: 'file',
    verification: 'evidence',
    read: async (lookups) => ({
      tokens: lookups.tokens.flatMap((address) => tokenRows.get(address) ?? []),
      pools: lookups.pools.flatMap(({ address }) => poolRows.get(address) ?? []),
    }),
  }
}

/** Lookups of what the ledger does not hold. */
const missingLookups = (lookups: RequiredLookups, known: Facts): RequiredLookups => ({
  pools: lookups.pools.filter(({ address }) => known.pool(address) === undefined),
  tokens: lookups.tokens.filter((address) => known.token(address) === undefined),
})

/** Metadata of one block over what was known before. */
export const withFetched = (known: Facts, { tokens, pools }: FetchedMetadata): Facts => {
  const newTokens = new Map(tokens.map((metadata) => [metadata.address, metadata]))
  const newPools = new Map(pools.map((metadata) => [metadata.address, metadata]))
  return {
    token: (address) => newTokens.get(address) ?? known.token(address),
    pool: (address) => newPools.get(address) ?? known.pool(address),
  }
}

/**
 * What a block needs and the ledger lacks: first its pools, then its tokens with those of its pools. Metadata is fetched
 * once and travels in the transaction of the block that first needed it.
 */
export const fetchMissing = async (
  { reader, known }: { readonly reader: MetadataReader; readonly known: Facts },
  lookups: RequiredLookups,
  block: Block,
  signal: AbortSignal,
): Promise<FetchedMetadata> => {
  const missing = missingLookups(lookups, known)
  const { pools } =
    missing.pools.length === 0
      ? { pools: [] }
      : await reader.read({ pools: missing.pools, tokens: [] }, block, signal)
  const withPools = withFetched(known, { pools, tokens: [] })
  const poolTokens = lookups.pools.flatMap(({ address }) => {
    const metadata = withPools.pool(address)
    if (metadata === undefined || !metadata.verified) return []
    return [
      ...(metadata.coins ?? [metadata.tokenA, metadata.tokenB]),
      ...(metadata.underlying ?? []),
    ]
  })
  const wanted = [...new Set([...lookups.tokens, ...poolTokens])]
  const missingTokens = missingLookups({ pools: [], tokens: wanted }, known)
  if (missingTokens.tokens.length === 0) return { pools, tokens: [] }
  const { tokens, unread = [] } = await reader.read(missingTokens, block, signal)
  return { pools, tokens, ...(unread.length > 0 && { unread }) }
}

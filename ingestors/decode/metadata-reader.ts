import type { Block, PoolMetadata, TokenMetadata } from '../../schemas/events.ts'
import type { Facts, Learned } from '../publish/metadata-store.ts'
import type { FactOrigin } from '../to-wire/tokens.ts'
import type { Books, PriceSubject, Subjects } from './contract.ts'

/** Where facts come from. */
export interface FactReader {
  readonly origin: FactOrigin
  /** What a swap needs to count: see `Books`. */
  readonly proof: Books['proof']
  /** Facts of subjects, as of the block's own hash; what nothing is known of is left out. Aborts with the signal. */
  read(subjects: Subjects, block: Block, signal: AbortSignal): Promise<Learned>
  /** Square root prices of pools as of the block's parent; who is not there is not told. Absent: no node is asked. */
  prices?(
    asked: readonly PriceSubject[],
    block: Block,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, bigint>>
}

/** Facts that an operator gave; nothing is asked of anyone. */
export const tableFacts = (
  tokens: readonly TokenMetadata[] = [],
  pools: readonly PoolMetadata[] = [],
): FactReader => {
  const tokenRows = new Map(tokens.map((fact) => [fact.address, fact]))
  const poolRows = new Map(pools.map((fact) => [fact.address, fact]))
  return {
    origin: 'file',
    proof: 'evidence',
    read: async (subjects) => ({
      tokens: subjects.tokens.flatMap((address) => tokenRows.get(address) ?? []),
      pools: subjects.pools.flatMap(({ address }) => poolRows.get(address) ?? []),
    }),
  }
}

/** Subjects that the ledger knows nothing of. */
const unknownSubjects = (subjects: Subjects, known: Facts): Subjects => ({
  pools: subjects.pools.filter(({ address }) => known.pool(address) === undefined),
  tokens: subjects.tokens.filter((address) => known.token(address) === undefined),
})

/** Facts of one block over those that were known before. */
export const withLearned = (known: Facts, { tokens, pools }: Learned): Facts => {
  const newTokens = new Map(tokens.map((fact) => [fact.address, fact]))
  const newPools = new Map(pools.map((fact) => [fact.address, fact]))
  return {
    token: (address) => newTokens.get(address) ?? known.token(address),
    pool: (address) => newPools.get(address) ?? known.pool(address),
  }
}

/**
 * What a block needs and the ledger lacks: first its pools, then its tokens with those of its pools. A fact is asked for
 * once and travels in the transaction of the block that first needed it.
 */
export const learn = async (
  { reader, known }: { readonly reader: FactReader; readonly known: Facts },
  subjects: Subjects,
  block: Block,
  signal: AbortSignal,
): Promise<Learned> => {
  const missing = unknownSubjects(subjects, known)
  const { pools } =
    missing.pools.length === 0
      ? { pools: [] }
      : await reader.read({ pools: missing.pools, tokens: [] }, block, signal)
  const facts = withLearned(known, { pools, tokens: [] })
  const ofPools = subjects.pools.flatMap(({ address }) => {
    const fact = facts.pool(address)
    if (fact === undefined || !fact.proven) return []
    return [...(fact.coins ?? [fact.tokenA, fact.tokenB]), ...(fact.underlying ?? [])]
  })
  const wanted = [...new Set([...subjects.tokens, ...ofPools])]
  const lacking = unknownSubjects({ pools: [], tokens: wanted }, known)
  if (lacking.tokens.length === 0) return { pools, tokens: [] }
  const { tokens, unread = [] } = await reader.read(lacking, block, signal)
  return { pools, tokens, ...(unread.length > 0 && { unread }) }
}

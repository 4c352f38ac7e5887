import { LRUCache } from 'lru-cache'
import { base58Decode } from '../../../core/base58.ts'
import { findProgramAddress } from '../../../core/program-derived-address.ts'
import type { TokenMetadata } from '../../../schemas/events.ts'
import type { MetadataReader } from '../../decode/metadata-reader.ts'
import { PROGRAM_IDS } from '../programs/programs.ts'
import type { AccountInfo, AccountReader } from './accounts.ts'
import { metaplexMetadata, parseMintAccount, token2022Metadata } from './mint-metadata.ts'

/** Blocks before a mint that was not there is asked for again. */
const RETRY_MISSING_AFTER_BLOCKS = 256
/** Mints that are remembered as not there. */
const MAX_MISSING_MINTS = 20_000

const METADATA_SEED = Buffer.from('metadata')

/**
 * Metadata of tokens that existed before the block that first names them, as they are now: a Solana node has no state of earlier
 * slots, so a supply that is fetched while catching up is that of the head. Names come from the mint itself
 * (Token-2022) or from its Metaplex account. Pools are verified by their program and never asked for.
 */
export const svmMetadataReader = (accounts: AccountReader): MetadataReader => {
  const silent = new LRUCache<string, number>({ max: MAX_MISSING_MINTS })
  return {
    metadataSource: 'node',
    verification: 'facts',
    read: async ({ tokens }, { height }, signal) => {
      const requested = tokens.filter(
        (address) =>
          height - (silent.get(address) ?? Number.NEGATIVE_INFINITY) >= RETRY_MISSING_AFTER_BLOCKS,
      )
      if (requested.length === 0) return { pools: [], tokens: [] }
      const metadata = requested.map(metaplexMetadataAddress)
      const found = await accounts([...requested, ...metadata], signal)
      const results = requested.map((address, index) =>
        tokenMetadataOf(address, found[index] ?? null, found[requested.length + index] ?? null),
      )
      results.forEach((metadata, index) => {
        const address = requested[index]
        if (metadata === undefined && address !== undefined) silent.set(address, height)
      })
      return { pools: [], tokens: results.filter((metadata) => metadata !== undefined) }
    },
  }
}

/** Address of a mint's Metaplex account; the mint's own where none can be derived. */
const metaplexMetadataAddress = (mint: string): string => {
  const program = base58Decode(PROGRAM_IDS.metadata)
  const key = base58Decode(mint)
  if (program === undefined || key === undefined) return mint
  return findProgramAddress(PROGRAM_IDS.metadata, [METADATA_SEED, program, key]) ?? mint
}

const tokenMetadataOf = (
  address: string,
  mint: AccountInfo | null,
  metadata: AccountInfo | null,
): TokenMetadata | undefined => {
  const parsed = mint === null ? undefined : parseMintAccount(address, mint)
  if (mint === null || parsed === undefined) return undefined
  const texts =
    token2022Metadata(mint) ?? (metadata === null ? undefined : metaplexMetadata(metadata))
  return { ...parsed, ...texts }
}

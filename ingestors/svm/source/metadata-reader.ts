import { LRUCache } from 'lru-cache'
import { base58Decode } from '../../../core/base58.ts'
import type { TokenMetadata } from '../../../schemas/events.ts'
import type { FactReader } from '../../decode/metadata-reader.ts'
import { findProgramAddress } from '../layout/program-derived-address.ts'
import { PROGRAM_IDS } from '../programs/programs.ts'
import type { AccountInfo, AccountReader } from './accounts.ts'
import { metaplexMetadata, parseMintAccount, token2022Metadata } from './mint-metadata.ts'

/** Blocks before a mint that was not there is asked for again. */
const RETRY_MISSING_AFTER_BLOCKS = 256
/** Mints that are remembered as not there. */
const MAX_MISSING_MINTS = 20_000

const METADATA_SEED = Buffer.from('metadata')

/**
 * Facts of tokens that existed before the block that first names them, as they are now: a Solana node has no state of earlier
 * slots, so a supply that is learned while catching up is that of the head. Names come from the mint itself
 * (Token-2022) or from its Metaplex account. Pools are proven by their program and never asked for.
 */
export const svmMetadataReader = (accounts: AccountReader): FactReader => {
  const silent = new LRUCache<string, number>({ max: MAX_MISSING_MINTS })
  return {
    origin: 'node',
    proof: 'facts',
    read: async ({ tokens }, { height }, signal) => {
      const asked = tokens.filter(
        (address) =>
          height - (silent.get(address) ?? Number.NEGATIVE_INFINITY) >= RETRY_MISSING_AFTER_BLOCKS,
      )
      if (asked.length === 0) return { pools: [], tokens: [] }
      const metadata = asked.map(metaplexMetadataAddress)
      const found = await accounts([...asked, ...metadata], signal)
      const facts = asked.map((address, index) =>
        tokenMetadataOf(address, found[index] ?? null, found[asked.length + index] ?? null),
      )
      facts.forEach((fact, index) => {
        const address = asked[index]
        if (fact === undefined && address !== undefined) silent.set(address, height)
      })
      return { pools: [], tokens: facts.filter((fact) => fact !== undefined) }
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
  const fact = mint === null ? undefined : parseMintAccount(address, mint)
  if (mint === null || fact === undefined) return undefined
  const texts =
    token2022Metadata(mint) ?? (metadata === null ? undefined : metaplexMetadata(metadata))
  return { ...fact, ...texts }
}

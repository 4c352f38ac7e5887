import { LRUCache } from 'lru-cache'
import { base58Decode } from '../../../core/base58.ts'
import type { TokenFact } from '../../../schemas/events.ts'
import type { FactReader } from '../../decode/metadata-reader.ts'
import { programAddress } from '../layout/program-address.ts'
import { PROGRAM } from '../programs/programs.ts'
import type { Account, AccountReader } from './accounts.ts'
import { metaplexTexts, mintFact, ownTexts } from './mint-metadata.ts'

/** Blocks before a mint that was not there is asked for again. */
const ASK_AGAIN_BLOCKS = 256
/** Mints that are remembered as not there. */
const SILENT = 20_000

const METADATA_SEED = Buffer.from('metadata')

/**
 * Facts of tokens that existed before the block that first names them, as they are now: a Solana node has no state of earlier
 * slots, so a supply that is learned while catching up is that of the head (R46). Names come from the mint itself
 * (Token-2022) or from its Metaplex account. Pools are proven by their program and never asked for.
 */
export const svmFacts = (accounts: AccountReader): FactReader => {
  const silent = new LRUCache<string, number>({ max: SILENT })
  return {
    origin: 'node',
    proof: 'facts',
    read: async ({ tokens }, { height }, signal) => {
      const asked = tokens.filter(
        (address) => height - (silent.get(address) ?? Number.NEGATIVE_INFINITY) >= ASK_AGAIN_BLOCKS,
      )
      if (asked.length === 0) return { pools: [], tokens: [] }
      const metadata = asked.map(metadataOf)
      const found = await accounts([...asked, ...metadata], signal)
      const facts = asked.map((address, index) =>
        tokenFact(address, found[index] ?? null, found[asked.length + index] ?? null),
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
const metadataOf = (mint: string): string => {
  const program = base58Decode(PROGRAM.metadata)
  const key = base58Decode(mint)
  if (program === undefined || key === undefined) return mint
  return programAddress(PROGRAM.metadata, [METADATA_SEED, program, key]) ?? mint
}

const tokenFact = (
  address: string,
  mint: Account | null,
  metadata: Account | null,
): TokenFact | undefined => {
  const fact = mint === null ? undefined : mintFact(address, mint)
  if (mint === null || fact === undefined) return undefined
  const texts = ownTexts(mint) ?? (metadata === null ? undefined : metaplexTexts(metadata))
  return { ...fact, ...texts }
}

import type { ChainExtra } from '../../../core/config/settings.ts'
import { chainRow } from '../../../schemas/chains.ts'
import { PROTOCOLS, protocolRow, readsLog } from '../../../schemas/protocols.ts'
import { OPENBOOK } from './openbook.ts'
import { PHOENIX } from './phoenix.ts'

/** Solana programs that code names. Sources: the Metaplex token metadata program. */
export const PROGRAM_IDS = {
  system: '11111111111111111111111111111111',
  token: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  token2022: 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
  metadata: 'metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s',
  pumpFun: '6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P',
  pumpSwap: 'pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA',
  raydiumV4: '675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8',
  meteoraDlmm: 'LBUZKhRxPF3XUpBCjp4YzTKgLccjZhTSDM9YuVaPwxo',
  meteoraDammV2: 'cpamdpZCGKUy5JxQXB4dcpGPiikHawvSWAd6mEn1sGG',
  meteoraDbc: 'dbcij3LWUppWqq96dh6gJWwBifmcGfLSB5D4DuSMaqN',
  meteoraVault: '24Uqj9JCLxUeoC3hGfh5W3s9FM9uCHDS2SG3LYwBpyTi',
  meteoraDammV1: 'Eo7WjKq67rjJQSZxS6z3YkapzY3eMj6Xy8X5EQVn5UaB',
  moonshot: 'MoonCVVNZFSYkqNXP6bxHLPL6QQJiMagDL3qcqUQTrG',
  raydiumCpmm: 'CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C',
  raydiumClmm: 'CAMMCzo5YL8w4VFF8KVHrK22GGUsp5VTaW7grrKgrWqK',
  raydiumLaunchLab: 'LanMV9sAd7wArD4vJFi2qDdfnVhFxYSUg6eADduJ3uj',
  orcaWhirlpool: 'whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc',
  vote: 'Vote111111111111111111111111111111111111111',
} as const

/** The program is one of the two token programs. */
export const isTokenProgram = (program: string): boolean =>
  program === PROGRAM_IDS.token || program === PROGRAM_IDS.token2022

/** What a normalizer keeps of a block. */
export interface ProgramFilter {
  /** Instructions of these keep their data. */
  readonly data: ReadonlySet<string>
  /** Instructions of these keep the log lines that they wrote: their events are nowhere else. */
  readonly logs: ReadonlySet<string>
  /** Every instruction keeps its lines, and its data as it was reported. */
  readonly allInstructions?: boolean
  /** Absent: every transaction is kept. */
  readonly profile?: ChainProfile
}

/** A part of the chain: transactions that name one of these accounts or hold one of these tokens; all others are left out. */
export interface ChainProfile {
  readonly name: string
  readonly accounts: ReadonlySet<string>
  /** How the addresses of its tokens end. */
  readonly mintSuffix: string
}

/** The same with programs of known families, by the id of their row. */
export const withFactories = (
  programs: ProgramFilter,
  listed: ChainExtra['factories'],
): ProgramFilter => {
  const isLogged = ({ protocol }: { readonly protocol: string }): boolean => {
    const family = protocolRow(protocol)?.family
    return family !== undefined && readsLog(family)
  }
  const addresses = (rows: ChainExtra['factories']) => rows.map(({ factory }) => factory)
  return {
    ...programs,
    data: new Set([...programs.data, ...addresses(listed)]),
    logs: new Set([...programs.logs, ...addresses(listed.filter(isLogged))]),
  }
}

const { system, token, token2022, metadata } = PROGRAM_IDS
const LISTED_PROGRAMS = PROTOCOLS.flatMap(({ id: protocol, factories }) =>
  Object.entries<readonly string[]>(factories)
    .filter(([chain]) => chainRow(chain)?.vm === 'svm')
    .flatMap(([, programs]) => programs.map((factory) => ({ protocol, factory }))),
)

/** Everything that this build decodes. */
export const ALL_PROGRAMS: ProgramFilter = withFactories(
  { data: new Set([system, token, token2022, metadata]), logs: new Set() },
  LISTED_PROGRAMS,
)

/** The same with the programs of order books. */
export const withOrderBooks = (programs: ProgramFilter): ProgramFilter => ({
  ...programs,
  data: new Set([...programs.data, PHOENIX, OPENBOOK]),
  logs: new Set([...programs.logs, OPENBOOK]),
})

/** The same with what the instructions feed tells beside it. */
export const withAllInstructions = (programs: ProgramFilter): ProgramFilter => ({
  ...programs,
  allInstructions: true,
})

/**
 * Only what pump.fun's tokens do, on the curve, in their pool and between wallets, and the pools that price the quotes: a
 * whole Solana is more than a laptop can do. Its mints end in `pump`; balances of coins and of other tokens are seen only where these
 * transactions move them.
 */
export const pumpFunProfile = (referencePools: readonly string[]): ProgramFilter => ({
  ...ALL_PROGRAMS,
  profile: {
    name: 'pump',
    accounts: new Set([PROGRAM_IDS.pumpFun, PROGRAM_IDS.pumpSwap, ...referencePools]),
    mintSuffix: 'pump',
  },
})

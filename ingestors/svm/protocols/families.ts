import type { ProtocolRow } from '../../../schemas/protocols.ts'
import type { ProtocolBook } from '../../decode/protocol-registry.ts'
import { PROGRAM_IDS } from '../programs/programs.ts'
import { meteoraDammV1 } from './meteora-damm-v1.ts'
import { meteoraDammV2 } from './meteora-damm-v2.ts'
import { meteoraDbc } from './meteora-dbc.ts'
import { meteoraDlmm } from './meteora-dlmm.ts'
import { moonshot } from './moonshot.ts'
import { orcaWhirlpool } from './orca-whirlpool.ts'
import { pumpFun } from './pump-fun.ts'
import { pumpSwap } from './pumpswap.ts'
import { raydiumAmmV4 } from './raydium-amm-v4.ts'
import { raydiumClmm } from './raydium-clmm.ts'
import { raydiumCpmm } from './raydium-cpmm.ts'
import { raydiumLaunchLab } from './raydium-launchlab.ts'
import { metaplex, splToken, systemProgram } from './spl-token.ts'
import type { SvmFamily, SvmReader } from './types.ts'

/** Every Solana decoder family. Adding one is adding its file here. */
const SVM_FAMILIES: readonly SvmFamily[] = [
  pumpFun,
  pumpSwap,
  raydiumAmmV4,
  meteoraDlmm,
  meteoraDammV2,
  meteoraDbc,
  meteoraDammV1,
  moonshot,
  raydiumCpmm,
  raydiumClmm,
  raydiumLaunchLab,
  orcaWhirlpool,
]

const BY_FAMILY: ReadonlyMap<ProtocolRow['family'], SvmFamily> = new Map(
  SVM_FAMILIES.map((family) => [family.family, family]),
)

/** How a program is read, and the name that its drops are counted under. */
interface ProgramReader {
  readonly protocol: string
  readonly read: SvmReader
}

const BUILT_IN_PROGRAMS: readonly (readonly [string, ProgramReader])[] = [
  [PROGRAM_IDS.token, { protocol: 'spl_token', read: splToken }],
  [PROGRAM_IDS.token2022, { protocol: 'spl_token', read: splToken }],
  [PROGRAM_IDS.system, { protocol: 'system', read: systemProgram }],
  [PROGRAM_IDS.metadata, { protocol: 'metaplex', read: metaplex }],
]

/** Finds the reader of a program: the chain's own programs and the listed ones; each listed one is asked for once. */
export const svmReaders = (
  book: ProtocolBook,
): ((program: string) => ProgramReader | undefined) => {
  const readers = new Map<string, ProgramReader | undefined>(BUILT_IN_PROGRAMS)
  return (program) => {
    const known = readers.get(program)
    if (known !== undefined || readers.has(program)) return known
    const row = book.factory(program)
    const read = row && BY_FAMILY.get(row.family)?.reader(row, program)
    const reader = row && read && { protocol: row.id, read }
    readers.set(program, reader)
    return reader
  }
}

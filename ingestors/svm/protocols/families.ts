import type { FamilyOf } from '../../../schemas/protocols.ts'
import type { ProtocolRegistry } from '../../decode/protocol-registry.ts'
import { PROGRAM_IDS } from '../programs/programs.ts'
import { maskRedPacket } from './mask-red-packet.ts'
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

/** The decoder of every family of this virtual machine. */
const DECODERS: Readonly<Record<FamilyOf<'svm'>, SvmFamily>> = {
  pump_fun: pumpFun,
  pumpswap: pumpSwap,
  raydium_amm_v4: raydiumAmmV4,
  meteora_dlmm: meteoraDlmm,
  meteora_damm_v2: meteoraDammV2,
  meteora_dbc: meteoraDbc,
  meteora_damm_v1: meteoraDammV1,
  moonshot,
  mask_red_packet: maskRedPacket,
  raydium_cpmm: raydiumCpmm,
  raydium_clmm: raydiumClmm,
  raydium_launchlab: raydiumLaunchLab,
  orca_whirlpool: orcaWhirlpool,
}

const BY_FAMILY: ReadonlyMap<string, SvmFamily> = new Map(Object.entries(DECODERS))

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
  book: ProtocolRegistry,
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

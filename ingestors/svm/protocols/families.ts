import type { ProtocolRegistry } from '../../decode/protocol-registry.ts'
import { PROGRAM_IDS } from '../programs/programs.ts'
import { DECODERS } from './decoders.ts'
import { metaplex, splToken, systemProgram } from './spl-token.ts'
import type { SvmFamily, SvmReader } from './types.ts'

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

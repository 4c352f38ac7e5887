// Written by `npm run generate` from the files of this folder that export a `MoveFamily`.
import type { FamilyOf } from '../../../schemas/protocols.ts'
import { aftermath } from './aftermath.ts'
import { bluefin } from './bluefin.ts'
import { cetus } from './cetus.ts'
import { cetusDlmm } from './cetus-dlmm.ts'
import { deepbook } from './deepbook.ts'
import { momentum } from './momentum.ts'
import { turbos } from './turbos.ts'
import type { MoveFamily } from './types.ts'

/** The decoder of every family of this virtual machine. */
export const DECODERS: Readonly<Record<FamilyOf<'move'>, MoveFamily>> = {
  aftermath,
  bluefin,
  cetus,
  cetus_dlmm: cetusDlmm,
  deepbook,
  momentum,
  turbos,
}

// Written by `npm run generate` from the files of this folder that export a `SvmFamily`.
import type { FamilyOf } from '../../../schemas/protocols.ts'
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
import type { SvmFamily } from './types.ts'

/** The decoder of every family of this virtual machine. */
export const DECODERS: Readonly<Record<FamilyOf<'svm'>, SvmFamily>> = {
  mask_red_packet: maskRedPacket,
  meteora_damm_v1: meteoraDammV1,
  meteora_damm_v2: meteoraDammV2,
  meteora_dbc: meteoraDbc,
  meteora_dlmm: meteoraDlmm,
  moonshot,
  orca_whirlpool: orcaWhirlpool,
  pump_fun: pumpFun,
  pumpswap: pumpSwap,
  raydium_amm_v4: raydiumAmmV4,
  raydium_clmm: raydiumClmm,
  raydium_cpmm: raydiumCpmm,
  raydium_launchlab: raydiumLaunchLab,
}

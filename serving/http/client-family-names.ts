import type { Family } from '../../schemas/protocols.ts'
import { protocolRow } from '../../schemas/protocols.ts'

/** How stock clients spell the families that they know: a closed list, any other text fails their whole page. */
const CLIENT_FAMILY_NAMES: Partial<Readonly<Record<Family, string>>> = {
  pump_fun: 'Pumpfun',
  pumpswap: 'Pumpswap',
  raydium_amm_v4: 'Raydium',
  raydium_cpmm: 'Raydium',
  raydium_clmm: 'Raydium',
  raydium_launchlab: 'Raydium',
  orca_whirlpool: 'OrcaWhirpool',
  meteora_dlmm: 'Meteora',
  meteora_damm_v1: 'Meteora',
  meteora_damm_v2: 'Meteora',
  meteora_dbc: 'Meteora',
  moonshot: 'Moonshot',
}

/** A protocol's family as stock clients spell it; null for one that they do not know. `family` is a family or a protocol's id. */
export const clientFamilyName = (family: string): string | null =>
  CLIENT_FAMILY_NAMES[family as Family] ??
  CLIENT_FAMILY_NAMES[protocolRow(family)?.family as Family] ??
  null

import { BALANCE_UPDATES } from './balance-updates.ts'
import { DEX_POOLS } from './dex-pools.ts'
import { DEX_TRADE_BY_TOKENS } from './dex-trade-by-tokens.ts'
import { DEX_TRADES } from './dex-trades.ts'
import { PAIRS } from './pairs.ts'
import { TOKEN_HOLDERS } from './token-holders.ts'
import { TOKENS } from './tokens.ts'
import { TRANSFERS } from './transfers.ts'
import type { Cube } from './types.ts'
import { WALLET_TOKEN_PNL } from './wallet-token-pnl.ts'

/** Every cube of this build. */
export const CUBES: readonly Cube[] = [
  DEX_TRADES,
  DEX_TRADE_BY_TOKENS,
  TRANSFERS,
  BALANCE_UPDATES,
  PAIRS,
  TOKENS,
  DEX_POOLS,
  TOKEN_HOLDERS,
  WALLET_TOKEN_PNL,
]

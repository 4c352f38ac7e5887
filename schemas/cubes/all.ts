import { DEX_TRADE_BY_TOKENS } from './dex-trade-by-tokens.ts'
import { DEX_TRADES } from './dex-trades.ts'
import { PAIRS } from './pairs.ts'
import type { Cube } from './types.ts'

/** Every cube of this build. */
export const CUBES: readonly Cube[] = [DEX_TRADES, DEX_TRADE_BY_TOKENS, PAIRS]

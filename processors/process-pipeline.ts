import { CANDLES } from './candles/stage.ts'
import { BALANCES } from './holders/balances-stage.ts'
import { HOLDERS } from './holders/stage.ts'
import { PNL } from './pnl/stage.ts'
import { POOLS } from './pools/stage.ts'
import { PRICES } from './prices/stage.ts'
import { pipeline } from './runtime/pipeline.ts'
import type { Stage } from './runtime/stage.ts'
import { TRADE_STATS } from './stats/stage.ts'
import { MARKETS } from './tokens/market-stage.ts'
import { TOKENS } from './tokens/stage.ts'

/**
 * Every stage in one lane: co-partitioned topics are folded together, decoded once, and committed at once. A
 * stage may read what one before it published for the same operation.
 */
export const PROCESS_PIPELINE: Stage = pipeline('process', [
  PRICES,
  BALANCES,
  PNL,
  HOLDERS,
  CANDLES,
  POOLS,
  TOKENS,
  MARKETS,
  TRADE_STATS,
])

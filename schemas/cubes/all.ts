// Written by `npm run generate` from the files of this folder that export a `Cube`.
import { BALANCE_UPDATES } from './balance-updates.ts'
import { BLOCKS } from './blocks.ts'
import { CALLS } from './calls.ts'
import { CURRENCIES } from './currencies.ts'
import { DEX_ORDERS } from './dex-orders.ts'
import { DEX_POOL_EVENTS } from './dex-pool-events.ts'
import { DEX_POOL_SLIPPAGES } from './dex-pool-slippages.ts'
import { DEX_POOLS } from './dex-pools.ts'
import { DEX_TRADE_BY_TOKENS } from './dex-trade-by-tokens.ts'
import { DEX_TRADES } from './dex-trades.ts'
import { EVENTS } from './events.ts'
import { INSTRUCTION_BALANCE_UPDATES } from './instruction-balance-updates.ts'
import { INSTRUCTIONS } from './instructions.ts'
import { MINER_REWARDS } from './miner-rewards.ts'
import { PAIRS } from './pairs.ts'
import { PREDICTION_MANAGEMENTS } from './prediction-managements.ts'
import { PREDICTION_SETTLEMENTS } from './prediction-settlements.ts'
import { PREDICTION_TRADES } from './prediction-trades.ts'
import { REWARDS } from './rewards.ts'
import { TOKEN_HOLDERS } from './token-holders.ts'
import { TOKEN_SUPPLY_UPDATES } from './token-supply-updates.ts'
import { TOKENS } from './tokens.ts'
import { TRADES } from './trades.ts'
import { TRANSACTION_BALANCES } from './transaction-balances.ts'
import { TRANSACTIONS } from './transactions.ts'
import { TRANSFERS } from './transfers.ts'
import type { Cube } from './types.ts'
import { UNCLES } from './uncles.ts'
import { WALLET_TOKEN_PNL } from './wallet-token-pnl.ts'

/** Every cube. */
export const CUBES: readonly Cube[] = [
  BALANCE_UPDATES,
  BLOCKS,
  CALLS,
  CURRENCIES,
  DEX_ORDERS,
  DEX_POOL_EVENTS,
  DEX_POOL_SLIPPAGES,
  DEX_POOLS,
  DEX_TRADE_BY_TOKENS,
  DEX_TRADES,
  EVENTS,
  INSTRUCTION_BALANCE_UPDATES,
  INSTRUCTIONS,
  MINER_REWARDS,
  PAIRS,
  PREDICTION_MANAGEMENTS,
  PREDICTION_SETTLEMENTS,
  PREDICTION_TRADES,
  REWARDS,
  TOKEN_HOLDERS,
  TOKEN_SUPPLY_UPDATES,
  TOKENS,
  TRADES,
  TRANSACTION_BALANCES,
  TRANSACTIONS,
  TRANSFERS,
  UNCLES,
  WALLET_TOKEN_PNL,
]

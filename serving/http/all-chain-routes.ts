import { activityRoutes } from './activities.ts'
import { blockchainRoutes } from './blockchains.ts'
import type { ChainRoute } from './chain-route.ts'
import { devTokenRoutes } from './dev-tokens.ts'
import { dexPoolRoutes } from './dex-pools.ts'
import { dexScreenerRoutes } from './dex-screener.ts'
import { liquiditySnapshotRoutes } from './liquidity-snapshots.ts'
import { netWorthRoutes } from './net-worth.ts'
import { netWorthHistoryRoutes } from './net-worth-history.ts'
import { predictionActivityRoutes } from './prediction-activities.ts'
import { predictionHolderRoutes } from './prediction-holders.ts'
import { predictionPnlRoutes } from './prediction-pnl.ts'
import { rankingRoutes } from './rankings.ts'
import { tokenDetailRoutes } from './token-details.ts'
import { tokenHistoryRoutes } from './token-history.ts'
import { tokenLookupRoutes } from './token-lookup.ts'
import { tokenMetadataRoutes } from './token-metadata.ts'
import { tokenTraderRoutes } from './token-traders.ts'
import { tradeRoutes } from './trades.ts'
import { transactionRoutes } from './transactions.ts'
import { walletBalanceRoutes } from './wallet-balances.ts'
import { walletHistoryRoutes } from './wallet-history.ts'
import { walletPnlRoutes } from './wallet-pnl.ts'

/** Every route that reads one chain, by family. A route is one row of its family's file. */
export const allChainRoutes: readonly ChainRoute[] = [
  ...blockchainRoutes,
  ...transactionRoutes,
  ...tokenLookupRoutes,
  ...tokenMetadataRoutes,
  ...devTokenRoutes,
  ...tokenHistoryRoutes,
  ...tokenDetailRoutes,
  ...dexPoolRoutes,
  ...liquiditySnapshotRoutes,
  ...rankingRoutes,
  ...tokenTraderRoutes,
  ...tradeRoutes,
  ...activityRoutes,
  ...walletPnlRoutes,
  ...netWorthRoutes,
  ...netWorthHistoryRoutes,
  ...walletBalanceRoutes,
  ...walletHistoryRoutes,
  ...dexScreenerRoutes,
  ...predictionActivityRoutes,
  ...predictionHolderRoutes,
  ...predictionPnlRoutes,
]

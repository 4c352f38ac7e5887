const CONDITION_ID = `0x${'4a'.repeat(32)}`
const MARKET_ID = `0x${'e3'.repeat(31)}00`
const TOKEN_ID = '71321045679252212594626385532706912750332728571942532289631379312455583992563'
const WALLET = '0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a'
const COLLATERAL = '0x2791bca1f2de4661ed88a30c99a7a9449aa84174'
const TX = `0x${'5c'.repeat(32)}`
const TIME_MS = 1_767_614_400_000

const ACTIVITY = {
  activityId: `${TX}:12`,
  type: 'buy',
  source: 'polymarket',
  conditionId: CONDITION_ID,
  tokenId: TOKEN_ID,
  assetIds: [TOKEN_ID],
  outcome: '0',
  price: '0.42',
  pricePerShare: '0.42',
  quantity: '100',
  amount: '42',
  collateralAmount: '42',
  collateralTokenAddress: COLLATERAL,
  collateralTokenSymbol: 'USDC.e',
  wallet: WALLET,
  participantRole: 'taker',
  counterparty: '0x00000000000000000000000000000000000000a1',
  taker: WALLET,
  blockNumber: 81_000_000,
  logIndex: 12,
  txHash: TX,
  timestamp: TIME_MS,
}

const QUALITY = { stateQuality: 'followed' }
const PNL = {
  totalBuyAmount: '42',
  totalSellAmount: '15',
  totalRedeemAmount: '0',
  totalVolume: '57',
  currentValue: '35',
  realizedPnl: '2.4',
  unrealizedPnl: '5.6',
  totalPnl: '8',
  totalPnlRatio: '0.19047619047619047',
  lastActivityTs: String(TIME_MS),
  ...QUALITY,
}
const EXTREMES = {
  bestTradeTokenId: TOKEN_ID,
  bestTradeConditionId: CONDITION_ID,
  bestTradeOutcome: '0',
  bestTradeMarketQuestion: '',
  bestTradePnl: '2.4',
  bestTradePnlShare: '1',
  worstTradeTokenId: TOKEN_ID,
  worstTradeConditionId: CONDITION_ID,
  worstTradeOutcome: '0',
  worstTradeMarketQuestion: '',
  worstTradePnl: '2.4',
  worstTradePnlShare: '0',
}
const SUMMARY = {
  wallet: WALLET,
  ...PNL,
  tokenCount: 1,
  marketCount: 1,
  openPositionCount: 1,
  winCount: 1,
  lossCount: 0,
  winRate: '1',
  profitFactor: '0',
  settlementRatio: '0',
  settlementWinRate: '0',
  avgEntryCount: '1',
  avgInitialCost: '42',
  avgHoldingSeconds: '3600',
  ...EXTREMES,
  todayRealizedPnl: '2.4',
  todayVolume: '57',
  todayActivityCount: 2,
  todayMarketCount: 1,
  sevenDayRealizedPnl: '2.4',
  sevenDayVolume: '57',
  sevenDayActivityCount: 2,
  sevenDayMarketCount: 1,
}
const TOKEN = {
  wallet: WALLET,
  tokenId: TOKEN_ID,
  conditionId: CONDITION_ID,
  ...{ marketId: '', marketQuestion: '', eventSlug: '', outcome: '0' },
  openQuantity: '70',
  costBasis: '29.4',
  avgEntryPrice: '0.42',
  avgSellPrice: '0.5',
  lastPrice: '0.5',
  ...PNL,
  winCount: 1,
  lossCount: 0,
  firstActivityTs: String(TIME_MS - 3_600_000),
  lastActivityId: `${TX}:12`,
  lastSeqIndex: 12,
  tags: [],
}
const DAY = {
  day: '2026-01-05',
  activityCount: 2,
  volume: '57',
  realizedPnl: '2.4',
  winCount: 1,
  lossCount: 0,
}
const TRADER = {
  wallet: WALLET,
  amount: '42',
  avgPrice: '0.42',
  netBalance: '70',
  netTokenId: TOKEN_ID,
  realizedProfit: '2.4',
  realizedProfitPnl: 0.05714285714285714,
  totalPnl: '8',
  totalVolume: '57',
  lastActivityTs: String(TIME_MS),
}
const HOLDER = {
  wallet: WALLET,
  balance: '70',
  avgPrice: '0.42',
  markPrice: '0.5',
  holdingValue: '35',
  realizedPnl: '2.4',
  unrealizedPnl: '5.6',
  totalPnl: '8',
  totalPnlRatio: '0.19047619047619047',
  totalVolume: '57',
  lastActivityTs: String(TIME_MS),
  isWhale: false,
  topics: [],
}
const NO_COHORT = { count: 0, holdingValue: '0' }
const OUTCOME = {
  ...{ tokenId: TOKEN_ID, outcome: '0', holderCount: 1, totalBalance: '70', holdingValue: '35' },
  ...{ ratio: 1, topHolderShare: 1, totalCostBasis: '29.4', totalRealizedPnl: '2.4' },
  ...{ totalUnrealizedPnl: '5.6', totalPnl: '8', totalProfit: '8', avgProfit: '8' },
  ...{ medianPnl: '8', totalYield: 0.19047619047619047, medianYield: 0.19047619047619047 },
  top100: { count: 1, holdingValue: '35' },
  ...{ whale: NO_COHORT, shark: NO_COHORT, dolphin: NO_COHORT },
}
const LEADER = {
  ...SUMMARY,
  ...{ rank: 1, scope: 'global', interval: 'all', sortBy: 'pnl', score: '2.4' },
  thirtyDayRealizedPnl: '2.4',
  thirtyDayVolume: '57',
  thirtyDayActivityCount: 2,
  thirtyDayMarketCount: 1,
  updatedAt: String(TIME_MS),
}
const PAGE = { limit: 20, ...QUALITY, cursor: null, updatedAtMs: TIME_MS }

/** Examples of the parameters of prediction markets, by name. */
export const PREDICTION_PARAMETERS: Readonly<Record<string, unknown>> = {
  eventSlug: MARKET_ID,
  market_id: MARKET_ID,
  conditionId: CONDITION_ID,
  condition_id: CONDITION_ID,
  token_id: TOKEN_ID,
}

/** Examples of the named schemas of prediction markets: the recorded chains have none. */
export const PREDICTION_EXAMPLES: Readonly<Record<string, unknown>> = {
  PredictionActivity: ACTIVITY,
  PredictionActivities: {
    eventSlug: MARKET_ID,
    limit: 20,
    order: 'desc',
    retentionDays: 0,
    activities: [ACTIVITY],
    cursor: null,
  },
  PredictionHolder: HOLDER,
  PredictionHolders: {
    ...{ conditionId: CONDITION_ID, tokenId: null, order: 'desc', sortBy: 'holding_value' },
    ...PAGE,
    holders: [HOLDER],
  },
  PredictionHolderCohort: NO_COHORT,
  PredictionOutcomeStats: OUTCOME,
  PredictionHolderStats: {
    conditionId: CONDITION_ID,
    outcomes: [OUTCOME],
    ...QUALITY,
    updatedAtMs: TIME_MS,
  },
  PredictionTrader: TRADER,
  PredictionTraders: {
    ...{ conditionId: CONDITION_ID, order: 'desc', sortBy: 'total_pnl' },
    ...PAGE,
    traders: [TRADER],
  },
  PredictionWalletToken: TOKEN,
  PredictionWalletDay: DAY,
  PredictionWalletSummary: SUMMARY,
  PredictionWalletPnl: {
    ...{ wallet: WALLET, limit: 20, order: 'desc', sortBy: 'totalPnl' },
    ...{ summary: SUMMARY, tokens: [TOKEN], dailyPnls: [DAY], cursor: null },
  },
  PredictionLeader: LEADER,
  PredictionLeaderboard: {
    ...PAGE,
    ...{ entries: [LEADER], scope: 'global', interval: 'all', sortBy: 'pnl', topic: null },
  },
}

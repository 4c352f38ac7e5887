import { type Static, Type } from 'typebox'
import { decimalOrNull, namedObject, nullable } from './common.ts'
import { CONDITION_ID, PREDICTION_ORDER, TOKEN_ID, WALLET } from './prediction.ts'

/** Topics of markets are not on the chain: nothing has one. */
const TAG = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'Topic; none is known',
  examples: ['politics'],
})

/** Orders of the traders of a condition. */
const TRADER_SORTS = ['realized_pnl', 'total_pnl', 'total_volume'] as const
export type PredictionTraderSort = (typeof TRADER_SORTS)[number]

/** Parameters of the traders of a condition. */
export const PREDICTION_TRADERS_QUERY = {
  tag: Type.Optional(TAG),
  sort_by: Type.Optional(Type.Enum(TRADER_SORTS, { default: 'total_pnl' })),
  order: Type.Optional(PREDICTION_ORDER),
}

const known = (about: string) => Type.String({ description: about })
const STATE_QUALITY = Type.String({
  description:
    '`followed`: quantities by every move of outcome tokens since the first block that was followed; what a wallet had before is not known',
})
const UPDATED_AT = nullable(Type.Integer({ description: 'Newest block, epoch ms' }))
const CURSOR = nullable(Type.String({ description: 'Of the next page; null at the end' }))

/** Who traded a condition; money in collateral, by average cost. */
export const PredictionTrader = namedObject('PredictionTrader', {
  wallet: Type.String(),
  amount: known('Collateral paid for outcome tokens in trades'),
  avgPrice: decimalOrNull('Paid for one outcome token'),
  netBalance: known('Tokens of the outcome that it has most of'),
  netTokenId: known('That outcome token'),
  realizedProfit: known('Realized'),
  realizedProfitPnl: nullable(Type.Number({ description: 'Realized by its cost, fraction' })),
  totalPnl: known('Realized and unrealized'),
  totalVolume: known('Collateral of all trades'),
  lastActivityTs: known('Epoch ms, as text'),
})
export type PredictionTrader = Static<typeof PredictionTrader>

/** A page of traders. */
export const PredictionTraders = namedObject('PredictionTraders', {
  conditionId: Type.String(),
  limit: Type.Integer(),
  order: Type.Enum(['asc', 'desc']),
  sortBy: Type.Enum(TRADER_SORTS),
  stateQuality: STATE_QUALITY,
  traders: Type.Array(PredictionTrader),
  cursor: CURSOR,
  updatedAtMs: UPDATED_AT,
})

/** Orders of the positions of a wallet. */
const WALLET_SORTS = ['realizedPnl', 'unrealizedPnl', 'totalPnl', 'lastActive'] as const
export type PredictionWalletSort = (typeof WALLET_SORTS)[number]

/** Path parameter of a wallet. */
export const PREDICTION_WALLET_PARAM = { wallet: WALLET }

/** Parameters of the positions of a wallet. */
export const PREDICTION_PNL_QUERY = {
  tag: Type.Optional(TAG),
  token_id: Type.Optional(TOKEN_ID),
  condition_id: Type.Optional(CONDITION_ID),
  sort_by: Type.Optional(Type.Enum(WALLET_SORTS, { default: 'totalPnl' })),
  order: Type.Optional(PREDICTION_ORDER),
}

const count = (about: string) => Type.Integer({ description: about })

/** Fields of a position and of a wallet: what was dealt and what it brought. */
const DEALT = {
  totalBuyAmount: known('Collateral paid in trades'),
  totalSellAmount: known('Collateral got in trades'),
  totalRedeemAmount: known('Collateral got by redemptions'),
  totalVolume: known('Collateral of all trades'),
  currentValue: known(
    'Of what is held, at the decided payout, else at the last price of each token',
  ),
  realizedPnl: known('What left brought by trades and settlements, less its average cost'),
  unrealizedPnl: known('Value of what is open less its cost; 0 without a price'),
  totalPnl: known('Both'),
  totalPnlRatio: known('By the collateral paid in trades, fraction; "0" without purchases'),
  lastActivityTs: known('Epoch ms, as text'),
  stateQuality: STATE_QUALITY,
}

/** A wallet's position in one outcome token; money in collateral. */
export const PredictionWalletToken = namedObject('PredictionWalletToken', {
  wallet: Type.String(),
  tokenId: Type.String(),
  conditionId: known('Empty where the registration of the token was not seen'),
  marketId: known('Empty: the events of a token do not name its group of questions'),
  marketQuestion: known('Empty: not on the chain'),
  eventSlug: known('Empty: not on the chain'),
  outcome: known('Place of the outcome in its condition, from 0; empty where it was not told'),
  openQuantity: known('Outcome tokens that are held'),
  costBasis: known('Cost of those whose cost is known: others were transferred in'),
  avgEntryPrice: known('Paid for one token in trades; "0" without purchases'),
  avgSellPrice: known('Got for one token in trades; "0" without sales'),
  lastPrice: known(
    'The decided payout, else that of the last trade of the token by anyone; "0" without one',
  ),
  ...DEALT,
  winCount: count('1 where the position realized a profit'),
  lossCount: count('1 where it realized a loss'),
  firstActivityTs: known('Epoch ms, as text'),
  lastActivityId: known('`activityId` of the last activity'),
  lastSeqIndex: count('Log of the last activity'),
  tags: Type.Array(Type.String(), { description: 'Empty: topics are not on the chain' }),
})
export type PredictionWalletToken = Static<typeof PredictionWalletToken>

/** One day of a wallet, UTC. */
export const PredictionWalletDay = namedObject('PredictionWalletDay', {
  day: known('`2026-11-20`'),
  activityCount: count('Moves of outcome tokens, one for each token'),
  volume: known('Collateral of trades'),
  realizedPnl: known('Realized on the day'),
  winCount: count('Tokens that realized a profit'),
  lossCount: count('Tokens that realized a loss'),
})
export type PredictionWalletDay = Static<typeof PredictionWalletDay>

/** Positions that realized most and least. */
const EXTREMES = {
  bestTradeTokenId: known('Outcome token of that position'),
  bestTradeConditionId: known('Its condition'),
  bestTradeOutcome: known('Its outcome'),
  bestTradeMarketQuestion: known('Empty: not on the chain'),
  bestTradePnl: known('What it realized'),
  bestTradePnlShare: known('By all profits, fraction'),
  worstTradeTokenId: known('Outcome token of that position'),
  worstTradeConditionId: known('Its condition'),
  worstTradeOutcome: known('Its outcome'),
  worstTradeMarketQuestion: known('Empty: not on the chain'),
  worstTradePnl: known('What it realized'),
  worstTradePnlShare: known('By all losses, fraction'),
}

const SUMMARY = {
  wallet: Type.String(),
  ...DEALT,
  tokenCount: count('Outcome tokens that it ever had'),
  marketCount: count('Their conditions'),
  openPositionCount: count('Tokens of which something is open'),
  winCount: count('Positions that realized a profit'),
  lossCount: count('Positions that realized a loss'),
  winRate: known('Positions that realized a profit, by those that realized something'),
  profitFactor: known('Profits by losses; "0" without losses'),
  settlementRatio: known('Positions of decided conditions, fraction'),
  settlementWinRate: known('Of these the ones with a profit, fraction'),
  avgEntryCount: known('Purchases of a position'),
  avgInitialCost: known('First purchase of a position'),
  avgHoldingSeconds: known('From the first to the last activity of a position'),
  ...EXTREMES,
  todayRealizedPnl: known('On the day of the newest block, UTC'),
  todayVolume: known('On that day'),
  todayActivityCount: count('On that day'),
  todayMarketCount: count('On that day'),
  sevenDayRealizedPnl: known('On that day and the six before it'),
  sevenDayVolume: known('On these days'),
  sevenDayActivityCount: count('On these days'),
  sevenDayMarketCount: count('On these days'),
}
/** All positions of a wallet together. */
export const PredictionWalletSummary = namedObject('PredictionWalletSummary', SUMMARY)
export type PredictionWalletSummary = Static<typeof PredictionWalletSummary>

/** What prediction markets brought a wallet. */
export const PredictionWalletPnl = namedObject('PredictionWalletPnl', {
  wallet: Type.String(),
  limit: Type.Integer(),
  order: Type.Enum(['asc', 'desc']),
  sortBy: Type.Enum(WALLET_SORTS),
  summary: PredictionWalletSummary,
  tokens: Type.Array(PredictionWalletToken),
  dailyPnls: Type.Array(PredictionWalletDay, { description: 'The last 30 days, newest first' }),
  cursor: CURSOR,
})

/** Orders of the holders of a condition. */
const HOLDER_SORTS = ['balance', 'holding_value', 'total_pnl'] as const
export type PredictionHolderSort = (typeof HOLDER_SORTS)[number]

/** Parameters of the holders of a condition. */
export const PREDICTION_HOLDERS_QUERY = {
  token_id: Type.Optional(TOKEN_ID),
  tag: Type.Optional(TAG),
  sort_by: Type.Optional(Type.Enum(HOLDER_SORTS, { default: 'holding_value' })),
  order: Type.Optional(PREDICTION_ORDER),
}

/** Who holds outcome tokens of a condition, all outcomes together unless one is asked for; money in collateral. */
export const PredictionHolder = namedObject('PredictionHolder', {
  wallet: Type.String(),
  balance: known('Outcome tokens'),
  avgPrice: decimalOrNull('Average cost of those whose cost is known'),
  markPrice: decimalOrNull('Value of one'),
  holdingValue: known('At the decided payout, else at the last price of each token'),
  realizedPnl: known('Realized'),
  unrealizedPnl: known('Value less cost, of those whose cost is known'),
  totalPnl: known('Both'),
  totalPnlRatio: known('By the collateral paid in trades, fraction; "0" without purchases'),
  totalVolume: known('Collateral of all trades'),
  lastActivityTs: known('Epoch ms, as text'),
  isWhale: Type.Boolean({ description: 'Holds 100,000 of collateral or more' }),
  topics: Type.Array(Type.String(), { description: 'Empty: topics are not on the chain' }),
})
export type PredictionHolder = Static<typeof PredictionHolder>

/** A page of holders. */
export const PredictionHolders = namedObject('PredictionHolders', {
  conditionId: Type.String(),
  tokenId: nullable(Type.String({ description: 'The outcome token that was asked for' })),
  limit: Type.Integer(),
  order: Type.Enum(['asc', 'desc']),
  sortBy: Type.Enum(HOLDER_SORTS),
  stateQuality: STATE_QUALITY,
  holders: Type.Array(PredictionHolder),
  cursor: CURSOR,
  updatedAtMs: UPDATED_AT,
})

/** Some of the holders of an outcome token. */
const COHORT = namedObject('PredictionHolderCohort', {
  count: Type.Integer(),
  holdingValue: known('Together'),
})
const share = (about: string) => Type.Number({ description: about })

/** The holders of one outcome token together; profits are those of whoever ever had it. */
export const PredictionOutcomeStats = namedObject('PredictionOutcomeStats', {
  tokenId: Type.String(),
  outcome: known('Place of the outcome in its condition, from 0; empty where it was not told'),
  holderCount: Type.Integer(),
  totalBalance: known('Outcome tokens'),
  holdingValue: known('Their value'),
  ratio: share('Value by that of all outcomes, fraction'),
  topHolderShare: share('Tokens of the largest holder, fraction'),
  totalCostBasis: known('Cost of what is held, where it is known'),
  totalRealizedPnl: known('Realized'),
  totalUnrealizedPnl: known('Unrealized'),
  totalPnl: known('Both'),
  totalProfit: known('The same of those with a profit'),
  avgProfit: known('Realized and unrealized for one wallet'),
  medianPnl: known('Middle one of the wallets'),
  totalYield: share('Profit by the collateral paid in trades, fraction'),
  medianYield: share('Middle one of the wallets that bought'),
  top100: COHORT,
  whale: COHORT,
  shark: COHORT,
  dolphin: COHORT,
})
export type PredictionOutcomeStats = Static<typeof PredictionOutcomeStats>

/** The holders of a condition by its outcomes. */
export const PredictionHolderStats = namedObject('PredictionHolderStats', {
  conditionId: Type.String(),
  outcomes: Type.Array(PredictionOutcomeStats, {
    description: 'Whales hold 100,000 of collateral or more, sharks 10,000, dolphins 1,000',
  }),
  stateQuality: STATE_QUALITY,
  updatedAtMs: UPDATED_AT,
})

const SCOPES = ['global', 'topic'] as const
const INTERVALS = ['all', '7d'] as const
export type PredictionInterval = (typeof INTERVALS)[number]

/** Parameters of the leaderboard. */
export const PREDICTION_LEADERBOARD_QUERY = {
  scope: Type.Optional(Type.Enum(SCOPES, { default: 'global' })),
  topic: Type.Optional(TAG),
  interval: Type.Optional(Type.Enum(INTERVALS, { default: 'all' })),
  sort_by: Type.Optional(Type.Enum(['pnl'], { default: 'pnl' })),
}

/** A wallet in the leaderboard. */
export const PredictionLeader = namedObject('PredictionLeader', {
  ...SUMMARY,
  rank: Type.Integer({ description: 'From 1' }),
  scope: Type.Enum(SCOPES),
  interval: Type.Enum(INTERVALS),
  sortBy: Type.Enum(['pnl']),
  score: known('Realized in the interval'),
  thirtyDayRealizedPnl: known('On the last 30 days'),
  thirtyDayVolume: known('On these days'),
  thirtyDayActivityCount: count('On these days'),
  thirtyDayMarketCount: count('On these days'),
  updatedAt: known('Newest block, epoch ms as text'),
})
export type PredictionLeader = Static<typeof PredictionLeader>

/** A page of the leaderboard. */
export const PredictionLeaderboard = namedObject('PredictionLeaderboard', {
  entries: Type.Array(PredictionLeader),
  limit: Type.Integer(),
  scope: Type.Enum(SCOPES),
  interval: Type.Enum(INTERVALS),
  sortBy: Type.Enum(['pnl']),
  stateQuality: STATE_QUALITY,
  topic: nullable(Type.String({ description: 'As it was asked for' })),
  cursor: CURSOR,
  updatedAtMs: UPDATED_AT,
})

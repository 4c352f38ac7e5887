import { type Static, Type } from 'typebox'
import { DIRECTION, decimalOrNull, namedObject, nullable } from './common.ts'
import { ACTIVITY_TYPES, TRADE_QUERY } from './trade.ts'

/** Kinds of traders of a token; `sandwish` is how other services spell `sandwich`. */
export const TRADER_TAGS = [
  ...(['fresh', 'sandwish', 'sandwich', 'bundle', 'sniper', 'dev', 'pro'] as const),
  ...(['insider', 'kol', 'bluechip', 'smart', 'smart_money', 'phishing', 'rat'] as const),
] as const
export type TraderTag = (typeof TRADER_TAGS)[number]

const text = (about: string) => nullable(Type.String({ description: about }))
const integer = (about: string) => nullable(Type.Integer({ description: about }))

/** A trader of a token by a kind, with what shows it. */
export const TokenTrader = namedObject('TokenTrader', {
  address: Type.String(),
  onchainCreatedAt: text('First activity of the wallet, UTC'),
  blockTimestamp: text('Time of the trade that shows it, UTC'),
  transactionSignature: text('Transaction that shows it'),
  tradeCount: integer('Trades of the last 30 days'),
  tradeAmountInUsd: decimalOrNull('USD traded in the last 30 days'),
  tradeAmountInNative: decimalOrNull('Native tokens traded in the last 30 days'),
  percentileRankTradeCount: integer('Percent of wallets that trade as often or less'),
  percentileRankTradeAmountInUsd: decimalOrNull('Fraction of wallets that trade as much or less'),
  rankTradeAmountInUsd: decimalOrNull('The same among the wallets of this kind'),
})
export type TokenTrader = Static<typeof TokenTrader>

/** Orders of a token's traders. */
const TRADER_SORTS = [
  ...(['totalPnl', 'realizedPnl', 'unrealizedPnl', 'buyVolume', 'sellVolume'] as const),
  ...(['netflowUsd', 'lastActiveAt', 'createdAt'] as const),
] as const
export type TraderSort = (typeof TRADER_SORTS)[number]

/** Parameters of a token's traders. */
export const TRADERS_QUERY = {
  tag: Type.Optional(Type.Enum(TRADER_TAGS)),
  sortBy: Type.Optional(Type.Enum(TRADER_SORTS, { default: 'totalPnl' })),
  sortDirection: Type.Optional(DIRECTION),
}

/** A trader of a token with what trading it brought, over its life; USD unless said otherwise. */
export const TokenTopTrader = namedObject('TokenTopTrader', {
  walletAddress: Type.String(),
  amount: Type.String({ description: 'Held, token units' }),
  amountInUsd: Type.String({ description: 'Held; "0" without a price' }),
  averageBuyPriceInUsd: decimalOrNull('For one token'),
  averageSellPriceInUsd: decimalOrNull('For one token'),
  cost: decimalOrNull('Of what is held with a known cost'),
  totalCostInUsd: decimalOrNull('All that was paid'),
  totalPnlInUsd: decimalOrNull('Realized and unrealized'),
  totalRealizedPnlInUsd: decimalOrNull('Realized'),
  unrealizedPnlInUsd: decimalOrNull('At the current price'),
  realizedPnl: decimalOrNull('By cost, fraction'),
  unrealizedPnl: decimalOrNull('By cost, fraction'),
  roi: decimalOrNull('Profit by cost, fraction'),
  winRate: decimalOrNull('Sales with a profit, fraction'),
  winCount: integer('Sales with a profit'),
  lossCount: integer('Sales with a loss'),
  totalBuyCount: integer('Purchases'),
  totalSellCount: integer('Sales'),
  totalBuyAmountInUsd: decimalOrNull('Paid'),
  totalSellAmountInUsd: decimalOrNull('Got'),
  buyAmountCur: decimalOrNull('Bought, token units'),
  sellAmountCur: decimalOrNull('Sold, token units'),
  sellAmountPercentage: decimalOrNull('Sold by bought, fraction of at most 1'),
  netflowAmount: decimalOrNull('Bought less sold, token units'),
  netflowUsd: decimalOrNull('Paid less got'),
  isClosed: nullable(Type.Boolean({ description: 'Nothing of known cost is held' })),
  startHoldingAt: integer('First trade, epoch ms'),
  endHoldingAt: integer('When the position closed, epoch ms'),
  lastActiveAt: integer('Last trade, epoch ms'),
  tags: Type.Array(Type.String()),
})
export type TokenTopTrader = Static<typeof TokenTopTrader>

const usd = (about: string) =>
  Type.Optional(Type.String({ pattern: '^\\d{1,26}(\\.\\d{1,12})?$', description: about }))

/** Parameters of activities. */
export const ACTIVITY_QUERY = {
  ...TRADE_QUERY,
  type: Type.Optional(Type.Enum(ACTIVITY_TYPES)),
  sortBy: Type.Optional(
    Type.Enum(
      ['timestampDesc', 'timestampAsc', 'totalUsdDesc', 'totalUsdAsc', 'timestamp', 'totalUsd'],
      { default: 'timestampDesc' },
    ),
  ),
  traderTags: Type.Optional(
    Type.Array(Type.String({ maxLength: 256 }), {
      maxItems: 16,
      description: 'Kinds of traders of the token, any of them; needs tokenAddress',
    }),
  ),
  minAmountUsd: usd('Only of at least so much'),
  maxAmountUsd: usd('Only of at most so much'),
  maker: Type.Optional(Type.String({ maxLength: 256, description: 'Same as walletAddress' })),
}

/** Parameters of the older list of gainers and losers. */
export const GAINERS_V1_QUERY = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10, default: 10 })),
  type: Type.String({ maxLength: 16, examples: ['1W'] }),
  sortBy: Type.String({ maxLength: 32, examples: ['PnL'] }),
  sortType: DIRECTION,
}

/** A wallet by what it realized; numbers. */
export const GainersAndLosers = namedObject('GainersAndLosersV1', {
  address: Type.String(),
  pnl: Type.Number({ description: 'USD' }),
  tradeCount: Type.Integer(),
  volume: Type.Number({ description: 'USD' }),
})

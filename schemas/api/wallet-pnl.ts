import { type Static, Type } from 'typebox'
import { decimalOrNull, makePage, namedObject, nullable, textFields } from './common.ts'

/** Windows of profit and loss, in the chain's time; `all` is the wallet's life as far as it was ingested. */
const PNL_RESOLUTIONS = ['1d', '7d', '30d', 'all'] as const
export type PnlResolution = (typeof PNL_RESOLUTIONS)[number]

const resolution = Type.Optional(Type.Enum(PNL_RESOLUTIONS, { default: 'all' }))

const OR_ZERO = '"0" when not known'
const KNOWN = 'of the trades whose value is known'

/** Totals of a wallet over tokens; USD, counts, ratios as fractions, "0" where nothing is known. */
const PNL_TOTALS = {
  buys: 'Purchases',
  sells: 'Sales',
  totalTrades: 'Purchases and sales',
  tokens: 'Tokens that were traded',
  wins: 'Sales with a profit',
  losses: 'Sales with a loss',
  winRate: `Wins by wins and losses, fraction; ${OR_ZERO}`,
  buyAmountInUsd: `Paid, USD, ${KNOWN}`,
  sellAmountInUsd: `Got, USD, ${KNOWN}`,
  totalCostInUsd: 'Cost at the start of the window and what was bought in it, USD',
  realizedProfitInUsd: `USD, ${KNOWN}`,
  realizedProfitRatio: `By totalCostInUsd, fraction; ${OR_ZERO}`,
  unrealizedProfitInUsd: `Worth of open positions less their cost, USD; ${OR_ZERO}`,
  totalProfitInUsd: 'Realized and unrealized, USD',
  avgProfitPerTradeInUsd: `Realized and unrealized profit by trade, USD; ${OR_ZERO}`,
} as const

/** Profit and loss of a wallet over all tokens that it traded in a window. */
export const WalletPnlSummary = namedObject('WalletPnlSummary', {
  walletAddress: Type.String(),
  resolution: Type.String(),
  updatedAt: nullable(Type.String({ description: 'Time of the newest block, UTC' })),
  ...textFields(PNL_TOTALS),
  ...textFields({
    unrealizedProfitRatio: `By totalCostInUsd, fraction; ${OR_ZERO}`,
    totalProfitRatio: `By totalCostInUsd, fraction; ${OR_ZERO}`,
  }),
})
export type WalletPnlSummary = Static<typeof WalletPnlSummary>

/** Profit and loss of a wallet with one token in a window; the open part at the current price. */
export const PnlDetailItem = namedObject('PnlDetailItem', {
  ...textFields({
    walletAddress: 'The wallet',
    tokenAddress: 'The token',
    priceInUsd: OR_ZERO,
    balance: 'Held now, token units',
    currentValue: `Worth of the balance, USD; ${OR_ZERO}`,
    buys: 'Purchases',
    sells: 'Sales',
    totalTrades: 'Purchases and sales',
    buyAmount: `Token units; ${OR_ZERO}`,
    buyAmountInUsd: `Paid, USD, ${KNOWN}`,
    sellAmount: `Token units; ${OR_ZERO}`,
    sellAmountInUsd: `Got, USD, ${KNOWN}`,
    avgBuyPriceInUsd: `USD for one token, ${KNOWN}; ${OR_ZERO}`,
    avgSellPriceInUsd: `USD for one token, ${KNOWN}; ${OR_ZERO}`,
    realizedProfitInUsd: `USD, ${KNOWN}`,
    realizedProfitRatio: `By totalCostInUsd, fraction; ${OR_ZERO}`,
    unrealizedProfitInUsd: `Worth of the open position less its cost, USD; ${OR_ZERO}`,
    unrealizedProfitRatio: `By totalCostInUsd, fraction; ${OR_ZERO}`,
    totalProfitInUsd: 'Realized and unrealized, USD',
    totalProfitRatio: `By totalCostInUsd, fraction; ${OR_ZERO}`,
    avgProfitPerTradeInUsd: `Realized and unrealized profit by trade, USD; ${OR_ZERO}`,
  }),
  name: nullable(Type.String()),
  symbol: nullable(Type.String()),
  logoUri: nullable(Type.String()),
  decimals: nullable(Type.Integer()),
  wins: decimalOrNull('Sales with a profit'),
  losses: decimalOrNull('Sales with a loss'),
  totalCostInUsd: decimalOrNull('Cost at the start of the window and what was bought in it'),
  isClosed: Type.Boolean({ description: 'Nothing of known cost is held' }),
  firstBuyAt: nullable(
    Type.Integer({ description: 'First purchase in the window, epoch ms; null for `all`' }),
  ),
  lastSellAt: nullable(
    Type.Integer({ description: 'Last sale in the window, epoch ms; null for `all`' }),
  ),
})
export type PnlDetailItem = Static<typeof PnlDetailItem>

/** Totals over all tokens that fit, not over one page. */
export const PnlDetailSummary = namedObject('PnlDetailSummary', {
  ...textFields(PNL_TOTALS),
  ...textFields({ currentValue: `Worth of the balances, USD; ${OR_ZERO}` }),
})
export type PnlDetailSummary = Static<typeof PnlDetailSummary>

/** Details with their totals. */
export const PnlDetailsResult = namedObject('PnlDetailsResult', {
  ...makePage(PnlDetailItem).properties,
  summary: PnlDetailSummary,
})
export type PnlDetailsResult = Static<typeof PnlDetailsResult>

/** Parameters of a wallet's totals. */
export const PNL_QUERY = { resolution }

const list = (about: string) =>
  Type.String({ maxLength: 16_384, description: `${about}, comma-joined, at most 100` })

/** Parameters of a wallet with given tokens. */
export const PNL_BY_TOKEN_QUERY = { tokenAddresses: list('Tokens'), resolution }

/** Parameters of given wallets with a token. */
export const PNL_BY_WALLET_QUERY = {
  walletAddresses: list('Wallets'),
  tokenAddress: Type.String({ maxLength: 256 }),
  resolution,
}

/** Parameters of a wallet's details. */
export const PNL_DETAILS_QUERY = {
  resolution,
  positionState: Type.Optional(Type.Enum(['all', 'open', 'closed'], { default: 'all' })),
  sortBy: Type.Optional(
    Type.Enum(['totalPnl', 'realizedPnl', 'unrealizedPnl'], { default: 'totalPnl' }),
  ),
}

/** Path parameter of one wallet, beside the chain. */
export const WALLET_PARAM = { walletAddress: Type.String({ maxLength: 256 }) }

/** Body of the request for profit and loss to be computed anew, which it always is. */
export const CalculatePnl = namedObject('CalculatePnl', {
  tokenAddresses: Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: 100 })),
})

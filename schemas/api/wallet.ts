import { type Static, Type } from 'typebox'
import { ChainParam, decimalOrNull, namedObject, nullable, textFields } from './common.ts'

const OR_ZERO = '"0" when not known'

/** What trading a token came to, all text; "0" where nothing is known. */
export const TRADING_FIELDS = {
  buyAmount: 'Bought over the life of the wallet, token units; "0" when not known',
  buyAmountInUsd: 'Paid, USD: the purchases whose value is known',
  buys: 'Purchases',
  sellAmount: 'Sold over the life of the wallet, token units; "0" when not known',
  sellAmountInUsd: 'Got, USD: the sales whose value is known',
  sells: 'Sales',
  averageBuyPriceInUsd: `USD for one token, over the purchases of known value; ${OR_ZERO}`,
  averageSellPriceInUsd: `USD for one token, over the sales of known value; ${OR_ZERO}`,
  unrealizedProfitInUsd: `Worth of the open position less its cost, USD; ${OR_ZERO}`,
  unrealizedProfitRatio: `The same by all that was paid, fraction; ${OR_ZERO}`,
  realizedProfitInUsd: 'Of the sales since the position was opened, or of the last one, USD',
  realizedProfitRatio: `The same by all that was paid, fraction; ${OR_ZERO}`,
  totalRealizedProfitInUsd: 'Of all sales, USD',
  totalRealizedProfitRatio: `The same by all that was paid, fraction; ${OR_ZERO}`,
} as const

const WALLET_STAT_FIELDS = {
  id: 'Stays the same for a wallet and a token',
  chain: 'As the request names it',
  walletAddress: 'The wallet',
  tokenAddress: 'The token',
  tokenPriceInUsd: OR_ZERO,
  openTime: 'First purchase of the position, epoch ms; "0" when there is none',
  closeTime: 'End of the last position, epoch ms; "0" while one is open',
  lastTime: 'Last trade, epoch ms',
  balance: 'Held, token units',
} as const

/** What a wallet made of one token: 23 fields, all text. Times are epoch milliseconds. */
export const WalletPnlStat = namedObject('WalletPnlStat', {
  ...textFields(WALLET_STAT_FIELDS),
  ...textFields(TRADING_FIELDS),
})
export type WalletPnlStat = Static<typeof WalletPnlStat>

/** One element per token that the wallet traded. */
export const WalletPnlStats = Type.Array(WalletPnlStat)

/** Path of one wallet. */
export const WalletParams = Type.Object({
  chain: ChainParam,
  walletAddress: Type.String({ maxLength: 256 }),
})

/** Query of a wallet's statistics. */
export const WalletStatsQuery = Type.Object({
  tokenAddress: Type.Optional(Type.String({ maxLength: 256 })),
})

const optionalTime = (about: string) =>
  nullable(Type.Integer({ description: `${about}, epoch ms; null when there is none` }))

/** What a wallet holds of a token and what trading it came to. */
export const WalletBalance = namedObject('WalletBalance', {
  tokenAddress: Type.String(),
  name: Type.String({ description: 'Empty when not known' }),
  symbol: Type.String({ description: 'Empty when not known' }),
  imageUrl: nullable(Type.String()),
  amount: Type.String({ description: 'Token units' }),
  valueInUsd: Type.String({ description: '"0" when the price is not known' }),
  priceInUsd: Type.String({ description: '"0" when not known' }),
  priceInSol: Type.String({ description: 'In the chain\'s native token; "0" when not known' }),
  priceChangeRatioInUsd24h: decimalOrNull('Change over a day, as a fraction'),
  ...textFields(TRADING_FIELDS),
  openTime: optionalTime('First purchase of the position'),
  closeTime: optionalTime('End of the last position'),
})
export type WalletBalance = Static<typeof WalletBalance>

/** The most valuable tokens of a wallet; the totals are over all that were asked for. */
export const WalletBalances = namedObject('WalletBalances', {
  totalBalancesInUsd: Type.String({ description: 'Worth of all tokens that are held' }),
  totalProfitInUsd: Type.String({
    description: 'Realized and unrealized, over all tokens that were traded',
  }),
  balances: Type.Array(WalletBalance),
})
export type WalletBalances = Static<typeof WalletBalances>

/** Parameters of a wallet's balances. */
export const WALLET_BALANCES_QUERY = WalletStatsQuery.properties

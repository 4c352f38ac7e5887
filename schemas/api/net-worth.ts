import { type Static, Type } from 'typebox'
import { decimalOrNull, makePage, namedObject, nullable } from './common.ts'

const time = (about: string) => Type.String({ description: `${about}, UTC` })
const usd = (about: string) => Type.String({ description: `${about}, USD` })

/** What a wallet holds of one token, at the current price. */
export const NetWorthItem = namedObject('NetWorthItem', {
  chain: Type.String(),
  tokenAddress: Type.String(),
  name: Type.String({ description: 'Empty when not known' }),
  symbol: Type.String({ description: 'Empty when not known' }),
  decimals: Type.Integer({ description: '0 when not known' }),
  logoUri: nullable(Type.String()),
  amount: Type.String({ description: 'Token units' }),
  priceInUsd: Type.String({ description: '"0" when not known' }),
  priceInNative: Type.String({ description: '"0" when not known' }),
  valueInUsd: Type.String({ description: '"0" when the price is not known' }),
  valueInNative: Type.String({ description: '"0" when the price is not known' }),
  isActive: Type.Boolean({ description: 'The wallet holds some' }),
  accuAmount: decimalOrNull('Bought less sold, token units'),
  avgCostUsd: decimalOrNull('USD for one bought token'),
  realizedPnlInUsd: decimalOrNull('USD'),
  unrealizedPnlInUsd: decimalOrNull('USD'),
  lastActiveAt: nullable(Type.Integer({ description: 'Last change of the balance, epoch ms' })),
  walletTokenTags: Type.Array(Type.String()),
})
export type NetWorthItem = Static<typeof NetWorthItem>

/** Fields of a wallet's whole worth. */
const NET_WORTH_TOTALS = {
  walletAddress: Type.String(),
  currentTimestamp: time('Time of the newest block'),
  totalValueInUsd: Type.String({ description: 'Over the whole wallet' }),
  totalValueInNative: Type.String({ description: 'Over the whole wallet' }),
}

/** What a wallet holds of given tokens. */
export const NetWorthByTokens = namedObject('NetWorthByTokensResult', {
  data: Type.Array(NetWorthItem),
  ...NET_WORTH_TOTALS,
})
export type NetWorthByTokens = Static<typeof NetWorthByTokens>

/** Fields of a wallet's worth at a moment. */
const NET_WORTH_AT_TIME = {
  walletAddress: Type.String(),
  netWorth: usd('Over the whole wallet'),
  requestedTimestamp: time('The moment that was asked for'),
  resolvedTimestamp: time('The moment that is shown'),
}

/** A page of what a wallet holds, with its whole worth. */
export const WalletNetWorthPage = namedObject('WalletNetWorthPage', {
  ...makePage(NetWorthItem).properties,
  ...NET_WORTH_TOTALS,
})

/** A page of what a wallet held, with its worth at that moment. */
export const WalletNetWorthDetailsPage = namedObject('WalletNetWorthDetailsPage', {
  ...makePage(NetWorthItem).properties,
  ...NET_WORTH_AT_TIME,
})

/** Parameters of the worth at a moment. */
export const NET_WORTH_DETAILS_QUERY = {
  hours: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 720,
      default: 0,
      description: 'So many hours back; 0 = now',
    }),
  ),
}

/** Parameters of the history of a wallet's net worth. */
export const NET_WORTH_CHART_QUERY = {
  hours: Type.Optional(Type.Integer({ minimum: 1, maximum: 720, default: 24 })),
}

/** A wallet's worth at the end of each hour, oldest first; hours before it was first seen are left out. */
export const WalletNetWorthChart = namedObject('WalletNetWorthChartResponse', {
  walletAddress: Type.String(),
  currentTimestamp: time('Time of the newest block'),
  pastTimestamp: time('Begin of the chart'),
  history: Type.Array(
    namedObject('WalletNetWorthPoint', {
      timestamp: time('End of the hour, or now'),
      netWorth: usd('Worth'),
      netWorthChange: usd('Change since the point before'),
      netWorthChangePercent: Type.String({ description: 'The same, percent' }),
    }),
  ),
})
export type WalletNetWorthChart = Static<typeof WalletNetWorthChart>

/** Parameters of the worth of several wallets. */
export const WALLETS_QUERY = {
  walletAddresses: Type.String({ maxLength: 16_384, description: 'Comma-joined, at most 100' }),
}

/** Parameters of a wallet with given tokens. */
export const WALLET_TOKENS_QUERY = {
  tokenAddresses: Type.String({ maxLength: 16_384, description: 'Comma-joined, at most 100' }),
}

/** Worth of several wallets. */
export const WalletNetWorthSummary = namedObject('WalletNetWorthSummaryResponse', {
  currentTimestamp: time('Time of the newest block'),
  wallets: Type.Record(Type.String(), namedObject('WalletNetWorth', { value: usd('Worth') })),
})
export type WalletNetWorthSummary = Static<typeof WalletNetWorthSummary>

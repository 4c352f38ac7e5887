import { type Static, Type } from 'typebox'
import { ChainParam, namedObject } from './common.ts'

const WALLET_STAT_FIELDS = [
  'id',
  'chain',
  'walletAddress',
  'tokenAddress',
  'tokenPriceInUsd',
  'openTime',
  'closeTime',
  'lastTime',
  'balance',
  'buyAmount',
  'buyAmountInUsd',
  'buys',
  'sellAmount',
  'sellAmountInUsd',
  'sells',
  'averageBuyPriceInUsd',
  'averageSellPriceInUsd',
  'unrealizedProfitInUsd',
  'unrealizedProfitRatio',
  'realizedProfitInUsd',
  'realizedProfitRatio',
  'totalRealizedProfitInUsd',
  'totalRealizedProfitRatio',
] as const

/** What a wallet made of one token: 23 fields, all text. Times are epoch milliseconds. */
export const WalletPnlStat = namedObject(
  'WalletPnlStat',
  Object.fromEntries(WALLET_STAT_FIELDS.map((name) => [name, Type.String()])) as Record<
    (typeof WALLET_STAT_FIELDS)[number],
    ReturnType<typeof Type.String>
  >,
)
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

import { type Static, Type } from 'typebox'
import { ChainParam, decimalOrNull, namedObject, nullable } from './common.ts'

const STAT_NUMBERS = [
  'buys',
  'sells',
  'trades',
  'buyers',
  'sellers',
  'traders',
  'poolCount',
  'dappProgramCount',
  'buyVolume',
  'sellVolume',
  'buyVolumeInUsd',
  'sellVolumeInUsd',
  'totalVolumeInUsd',
  'buyVolumeInNative',
  'sellVolumeInNative',
  'totalVolumeInNative',
  'openInUsd',
  'highInUsd',
  'lowInUsd',
  'closeInUsd',
  'openInNative',
  'highInNative',
  'lowInNative',
  'closeInNative',
  'averagePriceInUsd',
  'averagePriceInNative',
  'priceChangeRatioInUsd',
  'volumeChangeRatio',
  'liquidityChangeRatio',
  'buySellRatio',
  'currentLiquidityInUsd',
  'prevBuys',
  'prevSells',
  'prevTrades',
  'prevBuyers',
  'prevSellers',
  'prevPoolCount',
  'prevDappProgramCount',
  'prevBuyVolume',
  'prevSellVolume',
  'prevBuyVolumeInUsd',
  'prevSellVolumeInUsd',
  'prevBuyVolumeInNative',
  'prevSellVolumeInNative',
  'prevOpenInUsd',
  'prevHighInUsd',
  'prevLowInUsd',
  'prevCloseInUsd',
  'prevOpenInNative',
  'prevHighInNative',
  'prevLowInNative',
  'prevCloseInNative',
  'prevLiquidityInUsd',
] as const

/** A number of one window of token statistics. */
export type StatNumber = (typeof STAT_NUMBERS)[number]

/** One window; `prev` are the numbers of the window before it. */
export const TokenStatPeriod = namedObject('TokenTradeStatPeriod', {
  ...(Object.fromEntries(STAT_NUMBERS.map((name) => [name, decimalOrNull('')])) as Record<
    StatNumber,
    ReturnType<typeof decimalOrNull>
  >),
  updatedAt: nullable(
    Type.String({
      description:
        'Time at which the window ended, UTC. It holds the bucket of this time and the 59 before it',
    }),
  ),
})
export type TokenStatPeriod = Static<typeof TokenStatPeriod>

/** Statistics of a token by window. */
export const TokenStats = namedObject('TokenStats', {
  address: Type.String(),
  periods: Type.Record(Type.String(), TokenStatPeriod),
})
export type TokenStats = Static<typeof TokenStats>

/** Statistics by token address; tokens without any are missing. */
export const TokenStatsMap = Type.Record(Type.String(), TokenStats)

/** Query of every look-up of several tokens. */
export const TokensQuery = Type.Object({
  tokenAddresses: Type.String({ maxLength: 16_384, description: 'Comma-joined, at most 100' }),
})

/** Path of a chain alone. */
export const ChainParams = Type.Object({ chain: ChainParam })

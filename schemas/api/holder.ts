import { type Static, Type } from 'typebox'
import { DIRECTION, decimalOrNull, makePage, namedObject, nullable, PAGE_QUERY } from './common.ts'

const timeMs = (about: string) => nullable(Type.Integer({ description: `${about}, epoch ms` }))

/** Who holds a token, and what trading it brought. What is not known is null. */
export const TokenHolder = namedObject('TokenHolder', {
  walletAddress: Type.String(),
  amount: Type.String({ description: 'Token units' }),
  amountInUsd: decimalOrNull('At the last good price'),
  amountInNative: decimalOrNull('At the last good price'),
  percentage: decimalOrNull('Percent of the total supply'),
  startHoldingAt: timeMs('First balance'),
  lastActiveAt: timeMs('Last change'),
  avgBuyPriceUsd: decimalOrNull(''),
  avgSellPriceUsd: decimalOrNull(''),
  positionCostUsd: decimalOrNull('Cost of the amount whose cost is known'),
  totalCostUsd: decimalOrNull('All that was paid'),
  realizedProfit: decimalOrNull('USD'),
  unrealizedProfit: decimalOrNull('USD'),
  totalProfit: decimalOrNull('USD'),
  roi: decimalOrNull('Profit by cost'),
  winCount: nullable(Type.Integer()),
  lossCount: nullable(Type.Integer()),
  buyVolumeUsd: decimalOrNull(''),
  sellVolumeUsd: decimalOrNull(''),
  buyAmountCur: decimalOrNull('Token units'),
  sellAmountCur: decimalOrNull('Token units'),
  totalBuyCount: nullable(Type.Integer()),
  totalSellCount: nullable(Type.Integer()),
  netflowUsd: decimalOrNull('Bought less sold'),
  tags: Type.Array(Type.String(), {
    description: '`dev`, `creators`; `pool`: the address of a pool, which is not a trader',
  }),
  makerTokenTags: Type.Array(Type.String(), {
    description:
      '`top_holder`: the ten largest, on the first page of a list by amount, `whale`: more than 10,000 USD, `diamond_hands`: for more than 30 days; never a pool',
  }),
})
export type TokenHolder = Static<typeof TokenHolder>

/** A page of holders. */
export const TokenHolderPage = makePage(TokenHolder)

/** Orders of holders. */
const HOLDER_SORTS = [
  'amountPercentage',
  'holdingUsd',
  'usdValue',
  'totalPnl',
  'realizedPnl',
  'unrealizedPnl',
  'buyVolume',
  'sellVolume',
  'netflowUsd',
  'lastActiveAt',
  'createdAt',
] as const
export type HolderSort = (typeof HOLDER_SORTS)[number]

/** Query of holder lists. */
export const HoldersQuery = Type.Object({
  ...PAGE_QUERY,
  sortBy: Type.Optional(Type.Enum([...HOLDER_SORTS], { default: 'amountPercentage' })),
  sortDirection: Type.Optional(DIRECTION),
})
export type HoldersQuery = Static<typeof HoldersQuery>

/** Query of the look-up of several holders. */
export const HoldersMultiQuery = Type.Object({
  walletAddresses: Type.String({ maxLength: 16_384, description: 'Comma-joined, at most 100' }),
})

/** Some holders, in the order asked for; who holds nothing is missing. */
export const TokenHolders = Type.Array(TokenHolder)

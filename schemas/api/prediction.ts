import { type Static, Type } from 'typebox'
import { namedObject, nullable } from './common.ts'

/** Kinds of activities: `inventory_adjust` is a split, a merge or a conversion of outcome tokens. */
const PREDICTION_ACTIVITY_TYPES = ['buy', 'sell', 'redeem', 'inventory_adjust'] as const
export type PredictionActivityType = (typeof PREDICTION_ACTIVITY_TYPES)[number]

const HASH_PATTERN = '^0x[0-9a-fA-F]{64}$'
const hash = (about: string) =>
  Type.String({ pattern: HASH_PATTERN, maxLength: 66, description: about })
/** Parameter or field of prediction markets. */
export const TOKEN_ID = Type.String({
  pattern: '^(0|[1-9]\\d{0,77})$',
  maxLength: 78,
  description: 'Outcome token, a decimal number of up to 78 digits',
})
/** Parameter or field of prediction markets. */
export const WALLET = Type.String({ maxLength: 128, description: 'Address of a wallet' })
/** Direction of a list of prediction markets. */
export const PREDICTION_ORDER = Type.Enum(['desc', 'asc'], { default: 'desc' })

/** Parameter or field of prediction markets. */
export const CONDITION_ID = hash('Condition: one question with its outcomes')

/** Path parameter of one condition. */
export const CONDITION_PARAM = { conditionId: CONDITION_ID }

/** Path parameter of an event. */
export const EVENT_PARAM = {
  eventSlug: Type.String({
    pattern: '^[\\w-]{1,128}$',
    maxLength: 128,
    description:
      'On-chain id of a group of questions (its market id). Slugs of the site are not on the chain: nothing is known of them',
  }),
}

/** Parameters of the activities of a market. */
export const MARKET_ACTIVITY_QUERY = {
  token_id: Type.Optional(TOKEN_ID),
  wallet: Type.Optional(WALLET),
  activity_type: Type.Optional(Type.Enum(PREDICTION_ACTIVITY_TYPES)),
  order: Type.Optional(PREDICTION_ORDER),
}

/** Parameters of the activities of an event. */
export const EVENT_ACTIVITY_QUERY = {
  ...MARKET_ACTIVITY_QUERY,
  market_id: Type.Optional(hash('Group of questions')),
  condition_id: Type.Optional(CONDITION_ID),
}

const text = (about: string) => Type.Optional(Type.String({ description: about }))

/** What one wallet did in a prediction market. What is not known is left out: clients of other languages read no null here. */
export const PredictionActivity = namedObject('PredictionActivity', {
  activityId: Type.String(),
  type: Type.Enum(PREDICTION_ACTIVITY_TYPES),
  rawType: text('Kind of settlement as its event is called'),
  source: Type.String({ description: 'Protocol' }),
  conditionId: text('Left out for a conversion, and for a token whose registration was not seen'),
  marketId: text('Group of questions, of settlements by an adapter'),
  tokenId: text('Left out where several tokens moved: `assetIds`'),
  assetIds: Type.Array(Type.String(), { description: 'Outcome tokens' }),
  outcome: text('Place of the outcome in its condition, from 0'),
  price: text('Collateral for one outcome token'),
  pricePerShare: text('The same'),
  quantity: text(
    'Outcome tokens; for several of one settlement those of each where they are equal',
  ),
  amount: text('Collateral'),
  collateralAmount: text('The same'),
  collateralTokenAddress: text('What the market is paid in'),
  collateralTokenSymbol: text('Its symbol'),
  feeAmount: text('Fee of a trade, in collateral'),
  feeTokenAddress: text('What it is paid in'),
  feeTokenSymbol: text('Its symbol'),
  wallet: Type.String(),
  participantRole: Type.Optional(Type.Enum(['maker', 'taker', 'unknown'])),
  counterparty: text('Other side of a trade'),
  taker: text('Taker of a trade'),
  blockNumber: Type.Integer(),
  logIndex: Type.Integer(),
  txHash: Type.String(),
  timestamp: Type.Integer({ description: 'Epoch ms' }),
})
export type PredictionActivity = Static<typeof PredictionActivity>

/** A page of activities. */
export const PredictionActivities = namedObject('PredictionActivities', {
  eventSlug: Type.String({ description: 'As it was asked for; empty for a market' }),
  limit: Type.Integer(),
  order: Type.Enum(['asc', 'desc']),
  retentionDays: Type.Integer({ description: '0: activities are kept for ever' }),
  activities: Type.Array(PredictionActivity),
  cursor: nullable(Type.String({ description: 'Of the next page; null at the end' })),
})

import { formatUnits } from '../../core/amounts.ts'
import {
  CONDITION_PARAM,
  EVENT_ACTIVITY_QUERY,
  EVENT_PARAM,
  MARKET_ACTIVITY_QUERY,
  PredictionActivities,
  type PredictionActivity,
} from '../../schemas/api/prediction.ts'
import {
  PREDICTION_CHAIN,
  PREDICTION_COLLATERALS,
  PREDICTION_DECIMALS,
} from '../../schemas/predictions.ts'
import {
  type PredictionActivityRow,
  predictionActivityList,
} from '../queries/prediction-activities.ts'
import { isDescending, numberTextOrNull } from './body-values.ts'
import { type ChainRoute, defineShapedPageRoute, type ShapedPage } from './chain-route.ts'

/** The fields that are known. */
const knownFields = <Fields extends object>(fields: Fields) =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== '' && value !== null),
  ) as { [Name in keyof Fields]?: NonNullable<Fields[Name]> }

const symbolOf = (collateral: string): string | null =>
  PREDICTION_COLLATERALS.find(({ address }) => address === collateral)?.symbol ?? null

/** Amounts of one collateral; of another one than the exchanges are paid in the decimals are not known. */
const moneyFields = (row: PredictionActivityRow) => {
  const { collateral_token: address, collateral, amounts, fee } = row
  const symbol = symbolOf(address)
  const units = (raw: string | null): string | null =>
    raw === null || (symbol === null && address !== '')
      ? null
      : formatUnits(BigInt(raw), PREDICTION_DECIMALS)
  const [quantity = null, ...others] = amounts
  const feeAmount = units(fee)
  return {
    quantity: units(others.every((other) => other === quantity) ? quantity : null),
    amount: units(collateral),
    collateralAmount: units(collateral),
    collateralTokenAddress: address,
    collateralTokenSymbol: symbol,
    feeAmount,
    feeTokenAddress: feeAmount === null ? null : address,
    feeTokenSymbol: feeAmount === null ? null : symbol,
  }
}

const activityBody = (row: PredictionActivityRow): PredictionActivity => ({
  activityId: `${row.tx}:${row.log}`,
  type: row.type,
  source: row.source,
  assetIds: [...row.tokens],
  wallet: row.actor,
  blockNumber: Number(row.height),
  logIndex: row.log,
  txHash: row.tx,
  timestamp: Number(row.time_ms),
  ...(row.role !== '' && { participantRole: row.role }),
  ...knownFields({
    rawType: row.raw_type,
    conditionId: row.condition_id,
    marketId: row.market_id,
    tokenId: row.tokens.length === 1 ? (row.tokens[0] ?? null) : null,
    outcome: row.outcome,
    price: numberTextOrNull(row.price),
    pricePerShare: numberTextOrNull(row.price),
    counterparty: row.counterparty,
    taker: row.taker,
    ...moneyFields(row),
  }),
})

const activitiesBody = (
  eventSlug: string,
  order: 'asc' | 'desc' | undefined,
  page: ShapedPage<PredictionActivityRow>,
) => ({
  eventSlug,
  limit: page.limit,
  order: order ?? 'desc',
  retentionDays: 0,
  activities: page.rows.map(activityBody),
  cursor: page.cursor,
})

const narrowed = (query: {
  readonly token_id?: string
  readonly wallet?: string
  readonly activity_type?: PredictionActivity['type']
  readonly order?: 'asc' | 'desc'
}) => ({
  tokenId: query.token_id,
  wallet: query.wallet,
  type: query.activity_type,
  descending: isDescending(query.order),
})

const marketActivities = defineShapedPageRoute({
  path: '/prediction/markets/:conditionId/activities',
  chain: PREDICTION_CHAIN,
  summary: 'Trades and settlements of one condition',
  tag: 'prediction',
  params: CONDITION_PARAM,
  query: MARKET_ACTIVITY_QUERY,
  response: PredictionActivities,
  list: ({ chain, params, query }) =>
    predictionActivityList(chain.id, {
      ...narrowed(query),
      conditionIds: [params.conditionId.toLowerCase()],
    }),
  answer: (page: ShapedPage<PredictionActivityRow>, { query }) =>
    activitiesBody('', query.order, page),
})

const MARKET_ID = /^0x[0-9a-f]{64}$/

/** Groups of questions that an event and a parameter name together: none for a slug, and for two different ones. */
const marketsOf = (eventSlug: string, marketId: string | undefined): readonly string[] => {
  const [event, market] = [eventSlug.toLowerCase(), marketId?.toLowerCase()]
  return MARKET_ID.test(event) && (market === undefined || market === event) ? [event] : []
}

const eventActivities = defineShapedPageRoute({
  path: '/prediction/events/:eventSlug/activities',
  chain: PREDICTION_CHAIN,
  summary: 'Trades and settlements of the questions of an event',
  tag: 'prediction',
  params: EVENT_PARAM,
  query: EVENT_ACTIVITY_QUERY,
  response: PredictionActivities,
  list: ({ chain, params, query }) =>
    predictionActivityList(chain.id, {
      ...narrowed(query),
      marketIds: marketsOf(params.eventSlug, query.market_id),
      conditionIds:
        query.condition_id === undefined ? undefined : [query.condition_id.toLowerCase()],
    }),
  answer: (page: ShapedPage<PredictionActivityRow>, { params, query }) =>
    activitiesBody(params.eventSlug, query.order, page),
})

/** What wallets did in prediction markets. */
export const predictionActivityRoutes: readonly ChainRoute[] = [marketActivities, eventActivities]

import { formatUsd } from '../../core/amounts.ts'
import { CONDITION_PARAM } from '../../schemas/api/prediction.ts'
import {
  PREDICTION_HOLDERS_QUERY,
  PREDICTION_TRADERS_QUERY,
  type PredictionHolder,
  PredictionHolderStats,
  PredictionHolders,
  type PredictionOutcomeStats,
  type PredictionTrader,
  PredictionTraders,
} from '../../schemas/api/prediction-positions.ts'
import { PREDICTION_CHAIN } from '../../schemas/predictions.ts'
import type { KeysetList } from '../queries/keyset-list.ts'
import {
  COHORT_FLOORS,
  type PredictionOutcomeRow,
  type PredictionWalletRow,
  predictionHolderList,
  predictionOutcomeStatsQuery,
  predictionTraderList,
} from '../queries/prediction-positions.ts'
import { isDescending, numberTextOrNull } from './body-values.ts'
import {
  type ChainRequest,
  type ChainRoute,
  defineReadRoute,
  defineShapedPageRoute,
  type ShapedPage,
} from './chain-route.ts'
import {
  amountRatio,
  predictionUnits,
  requiredRatio,
  STATE_QUALITY,
  sumOf,
} from './prediction-values.ts'

/** The list, or none of it where a topic is asked for: nothing has one. */
export const withoutTopic = (list: KeysetList, tag: string | undefined): KeysetList =>
  tag === undefined ? list : { ...list, where: [...list.where, '0'] }

/** Time of the newest block; null where there is none. */
export const headTimeMs = async ({
  chain,
  deps,
}: Pick<ChainRequest<object, object>, 'chain' | 'deps'>): Promise<number | null> =>
  chain.enabled ? ((await deps.freshness.of(chain.id))?.headTimeMs ?? null) : null

const holderBody = (row: PredictionWalletRow): PredictionHolder => {
  const total = sumOf(row.realized, row.unrealized)
  return {
    wallet: row.wallet,
    balance: predictionUnits(row.balance),
    avgPrice: numberTextOrNull(amountRatio(row.cost, row.known)),
    markPrice: numberTextOrNull(amountRatio(row.worth, row.balance)),
    holdingValue: predictionUnits(row.worth),
    realizedPnl: predictionUnits(row.realized),
    unrealizedPnl: predictionUnits(row.unrealized),
    totalPnl: predictionUnits(total),
    totalPnlRatio: requiredRatio(total, row.paid),
    totalVolume: predictionUnits(row.volume),
    lastActivityTs: row.last_ms,
    isWhale: BigInt(row.worth) >= BigInt(COHORT_FLOORS.whale),
    topics: [],
  }
}

const holders = defineShapedPageRoute({
  path: '/prediction/markets/:conditionId/holders',
  chain: PREDICTION_CHAIN,
  summary: 'Wallets that hold outcome tokens of a condition',
  tag: 'prediction',
  params: CONDITION_PARAM,
  query: PREDICTION_HOLDERS_QUERY,
  response: PredictionHolders,
  list: ({ chain, params, query }) =>
    withoutTopic(
      predictionHolderList(
        chain.id,
        { conditionId: params.conditionId.toLowerCase(), tokenId: query.token_id },
        { sort: query.sort_by ?? 'holding_value', descending: isDescending(query.order) },
      ),
      query.tag,
    ),
  answer: async (page: ShapedPage<PredictionWalletRow>, request) => ({
    conditionId: request.params.conditionId.toLowerCase(),
    tokenId: request.query.token_id ?? null,
    limit: page.limit,
    order: request.query.order ?? 'desc',
    sortBy: request.query.sort_by ?? 'holding_value',
    stateQuality: STATE_QUALITY,
    holders: page.rows.map(holderBody),
    cursor: page.cursor,
    updatedAtMs: await headTimeMs(request),
  }),
})

const cohort = ([count, value]: readonly [string, string]) => ({
  count: Number(count),
  holdingValue: predictionUnits(value),
})

const outcomeBody = (row: PredictionOutcomeRow, allWorth: bigint): PredictionOutcomeStats => {
  const total = sumOf(row.realized, row.unrealized)
  const count = Number(row.holders)
  return {
    tokenId: row.token,
    outcome: row.outcome,
    holderCount: count,
    totalBalance: predictionUnits(row.balance),
    holdingValue: predictionUnits(row.worth),
    ratio: amountRatio(row.worth, allWorth) ?? 0,
    topHolderShare: amountRatio(row.largest, row.balance) ?? 0,
    totalCostBasis: predictionUnits(row.cost),
    totalRealizedPnl: predictionUnits(row.realized),
    totalUnrealizedPnl: predictionUnits(row.unrealized),
    totalPnl: predictionUnits(total),
    totalProfit: predictionUnits(row.profit),
    avgProfit: predictionUnits(total / BigInt(row.wallets)),
    medianPnl: formatUsd(row.median_pnl),
    totalYield: amountRatio(total, row.paid) ?? 0,
    medianYield: row.median_yield ?? 0,
    top100: { count: Math.min(count, 100), holdingValue: predictionUnits(row.top100) },
    whale: cohort(row.whale),
    shark: cohort(row.shark),
    dolphin: cohort(row.dolphin),
  }
}

const holderStats = defineReadRoute({
  path: '/prediction/markets/:conditionId/holder-stats',
  chain: PREDICTION_CHAIN,
  summary: 'Holders of a condition by outcome',
  tag: 'prediction',
  params: CONDITION_PARAM,
  query: {},
  response: PredictionHolderStats,
  absent: 'empty',
  answer: async (request) => {
    const conditionId = request.params.conditionId.toLowerCase()
    const rows = request.chain.enabled
      ? await request.rows<PredictionOutcomeRow>(
          predictionOutcomeStatsQuery(request.chain.id, conditionId),
        )
      : []
    const worth = sumOf(...rows.map((row) => row.worth))
    return {
      conditionId,
      outcomes: rows.map((row) => outcomeBody(row, worth)),
      stateQuality: STATE_QUALITY,
      updatedAtMs: await headTimeMs(request),
    }
  },
})

const traderBody = (row: PredictionWalletRow): PredictionTrader => ({
  wallet: row.wallet,
  amount: predictionUnits(row.paid),
  avgPrice: numberTextOrNull(amountRatio(row.paid, row.bought)),
  netBalance: predictionUnits(row.net_balance),
  netTokenId: row.net_token,
  realizedProfit: predictionUnits(row.realized),
  realizedProfitPnl: amountRatio(row.realized, row.paid),
  totalPnl: predictionUnits(sumOf(row.realized, row.unrealized)),
  totalVolume: predictionUnits(row.volume),
  lastActivityTs: row.last_ms,
})

const traders = defineShapedPageRoute({
  path: '/prediction/markets/:conditionId/traders',
  chain: PREDICTION_CHAIN,
  summary: 'Wallets that traded a condition, by what it brought them',
  tag: 'prediction',
  params: CONDITION_PARAM,
  query: PREDICTION_TRADERS_QUERY,
  response: PredictionTraders,
  list: ({ chain, params, query }) =>
    withoutTopic(
      predictionTraderList(chain.id, params.conditionId.toLowerCase(), {
        sort: query.sort_by ?? 'total_pnl',
        descending: isDescending(query.order),
      }),
      query.tag,
    ),
  answer: async (page: ShapedPage<PredictionWalletRow>, request) => ({
    conditionId: request.params.conditionId.toLowerCase(),
    limit: page.limit,
    order: request.query.order ?? 'desc',
    sortBy: request.query.sort_by ?? 'total_pnl',
    stateQuality: STATE_QUALITY,
    traders: page.rows.map(traderBody),
    cursor: page.cursor,
    updatedAtMs: await headTimeMs(request),
  }),
})

/** Who holds and who traded outcome tokens of a condition. */
export const predictionHolderRoutes: readonly ChainRoute[] = [holders, holderStats, traders]

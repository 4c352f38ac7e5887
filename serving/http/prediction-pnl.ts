import type { Static, TObject } from 'typebox'
import {
  PREDICTION_LEADERBOARD_QUERY,
  PREDICTION_PNL_QUERY,
  PREDICTION_WALLET_PARAM,
  type PredictionLeader,
  PredictionLeaderboard,
  type PredictionWalletDay,
  PredictionWalletPnl,
  type PredictionWalletToken,
} from '../../schemas/api/prediction-positions.ts'
import { PREDICTION_CHAIN } from '../../schemas/predictions.ts'
import {
  type PositionScope,
  type PredictionPositionRow,
  type PredictionTotalsRow,
  predictionPositionList,
  predictionTotalsQuery,
} from '../queries/prediction-positions.ts'
import {
  PREDICTION_DAYS,
  type PredictionDayRow,
  type PredictionLastChangeRow,
  type PredictionLeaderRow,
  predictionDaysQuery,
  predictionLastChangesQuery,
  predictionLeaderList,
  predictionRankQuery,
} from '../queries/prediction-wallets.ts'
import { isDescending } from './body-values.ts'
import {
  type ChainRequest,
  type ChainRoute,
  defineShapedPageRoute,
  type ShapedPage,
} from './chain-route.ts'
import { headTimeMs, withoutTopic } from './prediction-holders.ts'
import { dayOf, predictionSummaryBody, tradeResultFields, windowOf } from './prediction-summary.ts'
import { predictionUnits, requiredRatio, STATE_QUALITY } from './prediction-values.ts'

const tokenBody = (
  wallet: string,
  row: PredictionPositionRow,
  last: PredictionLastChangeRow | undefined,
): PredictionWalletToken => ({
  wallet,
  tokenId: row.token,
  conditionId: row.condition_id,
  marketId: '',
  marketQuestion: '',
  eventSlug: '',
  outcome: row.outcome,
  openQuantity: predictionUnits(row.quantity),
  costBasis: predictionUnits(row.cost),
  avgEntryPrice: requiredRatio(row.paid, row.bought),
  avgSellPrice: requiredRatio(row.received, row.sold),
  lastPrice: predictionUnits(row.mark ?? '0'),
  ...tradeResultFields(row),
  winCount: BigInt(row.realized) > 0n ? 1 : 0,
  lossCount: BigInt(row.realized) < 0n ? 1 : 0,
  firstActivityTs: row.first_ms,
  lastActivityId: last === undefined ? '' : `${last.tx}:${last.log}`,
  lastSeqIndex: last?.log ?? 0,
  tags: [],
})

const dayBody = (row: PredictionDayRow): PredictionWalletDay => ({
  day: row.day,
  activityCount: Number(row.activities),
  volume: predictionUnits(row.volume),
  realizedPnl: predictionUnits(row.realized),
  winCount: Number(row.wins),
  lossCount: Number(row.losses),
})

type WalletScope = Extract<PositionScope, { readonly wallets: readonly string[] }>

/** What positions of wallets are together and by day. */
const readTotals = async (
  { chain, rows }: Pick<ChainRequest<object, object>, 'chain' | 'rows'>,
  scope: WalletScope,
  headMs: number | null,
) => {
  if (headMs === null || scope.wallets.length === 0) return { totals: [], days: [] }
  const [totals, days] = await Promise.all([
    rows<PredictionTotalsRow>(predictionTotalsQuery(chain.id, scope)),
    rows<PredictionDayRow>(predictionDaysQuery(chain.id, { ...scope, today: dayOf(headMs) })),
  ])
  return { totals, days }
}

type PnlRequest = ChainRequest<
  Static<TObject<typeof PREDICTION_WALLET_PARAM>>,
  Static<TObject<typeof PREDICTION_PNL_QUERY>>
>

const scopeOf = ({ params, query }: PnlRequest): WalletScope => ({
  wallets: query.tag === undefined ? [params.wallet] : [],
  conditionId: query.condition_id?.toLowerCase(),
  tokenId: query.token_id,
})

const walletPnl = defineShapedPageRoute({
  path: '/prediction/wallets/:wallet/pnl',
  chain: PREDICTION_CHAIN,
  summary: 'What prediction markets brought a wallet: together, by outcome token and by day',
  tag: 'prediction',
  params: PREDICTION_WALLET_PARAM,
  query: PREDICTION_PNL_QUERY,
  response: PredictionWalletPnl,
  list: (request) =>
    predictionPositionList(request.chain.id, scopeOf(request), {
      sort: request.query.sort_by ?? 'totalPnl',
      descending: isDescending(request.query.order),
    }),
  answer: async (page: ShapedPage<PredictionPositionRow>, request) => {
    const { chain, params, query, rows } = request
    const { wallet } = params
    const headMs = await headTimeMs(request)
    const tokens = page.rows.map(({ token }) => token)
    const [{ totals, days }, last] = await Promise.all([
      readTotals(request, scopeOf(request), headMs),
      tokens.length === 0
        ? []
        : rows<PredictionLastChangeRow>(predictionLastChangesQuery(chain.id, wallet, tokens)),
    ])
    const lastOf = new Map(last.map((row) => [row.token, row]))
    return {
      wallet,
      limit: page.limit,
      order: query.order ?? 'desc',
      sortBy: query.sort_by ?? 'totalPnl',
      summary: predictionSummaryBody(wallet, totals[0], days, headMs ?? 0),
      tokens: page.rows.map((row) => tokenBody(wallet, row, lastOf.get(row.token))),
      dailyPnls: days.map(dayBody),
      cursor: page.cursor,
    }
  },
})

type LeaderRequest = ChainRequest<object, Static<TObject<typeof PREDICTION_LEADERBOARD_QUERY>>>

/** Place of a page's first wallet, from 1. */
const firstRank = async ({ chain, query, rows }: LeaderRequest, first: PredictionLeaderRow) => {
  const statement = predictionRankQuery(chain.id, query.interval ?? 'all', first)
  const [row] = await rows<{ readonly before: string }>(statement)
  return Number(row?.before ?? 0) + 1
}

const leaderBodies = async (
  page: ShapedPage<PredictionLeaderRow>,
  request: LeaderRequest,
  headMs: number | null,
): Promise<readonly PredictionLeader[]> => {
  const [first] = page.rows
  if (first === undefined) return []
  const wallets = page.rows.map(({ wallet }) => wallet)
  const [rank, { totals, days }] = await Promise.all([
    firstRank(request, first),
    readTotals(request, { wallets }, headMs),
  ])
  const totalsOf = new Map(totals.map((row) => [row.wallet, row]))
  return page.rows.map(({ wallet, score }, index) => {
    const own = days.filter((day) => day.wallet === wallet)
    const month = windowOf(own, headMs ?? 0, PREDICTION_DAYS)
    return {
      ...predictionSummaryBody(wallet, totalsOf.get(wallet), own, headMs ?? 0),
      rank: rank + index,
      scope: request.query.scope ?? 'global',
      interval: request.query.interval ?? 'all',
      sortBy: 'pnl',
      score: predictionUnits(score),
      thirtyDayRealizedPnl: month.realized,
      thirtyDayVolume: month.volume,
      thirtyDayActivityCount: month.activities,
      thirtyDayMarketCount: month.markets,
      updatedAt: String(headMs ?? 0),
    }
  })
}

const leaderboard = defineShapedPageRoute({
  path: '/prediction/leaderboard',
  chain: PREDICTION_CHAIN,
  summary: 'Wallets by what prediction markets brought them',
  tag: 'prediction',
  params: {},
  query: PREDICTION_LEADERBOARD_QUERY,
  response: PredictionLeaderboard,
  list: ({ chain, query }) =>
    withoutTopic(
      predictionLeaderList(chain.id, query.interval ?? 'all'),
      query.scope === 'topic' ? 'topic' : query.topic,
    ),
  answer: async (page: ShapedPage<PredictionLeaderRow>, request) => {
    const headMs = await headTimeMs(request)
    const { scope, interval, topic } = request.query
    return {
      entries: [...(await leaderBodies(page, request, headMs))],
      limit: page.limit,
      scope: scope ?? 'global',
      interval: interval ?? 'all',
      sortBy: 'pnl' as const,
      stateQuality: STATE_QUALITY,
      topic: topic ?? null,
      cursor: page.cursor,
      updatedAtMs: headMs,
    }
  },
})

/** What prediction markets brought those who traded them. */
export const predictionPnlRoutes: readonly ChainRoute[] = [walletPnl, leaderboard]

import { Fault } from '../../core/errors.ts'
import { TradeDetail } from '../../schemas/api/trade.ts'
import { ACTIVITY_QUERY, GAINERS_V1_QUERY, GainersAndLosers } from '../../schemas/api/trader.ts'
import { activityList } from '../queries/activities.ts'
import { type GainerRow, gainerList, type TradeRow } from '../queries/trades.ts'
import { isDescending, readTokenNames, splitList } from './body-values.ts'
import { type ChainRoute, definePageRoute } from './chain-route.ts'
import { tradeBody } from './trades.ts'

const activities = definePageRoute({
  path: '/trade/:chain/activities',
  summary: 'Trades and changes of liquidity',
  tag: 'trade',
  params: {},
  query: ACTIVITY_QUERY,
  item: TradeDetail,
  list: ({ chain, query }) => {
    const { sortBy = 'timestampDesc', traderTags, maker, ...narrowed } = query
    return activityList(chain.id, {
      ...narrowed,
      walletAddress: query.walletAddress ?? maker,
      traderTags: traderTags === undefined ? undefined : splitList(traderTags, 'traderTags'),
      sort: sortBy.startsWith('totalUsd') ? 'value' : 'time',
      descending: !sortBy.endsWith('Asc'),
    })
  },
  bodies: async (rows: readonly TradeRow[], request) => {
    const names = await readTokenNames(
      request,
      rows.flatMap(({ token, side }) => [token, side]),
    )
    return rows.map((row) => tradeBody(row, request.chain.word, names))
  },
})

/** Windows of the older list, by its words. */
const WINDOW_ALIASES: Readonly<Record<string, '1d' | '7d' | '30d'>> = {
  today: '1d',
  '1d': '1d',
  '24h': '1d',
  '1w': '7d',
  '7d': '7d',
  '1m': '30d',
  '30d': '30d',
}

const gainersAndLosers = definePageRoute({
  path: '/trade/:chain/gainers-losers',
  summary: 'Wallets by what their sales realized, in the form of the first version',
  tag: 'trade',
  params: {},
  query: GAINERS_V1_QUERY,
  item: GainersAndLosers,
  list: ({ chain, query }) => {
    const resolution = WINDOW_ALIASES[query.type.toLowerCase()]
    if (resolution === undefined) {
      const details = {
        parameter: 'type',
        value: query.type,
        allowed_values: Object.keys(WINDOW_ALIASES),
      }
      throw new Fault('INVALID_PARAMETER', 'type must be one of the documented windows', details)
    }
    return gainerList(chain.id, { resolution, descending: isDescending(query.sortType) })
  },
  bodies: (rows: readonly GainerRow[]) =>
    rows.map(({ wallet, pnl, volume, trades }) => ({
      address: wallet,
      pnl: Number(pnl),
      tradeCount: Number(trades),
      volume: Number(volume),
    })),
})

/** What wallets did on pools, and the older list of gainers. */
export const activityRoutes: readonly ChainRoute[] = [activities, gainersAndLosers]

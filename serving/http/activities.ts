import { Fault } from '../../core/errors.ts'
import { TradeDetail } from '../../schemas/api/trade.ts'
import { ACTIVITY_QUERY, GAINERS_V1_QUERY, GainersAndLosers } from '../../schemas/api/trader.ts'
import { activitiesList } from '../queries/activities.ts'
import { type GainerRow, gainersList, type TradeRow } from '../queries/trades.ts'
import { type ChainRoute, chainPage } from './chain-route.ts'
import { tradeBody } from './trades.ts'
import { isDescending, tokenNames, wordsOf } from './values.ts'

const activities = chainPage({
  path: '/trade/:chain/activities',
  summary: 'Trades and changes of liquidity',
  tag: 'trade',
  params: {},
  query: ACTIVITY_QUERY,
  item: TradeDetail,
  list: ({ chain, query }) => {
    const { sortBy = 'timestampDesc', traderTags, maker, ...narrowed } = query
    return activitiesList(chain.id, {
      ...narrowed,
      walletAddress: query.walletAddress ?? maker,
      traderTags: traderTags === undefined ? undefined : wordsOf(traderTags),
      sort: sortBy.startsWith('totalUsd') ? 'value' : 'time',
      descending: !sortBy.endsWith('Asc'),
    })
  },
  bodies: async (rows: readonly TradeRow[], request) => {
    const names = await tokenNames(
      request,
      rows.flatMap(({ token, side }) => [token, side]),
    )
    return rows.map((row) => tradeBody(row, request.chain.word, names))
  },
})

/** Windows of the older list, by its words. */
const WINDOWS: Readonly<Record<string, '1d' | '7d' | '30d'>> = {
  today: '1d',
  '1d': '1d',
  '24h': '1d',
  '1w': '7d',
  '7d': '7d',
  '1m': '30d',
  '30d': '30d',
}

const gainersAndLosers = chainPage({
  path: '/trade/:chain/gainers-losers',
  summary: 'Wallets by what their sales realized, in the form of the first version',
  tag: 'trade',
  params: {},
  query: GAINERS_V1_QUERY,
  item: GainersAndLosers,
  list: ({ chain, query }) => {
    const resolution = WINDOWS[query.type.toLowerCase()]
    if (resolution === undefined) {
      const details = { parameter: 'type', value: query.type, allowed_values: Object.keys(WINDOWS) }
      throw new Fault('INVALID_PARAMETER', 'type is not a window', details)
    }
    return gainersList(chain.id, { resolution, descending: isDescending(query.sortType) })
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

import { Type } from 'typebox'
import { HOUR_MS } from '../../core/time.ts'
import { PAGE_QUERY } from '../../schemas/api/common.ts'
import {
  NET_WORTH_CHART_QUERY,
  NET_WORTH_DETAILS_QUERY,
  type NetWorthItem,
  WalletNetWorthChart,
  WalletNetWorthDetailsPage,
} from '../../schemas/api/net-worth.ts'
import { WALLET_PARAM } from '../../schemas/api/wallet-pnl.ts'
import { createPage, pageEnvelope } from '../queries/cursors-and-pages.ts'
import { sliceQuery } from '../queries/keyset-list.ts'
import {
  type HoldingRow,
  holdingList,
  type NetWorthRow,
  netWorthQuery,
} from '../queries/net-worth.ts'
import {
  type HourWorthRow,
  hourWorthQuery,
  type PastHoldingRow,
  pastHoldingList,
  pastWorthQuery,
} from '../queries/past-net-worth.ts'
import { formatTime, requiredNumberText } from './body-values.ts'
import { type ChainRequest, type ChainRoute, defineReadRoute, readPage } from './chain-route.ts'
import { chainHeadMs, netWorthItems } from './net-worth.ts'

const hourOf = (timeMs: number): number => Math.floor(timeMs / HOUR_MS)

/** End of an hour since the epoch; the newest one has not ended, it is now. */
const hourEndMs = (headMs: number, hour: number): number =>
  hour >= hourOf(headMs) ? headMs : (hour + 1) * HOUR_MS

const netWorthChart = defineReadRoute({
  path: '/wallet/:chain/:walletAddress/net-worth-chart',
  summary: 'Worth of a wallet at the end of each hour, oldest first',
  tag: 'wallet',
  params: WALLET_PARAM,
  query: NET_WORTH_CHART_QUERY,
  response: WalletNetWorthChart,
  absent: 'empty',
  answer: async (request) => {
    const { chain, params, query } = request
    const headMs = await chainHeadMs(request)
    const until = hourOf(headMs)
    const since = until - (query.hours ?? 24) + 1
    const rows = chain.enabled
      ? await request.rows<HourWorthRow>(
          hourWorthQuery(chain.id, params.walletAddress, { since, until }),
        )
      : []
    const points = rows.map(({ hour, value_usd: worth }) => ({
      ms: hourEndMs(headMs, Number(hour)),
      worth,
    }))
    return {
      walletAddress: params.walletAddress,
      currentTimestamp: formatTime(headMs),
      pastTimestamp: formatTime(hourEndMs(headMs, since)),
      history: points.map(({ ms, worth }, index) => {
        const before = points[index - 1]?.worth ?? worth
        const change = worth - before
        return {
          timestamp: formatTime(ms),
          netWorth: requiredNumberText(worth),
          netWorthChange: requiredNumberText(change),
          netWorthChangePercent: requiredNumberText(before === 0 ? 0 : (change / before) * 100),
        }
      }),
    }
  },
})

/** A holding as the rows of the present are; what trading brought is not walked back. */
const holdingRow = (row: PastHoldingRow): HoldingRow => ({
  ...row,
  price_native: null,
  last_ms: '0',
  buy_amount: null,
  sell_amount: null,
  valued_bought: null,
  buy_usd: null,
  realized_usd: null,
  position: null,
  position_cost_usd: null,
})

const DETAILS_PATH = '/wallet/:chain/:walletAddress/net-worth-details'
/** A place in what was held at an hour since the epoch: later pages are of the same hour, however far the chain is by then. */
const CURSOR_PAYLOAD = Type.Object({
  hour: Type.Integer({ minimum: 0 }),
  at: Type.Array(Type.String({ maxLength: 256 }), { minItems: 2, maxItems: 2 }),
})

type DetailsRequest = ChainRequest<
  { readonly walletAddress: string },
  {
    readonly hours?: number
    readonly cursor?: string
    readonly limit?: number
    readonly direction?: 'next' | 'prev'
  }
>

/** One page of what was held at the end of an hour, all of its worth, and which hour it is. */
const readPastPage = async (request: DetailsRequest, headMs: number, requestedHours: number) => {
  const { chain, params, query, deps } = request
  const { limit = 20, direction = 'next', cursor } = query
  const wallet = params.walletAddress
  const codec = deps.cursors(CURSOR_PAYLOAD, [DETAILS_PATH, chain.id, wallet, requestedHours])
  const after = cursor === undefined ? undefined : codec.decode(cursor)
  const hour = after?.hour ?? hourOf(headMs) - requestedHours
  const slice = { direction, after: after?.at, rows: limit + 1 } as const
  const [rows, worth] = chain.enabled
    ? await Promise.all([
        request.rows<PastHoldingRow>(sliceQuery(pastHoldingList(chain.id, wallet, hour), slice)),
        request.rows<Pick<NetWorthRow, 'value_usd'>>(pastWorthQuery(chain.id, wallet, hour)),
      ])
    : [[], []]
  const page = createPage(rows, { limit, direction, hasCursor: after !== undefined }, ({ place }) =>
    codec.encode({ hour, at: [...place] }),
  )
  const data = await netWorthItems(request, page.data.map(holdingRow))
  return {
    page: pageEnvelope({ ...page, data }, (item) => [item]),
    worth: worth[0]?.value_usd ?? 0,
    hour,
  }
}

/** One page of what is held now, and all of its worth. */
const readCurrentPage = async (request: DetailsRequest, headMs: number) => {
  const { chain, params } = request
  const lookup = { chain: chain.id, wallets: [params.walletAddress], trusted: true }
  const [page, worth] = await Promise.all([
    readPage<HoldingRow, NetWorthItem>(request, DETAILS_PATH, {
      list: () => holdingList(lookup),
      bodies: (rows) => netWorthItems(request, rows),
    }),
    chain.enabled ? request.rows<NetWorthRow>(netWorthQuery(lookup)) : [],
  ])
  return { page, worth: worth[0]?.value_usd ?? 0, hour: hourOf(headMs) }
}

const netWorthDetails = defineReadRoute({
  path: DETAILS_PATH,
  summary: 'What a wallet held at the end of an hour',
  tag: 'wallet',
  params: WALLET_PARAM,
  query: { ...PAGE_QUERY, ...NET_WORTH_DETAILS_QUERY },
  response: WalletNetWorthDetailsPage,
  absent: 'empty',
  answer: async (request) => {
    const requestedHours = request.query.hours ?? 0
    const headMs = await chainHeadMs(request)
    const { page, worth, hour } =
      requestedHours === 0
        ? await readCurrentPage(request, headMs)
        : await readPastPage(request, headMs, requestedHours)
    return {
      ...page,
      walletAddress: request.params.walletAddress,
      netWorth: requiredNumberText(worth),
      requestedTimestamp: formatTime(headMs - (hourOf(headMs) - hour) * HOUR_MS),
      resolvedTimestamp: formatTime(hourEndMs(headMs, hour)),
    }
  },
})

/** What wallets held and what it was worth. */
export const netWorthHistoryRoutes: readonly ChainRoute[] = [netWorthChart, netWorthDetails]

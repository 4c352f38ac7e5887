import { Type } from 'typebox'
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
import {
  type HoldingRow,
  type HourBalanceRow,
  type HourPriceRow,
  holdingList,
  hourBalancesQuery,
  hourPricesQuery,
  type NetWorthRow,
  netWorthQuery,
  priceTokenAddress,
} from '../queries/net-worth.ts'
import { formatTime, numberTextOrNull, requiredText } from './body-values.ts'
import { type ChainRequest, type ChainRoute, defineReadRoute, readPage } from './chain-route.ts'
import { chainHeadMs, netWorthItems } from './net-worth.ts'
import {
  holdingsAtHour,
  holdingsBeyond,
  type PastHolding,
  type TokenHistory,
  worthByHour,
} from './past-holdings.ts'

const HOUR_MS = 3_600_000

const groupByToken = <Row extends { readonly token: string; readonly hour: string }, Value>(
  rows: readonly Row[],
  read: (row: Row) => Value,
): ReadonlyMap<string, ReadonlyMap<number, Value>> => {
  const tokens = new Map<string, Map<number, Value>>()
  for (const row of rows) {
    const values = tokens.get(row.token) ?? new Map<number, Value>()
    values.set(Number(row.hour), read(row))
    tokens.set(row.token, values)
  }
  return tokens
}

type WalletRequest = ChainRequest<{ readonly walletAddress: string }, object>

const readTokenHistories = async (
  { chain, params, rows }: WalletRequest,
  headMs: number,
  hours: number,
): Promise<readonly TokenHistory[]> => {
  if (!chain.enabled) return []
  const window = { headMs, hours }
  const changes = await rows<HourBalanceRow>(
    hourBalancesQuery(chain.id, params.walletAddress, window),
  )
  if (changes.length === 0) return []
  const closes = await rows<HourPriceRow>(hourPricesQuery(chain.id, params.walletAddress, window))
  const prices = groupByToken(closes, (row) => row.price_usd)
  const decimals = new Map(changes.map((row) => [row.token, row.decimals]))
  return [...groupByToken(changes, (row) => row.balance)].map(([token, balances]) => ({
    token,
    decimals: decimals.get(token) ?? null,
    balances,
    prices: prices.get(priceTokenAddress(chain.id, token)) ?? new Map(),
  }))
}

const totalValueUsd = (holdings: readonly PastHolding[]): number =>
  holdings.reduce((sum, { valueUsd }) => sum + valueUsd, 0)

const requiredNumberText = (value: number): string => requiredText(numberTextOrNull(value))

/** End of an hour; the newest one has not ended, it is now. */
const hourEndMs = (headMs: number, hour: number): number =>
  hour === 0 ? headMs : (Math.floor(headMs / HOUR_MS) - hour + 1) * HOUR_MS

const netWorthChart = defineReadRoute({
  path: '/wallet/:chain/:walletAddress/net-worth-chart',
  summary: 'Worth of a wallet at the end of each hour, oldest first',
  tag: 'wallet',
  params: WALLET_PARAM,
  query: NET_WORTH_CHART_QUERY,
  response: WalletNetWorthChart,
  absent: 'empty',
  answer: async (request) => {
    const hours = request.query.hours ?? 24
    const headMs = await chainHeadMs(request)
    const courses = await readTokenHistories(request, headMs, hours)
    const points = (await worthByHour(courses, hours)).flatMap((worth, index) =>
      worth === undefined ? [] : [{ ms: hourEndMs(headMs, hours - 1 - index), worth }],
    )
    return {
      walletAddress: request.params.walletAddress,
      currentTimestamp: formatTime(headMs),
      pastTimestamp: formatTime(hourEndMs(headMs, hours - 1)),
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
const holdingRow = (holding: PastHolding): HoldingRow => ({
  token: holding.token,
  balance: holding.balance,
  decimals: holding.decimals,
  units: holding.units,
  price_usd: holding.priceUsd,
  price_native: null,
  last_ms: '0',
  buy_amount: null,
  sell_amount: null,
  buy_usd: null,
  realized_usd: null,
  position: null,
  position_cost_usd: null,
  place: [holding.token],
})

const DETAILS_PATH = '/wallet/:chain/:walletAddress/net-worth-details'
/** A place in what was held at an hour since the epoch: later pages are of the same hour, however far the chain is by then. */
const CURSOR_PAYLOAD = Type.Object({
  hour: Type.Integer({ minimum: 0 }),
  value: Type.String({ maxLength: 32 }),
  token: Type.String({ maxLength: 256 }),
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
const readPastPage = async (request: DetailsRequest, headMs: number, asked: number) => {
  const { chain, params, query, deps } = request
  const { limit = 20, direction = 'next', cursor } = query
  const codec = deps.cursors(CURSOR_PAYLOAD, [DETAILS_PATH, chain.id, params.walletAddress, asked])
  const after = cursor === undefined ? undefined : codec.decode(cursor)
  const headHour = Math.floor(headMs / HOUR_MS)
  const hour = after === undefined ? asked : Math.max(0, headHour - after.hour)
  const holdings = holdingsAtHour(await readTokenHistories(request, headMs, hour), hour)
  const place = after && { token: after.token, valueUsd: Number(after.value) }
  const page = createPage(
    holdingsBeyond(holdings, place, direction),
    { limit, direction, hasCursor: after !== undefined },
    ({ token, valueUsd }) =>
      codec.encode({ hour: headHour - hour, value: String(valueUsd), token }),
  )
  const data = await netWorthItems(request, page.data.map(holdingRow))
  const worth = totalValueUsd(holdings)
  return { page: pageEnvelope({ ...page, data }, (item) => [item]), worth, hour }
}

/** One page of what is held now, and all of its worth. */
const readCurrentPage = async (request: DetailsRequest) => {
  const { chain, params } = request
  const lookup = { chain: chain.id, wallets: [params.walletAddress], trusted: true }
  const [page, worth] = await Promise.all([
    readPage<HoldingRow, NetWorthItem>(request, DETAILS_PATH, {
      list: () => holdingList(lookup),
      bodies: (rows) => netWorthItems(request, rows),
    }),
    chain.enabled ? request.rows<NetWorthRow>(netWorthQuery(lookup)) : [],
  ])
  return { page, worth: worth[0]?.value_usd ?? 0, hour: 0 }
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
    const asked = request.query.hours ?? 0
    const headMs = await chainHeadMs(request)
    const { page, worth, hour } =
      asked === 0 ? await readCurrentPage(request) : await readPastPage(request, headMs, asked)
    return {
      ...page,
      walletAddress: request.params.walletAddress,
      netWorth: requiredNumberText(worth),
      requestedTimestamp: formatTime(headMs - hour * HOUR_MS),
      resolvedTimestamp: formatTime(hourEndMs(headMs, hour)),
    }
  },
})

/** What wallets held and what it was worth. */
export const netWorthHistoryRoutes: readonly ChainRoute[] = [netWorthChart, netWorthDetails]

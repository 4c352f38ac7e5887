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

const HOUR_MS = 3_600_000

/** A token's balances and prices at the ends of hours; hours count back from that of the newest block. */
interface TokenHistory {
  readonly token: string
  readonly decimals: number | null
  /** By hour; an hour without an entry is as the one before it. */
  readonly balances: ReadonlyMap<number, string>
  readonly prices: ReadonlyMap<number, number>
}

/** The value of the hour, or of the nearest one before it; undefined before the first. */
const valueAtHour = <Value>(
  values: ReadonlyMap<number, Value>,
  hour: number,
  hours: number,
): Value | undefined => {
  for (let back = hour; back <= hours; back += 1) {
    const value = values.get(back)
    if (value !== undefined) return value
  }
  return undefined
}

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
  const tokens = [...new Set(changes.map(({ token }) => priceTokenAddress(chain.id, token)))]
  const closes = await rows<HourPriceRow>(hourPricesQuery(chain.id, tokens, window))
  const prices = groupByToken(closes, (row) => row.price_usd)
  const decimals = new Map(changes.map((row) => [row.token, row.decimals]))
  return [...groupByToken(changes, (row) => row.balance)].map(([token, balances]) => ({
    token,
    decimals: decimals.get(token) ?? null,
    balances,
    prices: prices.get(priceTokenAddress(chain.id, token)) ?? new Map(),
  }))
}

interface Holding {
  readonly token: string
  readonly decimals: number | null
  readonly balance: string
  readonly units: number
  readonly priceUsd: number | null
  readonly valueUsd: number
}

/** What was held at the end of an hour, the most valuable first; undefined where nothing was known of the wallet yet. */
const holdingsAtHour = (
  courses: readonly TokenHistory[],
  hour: number,
  hours: number,
): readonly Holding[] | undefined => {
  const known = courses.flatMap((course): readonly Holding[] => {
    const balance = valueAtHour(course.balances, hour, hours)
    if (balance === undefined) return []
    const units = Number(balance) / 10 ** (course.decimals ?? 0)
    const priceUsd = valueAtHour(course.prices, hour, hours) ?? null
    const { token, decimals } = course
    return [{ token, decimals, balance, units, priceUsd, valueUsd: units * (priceUsd ?? 0) }]
  })
  if (known.length === 0) return undefined
  return known
    .filter(({ units, priceUsd }) => units > 0 && priceUsd !== null)
    .toSorted((one, other) => other.valueUsd - one.valueUsd || (one.token < other.token ? -1 : 1))
}

const totalValueUsd = (holdings: readonly Holding[]): number =>
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
    const points = Array.from({ length: hours }, (_, index) => hours - 1 - index).flatMap(
      (hour) => {
        const holdings = holdingsAtHour(courses, hour, hours)
        return holdings === undefined
          ? []
          : [{ ms: hourEndMs(headMs, hour), worth: totalValueUsd(holdings) }]
      },
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
const holdingRow = (holding: Holding): HoldingRow => ({
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
const CURSOR_PAYLOAD = Type.Object({ token: Type.String({ maxLength: 256 }) })

type DetailsRequest = ChainRequest<
  { readonly walletAddress: string },
  {
    readonly hours?: number
    readonly cursor?: string
    readonly limit?: number
    readonly direction?: 'next' | 'prev'
  }
>

/** One page of what was held at the end of an hour, and all of its worth. */
const readPastPage = async (request: DetailsRequest, headMs: number, hour: number) => {
  const { chain, params, query, deps } = request
  const { limit = 20, direction = 'next', cursor } = query
  const codec = deps.cursors(CURSOR_PAYLOAD, [DETAILS_PATH, chain.id, params.walletAddress, hour])
  const after = cursor === undefined ? undefined : codec.decode(cursor).token
  const holdings = holdingsAtHour(await readTokenHistories(request, headMs, hour), hour, hour) ?? []
  const ordered = direction === 'next' ? holdings : holdings.toReversed()
  const from = after === undefined ? 0 : ordered.findIndex(({ token }) => token === after) + 1
  const asked = { limit, direction, hasCursor: after !== undefined }
  const page = createPage(ordered.slice(from, from + limit + 1), asked, ({ token }) =>
    codec.encode({ token }),
  )
  const data = await netWorthItems(request, page.data.map(holdingRow))
  return { page: pageEnvelope({ ...page, data }, (item) => [item]), worth: totalValueUsd(holdings) }
}

/** One page of what is held now, and all of its worth. */
const readCurrentPage = async (request: DetailsRequest) => {
  const { chain, params } = request
  const question = { chain: chain.id, wallets: [params.walletAddress], trusted: true }
  const [page, worth] = await Promise.all([
    readPage<HoldingRow, NetWorthItem>(request, DETAILS_PATH, {
      list: () => holdingList(question),
      bodies: (rows) => netWorthItems(request, rows),
    }),
    chain.enabled ? request.rows<NetWorthRow>(netWorthQuery(question)) : [],
  ])
  return { page, worth: worth[0]?.value_usd ?? 0 }
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
    const hour = request.query.hours ?? 0
    const headMs = await chainHeadMs(request)
    const { page, worth } =
      hour === 0 ? await readCurrentPage(request) : await readPastPage(request, headMs, hour)
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

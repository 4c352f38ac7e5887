import type { Type } from 'typebox'
import {
  CalculatePnl,
  PNL_BY_TOKEN_QUERY,
  PNL_BY_WALLET_QUERY,
  PNL_DETAILS_QUERY,
  PNL_QUERY,
  PnlDetailItem,
  type PnlDetailSummary,
  PnlDetailsResult,
  WALLET_PARAM,
  WalletPnlSummary,
} from '../../schemas/api/wallet-pnl.ts'
import { envelope } from '../queries/cursor.ts'
import { sliceQuery } from '../queries/keyset.ts'
import {
  type PnlQuestion,
  type PnlRow,
  type PnlTotalsRow,
  pnlList,
  pnlTotalsQuery,
} from '../queries/wallet-pnl.ts'
import {
  type ChainRequest,
  type ChainRoute,
  chainAccept,
  chainPage,
  chainRead,
} from './chain-route.ts'
import {
  numberText,
  numeric,
  product,
  ratio,
  requiredText,
  timeText,
  tokenNames,
  unitsOrNull,
} from './values.ts'

const required = (value: number | null): string => requiredText(numberText(value))

/** Profit over cost; 0 without a cost, so that the ratios of a row add up. */
const profitRatio = (profit: number, cost: number): string => required(ratio(profit, cost))

const itemOf = (row: PnlRow): Omit<PnlDetailItem, 'name' | 'symbol' | 'logoUri'> => {
  const trades = Number(row.buys) + Number(row.sells)
  const [cost, realized] = [Number(row.cost_usd), Number(row.realized_usd)]
  const unrealized = row.unrealized_usd ?? 0
  return {
    walletAddress: row.wallet,
    tokenAddress: row.token,
    decimals: row.decimals,
    priceInUsd: required(row.price_usd),
    balance: unitsOrNull(row.balance, row.decimals) ?? required(row.balance_units),
    currentValue: required(product(row.balance_units, row.price_usd)),
    buys: row.buys,
    sells: row.sells,
    totalTrades: String(trades),
    buyAmount: requiredText(row.buy_amount),
    buyAmountInUsd: row.buy_usd,
    sellAmount: requiredText(row.sell_amount),
    sellAmountInUsd: row.sell_usd,
    avgBuyPriceInUsd: required(ratio(Number(row.buy_usd), numeric(row.buy_amount))),
    avgSellPriceInUsd: required(ratio(Number(row.sell_usd), numeric(row.sell_amount))),
    realizedProfitInUsd: row.realized_usd,
    realizedProfitRatio: profitRatio(realized, cost),
    unrealizedProfitInUsd: required(unrealized),
    unrealizedProfitRatio: profitRatio(unrealized, cost),
    totalProfitInUsd: required(realized + unrealized),
    totalProfitRatio: profitRatio(realized + unrealized, cost),
    avgProfitPerTradeInUsd: required(ratio(realized + unrealized, trades)),
    wins: row.wins,
    losses: row.losses,
    totalCostInUsd: row.cost_usd,
    isClosed: row.is_closed === 1,
    firstBuyAt: numeric(row.first_buy_ms),
    lastSellAt: numeric(row.last_sell_ms),
  }
}

const NO_TOTALS: PnlTotalsRow = {
  tokens: '0',
  buys: '0',
  sells: '0',
  wins: '0',
  losses: '0',
  buy_usd: '0',
  sell_usd: '0',
  realized_usd: '0',
  cost_usd: '0',
  unrealized_usd: 0,
  current_value: 0,
  head_ms: '0',
}

const totalsOf = (row: PnlTotalsRow): PnlDetailSummary => {
  const trades = Number(row.buys) + Number(row.sells)
  const [wins, losses] = [Number(row.wins), Number(row.losses)]
  const realized = Number(row.realized_usd)
  const profit = realized + row.unrealized_usd
  return {
    buys: row.buys,
    sells: row.sells,
    totalTrades: String(trades),
    tokens: row.tokens,
    wins: row.wins,
    losses: row.losses,
    winRate: required(ratio(wins, wins + losses)),
    buyAmountInUsd: row.buy_usd,
    sellAmountInUsd: row.sell_usd,
    totalCostInUsd: row.cost_usd,
    realizedProfitInUsd: row.realized_usd,
    realizedProfitRatio: profitRatio(realized, Number(row.cost_usd)),
    unrealizedProfitInUsd: required(row.unrealized_usd),
    totalProfitInUsd: required(profit),
    avgProfitPerTradeInUsd: required(ratio(profit, trades)),
    currentValue: required(row.current_value),
  }
}

const readTotals = async (
  { chain, rows }: ChainRequest<object, object>,
  question: PnlQuestion,
): Promise<PnlTotalsRow> => {
  if (!chain.enabled) return NO_TOTALS
  const [row = NO_TOTALS] = await rows<PnlTotalsRow>(pnlTotalsQuery(question))
  return row
}

const itemsOf = async (
  request: ChainRequest<object, object>,
  rows: readonly PnlRow[],
): Promise<readonly PnlDetailItem[]> => {
  const names = await tokenNames(
    request,
    rows.map(({ token }) => token),
  )
  return rows.map((row) => {
    const name = names.get(row.token)
    return {
      ...itemOf(row),
      name: name?.name ?? null,
      symbol: name?.symbol ?? null,
      logoUri: name?.image_url || null,
    }
  })
}

const summary = chainRead({
  path: '/wallet/:chain/:walletAddress/pnl',
  summary: 'Profit and loss of a wallet over all tokens',
  tag: 'wallet',
  params: WALLET_PARAM,
  query: PNL_QUERY,
  response: WalletPnlSummary,
  absent: 'empty',
  answer: async (request) => {
    const { chain, params, query } = request
    const resolution = query.resolution ?? 'all'
    const question = { chain: chain.id, wallets: [params.walletAddress], resolution }
    const row = await readTotals(request, question)
    const { currentValue: _value, ...totals } = totalsOf(row)
    const cost = Number(row.cost_usd)
    return {
      walletAddress: params.walletAddress,
      resolution,
      updatedAt: row.head_ms === '0' ? null : timeText(Number(row.head_ms)),
      ...totals,
      unrealizedProfitRatio: profitRatio(row.unrealized_usd, cost),
      totalProfitRatio: profitRatio(Number(row.realized_usd) + row.unrealized_usd, cost),
    }
  },
})

const detailsQuestion = ({
  chain,
  params,
  query,
}: ChainRequest<{ readonly walletAddress: string }, DetailsQuery>): PnlQuestion => ({
  chain: chain.id,
  wallets: [params.walletAddress],
  resolution: query.resolution ?? 'all',
  state: query.positionState,
})

type DetailsQuery = {
  readonly [Name in keyof typeof PNL_DETAILS_QUERY]?:
    | Type.Static<(typeof PNL_DETAILS_QUERY)[Name]>
    | undefined
}

const details = chainPage({
  path: '/wallet/:chain/:walletAddress/pnl-details',
  summary: 'Profit and loss of a wallet by token',
  tag: 'wallet',
  params: WALLET_PARAM,
  query: PNL_DETAILS_QUERY,
  item: PnlDetailItem,
  more: {
    page: PnlDetailsResult,
    read: async (request) => ({
      summary: totalsOf(await readTotals(request, detailsQuestion(request))),
    }),
  },
  list: (request) => pnlList(detailsQuestion(request), request.query.sortBy ?? 'totalPnl'),
  bodies: (rows: readonly PnlRow[], request) => itemsOf(request, rows),
})

/** Most rows of an answer without pages: 100 addresses are asked for at most. */
const MOST_ROWS = 100

const readAll = async (
  request: ChainRequest<object, object>,
  question: PnlQuestion,
): Promise<PnlDetailsResult> => {
  const slice = { direction: 'next', after: undefined, rows: MOST_ROWS } as const
  const [rows, totals] = request.chain.enabled
    ? await Promise.all([
        request.rows<PnlRow>(sliceQuery(pnlList(question, 'totalPnl'), slice)),
        readTotals(request, question),
      ])
    : [[], NO_TOTALS]
  const data = await itemsOf(request, rows)
  const page = { data, hasNext: false, hasPrev: false, startCursor: null, endCursor: null }
  return { ...envelope(page, (item) => [item]), summary: totalsOf(totals) }
}

const byToken = chainRead({
  path: '/wallet/:chain/:walletAddress/pnl-by-token',
  summary: 'Profit and loss of a wallet with given tokens',
  tag: 'wallet',
  params: WALLET_PARAM,
  query: PNL_BY_TOKEN_QUERY,
  response: PnlDetailsResult,
  absent: 'empty',
  answer: (request) =>
    readAll(request, {
      chain: request.chain.id,
      wallets: [request.params.walletAddress],
      tokens: request.addresses('tokenAddresses'),
      resolution: request.query.resolution ?? 'all',
    }),
})

const byWallet = chainRead({
  path: '/wallet/:chain/pnl-by-wallet',
  summary: 'Profit and loss of given wallets with a token',
  tag: 'wallet',
  params: {},
  query: PNL_BY_WALLET_QUERY,
  response: PnlDetailsResult,
  absent: 'empty',
  answer: (request) =>
    readAll(request, {
      chain: request.chain.id,
      wallets: request.addresses('walletAddresses'),
      tokens: [request.query.tokenAddress],
      resolution: request.query.resolution ?? 'all',
    }),
})

/** Profit and loss is folded with every block: asking for it to be computed again changes nothing. */
const calculate = chainAccept({
  path: '/wallet/:chain/:walletAddress/calculate-pnl',
  summary: 'Asks for a computation; profit and loss is always current here',
  tag: 'wallet',
  params: WALLET_PARAM,
  body: CalculatePnl,
})

const watch = chainAccept({
  path: '/watchlist/:chain/:walletAddress',
  summary: 'Asks for a wallet to be watched; every wallet is',
  tag: 'wallet',
  params: WALLET_PARAM,
})

/** Profit and loss of wallets. */
export const walletPnlRoutes: readonly ChainRoute[] = [
  ...[summary, details, byToken, byWallet, calculate, watch],
]

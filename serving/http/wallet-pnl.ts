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
import { pageEnvelope } from '../queries/cursors-and-pages.ts'
import { sliceQuery } from '../queries/keyset-list.ts'
import {
  type PnlRequest,
  type PnlRow,
  type PnlTotalsRow,
  pnlList,
  pnlTotalsQuery,
} from '../queries/wallet-pnl.ts'
import {
  formatTime,
  numberOrNull,
  productOrNull,
  ratioOrNull,
  readTokenNames,
  requiredNumberText,
  requiredText,
  unitsOrNull,
} from './body-values.ts'
import {
  type ChainRequest,
  type ChainRoute,
  defineAcceptRoute,
  definePageRoute,
  defineReadRoute,
} from './chain-route.ts'

/** Profit over cost; 0 without a cost, so that the ratios of a row add up. */
const profitRatio = (profit: number, cost: number): string =>
  requiredNumberText(ratioOrNull(profit, cost))

const pnlItemBody = (row: PnlRow): Omit<PnlDetailItem, 'name' | 'symbol' | 'logoUri'> => {
  const trades = Number(row.buys) + Number(row.sells)
  const [cost, realized] = [Number(row.cost_usd), Number(row.realized_usd)]
  const unrealized = row.unrealized_usd ?? 0
  return {
    walletAddress: row.wallet,
    tokenAddress: row.token,
    decimals: row.decimals,
    priceInUsd: requiredNumberText(row.price_usd),
    balance: unitsOrNull(row.balance, row.decimals) ?? requiredNumberText(row.balance_units),
    currentValue: requiredNumberText(productOrNull(row.balance_units, row.price_usd)),
    buys: row.buys,
    sells: row.sells,
    totalTrades: String(trades),
    buyAmount: requiredText(row.buy_amount),
    buyAmountInUsd: row.buy_usd,
    sellAmount: requiredText(row.sell_amount),
    sellAmountInUsd: row.sell_usd,
    avgBuyPriceInUsd: requiredNumberText(
      ratioOrNull(Number(row.buy_usd), numberOrNull(row.valued_bought)),
    ),
    avgSellPriceInUsd: requiredNumberText(
      ratioOrNull(Number(row.sell_usd), numberOrNull(row.valued_sold)),
    ),
    realizedProfitInUsd: row.realized_usd,
    realizedProfitRatio: profitRatio(realized, cost),
    unrealizedProfitInUsd: requiredNumberText(unrealized),
    unrealizedProfitRatio: profitRatio(unrealized, cost),
    totalProfitInUsd: requiredNumberText(realized + unrealized),
    totalProfitRatio: profitRatio(realized + unrealized, cost),
    avgProfitPerTradeInUsd: requiredNumberText(ratioOrNull(realized + unrealized, trades)),
    wins: row.wins,
    losses: row.losses,
    totalCostInUsd: row.cost_usd,
    isClosed: row.is_closed === 1,
    firstBuyAt: numberOrNull(row.first_buy_ms),
    lastSellAt: numberOrNull(row.last_sell_ms),
  }
}

const EMPTY_TOTALS: PnlTotalsRow = {
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

const pnlTotalsBody = (row: PnlTotalsRow): PnlDetailSummary => {
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
    winRate: requiredNumberText(ratioOrNull(wins, wins + losses)),
    buyAmountInUsd: row.buy_usd,
    sellAmountInUsd: row.sell_usd,
    totalCostInUsd: row.cost_usd,
    realizedProfitInUsd: row.realized_usd,
    realizedProfitRatio: profitRatio(realized, Number(row.cost_usd)),
    unrealizedProfitInUsd: requiredNumberText(row.unrealized_usd),
    totalProfitInUsd: requiredNumberText(profit),
    avgProfitPerTradeInUsd: requiredNumberText(ratioOrNull(profit, trades)),
    currentValue: requiredNumberText(row.current_value),
  }
}

/** Totals over the rows of a query; of no rows where the chain is not held here. */
export const readPnlTotals = async (
  { chain, rows }: ChainRequest<object, object>,
  lookup: PnlRequest,
): Promise<PnlTotalsRow> => {
  if (!chain.enabled) return EMPTY_TOTALS
  const [row = EMPTY_TOTALS] = await rows<PnlTotalsRow>(pnlTotalsQuery(lookup))
  return row
}

const pnlItemBodies = async (
  request: ChainRequest<object, object>,
  rows: readonly PnlRow[],
): Promise<readonly PnlDetailItem[]> => {
  const names = await readTokenNames(
    request,
    rows.map(({ token }) => token),
  )
  return rows.map((row) => {
    const name = names.get(row.token)
    return {
      ...pnlItemBody(row),
      name: name?.name ?? null,
      symbol: name?.symbol ?? null,
      logoUri: name?.image_url || null,
    }
  })
}

const pnlSummary = defineReadRoute({
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
    const lookup = { chain: chain.id, wallets: [params.walletAddress], resolution }
    const row = await readPnlTotals(request, lookup)
    const { currentValue: _value, ...totals } = pnlTotalsBody(row)
    const cost = Number(row.cost_usd)
    return {
      walletAddress: params.walletAddress,
      resolution,
      updatedAt: row.head_ms === '0' ? null : formatTime(Number(row.head_ms)),
      ...totals,
      unrealizedProfitRatio: profitRatio(row.unrealized_usd, cost),
      totalProfitRatio: profitRatio(Number(row.realized_usd) + row.unrealized_usd, cost),
    }
  },
})

const toPnlRequest = ({
  chain,
  params,
  query,
}: ChainRequest<{ readonly walletAddress: string }, DetailsQuery>): PnlRequest => ({
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

const pnlDetails = definePageRoute({
  path: '/wallet/:chain/:walletAddress/pnl-details',
  summary: 'Profit and loss of a wallet by token',
  tag: 'wallet',
  params: WALLET_PARAM,
  query: PNL_DETAILS_QUERY,
  item: PnlDetailItem,
  more: {
    page: PnlDetailsResult,
    read: async (request) => ({
      summary: pnlTotalsBody(await readPnlTotals(request, toPnlRequest(request))),
    }),
  },
  list: (request) => pnlList(toPnlRequest(request), request.query.sortBy ?? 'totalPnl'),
  bodies: (rows: readonly PnlRow[], request) => pnlItemBodies(request, rows),
})

/** Most rows of an answer without pages: 100 addresses are asked for at most. */
const MAX_ROWS = 100

const readPnlDetails = async (
  request: ChainRequest<object, object>,
  lookup: PnlRequest,
): Promise<PnlDetailsResult> => {
  const slice = { direction: 'next', after: undefined, rows: MAX_ROWS } as const
  const [rows, totals] = request.chain.enabled
    ? await Promise.all([
        request.rows<PnlRow>(sliceQuery(pnlList(lookup, 'totalPnl'), slice)),
        readPnlTotals(request, lookup),
      ])
    : [[], EMPTY_TOTALS]
  const data = await pnlItemBodies(request, rows)
  const page = { data, hasNext: false, hasPrev: false, startCursor: null, endCursor: null }
  return { ...pageEnvelope(page, (item) => [item]), summary: pnlTotalsBody(totals) }
}

const pnlByToken = defineReadRoute({
  path: '/wallet/:chain/:walletAddress/pnl-by-token',
  summary: 'Profit and loss of a wallet with given tokens',
  tag: 'wallet',
  params: WALLET_PARAM,
  query: PNL_BY_TOKEN_QUERY,
  response: PnlDetailsResult,
  absent: 'empty',
  answer: (request) =>
    readPnlDetails(request, {
      chain: request.chain.id,
      wallets: [request.params.walletAddress],
      tokens: request.addresses('tokenAddresses'),
      resolution: request.query.resolution ?? 'all',
    }),
})

const pnlByWallet = defineReadRoute({
  path: '/wallet/:chain/pnl-by-wallet',
  summary: 'Profit and loss of given wallets with a token',
  tag: 'wallet',
  params: {},
  query: PNL_BY_WALLET_QUERY,
  response: PnlDetailsResult,
  absent: 'empty',
  answer: (request) =>
    readPnlDetails(request, {
      chain: request.chain.id,
      wallets: request.addresses('walletAddresses'),
      tokens: [request.query.tokenAddress],
      resolution: request.query.resolution ?? 'all',
    }),
})

/** Profit and loss is folded with every block: asking for it to be computed again changes nothing. */
const calculatePnl = defineAcceptRoute({
  path: '/wallet/:chain/:walletAddress/calculate-pnl',
  summary: 'Asks for a computation; profit and loss is always current here',
  tag: 'wallet',
  params: WALLET_PARAM,
  body: CalculatePnl,
})

const watchWallet = defineAcceptRoute({
  path: '/watchlist/:chain/:walletAddress',
  summary: 'Asks for a wallet to be watched; every wallet is',
  tag: 'wallet',
  params: WALLET_PARAM,
})

/** Profit and loss of wallets. */
export const walletPnlRoutes: readonly ChainRoute[] = [
  ...[pnlSummary, pnlDetails, pnlByToken, pnlByWallet, calculatePnl, watchWallet],
]

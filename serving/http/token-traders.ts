import { Type } from 'typebox'
import { TOKEN_PARAM } from '../../schemas/api/token-history.ts'
import {
  TokenTopTrader,
  TokenTrader,
  TRADER_TAGS,
  TRADERS_QUERY,
} from '../../schemas/api/trader.ts'
import type { Placed } from '../queries/keyset.ts'
import { type TraderRow, tokenTradersList } from '../queries/token-traders.ts'
import { type TaggedRow, taggedList } from '../queries/trader-tags.ts'
import { type ChainRoute, chainPage } from './chain-route.ts'
import {
  isDescending,
  numberText,
  numeric,
  product,
  ratio,
  requiredText,
  timeText,
  unitsOrNull,
} from './values.ts'

const less = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? null : one - other

const topTraderBody = (row: TraderRow): TokenTopTrader => {
  const [paid, got, realized] = [row.buy_usd, row.sell_usd, row.realized_usd].map(Number) as [
    ...[number, number, number],
  ]
  const [bought, sold] = [numeric(row.buy_amount), numeric(row.sell_amount)]
  const profit = row.unrealized_usd === null ? null : realized + row.unrealized_usd
  const amount = unitsOrNull(row.balance, row.decimals) ?? numberText(row.position) ?? '0'
  const share = ratio(sold, bought)
  return {
    walletAddress: row.wallet,
    amount,
    amountInUsd: requiredText(numberText(product(Number(amount), row.price_usd))),
    averageBuyPriceInUsd: numberText(ratio(paid, bought)),
    averageSellPriceInUsd: numberText(ratio(got, sold)),
    cost: numberText(row.open_cost_usd),
    totalCostInUsd: row.buy_usd,
    totalPnlInUsd: numberText(profit),
    totalRealizedPnlInUsd: row.realized_usd,
    unrealizedPnlInUsd: numberText(row.unrealized_usd),
    realizedPnl: numberText(ratio(realized, paid)),
    unrealizedPnl: numberText(ratio(row.unrealized_usd, paid)),
    roi: numberText(ratio(profit, paid)),
    winRate: numberText(ratio(Number(row.wins), Number(row.wins) + Number(row.losses))),
    winCount: Number(row.wins),
    lossCount: Number(row.losses),
    totalBuyCount: Number(row.buys),
    totalSellCount: Number(row.sells),
    totalBuyAmountInUsd: row.buy_usd,
    totalSellAmountInUsd: row.sell_usd,
    buyAmountCur: row.buy_amount,
    sellAmountCur: row.sell_amount,
    sellAmountPercentage: numberText(share === null ? null : Math.min(1, share)),
    netflowAmount: numberText(less(bought, sold)),
    netflowUsd: numberText(paid - got),
    isClosed: row.position === 0,
    startHoldingAt: Number(row.first_ms),
    endHoldingAt: row.close_ms === '0' ? null : Number(row.close_ms),
    lastActiveAt: Number(row.last_ms),
    tags: row.is_dev === 1 ? ['dev'] : [],
  }
}

const topTraders = (segment: 'traders' | 'topTraders' | 'toptraders'): ChainRoute =>
  chainPage({
    path: `/token/:chain/:tokenAddress/${segment}`,
    summary: 'Traders of a token by what it brought them',
    tag: 'token',
    params: TOKEN_PARAM,
    query: TRADERS_QUERY,
    item: TokenTopTrader,
    list: ({ chain, params, query }) =>
      tokenTradersList(chain.id, params.tokenAddress, {
        sort: query.sortBy ?? 'totalPnl',
        descending: isDescending(query.sortDirection),
        tag: query.tag,
      }),
    bodies: (rows: readonly TraderRow[]) => rows.map(topTraderBody),
  })

const PERCENT = 100

const traderBody = (row: TaggedRow): TokenTrader => {
  const hasSums = row.trades !== '0'
  return {
    address: row.wallet,
    onchainCreatedAt: null,
    blockTimestamp: row.time_ms === '0' ? null : timeText(Number(row.time_ms)),
    transactionSignature: row.tx === '' ? null : row.tx,
    tradeCount: hasSums ? Number(row.trades) : null,
    tradeAmountInUsd: hasSums ? row.usd : null,
    tradeAmountInNative: hasSums ? row.native : null,
    percentileRankTradeCount: hasSums ? Math.round(row.count_rank * PERCENT) : null,
    percentileRankTradeAmountInUsd: hasSums ? numberText(row.usd_rank) : null,
    rankTradeAmountInUsd: null,
  }
}

const byTag = chainPage({
  path: '/token/:chain/:tokenAddress/traders/:tag',
  summary: 'Traders of a token of one kind; kinds that blocks alone do not tell have nobody',
  tag: 'token',
  params: { ...TOKEN_PARAM, tag: Type.Enum(TRADER_TAGS) },
  query: {},
  item: TokenTrader,
  list: ({ chain, params }) => taggedList(chain.id, params.tokenAddress, params.tag),
  bodies: (rows: readonly (TaggedRow & Placed)[]) => rows.map(traderBody),
})

/** Who traded a token. */
export const tokenTraderRoutes: readonly ChainRoute[] = [
  ...[topTraders('traders'), topTraders('topTraders'), topTraders('toptraders'), byTag],
]

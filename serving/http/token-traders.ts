import { Type } from 'typebox'
import { TOKEN_PARAM } from '../../schemas/api/token-history.ts'
import {
  TokenTopTrader,
  TokenTrader,
  TRADER_TAGS,
  TRADERS_QUERY,
} from '../../schemas/api/trader.ts'
import type { KeysetRow } from '../queries/keyset-list.ts'
import {
  type TraderPlaceRow,
  type TraderRow,
  tokenTradersList,
  tokenTradersQuery,
} from '../queries/token-traders.ts'
import { type TaggedTraderRow, taggedTraderList } from '../queries/trader-tags.ts'
import {
  formatTime,
  isDescending,
  numberOrNull,
  numberTextOrNull,
  productOrNull,
  ratioOrNull,
  requiredText,
  unitsOrNull,
} from './body-values.ts'
import { type ChainRoute, definePageRoute } from './chain-route.ts'

const difference = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? null : one - other

const topTraderBody = (row: TraderRow): TokenTopTrader => {
  const [paid, got, realized] = [row.buy_usd, row.sell_usd, row.realized_usd].map(Number) as [
    ...[number, number, number],
  ]
  const [bought, sold] = [numberOrNull(row.buy_amount), numberOrNull(row.sell_amount)]
  const profit = row.unrealized_usd === null ? null : realized + row.unrealized_usd
  const amount = unitsOrNull(row.balance, row.decimals) ?? numberTextOrNull(row.position) ?? '0'
  const share = ratioOrNull(sold, bought)
  return {
    walletAddress: row.wallet,
    amount,
    amountInUsd: requiredText(numberTextOrNull(productOrNull(Number(amount), row.price_usd))),
    averageBuyPriceInUsd: numberTextOrNull(ratioOrNull(paid, numberOrNull(row.valued_bought))),
    averageSellPriceInUsd: numberTextOrNull(ratioOrNull(got, numberOrNull(row.valued_sold))),
    cost: numberTextOrNull(row.open_cost_usd),
    totalCostInUsd: row.buy_usd,
    totalPnlInUsd: numberTextOrNull(profit),
    totalRealizedPnlInUsd: row.realized_usd,
    unrealizedPnlInUsd: numberTextOrNull(row.unrealized_usd),
    realizedPnl: numberTextOrNull(ratioOrNull(realized, paid)),
    unrealizedPnl: numberTextOrNull(ratioOrNull(row.unrealized_usd, paid)),
    roi: numberTextOrNull(ratioOrNull(profit, paid)),
    winRate: numberTextOrNull(ratioOrNull(Number(row.wins), Number(row.wins) + Number(row.losses))),
    winCount: Number(row.wins),
    lossCount: Number(row.losses),
    totalBuyCount: Number(row.buys),
    totalSellCount: Number(row.sells),
    totalBuyAmountInUsd: row.buy_usd,
    totalSellAmountInUsd: row.sell_usd,
    buyAmountCur: row.buy_amount,
    sellAmountCur: row.sell_amount,
    sellAmountPercentage: numberTextOrNull(share === null ? null : Math.min(1, share)),
    netflowAmount: numberTextOrNull(difference(bought, sold)),
    netflowUsd: numberTextOrNull(paid - got),
    isClosed: row.position === 0,
    startHoldingAt: Number(row.first_ms),
    endHoldingAt: row.close_ms === '0' ? null : Number(row.close_ms),
    lastActiveAt: Number(row.last_ms),
    tags: row.is_dev === 1 ? ['dev'] : [],
  }
}

const topTradersRoute = (segment: 'traders' | 'topTraders' | 'toptraders'): ChainRoute =>
  definePageRoute({
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
    bodies: async (places: readonly TraderPlaceRow[], { chain, params, rows }) => {
      if (places.length === 0) return []
      const wallets = places.map(({ wallet }) => wallet)
      const found = await rows<TraderRow>(tokenTradersQuery(chain.id, params.tokenAddress, wallets))
      const byWallet = new Map(found.map((row) => [row.wallet, topTraderBody(row)]))
      return wallets.flatMap((wallet) => byWallet.get(wallet) ?? [])
    },
  })

const PERCENT = 100

const traderBody = (row: TaggedTraderRow): TokenTrader => {
  const hasSums = row.trades !== '0'
  return {
    address: row.wallet,
    onchainCreatedAt: null,
    blockTimestamp: row.time_ms === '0' ? null : formatTime(Number(row.time_ms)),
    transactionSignature: row.tx === '' ? null : row.tx,
    tradeCount: hasSums ? Number(row.trades) : null,
    tradeAmountInUsd: hasSums ? row.usd : null,
    tradeAmountInNative: hasSums ? row.native : null,
    percentileRankTradeCount: hasSums ? Math.round(row.count_rank * PERCENT) : null,
    percentileRankTradeAmountInUsd: hasSums ? numberTextOrNull(row.usd_rank) : null,
    rankTradeAmountInUsd: null,
  }
}

const tradersByTag = definePageRoute({
  path: '/token/:chain/:tokenAddress/traders/:tag',
  summary: 'Traders of a token of one kind; kinds that blocks alone do not tell are empty',
  tag: 'token',
  params: { ...TOKEN_PARAM, tag: Type.Enum(TRADER_TAGS) },
  query: {},
  item: TokenTrader,
  list: ({ chain, params }) => taggedTraderList(chain.id, params.tokenAddress, params.tag),
  bodies: (rows: readonly (TaggedTraderRow & KeysetRow)[]) => rows.map(traderBody),
})

/** Who traded a token. */
export const tokenTraderRoutes: readonly ChainRoute[] = [
  ...[
    topTradersRoute('traders'),
    topTradersRoute('topTraders'),
    topTradersRoute('toptraders'),
    tradersByTag,
  ],
]

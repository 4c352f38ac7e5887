import {
  GAINER_QUERY,
  TOP_TRADER_QUERY,
  TopTrader,
  TRADE_QUERY,
  TradeDetail,
  TraderGainersLosersItem,
} from '../../schemas/api/trade.ts'
import type { TokenName } from '../queries/token-names.ts'
import {
  type GainerRow,
  gainerList,
  type TopTraderRow,
  type TradeRow,
  topTradersList,
  tradesList,
} from '../queries/trades.ts'
import {
  isDescending,
  numberOrNull,
  numberTextOrNull,
  ratioOrNull,
  readTokenNames,
  requiredText,
  textOrNull,
  unitsOrNull,
} from './body-values.ts'
import { type ChainRoute, definePageRoute } from './chain-route.ts'

const STATUS_BY_TX_STATUS: Readonly<Record<string, TradeDetail['status']>> = {
  SUCCESS: 'SUCCEEDED',
  FAILED: 'FAILED',
}

/** A row as a body; both legs carry the value of the trade. */
export const tradeBody = (
  row: TradeRow,
  chain: string,
  names: ReadonlyMap<string, TokenName>,
): TradeDetail => {
  const [token, side] = [names.get(row.token), names.get(row.side)]
  const amount = unitsOrNull(row.token_raw, row.token_decimals)
  const sideAmount = unitsOrNull(row.side_raw, row.side_decimals)
  const valueUsd = requiredText(row.value_usd)
  const valueNative = requiredText(row.value_native)
  const sidePriceNative = ratioOrNull(numberOrNull(row.value_native), numberOrNull(sideAmount))
  return {
    chain,
    blockHeight: Number(row.height),
    blockTimestamp: Number(row.time_ms),
    transactionSignature: row.tx_hash,
    accountOwnerAddress: row.trader,
    type: row.activity as TradeDetail['type'],
    status: STATUS_BY_TX_STATUS[row.tx_status] ?? 'UNKNOWN',
    poolAddress: row.pool,
    dexProgramAddress: textOrNull(row.program),
    dexProtocolFamily: textOrNull(row.family),
    dexImage: null,
    tokenAddress: row.token,
    tokenName: token?.name ?? '',
    tokenSymbol: token?.symbol ?? '',
    tokenImageUrl: textOrNull(token?.image_url ?? ''),
    tokenAmount: requiredText(amount),
    tokenPriceInUsd: requiredText(numberTextOrNull(row.price_usd)),
    tokenPriceInNative: requiredText(numberTextOrNull(row.price_native)),
    tokenAmountInUsd: valueUsd,
    tokenAmountInNative: valueNative,
    sideTokenAddress: row.side,
    sideTokenName: side?.name ?? '',
    sideTokenSymbol: side?.symbol ?? '',
    sideTokenImageUrl: textOrNull(side?.image_url ?? ''),
    sideTokenAmount: requiredText(sideAmount),
    sideTokenPriceInUsd: requiredText(numberTextOrNull(row.side_price_usd)),
    sideTokenPriceInNative: requiredText(numberTextOrNull(sidePriceNative)),
    sideTokenAmountInUsd: valueUsd,
    sideTokenAmountInNative: valueNative,
    isSuspect: row.is_suspect === null ? null : row.is_suspect === 1,
    gasFee: safeIntegerOrNull(row.fee_raw),
    gasFeeInNative: row.fee_native,
    gasFeeInUsd: row.fee_usd,
  }
}

/** An integer that a JSON reader keeps exact, else null. */
const safeIntegerOrNull = (text: string): number | null =>
  Number.isSafeInteger(Number(text)) ? Number(text) : null

const listTrades: ChainRoute = definePageRoute({
  path: '/trade/:chain',
  summary: 'Trades, newest first',
  tag: 'trade',
  params: {},
  query: TRADE_QUERY,
  item: TradeDetail,
  list: ({ chain, query }) => tradesList(chain.id, query),
  bodies: async (rows: readonly TradeRow[], request) => {
    const names = await readTokenNames(
      request,
      rows.flatMap(({ token, side }) => [token, side]),
    )
    return rows.map((row) => tradeBody(row, request.chain.word, names))
  },
})

const listTopTraders: ChainRoute = definePageRoute({
  path: '/trade/:chain/top-traders',
  summary: 'Wallets by what they traded of a token',
  tag: 'trade',
  params: {},
  query: TOP_TRADER_QUERY,
  item: TopTrader,
  list: ({ chain, query }) =>
    topTradersList(chain.id, {
      token: query.tokenAddress,
      timeFrame: query.timeFrame ?? '24h',
      by: query.sortBy === 'tradeCount' ? 'count' : 'amount',
      descending: isDescending(query.sortType),
    }),
  bodies: (rows: readonly TopTraderRow[]) => rows.map(topTraderBody),
})

const topTraderBody = (row: TopTraderRow): TopTrader => {
  const units = (raw: bigint): string => requiredText(unitsOrNull(String(raw), row.decimals))
  const [bought, sold] = [BigInt(row.buy_raw), BigInt(row.sell_raw)]
  return {
    walletAddress: row.wallet,
    tokenAddress: row.token,
    buyCount: Number(row.buys),
    sellCount: Number(row.sells),
    tradeCount: Number(row.buys) + Number(row.sells),
    buyAmount: units(bought),
    sellAmount: units(sold),
    tradeAmount: units(bought + sold),
    buyAmountInUsd: row.buy_usd,
    sellAmountInUsd: row.sell_usd,
    buyAmountInNative: row.buy_native,
    sellAmountInNative: row.sell_native,
  }
}

const gainersAndLosers: ChainRoute = definePageRoute({
  path: '/trade/:chain/trader-gainers-losers',
  summary: 'Wallets by what their sales realized: gainers, or losers with sortType=asc',
  tag: 'trade',
  params: {},
  query: GAINER_QUERY,
  item: TraderGainersLosersItem,
  list: ({ chain, query }) =>
    gainerList(chain.id, {
      resolution: query.resolution ?? '1d',
      descending: isDescending(query.sortType),
    }),
  bodies: (rows: readonly GainerRow[], { chain }) =>
    rows.map(({ wallet, pnl, volume, trades: tradeCount }) => ({
      address: wallet,
      chain: chain.word,
      pnl,
      volume,
      tradeCount,
    })),
})

/** Trades of a chain, and wallets by their trades. */
export const tradeRoutes: readonly ChainRoute[] = [listTrades, listTopTraders, gainersAndLosers]

import {
  NetWorthByTokens,
  NetWorthItem,
  WALLET_TOKENS_QUERY,
  WALLETS_QUERY,
  WalletNetWorthPage,
  WalletNetWorthSummary,
} from '../../schemas/api/net-worth.ts'
import { WALLET_PARAM } from '../../schemas/api/wallet-pnl.ts'
import { sliceQuery } from '../queries/keyset-list.ts'
import {
  chainHeadQuery,
  type HoldingRow,
  type HoldingsRequest,
  holdingList,
  type NetWorthRow,
  netWorthQuery,
} from '../queries/net-worth.ts'
import {
  formatTime,
  numberOrNull,
  numberTextOrNull,
  productOrNull,
  ratioOrNull,
  readTokenNames,
  requiredNumberText,
  unitsOrNull,
} from './body-values.ts'
import {
  type ChainRequest,
  type ChainRoute,
  definePageRoute,
  defineReadRoute,
} from './chain-route.ts'

type WalletRequest = ChainRequest<{ readonly walletAddress: string }, object>

/** What the open part is worth above its cost, which shrinks with what left the wallet without a sale. */
const unrealizedProfit = ({
  position,
  position_cost_usd,
  units,
  price_usd,
}: HoldingRow): number | null => {
  if (position === null) return null
  const open = Math.min(position, units)
  const cost = productOrNull(numberOrNull(position_cost_usd), ratioOrNull(open, position) ?? 0)
  const value = productOrNull(open, price_usd)
  return value === null || cost === null ? null : value - cost
}

const netBoughtAmount = ({ buy_amount, sell_amount }: HoldingRow): number | null =>
  buy_amount === null || sell_amount === null ? null : Number(buy_amount) - Number(sell_amount)

/** Rows as bodies, in their order. */
export const netWorthItems = async (
  request: ChainRequest<object, object>,
  rows: readonly HoldingRow[],
): Promise<readonly NetWorthItem[]> => {
  const names = await readTokenNames(
    request,
    rows.map(({ token }) => token),
  )
  return rows.map((row) => {
    const name = names.get(row.token)
    return {
      chain: request.chain.word,
      tokenAddress: row.token,
      name: name?.name ?? '',
      symbol: name?.symbol ?? '',
      decimals: row.decimals ?? 0,
      logoUri: name?.image_url || null,
      amount: unitsOrNull(row.balance, row.decimals ?? 0) ?? '0',
      priceInUsd: requiredNumberText(row.price_usd),
      priceInNative: requiredNumberText(row.price_native),
      valueInUsd: requiredNumberText(productOrNull(row.units, row.price_usd)),
      valueInNative: requiredNumberText(productOrNull(row.units, row.price_native)),
      isActive: row.units > 0,
      accuAmount: numberTextOrNull(netBoughtAmount(row)),
      avgCostUsd: numberTextOrNull(
        ratioOrNull(numberOrNull(row.buy_usd), numberOrNull(row.valued_bought)),
      ),
      realizedPnlInUsd: row.realized_usd,
      unrealizedPnlInUsd: numberTextOrNull(unrealizedProfit(row)),
      lastActiveAt: row.last_ms === '0' ? null : Number(row.last_ms),
      walletTokenTags: [],
    }
  })
}

/** Time of a chain's newest block; the server's without one. */
export const chainHeadMs = async ({
  chain,
  rows,
  nowMs,
}: ChainRequest<object, object>): Promise<number> => {
  if (!chain.enabled) return nowMs
  const [row] = await rows<{ readonly head_ms: string }>(chainHeadQuery(chain.id))
  return Number(row?.head_ms ?? 0) || nowMs
}

const readTotals = async (request: WalletRequest, lookup: HoldingsRequest) => {
  const [worth, headMs] = await Promise.all([
    request.chain.enabled ? request.rows<NetWorthRow>(netWorthQuery(lookup)) : [],
    chainHeadMs(request),
  ])
  return {
    walletAddress: request.params.walletAddress,
    currentTimestamp: formatTime(headMs),
    totalValueInUsd: requiredNumberText(worth[0]?.value_usd ?? 0),
    totalValueInNative: requiredNumberText(worth[0]?.value_native ?? 0),
  }
}

const toHoldingsRequest = (
  { chain, params }: WalletRequest,
  trusted: boolean,
): HoldingsRequest => ({
  chain: chain.id,
  wallets: [params.walletAddress],
  trusted,
})

const balances = definePageRoute({
  path: '/wallet/:chain/:walletAddress/tokens-balance',
  summary: 'What a wallet holds, the most valuable first',
  tag: 'wallet',
  params: WALLET_PARAM,
  query: {},
  item: NetWorthItem,
  list: (request) => holdingList(toHoldingsRequest(request, false)),
  bodies: (rows: readonly HoldingRow[], request) => netWorthItems(request, rows),
})

const netWorth = definePageRoute({
  path: '/wallet/:chain/:walletAddress/net-worth',
  summary: 'What a wallet holds of tokens that can be sold, and its worth',
  tag: 'wallet',
  params: WALLET_PARAM,
  query: {},
  item: NetWorthItem,
  more: {
    page: WalletNetWorthPage,
    read: (request) => readTotals(request, toHoldingsRequest(request, true)),
  },
  list: (request) => holdingList(toHoldingsRequest(request, true)),
  bodies: (rows: readonly HoldingRow[], request) => netWorthItems(request, rows),
})

/** Most tokens that can be asked for at once. */
const MAX_TOKENS = 100

const netWorthByTokens = defineReadRoute({
  path: '/wallet/:chain/:walletAddress/net-worth/tokens',
  summary: 'What a wallet holds of given tokens',
  tag: 'wallet',
  params: WALLET_PARAM,
  query: WALLET_TOKENS_QUERY,
  response: NetWorthByTokens,
  absent: 'empty',
  answer: async (request) => {
    const lookup = {
      ...toHoldingsRequest(request, false),
      tokens: request.addresses('tokenAddresses'),
    }
    const slice = { direction: 'next', after: undefined, rows: MAX_TOKENS } as const
    const [rows, totals] = await Promise.all([
      request.chain.enabled ? request.rows<HoldingRow>(sliceQuery(holdingList(lookup), slice)) : [],
      readTotals(request, lookup),
    ])
    return { data: [...(await netWorthItems(request, rows))], ...totals }
  },
})

const netWorthSummary = defineReadRoute({
  path: '/wallet/:chain/net-worth-summary',
  summary: 'Worth of several wallets',
  tag: 'wallet',
  params: {},
  query: WALLETS_QUERY,
  response: WalletNetWorthSummary,
  absent: 'empty',
  answer: async (request) => {
    const { chain } = request
    const wallets = request.addresses('walletAddresses')
    const lookup = { chain: chain.id, wallets, trusted: true }
    const [rows, headMs] = await Promise.all([
      chain.enabled ? request.rows<NetWorthRow>(netWorthQuery(lookup)) : [],
      chainHeadMs(request),
    ])
    const values = new Map(rows.map((row) => [row.wallet, row.value_usd]))
    return {
      currentTimestamp: formatTime(headMs),
      wallets: Object.fromEntries(
        wallets.map((wallet) => [wallet, { value: requiredNumberText(values.get(wallet) ?? 0) }]),
      ),
    }
  },
})

/** What wallets hold and what it is worth now. */
export const netWorthRoutes: readonly ChainRoute[] = [
  balances,
  netWorth,
  netWorthByTokens,
  netWorthSummary,
]

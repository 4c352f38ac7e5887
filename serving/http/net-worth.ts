import {
  NetWorthByTokens,
  NetWorthItem,
  WALLET_TOKENS_QUERY,
  WALLETS_QUERY,
  WalletNetWorthPage,
  WalletNetWorthSummary,
} from '../../schemas/api/net-worth.ts'
import { WALLET_PARAM } from '../../schemas/api/wallet-pnl.ts'
import { sliceQuery } from '../queries/keyset.ts'
import {
  type HeldQuestion,
  type HeldRow,
  headQuery,
  heldList,
  type WorthRow,
  worthQuery,
} from '../queries/net-worth.ts'
import { type ChainRequest, type ChainRoute, chainPage, chainRead } from './chain-route.ts'
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

type WalletRequest = ChainRequest<{ readonly walletAddress: string }, object>

const required = (value: number | null): string => requiredText(numberText(value))

/** What the open part is worth above its cost, which shrinks with what left the wallet without a sale. */
const unrealizedOf = ({
  position,
  position_cost_usd,
  units,
  price_usd,
}: HeldRow): number | null => {
  if (position === null) return null
  const open = Math.min(position, units)
  const cost = product(numeric(position_cost_usd), ratio(open, position) ?? 0)
  const value = product(open, price_usd)
  return value === null || cost === null ? null : value - cost
}

const boughtLessSold = ({ buy_amount, sell_amount }: HeldRow): number | null =>
  buy_amount === null || sell_amount === null ? null : Number(buy_amount) - Number(sell_amount)

/** Rows as bodies, in their order. */
export const heldItems = async (
  request: ChainRequest<object, object>,
  rows: readonly HeldRow[],
): Promise<readonly NetWorthItem[]> => {
  const names = await tokenNames(
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
      priceInUsd: required(row.price_usd),
      priceInNative: required(row.price_native),
      valueInUsd: required(product(row.units, row.price_usd)),
      valueInNative: required(product(row.units, row.price_native)),
      isActive: row.units > 0,
      accuAmount: numberText(boughtLessSold(row)),
      avgCostUsd: numberText(ratio(numeric(row.buy_usd), numeric(row.buy_amount))),
      realizedPnlInUsd: row.realized_usd,
      unrealizedPnlInUsd: numberText(unrealizedOf(row)),
      lastActiveAt: row.last_ms === '0' ? null : Number(row.last_ms),
      walletTokenTags: [],
    }
  })
}

/** Time of a chain's newest block; the server's without one. */
export const headMsOf = async ({
  chain,
  rows,
  nowMs,
}: ChainRequest<object, object>): Promise<number> => {
  if (!chain.enabled) return nowMs
  const [row] = await rows<{ readonly head_ms: string }>(headQuery(chain.id))
  return Number(row?.head_ms ?? 0) || nowMs
}

const totalsOf = async (request: WalletRequest, question: HeldQuestion) => {
  const [worth, headMs] = await Promise.all([
    request.chain.enabled ? request.rows<WorthRow>(worthQuery(question)) : [],
    headMsOf(request),
  ])
  return {
    walletAddress: request.params.walletAddress,
    currentTimestamp: timeText(headMs),
    totalValueInUsd: required(worth[0]?.value_usd ?? 0),
    totalValueInNative: required(worth[0]?.value_native ?? 0),
  }
}

const questionOf = ({ chain, params }: WalletRequest, trusted: boolean): HeldQuestion => ({
  chain: chain.id,
  wallets: [params.walletAddress],
  trusted,
})

const balances = chainPage({
  path: '/wallet/:chain/:walletAddress/tokens-balance',
  summary: 'What a wallet holds, the most valuable first',
  tag: 'wallet',
  params: WALLET_PARAM,
  query: {},
  item: NetWorthItem,
  list: (request) => heldList(questionOf(request, false)),
  bodies: (rows: readonly HeldRow[], request) => heldItems(request, rows),
})

const netWorth = chainPage({
  path: '/wallet/:chain/:walletAddress/net-worth',
  summary: 'What a wallet holds of tokens that can be sold, and its worth',
  tag: 'wallet',
  params: WALLET_PARAM,
  query: {},
  item: NetWorthItem,
  more: {
    page: WalletNetWorthPage,
    read: (request) => totalsOf(request, questionOf(request, true)),
  },
  list: (request) => heldList(questionOf(request, true)),
  bodies: (rows: readonly HeldRow[], request) => heldItems(request, rows),
})

/** Most tokens that can be asked for at once. */
const MOST_TOKENS = 100

const byTokens = chainRead({
  path: '/wallet/:chain/:walletAddress/net-worth/tokens',
  summary: 'What a wallet holds of given tokens',
  tag: 'wallet',
  params: WALLET_PARAM,
  query: WALLET_TOKENS_QUERY,
  response: NetWorthByTokens,
  absent: 'empty',
  answer: async (request) => {
    const question = { ...questionOf(request, false), tokens: request.addresses('tokenAddresses') }
    const slice = { direction: 'next', after: undefined, rows: MOST_TOKENS } as const
    const [rows, totals] = await Promise.all([
      request.chain.enabled ? request.rows<HeldRow>(sliceQuery(heldList(question), slice)) : [],
      totalsOf(request, question),
    ])
    return { data: [...(await heldItems(request, rows))], ...totals }
  },
})

const summary = chainRead({
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
    const question = { chain: chain.id, wallets, trusted: true }
    const [rows, headMs] = await Promise.all([
      chain.enabled ? request.rows<WorthRow>(worthQuery(question)) : [],
      headMsOf(request),
    ])
    const values = new Map(rows.map((row) => [row.wallet, row.value_usd]))
    return {
      currentTimestamp: timeText(headMs),
      wallets: Object.fromEntries(
        wallets.map((wallet) => [wallet, { value: required(values.get(wallet) ?? 0) }]),
      ),
    }
  },
})

/** What wallets hold and what it is worth now. */
export const netWorthRoutes: readonly ChainRoute[] = [balances, netWorth, byTokens, summary]

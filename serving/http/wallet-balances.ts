import type { NetWorthItem } from '../../schemas/api/net-worth.ts'
import {
  TRADING_FIELDS,
  WALLET_BALANCES_QUERY,
  type WalletBalance,
  WalletBalances,
  type WalletPnlStat,
} from '../../schemas/api/wallet.ts'
import { WALLET_PARAM } from '../../schemas/api/wallet-pnl.ts'
import { sliceQuery } from '../queries/keyset-list.ts'
import {
  type HoldingRow,
  type HoldingsRequest,
  holdingList,
  type NetWorthRow,
  nativeTokenParams,
  netWorthQuery,
} from '../queries/net-worth.ts'
import { type StatRow, statsQuery } from '../queries/token-stats.ts'
import { type WalletStatRow, walletStatsQuery } from '../queries/wallet-stats.ts'
import { requiredNumberText } from './body-values.ts'
import { type ChainRequest, type ChainRoute, defineReadRoute } from './chain-route.ts'
import { netWorthItems } from './net-worth.ts'
import { statsByToken } from './token-stats.ts'
import { readPnlTotals } from './wallet-pnl.ts'
import { walletStatBodies } from './wallet-stats.ts'

/** Most tokens of one answer, which has no pages. */
const MAX_BALANCES = 100

const ABSENT = { totalBalancesInUsd: '0', totalProfitInUsd: '0', balances: [] }

const TRADING_NAMES = Object.keys(TRADING_FIELDS) as readonly (keyof typeof TRADING_FIELDS)[]

const NO_TRADES = Object.fromEntries(TRADING_NAMES.map((name) => [name, '0'])) as Pick<
  WalletPnlStat,
  keyof typeof TRADING_FIELDS
>

const balanceBody = (
  item: NetWorthItem,
  stat: WalletPnlStat | undefined,
  dayChange: string | null,
): WalletBalance => {
  const traded = stat ?? NO_TRADES
  return {
    tokenAddress: item.tokenAddress,
    name: item.name,
    symbol: item.symbol,
    imageUrl: item.logoUri,
    amount: item.amount,
    valueInUsd: item.valueInUsd,
    priceInUsd: item.priceInUsd,
    priceInSol: item.priceInNative,
    priceChangeRatioInUsd24h: dayChange,
    ...(Object.fromEntries(TRADING_NAMES.map((name) => [name, traded[name]])) as typeof NO_TRADES),
    openTime: Number(stat?.openTime ?? 0) || null,
    closeTime: Number(stat?.closeTime ?? 0) || null,
  }
}

type WalletRequest = ChainRequest<{ readonly walletAddress: string }, object>

/** The most valuable tokens of a wallet, each with what trading it came to and how its price moved in a day. */
const readBalances = async (
  request: WalletRequest,
  lookup: HoldingsRequest,
): Promise<readonly WalletBalance[]> => {
  const { chain, params, rows } = request
  const slice = { direction: 'next', after: undefined, rows: MAX_BALANCES } as const
  const held = await rows<HoldingRow>(sliceQuery(holdingList(lookup), slice))
  if (held.length === 0) return []
  const tokens = held.map(({ token }) => token)
  // The native token has the price of its wrapped form.
  const { nativeToken, wrapped } = nativeTokenParams(chain.id)
  const pricedAs = (token: string): string => (token === nativeToken ? wrapped : token)
  const [items, traded, moved] = await Promise.all([
    netWorthItems(request, held),
    rows<WalletStatRow>(walletStatsQuery(chain.id, params.walletAddress, tokens)),
    rows<StatRow>(statsQuery(chain.id, tokens.map(pricedAs))),
  ])
  const wallet = { chain: chain.id, wallet: params.walletAddress, word: chain.word }
  const bodies = await walletStatBodies(traded, wallet)
  const byToken = new Map(bodies.map((stat) => [stat.tokenAddress, stat]))
  const stats = statsByToken(moved)
  return items.map((item) =>
    balanceBody(
      item,
      byToken.get(item.tokenAddress),
      stats.get(pricedAs(item.tokenAddress))?.periods['24h']?.priceChangeRatioInUsd ?? null,
    ),
  )
}

const balances = defineReadRoute({
  path: '/wallet/:chain/:walletAddress/balance',
  summary: `What a wallet holds and what trading it came to, the ${MAX_BALANCES} most valuable tokens`,
  tag: 'wallet',
  params: WALLET_PARAM,
  query: WALLET_BALANCES_QUERY,
  response: WalletBalances,
  absent: 'empty',
  answer: async (request) => {
    const { chain, params, query, rows } = request
    if (!chain.enabled) return ABSENT
    const { tokenAddress } = query
    const wallets = [params.walletAddress]
    const tokens = tokenAddress === undefined ? undefined : [tokenAddress]
    const lookup = { chain: chain.id, wallets, tokens, trusted: false }
    const [list, [worth], totals] = await Promise.all([
      readBalances(request, lookup),
      rows<NetWorthRow>(netWorthQuery(lookup)),
      readPnlTotals(request, { chain: chain.id, wallets, tokens, resolution: 'all' }),
    ])
    return {
      totalBalancesInUsd: requiredNumberText(worth?.value_usd ?? 0),
      totalProfitInUsd: requiredNumberText(Number(totals.realized_usd) + totals.unrealized_usd),
      balances: [...list],
    }
  },
})

/** What wallets hold together with what trading it came to. */
export const walletBalanceRoutes: readonly ChainRoute[] = [balances]

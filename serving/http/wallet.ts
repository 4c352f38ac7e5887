import { createHash } from 'node:crypto'
import { decimalText, unitsText } from '../../core/amounts.ts'
import {
  WalletParams,
  type WalletPnlStat,
  WalletPnlStats,
  WalletStatsQuery,
} from '../../schemas/api/wallet.ts'
import { type WalletStatRow, walletStatsQuery } from '../queries/wallet-stats.ts'
import { addressOf, chainOf, stampFreshness, walletOf } from './chain.ts'
import type { RouteDeps } from './deps.ts'
import { type Family, priced } from './routing.ts'

const ID_LENGTH = 24

const number = (value: number): string => (Number.isFinite(value) ? decimalText(value) : '0')
const over = (one: number, other: number): number => (other === 0 ? 0 : one / other)

/** The 23 fields of the seed, all text; "0" where a number is not known. */
const statOf = (
  row: WalletStatRow,
  {
    chain,
    wallet,
    word,
  }: { readonly chain: string; readonly wallet: string; readonly word: string },
): WalletPnlStat => {
  const position = Number(row.position_amount ?? 0)
  const balance =
    row.balance === null || row.decimals === null
      ? (row.position_amount ?? '0')
      : unitsText(BigInt(row.balance), row.decimals)
  const open = Math.min(position, Number(balance))
  const price = row.price_usd ?? 0
  const unrealized = open * price - Number(row.position_cost_usd) * over(open, position)
  const marked = row.price_usd === null ? 0 : unrealized
  const cost = Number(row.buy_usd)
  return {
    id: createHash('sha256')
      .update(`${chain}|${wallet}|${row.token_address}`)
      .digest('hex')
      .slice(0, ID_LENGTH),
    chain: word,
    walletAddress: wallet,
    tokenAddress: row.token_address,
    tokenPriceInUsd: number(price),
    openTime: row.open_ms,
    closeTime: row.close_ms,
    lastTime: row.last_ms,
    balance,
    buyAmount: row.buy_amount ?? '0',
    buyAmountInUsd: row.buy_usd,
    buys: row.buys,
    sellAmount: row.sell_amount ?? '0',
    sellAmountInUsd: row.sell_usd,
    sells: row.sells,
    averageBuyPriceInUsd: number(over(cost, Number(row.buy_amount ?? 0))),
    averageSellPriceInUsd: number(over(Number(row.sell_usd), Number(row.sell_amount ?? 0))),
    unrealizedProfitInUsd: number(marked),
    unrealizedProfitRatio: number(over(marked, cost)),
    realizedProfitInUsd: row.realized_usd,
    realizedProfitRatio: number(over(Number(row.realized_usd), cost)),
    totalRealizedProfitInUsd: row.total_realized_usd,
    totalRealizedProfitRatio: number(over(Number(row.total_realized_usd), cost)),
  }
}

/** What a wallet made of each token that it traded; the seed's path has the version behind `wallet`. */
export const walletRoutes =
  (deps: RouteDeps, path: `${string}/:chain/:walletAddress${'' | '/stats'}`): Family =>
  async (app) => {
    app.get(
      path,
      {
        schema: {
          summary: 'Profit and loss of a wallet by token',
          tags: ['wallet'],
          params: WalletParams,
          querystring: WalletStatsQuery,
          response: { 200: WalletPnlStats },
        },
        config: priced('GET /wallet/:chain/:walletAddress/stats'),
      },
      async ({ params, query }, reply) => {
        const chain = chainOf(params.chain, deps.chains)
        const wallet = walletOf(chain.id, params.walletAddress, 'walletAddress')
        const { tokenAddress } = query
        const token =
          tokenAddress === undefined ? undefined : addressOf(chain.id, tokenAddress, 'tokenAddress')
        if (!chain.enabled) return []
        await stampFreshness(reply, deps.freshness, chain.id)
        const { rows } = await deps.warehouse.query<WalletStatRow>(
          walletStatsQuery(chain.id, wallet, token),
        )
        return rows.map((row) => statOf(row, { chain: chain.id, wallet, word: chain.word }))
      },
    )
  }

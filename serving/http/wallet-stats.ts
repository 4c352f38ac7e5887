import { createHash } from 'node:crypto'
import { formatDecimal, formatUnits } from '../../core/amounts.ts'
import { makeYieldIfDue } from '../../core/runtime/yield-if-due.ts'
import {
  WalletParams,
  type WalletPnlStat,
  WalletPnlStats,
  WalletStatsQuery,
} from '../../schemas/api/wallet.ts'
import { MAX_WALLET_STATS, type WalletStatRow, walletStatsQuery } from '../queries/wallet-stats.ts'
import {
  parseChain,
  parseTokenAddress,
  parseWalletAddress,
  setFreshnessHeaders,
} from './chain-parameters.ts'
import type { RouteDeps } from './deps.ts'
import { pricedRoute, type RoutePlugin } from './routing.ts'

const ID_LENGTH = 24

const finiteNumberText = (value: number): string =>
  Number.isFinite(value) ? formatDecimal(value) : '0'
const quotientOrZero = (one: number, other: number): number => (other === 0 ? 0 : one / other)

interface WalletOfStats {
  readonly chain: string
  readonly wallet: string
  /** What answers call the chain. */
  readonly word: string
}

/** The 23 fields of the reference API, all text; "0" where a number is not known. */
const walletStatBody = (
  row: WalletStatRow,
  { chain, wallet, word }: WalletOfStats,
): WalletPnlStat => {
  const position = Number(row.position_amount ?? 0)
  const balance =
    row.balance === null || row.decimals === null
      ? (row.position_amount ?? '0')
      : formatUnits(BigInt(row.balance), row.decimals)
  const open = Math.min(position, Number(balance))
  const price = row.price_usd ?? 0
  const unrealized = open * price - Number(row.position_cost_usd) * quotientOrZero(open, position)
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
    tokenPriceInUsd: finiteNumberText(price),
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
    averageBuyPriceInUsd: finiteNumberText(quotientOrZero(cost, Number(row.valued_bought ?? 0))),
    averageSellPriceInUsd: finiteNumberText(
      quotientOrZero(Number(row.sell_usd), Number(row.valued_sold ?? 0)),
    ),
    unrealizedProfitInUsd: finiteNumberText(marked),
    unrealizedProfitRatio: finiteNumberText(quotientOrZero(marked, cost)),
    realizedProfitInUsd: row.realized_usd,
    realizedProfitRatio: finiteNumberText(quotientOrZero(Number(row.realized_usd), cost)),
    totalRealizedProfitInUsd: row.total_realized_usd,
    totalRealizedProfitRatio: finiteNumberText(
      quotientOrZero(Number(row.total_realized_usd), cost),
    ),
  }
}

/** One body per row; others get a turn between them. */
export const walletStatBodies = async (
  rows: readonly WalletStatRow[],
  wallet: WalletOfStats,
): Promise<WalletPnlStat[]> => {
  const yieldIfDue = makeYieldIfDue()
  const bodies: WalletPnlStat[] = []
  for (const row of rows) {
    await yieldIfDue()
    bodies.push(walletStatBody(row, wallet))
  }
  return bodies
}

/** What a wallet made of each token that it traded; the path of the first version has it behind `wallet`. */
export const walletStatsRoutes =
  (deps: RouteDeps, path: `${string}/:chain/:walletAddress${'' | '/stats'}`): RoutePlugin =>
  async (app) => {
    app.get(
      path,
      {
        schema: {
          summary: 'Profit and loss of a wallet by token',
          description: `The ${MAX_WALLET_STATS} tokens that the wallet traded last, newest trade first; tokenAddress asks for one of any age.`,
          tags: ['wallet'],
          params: WalletParams,
          querystring: WalletStatsQuery,
          response: { 200: WalletPnlStats },
        },
        config: pricedRoute('GET /wallet/:chain/:walletAddress/stats'),
      },
      async ({ params, query }, reply) => {
        const chain = parseChain(params.chain, deps.chains)
        const wallet = parseWalletAddress(chain.id, params.walletAddress, 'walletAddress')
        const { tokenAddress } = query
        const tokens =
          tokenAddress === undefined
            ? undefined
            : [parseTokenAddress(chain.id, tokenAddress, 'tokenAddress')]
        if (!chain.enabled) return []
        await setFreshnessHeaders(reply, deps.freshness, chain.id)
        const { rows } = await deps.warehouse.query<WalletStatRow>(
          walletStatsQuery(chain.id, wallet, tokens),
        )
        return walletStatBodies(rows, { chain: chain.id, wallet, word: chain.word })
      },
    )
  }

import { Type } from 'typebox'
import { unitsText } from '../../core/amounts.ts'
import {
  HoldersMultiQuery,
  HoldersQuery,
  type TokenHolder,
  TokenHolderPage,
  TokenHolders,
} from '../../schemas/api/holder.ts'
import { TokenParams } from '../../schemas/api/token.ts'
import { envelope, pageFrom } from '../queries/cursor.ts'
import {
  type HolderRow,
  type HolderSearch,
  holdersQuery,
  someHoldersQuery,
} from '../queries/holders.ts'
import { addressesOf, addressOf, chainOf, stampFreshness } from './chain.ts'
import type { RouteDeps } from './deps.ts'
import { type Family, priced } from './routing.ts'
import { numberText, numeric, product, ratio } from './values.ts'

const Place = Type.Object(
  {
    key: Type.String({ pattern: '^-?\\d{1,78}(\\.\\d{1,18})?$' }),
    holder: Type.String({ maxLength: 256 }),
  },
  { additionalProperties: false },
)

/** Wealth from which on a holder is called a whale, USD. */
const WHALE_USD = 10_000
const DIAMOND_MS = 30 * 86_400_000

/** What trading brought; every field null for a wallet that did not trade. */
const tradingOf = (row: HolderRow, units: number) => {
  const bought = numeric(row.buy_usd)
  const sold = numeric(row.sell_usd)
  const known = numeric(row.position_amount)
  const open = known === null ? null : Math.min(known, units)
  const cost = product(numeric(row.position_cost_usd), ratio(open, known) ?? 0)
  const marked = product(open, row.price_usd)
  const unrealized = marked === null || cost === null ? null : marked - cost
  const realized = numeric(row.realized_usd)
  const profit = realized === null || unrealized === null ? null : realized + unrealized
  return {
    avgBuyPriceUsd: numberText(ratio(bought, numeric(row.buy_amount))),
    avgSellPriceUsd: numberText(ratio(sold, numeric(row.sell_amount))),
    positionCostUsd: numberText(cost),
    totalCostUsd: row.buy_usd,
    realizedProfit: row.realized_usd,
    unrealizedProfit: numberText(unrealized),
    totalProfit: numberText(profit),
    roi: numberText(ratio(profit, bought)),
    winCount: numeric(row.wins),
    lossCount: numeric(row.losses),
    buyVolumeUsd: row.buy_usd,
    sellVolumeUsd: row.sell_usd,
    buyAmountCur: row.buy_amount,
    sellAmountCur: row.sell_amount,
    totalBuyCount: numeric(row.buys),
    totalSellCount: numeric(row.sells),
    netflowUsd: numberText(bought === null || sold === null ? null : bought - sold),
  }
}

const bodyOf = (row: HolderRow, nowMs: number): TokenHolder => {
  const amount = unitsText(BigInt(row.balance), row.decimals ?? 0)
  const units = Number(amount)
  const valueUsd = product(units, row.price_usd)
  const share = ratio(units, numeric(row.supply))
  return {
    walletAddress: row.holder,
    amount,
    amountInUsd: numberText(valueUsd),
    amountInNative: numberText(product(units, row.price_native)),
    percentage: numberText(product(share, 100)),
    startHoldingAt: Number(row.first_ms),
    lastActiveAt: Number(row.last_ms),
    ...tradingOf(row, units),
    tags: [
      ...(row.dev === row.holder && row.dev !== '' ? ['dev'] : []),
      ...(row.creators.includes(row.holder) ? ['creators'] : []),
    ],
    makerTokenTags: [
      ...(valueUsd !== null && valueUsd > WHALE_USD ? ['whale'] : []),
      ...(nowMs - Number(row.first_ms) > DIAMOND_MS ? ['diamond_hands'] : []),
    ],
  }
}

const schema = (summary: string) => ({ summary, tags: ['token'], params: TokenParams })

/** Who holds a token: as a list, and for given wallets. */
export const holderRoutes =
  (deps: RouteDeps): Family =>
  async (app) => {
    for (const path of ['holders', 'topHolders'] as const) {
      app.get(
        `/token/:chain/:tokenAddress/${path}`,
        {
          schema: {
            ...schema('Holders of a token, largest first unless asked otherwise'),
            querystring: HoldersQuery,
            response: { 200: TokenHolderPage },
          },
          config: priced(`GET /token/:chain/:tokenAddress/${path}`),
        },
        async ({ params, query }, reply) => {
          const chain = chainOf(params.chain, deps.chains)
          const token = addressOf(chain.id, params.tokenAddress, 'tokenAddress')
          const { limit = 20, direction = 'next', cursor, sortBy = 'amountPercentage' } = query
          const descending = query.sortDirection?.toLowerCase() !== 'asc'
          const codec = deps.cursors(Place, ['holders', chain.id, token, sortBy, descending])
          const after = cursor === undefined ? undefined : codec.decode(cursor)
          const search: HolderSearch = {
            chain: chain.id,
            token,
            sort: sortBy,
            descending,
            direction,
            after,
            rows: limit + 1,
          }
          const rows = chain.enabled
            ? (await deps.warehouse.query<HolderRow>(holdersQuery(search))).rows
            : []
          if (chain.enabled) await stampFreshness(reply, deps.freshness, chain.id)
          const asked = { limit, direction, hasCursor: after !== undefined }
          const page = pageFrom(rows, asked, (row) =>
            codec.encode({ key: row.sort_key, holder: row.holder }),
          )
          return envelope(page, (row) => [bodyOf(row, deps.nowMs())])
        },
      )
    }
    app.get(
      '/token/:chain/:tokenAddress/holders/multi',
      {
        schema: {
          ...schema('Given wallets as holders of a token'),
          querystring: HoldersMultiQuery,
          response: { 200: TokenHolders },
        },
        config: priced('GET /token/:chain/:tokenAddress/holders/multi'),
      },
      async ({ params, query }, reply) => {
        const chain = chainOf(params.chain, deps.chains)
        const token = addressOf(chain.id, params.tokenAddress, 'tokenAddress')
        const wallets = addressesOf(chain.id, query.walletAddresses, 'walletAddresses')
        if (!chain.enabled) return []
        await stampFreshness(reply, deps.freshness, chain.id)
        const statement = someHoldersQuery(chain.id, token, wallets)
        const { rows } = await deps.warehouse.query<HolderRow>(statement)
        return wallets.flatMap((wallet) =>
          rows.filter(({ holder }) => holder === wallet).map((row) => bodyOf(row, deps.nowMs())),
        )
      },
    )
  }

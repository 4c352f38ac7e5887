import { Type } from 'typebox'
import { formatUnits } from '../../core/amounts.ts'
import { DAY_MS } from '../../core/time.ts'
import {
  type HolderSort,
  HoldersMultiQuery,
  HoldersQuery,
  type TokenHolder,
  TokenHolderPage,
  TokenHolders,
} from '../../schemas/api/holder.ts'
import { TokenParams } from '../../schemas/api/token.ts'
import { createPage, pageEnvelope } from '../queries/cursors-and-pages.ts'
import {
  type HolderPlaceRow,
  type HolderRow,
  type HolderSearch,
  holdersQuery,
  poolsAmongQuery,
  walletHoldersQuery,
} from '../queries/holders.ts'
import { numberOrNull, numberTextOrNull, productOrNull, ratioOrNull } from './body-values.ts'
import {
  parseAddressList,
  parseChain,
  parseTokenAddress,
  setFreshnessHeaders,
} from './chain-parameters.ts'
import type { RouteDeps } from './deps.ts'
import { pricedRoute, type RoutePlugin } from './routing.ts'

const CursorPayload = Type.Object(
  {
    key: Type.String({ pattern: '^-?\\d{1,78}(\\.\\d{1,18})?$' }),
    holder: Type.String({ maxLength: 256 }),
  },
  { additionalProperties: false },
)

/** Sorts by what is held: every holder of a token has the same price. */
const AMOUNT_SORTS: ReadonlySet<HolderSort> = new Set([
  'amountPercentage',
  'holdingUsd',
  'usdValue',
])
/** Largest holders that are called so. */
const TOP_HOLDERS = 10
/** Wealth from which on a holder is called a whale, USD. */
const MIN_WHALE_USD = 10_000
const MIN_DIAMOND_HANDS_MS = 30 * DAY_MS

/** What trading brought; every field null for a wallet that did not trade. */
const tradingFields = (row: HolderRow, units: number) => {
  const bought = numberOrNull(row.buy_usd)
  const sold = numberOrNull(row.sell_usd)
  const known = numberOrNull(row.position_amount)
  const open = known === null ? null : Math.min(known, units)
  const cost = productOrNull(numberOrNull(row.position_cost_usd), ratioOrNull(open, known) ?? 0)
  const marked = productOrNull(open, row.price_usd)
  const unrealized = marked === null || cost === null ? null : marked - cost
  const realized = numberOrNull(row.realized_usd)
  const profit = realized === null || unrealized === null ? null : realized + unrealized
  return {
    avgBuyPriceUsd: numberTextOrNull(ratioOrNull(bought, numberOrNull(row.valued_bought))),
    avgSellPriceUsd: numberTextOrNull(ratioOrNull(sold, numberOrNull(row.valued_sold))),
    positionCostUsd: numberTextOrNull(cost),
    totalCostUsd: row.buy_usd,
    realizedProfit: row.realized_usd,
    unrealizedProfit: numberTextOrNull(unrealized),
    totalProfit: numberTextOrNull(profit),
    roi: numberTextOrNull(ratioOrNull(profit, bought)),
    winCount: numberOrNull(row.wins),
    lossCount: numberOrNull(row.losses),
    buyVolumeUsd: row.buy_usd,
    sellVolumeUsd: row.sell_usd,
    buyAmountCur: row.buy_amount,
    sellAmountCur: row.sell_amount,
    totalBuyCount: numberOrNull(row.buys),
    totalSellCount: numberOrNull(row.sells),
    netflowUsd: numberTextOrNull(bought === null || sold === null ? null : bought - sold),
  }
}

/** What is known of a holder beside its row. */
interface HolderContext {
  readonly nowMs: number
  readonly isPool: boolean
  /** Among the largest of the token. */
  readonly isTop: boolean
}

/** What kind of wallet a holder is by what it holds; a pool is none. */
const walletKinds = (row: HolderRow, valueUsd: number | null, context: HolderContext): string[] => {
  if (context.isPool) return []
  return [
    ...(context.isTop ? ['top_holder'] : []),
    ...(valueUsd !== null && valueUsd > MIN_WHALE_USD ? ['whale'] : []),
    ...(context.nowMs - Number(row.first_ms) > MIN_DIAMOND_HANDS_MS ? ['diamond_hands'] : []),
  ]
}

const holderBody = (row: HolderRow, context: HolderContext): TokenHolder => {
  const amount = formatUnits(BigInt(row.balance), row.decimals ?? 0)
  const units = Number(amount)
  const valueUsd = productOrNull(units, row.price_usd)
  const share = ratioOrNull(units, numberOrNull(row.supply))
  return {
    walletAddress: row.holder,
    amount,
    amountInUsd: numberTextOrNull(valueUsd),
    amountInNative: numberTextOrNull(productOrNull(units, row.price_native)),
    percentage: numberTextOrNull(productOrNull(share, 100)),
    startHoldingAt: Number(row.first_ms),
    lastActiveAt: Number(row.last_ms),
    ...tradingFields(row, units),
    tags: [
      ...(context.isPool ? ['pool'] : []),
      ...(row.dev === row.holder && row.dev !== '' ? ['dev'] : []),
      ...(row.creators.includes(row.holder) ? ['creators'] : []),
    ],
    makerTokenTags: walletKinds(row, valueUsd, context),
  }
}

/** Those of the wallets that are pools. */
const readPools = async (
  { warehouse }: Pick<RouteDeps, 'warehouse'>,
  chain: string,
  wallets: readonly string[],
): Promise<ReadonlySet<string>> => {
  const found = await warehouse.query<{ readonly pool: string }>(poolsAmongQuery(chain, wallets))
  return new Set(found.rows.map(({ pool }) => pool))
}

/** Which holders of a token are read, and how many of the first that are not pools are called top holders. */
interface HolderBodiesRequest {
  readonly chain: string
  readonly token: string
  readonly wallets: readonly string[]
  readonly top: number
}

/** Bodies of holders among the given wallets by holder; who holds nothing is missing. */
const readHolderBodies = async (
  deps: Pick<RouteDeps, 'warehouse' | 'nowMs'>,
  { chain, token, wallets, top }: HolderBodiesRequest,
): Promise<ReadonlyMap<string, readonly TokenHolder[]>> => {
  if (wallets.length === 0) return new Map()
  const [{ rows }, pools] = await Promise.all([
    deps.warehouse.query<HolderRow>(walletHoldersQuery(chain, token, wallets)),
    readPools(deps, chain, wallets),
  ])
  const holders = new Set(rows.map(({ holder }) => holder))
  const tops = new Set(
    wallets.filter((wallet) => holders.has(wallet) && !pools.has(wallet)).slice(0, top),
  )
  const nowMs = deps.nowMs()
  return new Map(
    rows.map((row) => {
      const context = { nowMs, isPool: pools.has(row.holder), isTop: tops.has(row.holder) }
      return [row.holder, [holderBody(row, context)]]
    }),
  )
}

const routeSchema = (summary: string) => ({ summary, tags: ['token'], params: TokenParams })

/** Who holds a token: as a list, and for given wallets. */
export const holderRoutes =
  (deps: RouteDeps): RoutePlugin =>
  async (app) => {
    for (const path of ['holders', 'topHolders'] as const) {
      app.get(
        `/token/:chain/:tokenAddress/${path}`,
        {
          schema: {
            ...routeSchema('Holders of a token, largest first unless asked otherwise'),
            querystring: HoldersQuery,
            response: { 200: TokenHolderPage },
          },
          config: pricedRoute(`GET /token/:chain/:tokenAddress/${path}`),
        },
        async ({ params, query }, reply) => {
          const chain = parseChain(params.chain, deps.chains)
          const token = parseTokenAddress(chain.id, params.tokenAddress, 'tokenAddress')
          const { limit = 20, direction = 'next', cursor, sortBy = 'amountPercentage' } = query
          const descending = query.sortDirection?.toLowerCase() !== 'asc'
          const codec = deps.cursors(CursorPayload, [
            'holders',
            chain.id,
            token,
            sortBy,
            descending,
          ])
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
          const places = chain.enabled
            ? (await deps.warehouse.query<HolderPlaceRow>(holdersQuery(search))).rows
            : []
          if (chain.enabled) await setFreshnessHeaders(reply, deps.freshness, chain.id)
          const pageRequest = { limit, direction, hasCursor: after !== undefined }
          const page = createPage(places, pageRequest, (row) =>
            codec.encode({ key: row.sort_key, holder: row.holder }),
          )
          const isFromTheTop = after === undefined && descending && direction === 'next'
          const top = isFromTheTop && AMOUNT_SORTS.has(sortBy) ? TOP_HOLDERS : 0
          const wallets = page.data.map(({ holder }) => holder)
          const bodies = await readHolderBodies(deps, { chain: chain.id, token, wallets, top })
          return pageEnvelope(page, ({ holder }) => bodies.get(holder) ?? [])
        },
      )
    }
    app.get(
      '/token/:chain/:tokenAddress/holders/multi',
      {
        schema: {
          ...routeSchema('Given wallets as holders of a token'),
          querystring: HoldersMultiQuery,
          response: { 200: TokenHolders },
        },
        config: pricedRoute('GET /token/:chain/:tokenAddress/holders/multi'),
      },
      async ({ params, query }, reply) => {
        const chain = parseChain(params.chain, deps.chains)
        const token = parseTokenAddress(chain.id, params.tokenAddress, 'tokenAddress')
        const wallets = parseAddressList(chain.id, query.walletAddresses, 'walletAddresses')
        if (!chain.enabled) return []
        await setFreshnessHeaders(reply, deps.freshness, chain.id)
        const bodies = await readHolderBodies(deps, { chain: chain.id, token, wallets, top: 0 })
        return wallets.flatMap((wallet) => bodies.get(wallet) ?? [])
      },
    )
  }

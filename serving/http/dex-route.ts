import { type Static, Type } from 'typebox'
import { Fault } from '../../core/errors.ts'
import { ChainParam } from '../../schemas/api/common.ts'
import { SwapRouteInput, SwapRouteResponse } from '../../schemas/api/swap.ts'
import { parseSwapAmount, resolveAmount } from '../dex/balance-share.ts'
import { type ChainMarket, isCoin, requireFreshPools } from '../dex/chain-market.ts'
import type { EvmAccountReader } from '../dex/evm-account.ts'
import { type BuiltSwap, buildEvmSwap, readEvmHolding } from '../dex/evm-swap.ts'
import { quotedHops, type SwapQuote } from '../dex/quote.ts'
import { quoteOverRouters } from '../dex/router-venues.ts'
import type { SolanaReader } from '../dex/solana-node.ts'
import { parseDeadline, parseFees, parseSlippage, parseSwapMode } from '../dex/swap-terms.ts'
import { parseVenue } from '../dex/venue-words.ts'
import type { QueryMetrics, ReadStore } from '../queries/limited-reads.ts'
import { type TokenName, tokenNamesQuery } from '../queries/token-names.ts'
import { parseWalletAddress } from './chain-parameters.ts'
import { type QuoteRouteDeps, readSwapTokens, requestedMarket } from './dex-swaps.ts'
import { createLimitedReader } from './query-limiter.ts'
import { pricedRoute, type RoutePlugin } from './routing.ts'
import {
  quoteOverOnePool,
  readSolanaOrder,
  solanaTransactionBody,
  withSolanaAmount,
} from './solana-route.ts'
import { serializedText, transactionFields } from './unsigned-transaction.ts'

/** What routes with transactions work with. */
export interface SwapRouteDeps extends QuoteRouteDeps {
  /** Reads of a chain's nodes, by its internal id; missing where none is configured. */
  readonly accounts: ReadonlyMap<string, EvmAccountReader>
  readonly solana: ReadonlyMap<string, SolanaReader>
  /** Symbols by token; unknown ones are missing. */
  readonly symbols: (
    chain: string,
    tokens: readonly string[],
  ) => Promise<ReadonlyMap<string, string>>
}

/** Symbols of tokens, read within the budget and the turn of the caller. */
export const createSymbolReader = (
  warehouse: ReadStore,
  metrics: QueryMetrics,
): SwapRouteDeps['symbols'] => {
  const reader = createLimitedReader(warehouse, metrics)
  return async (chain, tokens) => {
    const { rows } = await reader.query<TokenName>(tokenNamesQuery(chain, tokens))
    return new Map(rows.flatMap((row) => (row.symbol ? [[row.token_address, row.symbol]] : [])))
  }
}

/** Percent of slippage where none is asked for. */
const DEFAULT_SLIPPAGE = '5'

/** Unsigned transactions of swaps. */
export const swapRoutes =
  (deps: SwapRouteDeps): RoutePlugin =>
  async (app) => {
    app.post(
      '/dex/:chain/route',
      {
        schema: {
          summary: 'The best route of a swap and its unsigned transaction',
          tags: ['swap'],
          params: Type.Object({ chain: ChainParam }),
          body: SwapRouteInput,
          response: { 200: SwapRouteResponse },
        },
        config: pricedRoute('POST /dex/:chain/route'),
      },
      async ({ params, body }) => {
        const startedMs = deps.nowMs()
        const market = requestedMarket(deps, params.chain)
        if (market.chain.vm === 'svm') return solanaRoute(deps, market, body, startedMs)
        const asked = readOrder(market, body, startedMs)
        const { head } = await requireFreshPools(market, deps.freshness, startedMs)
        const reader = deps.accounts.get(market.chain.id)
        const order = await withEvmAmount(reader, asked)
        const { quote, venue } = quoteOverRouters(market, order.routers, {
          ...order,
          nowMs: startedMs,
        })
        if (reader === undefined) throw new Fault('PROVIDER_NOT_INITIALIZED')
        const built = await buildEvmSwap(reader, { ...order, quote, venue })
        return {
          ...transactionBody(built),
          args: { ...body },
          routeInfo: await routeInfo(deps, market, { quote, head, simulated: built.simulated }),
          elapsedTime: Math.round(deps.nowMs() - startedMs),
        }
      },
    )
  }

const solanaRoute = async (
  deps: SwapRouteDeps,
  market: ChainMarket,
  body: Static<typeof SwapRouteInput>,
  startedMs: number,
) => {
  const slippage = String(body.slippage ?? DEFAULT_SLIPPAGE)
  const asked = readSolanaOrder(market, body, { nowMs: startedMs, slippage })
  const { head } = await requireFreshPools(market, deps.freshness, startedMs)
  const reader = deps.solana.get(market.chain.id)
  const order = await withSolanaAmount(reader, asked)
  const quote = quoteOverOnePool(market, order, startedMs)
  if (reader === undefined) throw new Fault('PROVIDER_NOT_INITIALIZED')
  return {
    ...(await solanaTransactionBody(reader, { ...order, quote })),
    args: { ...body },
    routeInfo: await routeInfo(deps, market, { quote, head, simulated: true }),
    elapsedTime: Math.round(deps.nowMs() - startedMs),
  }
}

/** What a request asks for. Throws the `Fault` of each way in which it is wrong. */
export const readOrder = (
  market: ChainMarket,
  body: Static<typeof SwapRouteInput>,
  nowMs: number,
) => {
  const { chain, venues, routers } = market
  const wanted = parseVenue(body.dex, chain.vm, venues)
  const owner = parseWalletAddress(chain.id, body.userAddress, 'userAddress')
  const recipient = parseWalletAddress(
    chain.id,
    body.recipientAddress ?? body.userAddress,
    'recipientAddress',
  )
  const { sold, bought, request } = readSwapTokens(market, body)
  const fees = parseFees(body)
  const mode = parseSwapMode(body.swapMode ?? 'ExactIn')
  const terms = {
    ...{ request: { ...request, mode }, amount: parseSwapAmount(body.amount, mode) },
    slippageBps: parseSlippage(String(body.slippage ?? DEFAULT_SLIPPAGE)),
    deadline: parseDeadline(body.deadline, nowMs),
  }
  const { chainId } = chain
  if (chainId === undefined || body.permit !== undefined || body.isAntiMev === true) {
    throw new Fault('NOT_IMPLEMENTED')
  }
  return {
    ...{ owner, recipient, chainId, ...terms },
    routers: routers.filter(({ protocol }) => wanted?.has(protocol) ?? true),
    sellsCoin: isCoin(market, sold),
    buysCoin: isCoin(market, bought),
    ...(fees && { fees }),
    ...(body.gasLimit !== undefined && { gas: BigInt(body.gasLimit) }),
  }
}

/** An order whose amount is known: a part of a balance is read from a node. Throws `Fault` PROVIDER_NOT_INITIALIZED, INSUFFICIENT_BALANCE. */
export const withEvmAmount = async (
  reader: EvmAccountReader | undefined,
  order: ReturnType<typeof readOrder>,
) => {
  const { amount, request } = order
  const amountRaw = await resolveAmount(amount, () => {
    if (reader === undefined) throw new Fault('PROVIDER_NOT_INITIALIZED')
    return readEvmHolding(reader, order, request.tokenIn)
  })
  return { ...order, request: { ...request, amountRaw } }
}

/** What a quote comes to, as answers have it. */
export const routeInfo = async (
  { symbols }: SwapRouteDeps,
  { chain, book }: ChainMarket,
  {
    quote,
    head,
    simulated,
  }: { readonly quote: SwapQuote; readonly head: number; readonly simulated: boolean },
) => {
  const [path] = quote.route.paths
  const tokens = [quote.request.tokenIn, ...(path?.hops ?? []).map((hop) => hop.tokenOut)]
  const known = await symbols(chain.id, tokens)
  return {
    inAmount: quote.route.amountInRaw.toString(),
    outAmount: quote.route.amountOutRaw.toString(),
    minOutAmount: quote.minOutRaw.toString(),
    maxInAmount: quote.maxInRaw.toString(),
    priceImpact: quote.priceImpact,
    feeAmount: quote.feeRaw.toString(),
    hops: [...quotedHops(quote.route)],
    route: tokens.map((token) => known.get(token) ?? token),
    block: Math.max(head, book.height),
    simulated,
  }
}

/** An unsigned transaction as answers have it. */
export const transactionBody = (built: BuiltSwap) => ({
  serializedTx: serializedText(built),
  txHex: built.hex,
  tx: transactionFields(built),
  ...(built.approval && { approval: { ...built.approval } }),
})

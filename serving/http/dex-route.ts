import { type Static, Type } from 'typebox'
import { Fault } from '../../core/errors.ts'
import { ChainParam } from '../../schemas/api/common.ts'
import { SwapRouteInput, SwapRouteResponse } from '../../schemas/api/swap.ts'
import type { Jupiter } from '../dex/aggregators/jupiter.ts'
import type { Kyberswap } from '../dex/aggregators/kyberswap.ts'
import type { Aggregators } from '../dex/aggregators/open-aggregators.ts'
import { parseSwapAmount, resolveAmount } from '../dex/balance-share.ts'
import { type ChainMarket, isNativeToken, requireFreshPools } from '../dex/chain-market.ts'
import type { EvmAccountReader } from '../dex/evm-account.ts'
import { type BuiltSwap, buildEvmSwap, readEvmHolding } from '../dex/evm-swap.ts'
import type { PoolGraph } from '../dex/pool-graph.ts'
import { quotedHops, requirePools, type SwapQuote } from '../dex/quote.ts'
import { graphsWithout } from '../dex/reroute.ts'
import { parseRouterChoice, quoteOverChosen, withinVenues } from '../dex/router-venues.ts'
import { readSignedPermit, requireFittingPermit, withinPermit } from '../dex/signed-permit.ts'
import { permittedRouters, requireFittingTokenPermit } from '../dex/signed-token-permit.ts'
import type { SolanaReader } from '../dex/solana-node.ts'
import { solanaQuotes } from '../dex/solana-quotes.ts'
import { parseDeadline, parseFees, parseSlippage, parseSwapMode } from '../dex/swap-terms.ts'
import { isRouterWord } from '../dex/universal-calls.ts'
import { buildUniversalSwap } from '../dex/universal-swap.ts'
import { parseVenue } from '../dex/venue-words.ts'
import type { QueryReader } from '../queries/query-limiter.ts'
import { type TokenName, tokenNamesQuery } from '../queries/token-names.ts'
import {
  aggregatedInfo,
  aggregatorOf,
  jupiterSwap,
  kyberswapSwap,
  requireKyberswapTerms,
} from './aggregated-route.ts'
import { parseWalletAddress } from './chain-parameters.ts'
import { type QuoteRouteDeps, readSwapTokens, requestedMarket } from './dex-swaps.ts'
import { pricedRoute, type RoutePlugin } from './routing.ts'
import type { RunSearch } from './search-turns.ts'
import { readSolanaOrder, solanaTransactionBody, withSolanaAmount } from './solana-route.ts'
import { serializedText, transactionFields } from './unsigned-transaction.ts'

/** What routes with transactions work with. */
export interface SwapRouteDeps extends QuoteRouteDeps {
  /** Reads of a chain's nodes, by its internal id; missing where none is configured. */
  readonly accounts: ReadonlyMap<string, EvmAccountReader>
  readonly solana: ReadonlyMap<string, SolanaReader>
  readonly aggregators: Aggregators
  /** Symbols by token; unknown ones are missing. */
  readonly symbols: (
    chain: string,
    tokens: readonly string[],
  ) => Promise<ReadonlyMap<string, string>>
}

/** Symbols of tokens, read within the budget and the turn of the caller. */
export const createSymbolReader = (reader: QueryReader): SwapRouteDeps['symbols'] => {
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
      async ({ params, body, principal }, reply) => {
        const startedMs = deps.nowMs()
        const search = deps.searches(principal, reply)
        const market = requestedMarket(deps, params.chain)
        if (market.chain.vm === 'svm') return solanaRoute(deps, market, { body, search }, startedMs)
        const requested = readOrder(market, body, startedMs)
        const kyberswap = aggregatorOf('kyberswap', { ...deps, ...market, dex: body.dex })
        if (kyberswap)
          return kyberswapRoute(deps, market, { body, kyberswap, requested }, startedMs)
        const block = await requireFreshPools(market, deps.freshness, startedMs)
        const reader = deps.accounts.get(market.chain.id)
        const order = await withEvmAmount(reader, requested, market.pools.graph(startedMs))
        const { quote, built } = await builtSwap(market, { ...order, search, reader }, startedMs)
        return {
          ...transactionBody(built),
          args: { ...body },
          routeInfo: await routeInfo(deps, market, { quote, block, simulated: built.simulated }),
          elapsedTime: Math.round(deps.nowMs() - startedMs),
        }
      },
    )
  }

interface SearchedOrder extends Awaited<ReturnType<typeof withEvmAmount>> {
  readonly search: RunSearch
}

/**
 * The transaction of an order and its quote. Where the run of it fails, that of the best route without the pools that may be to blame; where that
 * fails, too, the error of the first. Throws as `chosenSwap` and what builds, PROVIDER_NOT_INITIALIZED.
 */
const builtSwap = async (
  market: ChainMarket,
  { reader, ...order }: SearchedOrder & { readonly reader: EvmAccountReader | undefined },
  nowMs: number,
): Promise<{ readonly quote: SwapQuote; readonly built: BuiltSwap }> => {
  const { quote, build } = await chosenSwap(market, order, nowMs)
  if (reader === undefined) throw new Fault('PROVIDER_NOT_INITIALIZED')
  const orOther = otherAfterFailedRun(async () => {
    const scope = { graph: market.pools.graph(nowMs), hubs: market.hubs }
    for (const graph of graphsWithout(scope, quote.route, order.request)) {
      const other = await chosenSwap(
        { ...scope, pools: { graph: () => graph } },
        order,
        nowMs,
      ).catch(undefinedForFault)
      if (other) return { quote: other.quote, built: await other.build(reader) }
    }
    return undefined
  })
  return build(reader).then((built) => ({ quote, built }), orOther)
}

/** Handles an error: where it is that of a run, with what `other` makes; where `other` is refused or makes nothing, throws the error. */
const otherAfterFailedRun =
  <T>(other: () => Promise<T | undefined>) =>
  async (error: unknown): Promise<T> => {
    if (!(error instanceof Fault) || error.faultName !== 'DEX_SWAP_SIMULATED_FAILED') throw error
    const made = await other().catch(undefinedForFault)
    if (made === undefined) throw error
    return made
  }

const undefinedForFault = (error: unknown): undefined => {
  if (!(error instanceof Fault)) throw error
}

/** The quote of an order, and how its transaction is built. Throws as `quoteOverChosen`, and the `Fault` of a permit that does not fit. */
const chosenSwap = async (
  market: Parameters<typeof quoteOverChosen>[0],
  order: SearchedOrder,
  nowMs: number,
): Promise<{
  readonly quote: SwapQuote
  readonly build: (reader: EvmAccountReader) => Promise<BuiltSwap>
}> => {
  const { owner, chainId, request, permit, search } = order
  const { quote, venue } = await search(() => quoteOverChosen(market, order, { ...order, nowMs }))
  const nowSeconds = Math.floor(nowMs / 1_000)
  const terms = { owner, chainId, spender: venue.router, token: request.tokenIn, nowSeconds }
  const within = () => (permit ? withinPermit(quote, permit) : quote)
  if (venue.kind !== 'universal') {
    const signed = permit?.kind === 'token' ? permit : undefined
    if (signed) requireFittingTokenPermit(signed, terms)
    const swap = { ...order, quote: within(), venue, tokenPermits: { signed } }
    return { quote: swap.quote, build: (reader) => buildEvmSwap(reader, swap) }
  }
  const { permit: _given, ...plain } = order
  const signed = permit?.kind === 'permit2' ? permit : undefined
  if (signed) await requireFittingPermit(signed, { ...terms, permit2: venue.permit2 })
  const swap = {
    ...plain,
    quote: within(),
    venue,
    nowSeconds,
    ...(signed && { permit: signed }),
  }
  return { quote: swap.quote, build: (reader) => buildUniversalSwap(reader, swap) }
}

/** The transaction of the best of the quotes that is not too large for a packet. Throws as `buildSolanaSwap`. */
const smallEnough = async (
  reader: SolanaReader,
  order: Awaited<ReturnType<typeof withSolanaAmount>>,
  quotes: readonly SwapQuote[],
  onTry: (quote: SwapQuote) => void,
) => {
  let tooLarge: Fault | undefined
  for (const quote of quotes) {
    onTry(quote)
    try {
      return { quote, transaction: await solanaTransactionBody(reader, { ...order, quote }) }
    } catch (error) {
      if (!(error instanceof Fault) || error.faultName !== 'TRANSACTION_SIZE_EXCEEDED') throw error
      tooLarge ??= error
    }
  }
  throw tooLarge ?? new Fault('DEX_ROUTE_BUILD_FAILED')
}

const solanaRoute = async (
  deps: SwapRouteDeps,
  market: ChainMarket,
  { body, search }: { readonly body: Static<typeof SwapRouteInput>; readonly search: RunSearch },
  startedMs: number,
) => {
  const slippage = String(body.slippage ?? DEFAULT_SLIPPAGE)
  const requested = readSolanaOrder(market, body, { nowMs: startedMs, slippage })
  const reader = deps.solana.get(market.chain.id)
  const jupiter = aggregatorOf('jupiter', { ...deps, ...market, dex: body.dex })
  if (jupiter) return jupiterRoute(deps, market, { body, jupiter, requested }, startedMs)
  const block = await requireFreshPools(market, deps.freshness, startedMs)
  await deps.accountPools.get(market.chain.id)?.readBetween(requested.request, requested.wanted)
  // The moment after the readings: what waits for a node or a turn behind it lets none of them become too old, which the run makes up for.
  const readMs = deps.nowMs()
  const scopeNow = () => ({ graph: market.pools.graph(readMs), hubs: market.hubs })
  const order = await withSolanaAmount(reader, requested, scopeNow().graph)
  const quotes = await search(() => solanaQuotes(scopeNow(), order))
  if (reader === undefined) throw new Fault('PROVIDER_NOT_INITIALIZED')
  let tried: SwapQuote | undefined
  const build = (given: readonly SwapQuote[]) =>
    smallEnough(reader, order, given, (quote) => {
      tried = quote
    })
  const { quote, transaction } = await build(quotes).catch(
    otherAfterFailedRun(async () => {
      const failed = tried
      if (failed === undefined) return undefined
      const scope = scopeNow()
      for (const graph of graphsWithout(scope, failed.route, order.request)) {
        const others = await search(() => solanaQuotes({ ...scope, graph }, order)).catch(
          undefinedForFault,
        )
        if (others) return build(others)
      }
      return undefined
    }),
  )
  return {
    ...transaction,
    args: { ...body },
    routeInfo: await routeInfo(deps, market, { quote, block, simulated: true }),
    elapsedTime: Math.round(deps.nowMs() - startedMs),
  }
}

const jupiterRoute = async (
  { nowMs, solana, symbols }: SwapRouteDeps,
  { chain, pools }: ChainMarket,
  asked: {
    readonly body: Static<typeof SwapRouteInput>
    readonly jupiter: Jupiter
    readonly requested: ReturnType<typeof readSolanaOrder>
  },
  startedMs: number,
) => {
  const reader = solana.get(chain.id)
  const order = await withSolanaAmount(reader, asked.requested, pools.graph(nowMs()))
  const { quote, slot, ...swap } = await jupiterSwap(asked.jupiter, reader, order)
  const seen = { block: slot, simulated: true }
  const named = (tokens: readonly string[]) => symbols(chain.id, tokens)
  return {
    serializedTx: swap.transaction,
    recentBlockhash: swap.blockhash,
    lastValidBlockHeight: swap.lastValidBlockHeight,
    args: { ...asked.body },
    routeInfo: await aggregatedInfo(named, quote, order.request, seen),
    elapsedTime: Math.round(nowMs() - startedMs),
  }
}

const kyberswapRoute = async (
  { nowMs, accounts, symbols, freshness }: SwapRouteDeps,
  market: ChainMarket,
  asked: {
    readonly body: Static<typeof SwapRouteInput>
    readonly kyberswap: Kyberswap
    readonly requested: ReturnType<typeof readOrder>
  },
  startedMs: number,
) => {
  const { chain, pools } = market
  const { body, kyberswap, requested } = asked
  const reader = accounts.get(chain.id)
  const order = await withEvmAmount(reader, requested, pools.graph(nowMs()))
  requireKyberswapTerms(body, order)
  const { quote, built } = await kyberswapSwap(kyberswap, reader, chain, order)
  const fresh = await freshness.of(chain.id)
  const seen = { block: fresh?.head ?? 0, simulated: built.simulated }
  const named = (tokens: readonly string[]) => symbols(chain.id, tokens)
  return {
    ...transactionBody(built),
    args: { ...body },
    routeInfo: await aggregatedInfo(named, quote, order.request, seen),
    elapsedTime: Math.round(nowMs() - startedMs),
  }
}

/** Which routers take a permit, by who it is handed to. */
const PERMIT_ROUTERS = { permit2: 'universal', token: 'protocol' } as const

/** What a request asks for. Throws the `Fault` of each way in which it is wrong. */
export const readOrder = (
  market: ChainMarket,
  body: Static<typeof SwapRouteInput>,
  nowMs: number,
) => {
  const { chain, venues, routers, universal } = market
  const wanted = parseVenue(body.dex, chain.vm, venues)
  const owner = parseWalletAddress(chain.id, body.userAddress, 'userAddress')
  const recipient = parseWalletAddress(
    chain.id,
    body.recipientAddress ?? body.userAddress,
    'recipientAddress',
  )
  if (isRouterWord(recipient)) {
    const parameter = body.recipientAddress === undefined ? 'userAddress' : 'recipientAddress'
    throw new Fault('INVALID_ADDRESS', undefined, { parameter, value: recipient })
  }
  const { sold, bought, request } = readSwapTokens(market, body)
  for (const parameter of ['priorityFee', 'tipFee'] as const) {
    if (Number(body[parameter] ?? 0) === 0) continue
    const message = 'EVM chains have no such fee: use maxPriorityFeePerGas'
    throw new Fault('FEE_PARAMETER_ERROR', message, { parameter })
  }
  const fees = parseFees(body)
  const mode = parseSwapMode(body.swapMode ?? 'ExactIn')
  const terms = {
    request: { ...request, mode },
    amount: parseSwapAmount(body.amount, mode),
    slippageBps: parseSlippage(String(body.slippage ?? DEFAULT_SLIPPAGE)),
    deadline: parseDeadline(body.deadline, nowMs),
  }
  const { chainId } = chain
  if (chainId === undefined || body.isAntiMev === true) throw new Fault('NOT_IMPLEMENTED')
  const permit = readSignedPermit(body.permit, body.permitData)
  const own = permit && PERMIT_ROUTERS[permit.kind]
  const choice = parseRouterChoice(body.router ?? own)
  if (permit && (choice !== own || isNativeToken(market, sold))) {
    throw new Fault('INVALID_PARAMETER', 'The permit is for another token or router', {
      parameter: 'permit',
      router: own,
    })
  }
  const offered = routers.filter(({ protocol }) => wanted?.has(protocol) ?? true)
  return {
    owner,
    recipient,
    chainId,
    choice,
    ...terms,
    routers: permit?.kind === 'token' ? permittedRouters(offered, permit) : offered,
    universal: universal && withinVenues(universal, wanted),
    sellsNativeToken: isNativeToken(market, sold),
    buysNativeToken: isNativeToken(market, bought),
    ...(fees && { fees }),
    ...(permit && { permit }),
    ...(body.gasLimit !== undefined && { gas: BigInt(body.gasLimit) }),
  }
}

/**
 * An order whose amount is known: a part of a balance is read from a node, of tokens that pools trade. Throws `Fault` DEX_ROUTE_BUILD_FAILED,
 * PROVIDER_NOT_INITIALIZED, INSUFFICIENT_BALANCE.
 */
export const withEvmAmount = async (
  reader: EvmAccountReader | undefined,
  order: ReturnType<typeof readOrder>,
  graph: PoolGraph,
) => {
  const { amount, request } = order
  const amountRaw = await resolveAmount(amount, async () => {
    requirePools(graph, request)
    if (reader === undefined) throw new Fault('PROVIDER_NOT_INITIALIZED')
    const isSplit = order.choice === 'universal'
    return readEvmHolding(reader, { ...order, isSplit }, request.tokenIn)
  })
  return { ...order, request: { ...request, amountRaw } }
}

/** What a quote comes to, as answers have it. */
export const routeInfo = async (
  { symbols }: SwapRouteDeps,
  { chain }: ChainMarket,
  {
    quote,
    block,
    simulated,
  }: { readonly quote: SwapQuote; readonly block: number; readonly simulated: boolean },
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
    block,
    simulated,
  }
}

const permitBody = ({ types, ...data }: NonNullable<BuiltSwap['permitData']>) => ({
  ...data,
  types: Object.fromEntries(Object.entries(types).map(([name, fields]) => [name, [...fields]])),
})

/** An unsigned transaction as answers have it. */
export const transactionBody = (built: BuiltSwap) => ({
  serializedTx: serializedText(built),
  txHex: built.hex,
  tx: transactionFields(built),
  ...(built.approval && { approval: { ...built.approval } }),
  ...(built.permitData && { permitData: permitBody(built.permitData) }),
})

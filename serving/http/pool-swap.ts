import { type Static, Type } from 'typebox'
import { Fault } from '../../core/errors.ts'
import { ChainParam } from '../../schemas/api/common.ts'
import { SwapInput, SwapResponse } from '../../schemas/api/swap.ts'
import { type ChainMarket, pooledToken, requireFreshPools } from '../dex/chain-market.ts'
import { buildEvmSwap } from '../dex/evm-swap.ts'
import type { Pool } from '../dex/pool.ts'
import {
  quoteOverNamedPool,
  quoteOverPools,
  requireFittingPool,
  swapTokens,
} from '../dex/pool-swap.ts'
import type { SwapQuote } from '../dex/quote.ts'
import { isBuildable } from '../dex/solana-swap.ts'
import { parseVenue } from '../dex/venue-words.ts'
import { type PoolRow, poolsQuery } from '../queries/dex-pools.ts'
import type { QueryReader } from '../queries/query-limiter.ts'
import { parseWalletAddress } from './chain-parameters.ts'
import {
  readOrder,
  routeInfo,
  type SwapRouteDeps,
  transactionBody,
  withEvmAmount,
} from './dex-route.ts'
import { requestedMarket } from './dex-swaps.ts'
import { pricedRoute, type RoutePlugin } from './routing.ts'
import type { RunSearch } from './search-turns.ts'
import { readSolanaOrder, solanaTransactionBody, withSolanaAmount } from './solana-route.ts'

/** What swaps over one pool work with. */
export interface PoolSwapDeps extends SwapRouteDeps {
  /** True for pools that the tables know, whether or not they are quoted. */
  readonly hasPool: (chain: string, pool: string) => Promise<boolean>
}

/** Whether pools are known, read within the budget and the turn of the caller. */
export const createPoolLookup = (reader: QueryReader): PoolSwapDeps['hasPool'] => {
  return async (chain, pool) => {
    const { rows } = await reader.query<PoolRow>(poolsQuery(chain, [pool]))
    return rows.length > 0
  }
}

/** Percent of slippage where none is asked for. */
const DEFAULT_SLIPPAGE = '10'

/** Unsigned transactions of swaps over one pool. */
export const poolSwapRoutes =
  (deps: PoolSwapDeps): RoutePlugin =>
  async (app) => {
    app.post(
      '/dex/:chain/swap',
      {
        schema: {
          summary: 'The unsigned transaction of a swap over one pool',
          tags: ['swap'],
          params: Type.Object({ chain: ChainParam }),
          body: SwapInput,
          response: { 200: SwapResponse },
        },
        config: pricedRoute('POST /dex/:chain/swap'),
      },
      async ({ params, body, principal }, reply) => {
        const startedMs = deps.nowMs()
        const search = deps.searches(principal, reply)
        const market = requestedMarket(deps, params.chain)
        const { vm } = market.chain
        const wanted = parseVenue(body.dex, vm, market.venues)
        const isRouted = market.routers.some(({ protocol }) => wanted?.has(protocol) ?? true)
        if (vm === 'evm' && !isRouted) throw new Fault('DEX_NOT_SUPPORTED')
        const pool = await namedPool(deps, market, body.poolAddress)
        requireOfferedTerms(market, body)
        const whole = wholeBody(market, body, pool)
        const request = { market, pool, wanted, body: whole, search, startedMs }
        const swap = await (vm === 'svm' ? solanaSwap(deps, request) : evmSwap(deps, request))
        return { ...swap, elapsedTime: Math.round(deps.nowMs() - startedMs) }
      },
    )
  }

/** The pool that a request names. Throws `Fault` INVALID_ADDRESS, POOL_NOT_FOUND, POOL_NOT_SUPPORTED, DEX_ROUTE_BUILD_FAILED. */
const namedPool = async (
  { hasPool, nowMs, accountPools }: PoolSwapDeps,
  { chain, pools: poolBook }: ChainMarket,
  text: string | undefined,
): Promise<Pool | undefined> => {
  if (text === undefined) return undefined
  const address = parseWalletAddress(chain.id, text, 'poolAddress')
  await accountPools.get(chain.id)?.readPool(address)
  const pool = poolBook.pool(address, nowMs())
  if (pool) return pool
  if (pool === null) {
    throw new Fault('DEX_ROUTE_BUILD_FAILED', undefined, {
      pool: address,
      reason: 'the pool is empty, its state is not known, or not what its last swap paid',
    })
  }
  const isKnown = await hasPool(chain.id, address)
  throw new Fault(isKnown ? 'POOL_NOT_SUPPORTED' : 'POOL_NOT_FOUND', undefined, { pool: address })
}

type Body = Static<typeof SwapInput>

/** Throws `Fault` NOT_IMPLEMENTED for a permit and for another recipient than the signer, INVALID_ADDRESS. */
const requireOfferedTerms = (
  { chain }: ChainMarket,
  { userAddress, recipientAddress, permit }: Body,
): void => {
  const refuse = (parameter: string, reason: string): never => {
    throw new Fault('NOT_IMPLEMENTED', undefined, { parameter, reason })
  }
  if (permit !== undefined) refuse('permit', 'a swap over one pool takes an approval')
  if (recipientAddress === undefined) return
  const owner = parseWalletAddress(chain.id, userAddress, 'userAddress')
  if (parseWalletAddress(chain.id, recipientAddress, 'recipientAddress') === owner) return
  refuse('recipientAddress', 'a swap over one pool pays the signer')
}

/** A request with both tokens and the slippage of swaps, as a route takes it. */
const wholeBody = (market: ChainMarket, body: Body, pool: Pool | undefined) => {
  const { poolAddress, ...asked } = body
  const pooled = (token: string): string => pooledToken(market, token.toLowerCase())
  return {
    ...asked,
    slippage: body.slippage ?? DEFAULT_SLIPPAGE,
    ...swapTokens(body, pool, market.chain.vm === 'evm' ? pooled : (token) => token),
  }
}

interface PoolSwapRequest {
  readonly market: ChainMarket
  readonly pool: Pool | undefined
  /** Protocols that `dex` names; undefined for all. */
  readonly wanted: ReadonlySet<string> | undefined
  readonly body: ReturnType<typeof wholeBody>
  readonly search: RunSearch
  readonly startedMs: number
}

/** The quote over the named pool, or over the best that trades both tokens and is offered. */
const quoteAsked = (
  { market, pool, wanted, startedMs }: PoolSwapRequest,
  { request, slippageBps }: Pick<SwapQuote, 'request' | 'slippageBps'>,
  isOffered: (pool: Pool) => boolean,
): SwapQuote => {
  const graph = market.pools.graph(startedMs)
  if (pool !== undefined) return quoteOverNamedPool(pool, request, slippageBps, graph.failed)
  const pools = graph
    .poolsOf(request.tokenIn, request.tokenOut)
    .filter((each) => (wanted?.has(each.protocol) ?? true) && isOffered(each))
  return quoteOverPools(pools, request, slippageBps, graph.failed)
}

const evmSwap = async (deps: PoolSwapDeps, request: PoolSwapRequest) => {
  const { market, startedMs, body } = request
  const read = readOrder(market, body, startedMs)
  const block = await requireFreshPools(market, deps.freshness, startedMs)
  const reader = deps.accounts.get(market.chain.id)
  if (request.pool) requireFittingPool(request.pool, request.wanted, read.request)
  const order = await withEvmAmount(reader, read, market.pools.graph(startedMs))
  const venueOf = ({ protocol }: Pool) => order.routers.find((each) => each.protocol === protocol)
  const quote = await request.search(() =>
    quoteAsked(request, order, (pool) => venueOf(pool) !== undefined),
  )
  const used = quote.route.paths[0]?.hops[0]?.pool
  const venue = used && venueOf(used)
  if (venue === undefined) throw new Fault('DEX_NOT_SUPPORTED')
  if (reader === undefined) throw new Fault('PROVIDER_NOT_INITIALIZED')
  const built = await buildEvmSwap(reader, { ...order, quote, venue })
  return {
    ...transactionBody(built),
    routeInfo: await routeInfo(deps, market, { quote, block, simulated: built.simulated }),
  }
}

const solanaSwap = async (deps: PoolSwapDeps, request: PoolSwapRequest) => {
  const { market, pool, startedMs, body } = request
  const read = readSolanaOrder(market, body, { nowMs: startedMs, slippage: String(body.slippage) })
  const block = await requireFreshPools(market, deps.freshness, startedMs)
  const reader = deps.solana.get(market.chain.id)
  const isOffered = ({ protocol, tokens }: Pool): boolean => isBuildable(protocol, tokens)
  if (pool !== undefined && !isOffered(pool)) {
    throw new Fault('POOL_NOT_SUPPORTED', undefined, { pool: pool.address })
  }
  if (pool) requireFittingPool(pool, request.wanted, read.request)
  if (pool === undefined)
    await deps.accountPools.get(market.chain.id)?.readDirect(read.request, request.wanted)
  const order = await withSolanaAmount(reader, read, market.pools.graph(deps.nowMs()))
  const quote = await request.search(() =>
    quoteAsked({ ...request, startedMs: deps.nowMs() }, order, isOffered),
  )
  if (reader === undefined) throw new Fault('PROVIDER_NOT_INITIALIZED')
  return {
    ...(await solanaTransactionBody(reader, { ...order, quote })),
    routeInfo: await routeInfo(deps, market, { quote, block, simulated: true }),
  }
}

import { formatDecimal } from '../../core/amounts.ts'
import { Fault } from '../../core/errors.ts'
import { type Ratio, spotPrice } from './pool.ts'
import type { PoolGraph } from './pool-graph.ts'
import { graphsWithout } from './reroute.ts'
import {
  DEFAULT_ROUTE_LIMITS,
  findRoute,
  maxAmountIn,
  minAmountOut,
  partAfterFee,
  priceImpactPercent,
  type Route,
  type RoutingScope,
} from './route.ts'
import { createSearchMemory, type Path, type SwapRequest } from './search.ts'

/** A swap as it would go now. */
export interface SwapQuote {
  readonly request: SwapRequest
  readonly slippageBps: number
  readonly route: Route
  /** Least output that the slippage allows; of an ExactOut swap what was asked for. */
  readonly minOutRaw: bigint
  /** Largest input that the slippage allows; of an ExactIn swap what was asked for. */
  readonly maxInRaw: bigint
  /** Percent. */
  readonly priceImpact: string
  /** What the pools keep of the input, in base units of the token that is sold. */
  readonly feeRaw: bigint
}

/** Percent of price impact from which on a swap is refused that does not allow as much slippage. */
export const MAX_IMPACT_PERCENT = 15
/** Bits by which amounts are made smaller or larger to see whether another amount would have a route, and between two tries. */
const [MAX_SHIFT, SHIFT_STEP] = [64n, 8n]
/** Work of each of these tries: direct pools and the deepest hubs. All of them together do less than a search. */
const PROBE_UNITS = 200

/**
 * The best route for a request. Throws `Fault` SAME_TOKEN_SWAP, DEX_ROUTE_BUILD_FAILED where no pools lead from one token to the
 * other, LIQUIDITY_INSUFFICIENT where they take only less, AMOUNT_TOO_SMALL where they give nothing for so little, and
 * PRICE_IMPACT_TOO_HIGH where that of the best route is, and of the next one.
 */
export const quoteSwap = (
  within: RoutingScope,
  request: SwapRequest,
  slippageBps: number,
): SwapQuote => {
  const { mode, tokenIn, tokenOut } = request
  if (tokenIn === tokenOut) throw new Fault('SAME_TOKEN_SWAP')
  const scope = { ...within, memory: within.memory ?? createSearchMemory() }
  const best = findRoute(scope, request)
  if (best === undefined) throw withoutRoute(scope, request)
  const maximum = Math.max(MAX_IMPACT_PERCENT, slippageBps / 100)
  const route = withinImpact(scope, { best, request, maximum })
  const priceImpact = priceImpactPercent(route)
  const { amountInRaw, amountOutRaw } = route
  return {
    request,
    slippageBps,
    route,
    minOutRaw: mode === 'exact_in' ? minAmountOut(amountOutRaw, slippageBps) : amountOutRaw,
    maxInRaw: mode === 'exact_in' ? amountInRaw : maxAmountIn(amountInRaw, slippageBps),
    priceImpact,
    feeRaw: route.paths.reduce((sum, path) => sum + feeOf(path), 0n),
  }
}

/** The best route, or where its price impact is too high one without the pools that may be to blame. Throws `Fault` PRICE_IMPACT_TOO_HIGH. */
const withinImpact = (
  scope: RoutingScope,
  { best, request, maximum }: { best: Route; request: SwapRequest; maximum: number },
): Route => {
  const isWithin = (route: Route): boolean => Number(priceImpactPercent(route)) <= maximum
  if (isWithin(best)) return best
  for (const graph of graphsWithout(scope, best, request)) {
    const other = findRoute({ ...scope, graph }, request)
    if (other && isWithin(other)) return other
  }
  throw new Fault('PRICE_IMPACT_TOO_HIGH', undefined, {
    price_impact: priceImpactPercent(best),
    maximum: String(maximum),
  })
}

const feeOf = ({ hops, amountInRaw }: Path): bigint => {
  const left = hops.reduce<Ratio>(
    (net, hop) => {
      const part = partAfterFee(hop)
      return { of: net.of * part.of, by: net.by * part.by }
    },
    { of: amountInRaw, by: 1n },
  )
  return amountInRaw - left.of / left.by
}

/** Why there is no route: whether another amount would have one is tried out. */
const withoutRoute = (scope: RoutingScope, request: SwapRequest): Fault => {
  const { amountRaw } = request
  const limits = { ...DEFAULT_ROUTE_LIMITS, workUnits: PROBE_UNITS, maxPaths: 1 }
  const isPossible = (amount: bigint): boolean =>
    findRoute({ ...scope, limits }, { ...request, amountRaw: amount }) !== undefined
  for (let shift = SHIFT_STEP; shift <= MAX_SHIFT && amountRaw >> shift > 0n; shift += SHIFT_STEP) {
    if (!isPossible(amountRaw >> shift)) continue
    let nearest = shift
    while (nearest > 1n && isPossible(amountRaw >> (nearest - 1n))) nearest -= 1n
    return new Fault('LIQUIDITY_INSUFFICIENT', undefined, {
      requested_amount: amountRaw.toString(),
      available_liquidity: (amountRaw >> nearest).toString(),
    })
  }
  for (let shift = SHIFT_STEP; shift <= MAX_SHIFT; shift += SHIFT_STEP) {
    if (isPossible(amountRaw << shift)) return new Fault('AMOUNT_TOO_SMALL')
  }
  return noPools(request)
}

const noPools = ({ tokenIn, tokenOut }: Pick<SwapRequest, 'tokenIn' | 'tokenOut'>): Fault =>
  new Fault('DEX_ROUTE_BUILD_FAILED', undefined, {
    input_token: tokenIn,
    output_token: tokenOut,
    reason: 'no route over pools with known state between the tokens',
  })

/** Throws `Fault` DEX_ROUTE_BUILD_FAILED where no pools lead from one token to the other, whatever the amount: a look, no search. */
export const requirePools = (
  graph: PoolGraph,
  tokens: Pick<SwapRequest, 'tokenIn' | 'tokenOut'>,
): void => {
  const { tokenIn, tokenOut } = tokens
  if (graph.poolsOf(tokenIn, tokenOut).length > 0) return
  const leadsOn = [tokenIn, tokenOut].every((token) => graph.neighbours(token).length > 0)
  if (!leadsOn) throw noPools(tokens)
}

/** Decimals of a token; null = not known. */
type Decimals = (token: string) => number | null

/** Places behind the point before a price becomes a double: more than the smallest price needs. */
const PRICE_PLACES = 60

/** A price in token units, rounded once; null where the decimals of a token are not known. */
const priceText = ({ of, by }: Ratio, { tokenIn, tokenOut }: SwapRequest, decimals: Decimals) => {
  const [from, to] = [decimals(tokenIn), decimals(tokenOut)]
  if (from === null || to === null) return null
  const scaled = (of * 10n ** BigInt(from + PRICE_PLACES)) / (by * 10n ** BigInt(to))
  return formatDecimal(Number(`${scaled}e-${PRICE_PLACES}`))
}

/** Units of the token that is bought for one of the token that is sold, before fees and before the swap, along the first path. */
export const currentPrice = ({ route, request }: SwapQuote, decimals: Decimals): string | null => {
  const hops = route.paths[0]?.hops ?? []
  const ratio = hops.reduce<Ratio>(
    (product, { pool, tokenIn }) => {
      const { of, by } = spotPrice(pool, tokenIn)
      return { of: product.of * of, by: product.by * by }
    },
    { of: 1n, by: 1n },
  )
  return priceText(ratio, request, decimals)
}

/** The same for the whole swap as it is quoted. */
export const executionPrice = ({ route, request }: SwapQuote, decimals: Decimals): string | null =>
  priceText({ of: route.amountOutRaw, by: route.amountInRaw }, request, decimals)

/** A swap within a route, for answers. */
export interface QuotedHop {
  readonly pool: string
  readonly dex: string
  readonly inputMint: string
  readonly outputMint: string
  readonly inAmount: string
  readonly outAmount: string
  /** Part of the whole input that goes this way, basis points. */
  readonly shareBps: number
}

/** Swaps of a route in the order in which they run, path by path. */
export const quotedHops = ({ paths, amountInRaw }: Route): readonly QuotedHop[] =>
  paths.flatMap((path) =>
    path.hops.map(({ pool, tokenIn, tokenOut, ...hop }) => ({
      pool: pool.address,
      dex: pool.protocol,
      inputMint: tokenIn,
      outputMint: tokenOut,
      inAmount: hop.amountInRaw.toString(),
      outAmount: hop.amountOutRaw.toString(),
      shareBps: Number((path.amountInRaw * 10_000n) / amountInRaw),
    })),
  )

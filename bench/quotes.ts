import { Fault } from '../core/errors.ts'
import { type Pool, quoteExactIn, quoteExactOut } from '../serving/dex/pool.ts'
import { createPoolGraph } from '../serving/dex/pool-graph.ts'
import { quoteSwap } from '../serving/dex/quote.ts'
import type { SwapRequest } from '../serving/dex/search.ts'
import { createSeededRandom } from '../test/support/builders/market-trade.ts'
import { buildMixedMarket, MARKET_HUBS } from '../test/support/builders/pool-market.ts'
import { quantile } from './quantile.ts'

const POOLS = 10_000
const QUOTES = 2_000
/** What a quote may take. */
const MAX_P99_MS = 50
/** First quotes, which the compiler takes its time for. */
const WARM_UP = 100

/** The least that a router does: the best direct pool, else the best two pools that share a hub. */
const bareAmount = (
  pools: ReadonlyMap<string, readonly Pool[]>,
  { tokenIn, tokenOut, mode, amountRaw }: SwapRequest,
): bigint | undefined => {
  const isForward = mode === 'exact_in'
  const [from, to] = isForward ? [tokenIn, tokenOut] : [tokenOut, tokenIn]
  const over = (pool: Pool, near: string, far: string, amount: bigint): bigint | undefined => {
    const quote = isForward ? quoteExactIn(pool, near, amount) : quoteExactOut(pool, far, amount)
    return 'refused' in quote ? undefined : quote.amountRaw
  }
  let best: bigint | undefined
  const consider = (amount: bigint | undefined): void => {
    if (amount === undefined) return
    if (best === undefined || isForward === amount > best) best = amount
  }
  for (const first of pools.get(from) ?? []) {
    const middle = first.tokens[0] === from ? first.tokens[1] : first.tokens[0]
    const amount = over(first, from, middle, amountRaw)
    if (middle === to) consider(amount)
    if (amount === undefined || middle === to || !MARKET_HUBS.has(middle)) continue
    for (const second of pools.get(to) ?? [])
      if (second.tokens.includes(middle)) consider(over(second, middle, to, amount))
  }
  return best
}

/** Milliseconds of each run. */
const timesOf = (requests: readonly SwapRequest[], work: (request: SwapRequest) => unknown) =>
  requests.map((request) => {
    const startedMs = performance.now()
    work(request)
    return performance.now() - startedMs
  })

/** A quote as the API makes it: also one without a route takes its time to say so. */
const quoteOrFault = (...args: Parameters<typeof quoteSwap>): unknown => {
  try {
    return quoteSwap(...args)
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
}

/** Times quotes between tokens and hubs of a market of both kinds of pools beside the bare loop. */
export const quotesBench = (): void => {
  const market = buildMixedMarket(POOLS)
  const graph = createPoolGraph(market, { minTvlUsd: 1_000, poolsPerPair: 8 })
  const byToken = new Map<string, Pool[]>()
  for (const pool of market) {
    for (const token of pool.tokens) byToken.set(token, [...(byToken.get(token) ?? []), pool])
  }
  const random = createSeededRandom(11)
  const token = (): string =>
    random() < 0.2
      ? `h${Math.floor(random() * MARKET_HUBS.size)}`
      : `t${Math.floor(random() * (POOLS / 10))}`
  const requests = Array.from(
    { length: WARM_UP + QUOTES },
    (): SwapRequest => ({
      tokenIn: token(),
      tokenOut: token(),
      mode: random() < 0.5 ? 'exact_in' : 'exact_out',
      amountRaw: BigInt(Math.floor(10 ** (3 + random() * 10))),
    }),
  ).filter(({ tokenIn, tokenOut }) => tokenIn !== tokenOut)
  const measure = (work: (request: SwapRequest) => unknown): readonly number[] =>
    timesOf(requests, work).slice(WARM_UP)
  const bare = measure((request) => bareAmount(byToken, request))
  const ours = measure((request) => quoteOrFault({ graph, hubs: MARKET_HUBS }, request, 100))
  const p50Ms = quantile(ours, 0.5)
  console.log(
    JSON.stringify({
      bench: 'quotes',
      node: process.version,
      pools: market.length,
      perSecond: Math.round((ours.length * 1_000) / ours.reduce((sum, ms) => sum + ms, 0)),
      p50Ms,
      p99Ms: quantile(ours, 0.99),
      maxP99Ms: MAX_P99_MS,
      bareP50Ms: quantile(bare, 0.5),
      bareP99Ms: quantile(bare, 0.99),
      ratio: p50Ms / quantile(bare, 0.5),
      bare: 'best of one or two pools over the hubs, no splits',
    }),
  )
}

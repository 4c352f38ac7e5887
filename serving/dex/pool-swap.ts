import { Fault } from '../../core/errors.ts'
import type { Pool } from './pool.ts'
import type { PoolGraph } from './pool-graph.ts'
import { quoteSwap, type SwapQuote } from './quote.ts'
import { DEFAULT_ROUTE_LIMITS } from './route.ts'
import type { SwapRequest } from './search.ts'

/** Tokens as a request names them; one of them is enough beside a pool. */
interface NamedTokens {
  readonly inputMint?: string
  readonly outputMint?: string
}

/**
 * Both tokens of a swap: what is not named is the other token of the pool. Throws `Fault` MISSING_PARAMETER where that does not say what
 * is sold.
 */
export const swapTokens = (
  { inputMint, outputMint }: NamedTokens,
  pool: Pool | undefined,
  pooled: (token: string) => string,
): { readonly inputMint: string; readonly outputMint: string } => {
  const missing = (parameter: string) => new Fault('MISSING_PARAMETER', undefined, { parameter })
  if (inputMint !== undefined && outputMint !== undefined) return { inputMint, outputMint }
  if (pool === undefined) throw missing(inputMint === undefined ? 'inputMint' : 'outputMint')
  const otherThan = (token: string): string =>
    pool.tokens[0] === pooled(token) ? pool.tokens[1] : pool.tokens[0]
  if (inputMint !== undefined) return { inputMint, outputMint: otherThan(inputMint) }
  if (outputMint !== undefined) return { inputMint: otherThan(outputMint), outputMint }
  throw missing('inputMint')
}

/** Throws `Fault` POOL_INPUT_MISMATCH where a pool is of another DEX than `wanted`, or does not trade both tokens. */
export const requireFittingPool = (
  { address, protocol, tokens }: Pool,
  wanted: ReadonlySet<string> | undefined,
  { tokenIn, tokenOut }: Pick<SwapRequest, 'tokenIn' | 'tokenOut'>,
): void => {
  if (wanted?.has(protocol) === false) {
    throw new Fault('POOL_INPUT_MISMATCH', 'The pool belongs to another DEX', {
      parameter: 'dex',
      pool: address,
      dex: protocol,
    })
  }
  if (tokens.includes(tokenIn) && tokens.includes(tokenOut)) return
  throw new Fault('POOL_INPUT_MISMATCH', undefined, { pool: address, tokens: [...tokens] })
}

/** The best quote over one of the pools alone; each must trade both tokens. `failed`: as of a graph. Throws as `quoteSwap`. */
export const quoteOverPools = (
  pools: readonly Pool[],
  request: SwapRequest,
  slippageBps: number,
  failed?: PoolGraph['failed'],
): SwapQuote =>
  quoteSwap(
    {
      // Without neighbours a search finds direct pools only.
      graph: {
        neighbours: () => [],
        poolsOf: (_token, _other, wanted) => pools.filter((pool) => wanted?.(pool) ?? true),
        ...(failed && { failed }),
      },
      hubs: new Set(),
      limits: { ...DEFAULT_ROUTE_LIMITS, maxPaths: 1 },
    },
    request,
    slippageBps,
  )

/** As `quoteOverPools` for a pool that was named: one that gives nothing for any amount throws `Fault` LIQUIDITY_INSUFFICIENT. */
export const quoteOverNamedPool = (
  pool: Pool,
  request: SwapRequest,
  slippageBps: number,
  failed?: PoolGraph['failed'],
): SwapQuote => {
  try {
    return quoteOverPools([pool], request, slippageBps, failed)
  } catch (error) {
    if (!(error instanceof Fault) || error.faultName !== 'DEX_ROUTE_BUILD_FAILED') throw error
    throw new Fault('LIQUIDITY_INSUFFICIENT', undefined, {
      requested_amount: request.amountRaw.toString(),
      available_liquidity: '0',
    })
  }
}

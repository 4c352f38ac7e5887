import { type Pool, quoteExactIn, quoteExactOut } from '../../../serving/dex/pool.ts'
import type { SwapRequest } from '../../../serving/dex/search.ts'

/** Every sequence of at most `depth` pools that leads from one token to another without meeting a token twice. */
const everyPath = (
  pools: readonly Pool[],
  from: string,
  to: string,
  { depth, met }: { readonly depth: number; readonly met: readonly string[] },
): readonly (readonly Pool[])[] =>
  depth === 0
    ? []
    : pools.flatMap((pool) => {
        if (!pool.tokens.includes(from)) return []
        const other = pool.tokens[0] === from ? pool.tokens[1] : pool.tokens[0]
        if (other === to) return [[pool]]
        if (met.includes(other)) return []
        return everyPath(pools, other, to, { depth: depth - 1, met: [...met, other] }).map(
          (rest) => [pool, ...rest],
        )
      })

const amountOver = (
  path: readonly Pool[],
  start: string,
  amountRaw: bigint,
  mode: SwapRequest['mode'],
): bigint | undefined => {
  let [token, amount] = [start, amountRaw]
  for (const pool of mode === 'exact_in' ? path : path.toReversed()) {
    const other = pool.tokens[0] === token ? pool.tokens[1] : pool.tokens[0]
    const quote =
      mode === 'exact_in' ? quoteExactIn(pool, token, amount) : quoteExactOut(pool, other, amount)
    if ('refused' in quote) return undefined
    ;[token, amount] = [other, quote.amountRaw]
  }
  return amount
}

/** The best other side of a swap over any single path of at most three pools; undefined where there is none. */
export const bestByBruteForce = (
  pools: readonly Pool[],
  { tokenIn, tokenOut, mode, amountRaw }: SwapRequest,
): bigint | undefined =>
  everyPath(pools, tokenIn, tokenOut, { depth: 3, met: [tokenIn] })
    .map((path) => amountOver(path, mode === 'exact_in' ? tokenIn : tokenOut, amountRaw, mode))
    .filter((amount) => amount !== undefined)
    .reduce<bigint | undefined>((best, amount) => {
      if (best === undefined) return amount
      return (mode === 'exact_in') === amount > best ? amount : best
    }, undefined)

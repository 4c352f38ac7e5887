import type { Transfer } from '../../schemas/events.ts'
import type { SaidSwap } from '../protocols/types.ts'

/**
 * Proof of a swap by its own transaction alone, where no node can be asked (R39): tokens that went into and out of the pool.
 * A pool's own liquidity token never counts, and a pool orders its two tokens by address (contract/chains.md 3.2, 3.3).
 */

/** Transfers of one transaction by the account that they touch. */
export interface Flows {
  readonly into: ReadonlyMap<string, readonly Transfer[]>
  readonly outOf: ReadonlyMap<string, readonly Transfer[]>
}

/** A pool's two tokens in its own order; null where the transfers leave it open. */
export type PoolTokens = readonly [string | null, string | null]

/** Transfers that are looked at per pool, direction and transaction: bounds the work on hostile ones. */
const MAX_FLOWS = 64

/** Sorts a transaction's transfers by account. */
export const flowsOf = (transfers: readonly Transfer[]): Flows => {
  const into = new Map<string, Transfer[]>()
  const outOf = new Map<string, Transfer[]>()
  for (const transfer of transfers) {
    if (transfer.wrap || transfer.amountRaw === 0n) continue
    push(into, transfer.to, transfer)
    push(outOf, transfer.from, transfer)
  }
  return { into, outOf }
}

const push = (map: Map<string, Transfer[]>, account: string, transfer: Transfer): void => {
  if (transfer.token === account) return
  const list = map.get(account)
  if (list === undefined) map.set(account, [transfer])
  else if (list.length < MAX_FLOWS) list.push(transfer)
}

/** The pool's tokens as transfers of the swap's transaction show them; undefined when none went in and another one out. */
export const swapTokens = (swap: SaidSwap, { into, outOf }: Flows): PoolTokens | undefined => {
  const ins = into.get(swap.pool) ?? []
  const outs = outOf.get(swap.pool) ?? []
  const exactIns = ins.filter(({ amountRaw }) => amountRaw === swap.amountInRaw)
  const exactOuts = outs.filter(({ amountRaw }) => amountRaw === swap.amountOutRaw)
  const found = [
    pairs(swap, exactIns, exactOuts),
    pairs(swap, exactIns, outs),
    pairs(swap, ins, exactOuts),
    pairs(swap, ins, outs),
  ].find((list) => list.length > 0)
  if (found === undefined) return undefined
  const tokenIn = only(found.map(([token]) => token))
  const tokenOut = only(found.map(([, token]) => token))
  return swap.tokenIn === 0 ? [tokenIn, tokenOut] : [tokenOut, tokenIn]
}

/** The only two tokens that moved in or out of the pool; undefined when there are more or fewer. */
export const poolTokens = (pool: string, { into, outOf }: Flows): PoolTokens | undefined => {
  const moved = [...(into.get(pool) ?? []), ...(outOf.get(pool) ?? [])].map(({ token }) => token)
  const [tokenA, tokenB, more] = [...new Set(moved)].sort()
  return tokenA === undefined || tokenB === undefined || more !== undefined
    ? undefined
    : [tokenA, tokenB]
}

const pairs = (
  { tokenIn, tokenOut }: SaidSwap,
  ins: readonly Transfer[],
  outs: readonly Transfer[],
): readonly (readonly [string, string])[] => {
  const tokens = (list: readonly Transfer[]) => [...new Set(list.map(({ token }) => token))]
  const inOrder = (a: string, b: string): boolean =>
    typeof tokenIn === 'number' && typeof tokenOut === 'number'
      ? a < b === tokenIn < tokenOut
      : a === tokenIn && b === tokenOut
  return tokens(ins).flatMap((a) =>
    tokens(outs).flatMap((b) => (a !== b && inOrder(a, b) ? [[a, b] as const] : [])),
  )
}

const only = (tokens: readonly string[]): string | null =>
  new Set(tokens).size === 1 ? (tokens[0] ?? null) : null

import type { Transfer } from '../../../schemas/events.ts'
import { type DecodedLiquidityChange, type DecodedSwap, isUnderlying } from '../protocols/types.ts'

/**
 * Proof of a swap by its own transaction alone, where no node can be asked: tokens that went into and out of the pool.
 * A pool's own liquidity token never counts, and a pool orders its two tokens by address.
 */

/** Transfers of one transaction by the account that they touch. */
export interface Flows {
  readonly into: ReadonlyMap<string, readonly Transfer[]>
  readonly outOf: ReadonlyMap<string, readonly Transfer[]>
}

/** Tokens of a swap; null where the transfers leave it open. */
export interface SwapTokens {
  readonly tokenIn: string | null
  readonly tokenOut: string | null
}

/** The chain's native token, which moves without a log; also where tokens come from when they are made, and go when they are burnt. */
const NATIVE_TOKEN = `0x${'0'.repeat(40)}`

/** A transfer is near an amount when it is off by a tenth of it at most. */
const NEAR = 10n

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

/**
 * The tokens of a swap as transfers of its transaction show them; undefined when none went in and another one out. A contract
 * that holds many pools moves much else, so there only the very amounts count. Where one side may be the chain's native token, which
 * no transfer shows, the very amount of the other side is enough.
 */
export const swapTokens = (swap: DecodedSwap, flows: Flows): SwapTokens | undefined => {
  if (swap.amountInRaw === 0n || swap.amountOutRaw === 0n) return halfSwapTokens(swap, flows)
  const { into, outOf } = flows
  const holder = swap.vault ?? swap.pool
  const ins = likely(swap, into.get(holder) ?? [], 'in')
  const outs = [...likely(swap, outOf.get(holder) ?? [], 'out'), ...paidByFront(swap, flows)]
  const exactIns = exactly(ins, swap.amountInRaw)
  const exactOuts = exactly(outs, swap.amountOutRaw)
  const ways: readonly (readonly [readonly Transfer[], readonly Transfer[]])[] = [
    [exactIns, exactOuts],
    [exactIns, outs],
    [ins, exactOuts],
    [ins, outs],
  ]
  const found = ways
    .slice(0, swap.vault === undefined ? ways.length : 1)
    .map(([paid, got]) => pairs(swap, paid, got))
    .find((list) => list.length > 0)
  if (found !== undefined) {
    return {
      tokenIn: only(found.map(([token]) => token)),
      tokenOut: only(found.map(([, token]) => token)),
    }
  }
  const oneSided = swap.vault !== undefined || swap.unordered !== undefined
  if (!oneSided || (exactIns.length === 0) === (exactOuts.length === 0)) return undefined
  const tokenOf = (exact: readonly Transfer[], all: readonly Transfer[]): string | null =>
    swap.unnamedIsNative === true && all.length === 0
      ? NATIVE_TOKEN
      : only(exact.map(({ token }) => token))
  return { tokenIn: tokenOf(exactIns, ins), tokenOut: tokenOf(exactOuts, outs) }
}

/**
 * Transfers that may be a side of the swap. A pool of many tokens may hold a coin besides that moves without a log, so another
 * amount is another token's, unless it is near: a token may take a fee of its own or round. Where the tokens behind its own are
 * traded, what the pool makes or burns is its own, and counts only where nothing else came in: old pools upon pools say how much
 * of the other pool's token they made.
 */
const likely = (
  swap: DecodedSwap,
  moved: readonly Transfer[],
  side: 'in' | 'out',
): readonly Transfer[] => {
  if (swap.unordered !== 'many') return moved
  const isIn = side === 'in'
  const [reported, leg] = isIn
    ? [swap.amountInRaw, swap.tokenIn]
    : [swap.amountOutRaw, swap.tokenOut]
  const near = moved.filter(({ amountRaw }) => isNear(amountRaw, reported))
  if (!isUnderlying(leg)) return near
  const others = near.filter(({ from, to }) => (isIn ? from : to) !== NATIVE_TOKEN)
  return isIn && others.length === 0 ? near : others
}

const isNear = (amountRaw: bigint, reported: bigint): boolean => {
  const off = amountRaw < reported ? reported - amountRaw : amountRaw - reported
  return off * NEAR <= reported
}

/** What fronts of other tokens paid for a swap of those: the pool burnt the very amount of a front, and the front paid it out. */
const paidByFront = (
  { pool, tokenOut, amountOutRaw }: DecodedSwap,
  { outOf }: Flows,
): readonly Transfer[] => {
  if (!isUnderlying(tokenOut)) return []
  return exactly(outOf.get(pool) ?? [], amountOutRaw)
    .filter(({ to }) => to === NATIVE_TOKEN)
    .flatMap(({ token }) => exactly(outOf.get(token) ?? [], amountOutRaw))
}

/** The same of a swap of which one side is nothing: that side's token shows only where the pool moved it besides. */
const halfSwapTokens = (swap: DecodedSwap, flows: Flows): SwapTokens | undefined => {
  const { pool, vault, amountInRaw, amountOutRaw } = swap
  const pays = amountOutRaw === 0n
  const moved = (pays ? flows.into : flows.outOf).get(vault ?? pool) ?? []
  const exact = exactly(moved, pays ? amountInRaw : amountOutRaw)
  const seen = exact.length > 0 || vault !== undefined ? exact : moved
  const token = only(seen.map((transfer) => transfer.token))
  if (token === null) return undefined
  const pair = vault === undefined ? poolTokens(pool, flows) : undefined
  const other = pair?.find((each) => each !== token) ?? null
  const [tokenIn, tokenOut] = pays ? [token, other] : [other, token]
  const fits = tokenIn === null || tokenOut === null || inOrder(swap, tokenIn, tokenOut)
  return fits ? { tokenIn, tokenOut } : undefined
}

/**
 * Tokens behind the amounts of a change, as transfers of its transaction show them; undefined when they show none. A pool of
 * two tokens in order of their addresses is known by them; elsewhere only a transfer of the very amount tells, and null stands
 * where it is left open, as where two amounts are the same.
 */
export const changedTokens = (
  { pool, vault, unordered, change, amountsRaw }: DecodedLiquidityChange,
  flows: Flows,
): readonly (string | null)[] | undefined => {
  if (vault === undefined && unordered === undefined) return poolTokens(pool, flows)
  const side = change === 'increase' ? flows.into : flows.outOf
  const found = amountsRaw.map((amountRaw) => tokenOfAmount(side, vault ?? pool, amountRaw))
  const tokens = found.map((token) =>
    found.filter((each) => each === token).length > 1 ? null : token,
  )
  return tokens.every((token) => token === null) ? undefined : tokens
}

/** The only token of which an account paid out this very amount; null when it was none or several. */
export const paidToken = (
  { pool, vault }: DecodedLiquidityChange,
  amountRaw: bigint,
  { outOf }: Flows,
): string | null => tokenOfAmount(outOf, vault ?? pool, amountRaw)

const tokenOfAmount = (side: Flows['into'], account: string, amountRaw: bigint): string | null =>
  only(exactly(side.get(account) ?? [], amountRaw).map(({ token }) => token))

/**
 * Transfers of this very amount. Where a token is a front of another both log the same move, one right after the other, and
 * the one that was called logs last: only that one is kept.
 */
const exactly = (transfers: readonly Transfer[], amountRaw: bigint): readonly Transfer[] => {
  const same = transfers.filter((each) => each.amountRaw === amountRaw)
  return same.filter(({ token, from, to, logIndex }, index) => {
    const next = same[index + 1]
    return !(
      next?.logIndex === logIndex + 1 &&
      next.token !== token &&
      next.from === from &&
      next.to === to
    )
  })
}

/** The only two tokens that moved in or out of the pool; undefined when there are more or fewer. */
const poolTokens = (
  pool: string,
  { into, outOf }: Flows,
): readonly [string, string] | undefined => {
  const moved = [...(into.get(pool) ?? []), ...(outOf.get(pool) ?? [])].map(({ token }) => token)
  const [tokenA, tokenB, more] = [...new Set(moved)].sort()
  return tokenA === undefined || tokenB === undefined || more !== undefined
    ? undefined
    : [tokenA, tokenB]
}

/** A pool of two tokens lists them by address, unless its kind does not. */
const inOrder = ({ tokenIn, tokenOut, unordered }: DecodedSwap, a: string, b: string): boolean =>
  unordered !== undefined ||
  typeof tokenIn !== 'number' ||
  typeof tokenOut !== 'number' ||
  a < b === tokenIn < tokenOut

const pairs = (
  swap: DecodedSwap,
  ins: readonly Transfer[],
  outs: readonly Transfer[],
): readonly (readonly [string, string])[] => {
  const tokens = (list: readonly Transfer[]) => [...new Set(list.map(({ token }) => token))]
  return tokens(ins).flatMap((a) =>
    tokens(outs).flatMap((b) => (a !== b && inOrder(swap, a, b) ? [[a, b] as const] : [])),
  )
}

const only = (tokens: readonly string[]): string | null =>
  new Set(tokens).size === 1 ? (tokens[0] ?? null) : null

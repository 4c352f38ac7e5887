import { orientPair } from '../../core/prices/quote-assets.ts'
import type { Swap } from '../../schemas/events.ts'
import { type MappingContext, rawText } from './context.ts'

/** A swap seen from its pair: a = base, b = quote; amounts as the pool logged them. */
export interface OrientedSwap {
  readonly swap: Swap
  readonly base: string
  readonly quote: string
  /** The trader gave base and got quote. */
  readonly sells: boolean
  readonly baseRaw: bigint
  readonly quoteRaw: bigint
  /** Reserves after the swap as [base, quote]. */
  readonly post: readonly [bigint, bigint] | undefined
  /** Reserves before it; undefined: as the traded amounts have it. */
  readonly pre: readonly [bigint, bigint] | undefined
}

/** The swap from its pair; undefined where a token is not known. */
export const orientedSwap = (context: MappingContext, swap: Swap): OrientedSwap | undefined => {
  const { tokenIn, tokenOut, amountInRaw, amountOutRaw } = swap
  if (tokenIn === null || tokenOut === null || tokenIn === tokenOut) return undefined
  const { base, quote } = orientPair(tokenIn, tokenOut, context.quoteAssets)
  const sells = tokenIn === base
  const [baseRaw, quoteRaw] = sells ? [amountInRaw, amountOutRaw] : [amountOutRaw, amountInRaw]
  const post = orientedReserves(context, swap, base)
  const before = swap.reservesBeforeInOut
  const pre = before === undefined || sells ? before : flipped(before)
  return { swap, base, quote, sells, baseRaw, quoteRaw, post, pre }
}

const flipped = <T>([one, other]: readonly [T, T]): readonly [T, T] => [other, one]

/** Reserves are told by side, or in the pool's own order; without metadata that is the order of the addresses (V2 and V3 shapes). */
const orientedReserves = (
  context: MappingContext,
  { pool, tokenIn, tokenOut, reserves, reservesInOut }: Swap,
  base: string,
): readonly [bigint, bigint] | undefined => {
  if (reservesInOut !== undefined) {
    return tokenIn === base ? reservesInOut : flipped(reservesInOut)
  }
  if (reserves === undefined || tokenIn === null || tokenOut === null) return undefined
  const first = context.pool(pool)?.tokenA ?? (tokenIn < tokenOut ? tokenIn : tokenOut)
  return first === base ? reserves : flipped(reserves)
}

/** Vault amounts of both sides as texts: reserves around the event where the pool logs them. */
export interface Vaults {
  readonly basePre: string
  readonly basePost: string
  readonly quotePre: string
  readonly quotePost: string
}

/** Reserves around a swap: those before it as reported, else reckoned back from those after it. */
export const vaults = (side: OrientedSwap): Vaults => {
  const [basePost, quotePost] = side.post ?? []
  const [basePre, quotePre] = side.pre ?? reckonedBack(side) ?? []
  return {
    basePre: rawText(basePre),
    basePost: rawText(basePost),
    quotePre: rawText(quotePre),
    quotePost: rawText(quotePost),
  }
}

const reckonedBack = ({ sells, baseRaw, quoteRaw, post }: OrientedSwap): OrientedSwap['pre'] =>
  post &&
  (sells ? [post[0] - baseRaw, post[1] + quoteRaw] : [post[0] + baseRaw, post[1] - quoteRaw])

/** What the vaults got or gave, as [base, quote]: the traded amounts but for fees that passed them by. */
export const vaultMoves = ({
  baseRaw,
  quoteRaw,
  pre,
  post,
}: OrientedSwap): readonly [bigint, bigint] =>
  pre === undefined || post === undefined
    ? [baseRaw, quoteRaw]
    : [distance(pre[0], post[0]), distance(pre[1], post[1])]

const distance = (one: bigint, other: bigint): bigint => (one > other ? one - other : other - one)

/** Who keeps a pool's tokens. */
export const keeperOf = ({ vault, pool }: Pick<Swap, 'vault' | 'pool'>): string => vault ?? pool

/** Accounts of both sides, user and vault; where tokens have no accounts of their own (EVM) vaults are who keeps them. */
export const accountsOf = ({ swap, sells }: OrientedSwap) => {
  const { accounts } = swap
  const keeper = keeperOf(swap)
  if (accounts === undefined) return { userA: '', userB: '', vaultA: keeper, vaultB: keeper }
  const { userIn, userOut, vaultIn, vaultOut } = accounts
  return sells
    ? { userA: userIn, userB: userOut, vaultA: vaultIn, vaultB: vaultOut }
    : { userA: userOut, userB: userIn, vaultA: vaultOut, vaultB: vaultIn }
}

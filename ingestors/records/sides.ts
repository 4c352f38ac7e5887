import { orient } from '../../core/quotes.ts'
import type { Swap } from '../../schemas/events.ts'
import type { MappingContext } from './context.ts'

/** A swap seen from its pair: a = base, b = quote; amounts as the pool logged them. */
export interface Sided {
  readonly swap: Swap
  readonly base: string
  readonly quote: string
  /** The trader gave base and got quote. */
  readonly sells: boolean
  readonly baseRaw: bigint
  readonly quoteRaw: bigint
  /** Reserves after the swap as [base, quote]. */
  readonly post: readonly [bigint, bigint] | undefined
}

/** The swap from its pair; undefined where a token is not known. */
export const sided = (context: MappingContext, swap: Swap): Sided | undefined => {
  const { tokenIn, tokenOut, amountInRaw, amountOutRaw } = swap
  if (tokenIn === null || tokenOut === null || tokenIn === tokenOut) return undefined
  const { base, quote } = orient(tokenIn, tokenOut, context.book)
  const sells = tokenIn === base
  const [baseRaw, quoteRaw] = sells ? [amountInRaw, amountOutRaw] : [amountOutRaw, amountInRaw]
  const post = orientedReserves(context, swap, base)
  return { swap, base, quote, sells, baseRaw, quoteRaw, post }
}

/** Reserves are told by side, or in the pool's own order; without a fact that is the order of the addresses (V2 and V3 shapes). */
const orientedReserves = (
  context: MappingContext,
  { pool, tokenIn, tokenOut, reserves, reservesInOut }: Swap,
  base: string,
): readonly [bigint, bigint] | undefined => {
  if (reservesInOut !== undefined) {
    return tokenIn === base ? reservesInOut : [reservesInOut[1], reservesInOut[0]]
  }
  if (reserves === undefined || tokenIn === null || tokenOut === null) return undefined
  const first = context.pool(pool)?.tokenA ?? (tokenIn < tokenOut ? tokenIn : tokenOut)
  return first === base ? reserves : [reserves[1], reserves[0]]
}

/** A reserve before or after an event; unknown where it was not logged or cannot be. */
export const rawText = (raw: bigint | undefined): string =>
  raw === undefined || raw < 0n ? '' : String(raw)

/** Vault amounts of both sides as texts: reserves around the event where the pool logs them. */
export interface Vaults {
  readonly basePre: string
  readonly basePost: string
  readonly quotePre: string
  readonly quotePost: string
}

/** Reserves around a swap. */
export const vaults = ({ sells, baseRaw, quoteRaw, post }: Sided): Vaults => {
  const [basePost, quotePost] = post ?? []
  const basePre = basePost === undefined ? undefined : basePost + (sells ? -baseRaw : baseRaw)
  const quotePre = quotePost === undefined ? undefined : quotePost + (sells ? quoteRaw : -quoteRaw)
  return {
    basePre: rawText(basePre),
    basePost: rawText(basePost),
    quotePre: rawText(quotePre),
    quotePost: rawText(quotePost),
  }
}

/** Accounts of both sides, user and vault; where tokens have no accounts of their own (EVM) vaults are the pool. */
export const accountsOf = ({ swap, sells }: Sided) => {
  const { accounts, pool } = swap
  if (accounts === undefined) return { userA: '', userB: '', vaultA: pool, vaultB: pool }
  const { userIn, userOut, vaultIn, vaultOut } = accounts
  return sells
    ? { userA: userIn, userB: userOut, vaultA: vaultIn, vaultB: vaultOut }
    : { userA: userOut, userB: userIn, vaultA: vaultOut, vaultB: vaultIn }
}

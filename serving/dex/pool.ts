import { PRICE_BITS, priceOfBin } from '../../core/prices/bin-math.ts'
import { feeOnInputAmountIn, feeOnInputAmountOut } from '../../core/prices/fee-on-input.ts'
import type { ConcentratedState } from './concentrated-liquidity.ts'
import { concentratedAmountIn, concentratedAmountOut } from './concentrated-liquidity.ts'
import { constantProductAmountIn, constantProductAmountOut } from './constant-product.ts'
import { DLMM_PRICE_BITS, dlmmPriceOfBin } from './dlmm-bin.ts'
import { type DlmmBook, dlmmAmountIn, dlmmAmountOut } from './dlmm-book.ts'
import {
  buyBaseExactIn,
  buyBaseExactOut,
  type FeeOnQuotePool,
  sellBaseExactIn,
  sellBaseExactOut,
} from './fee-on-quote.ts'
import { type BinBook, bookAmountIn, bookAmountOut } from './liquidity-book.ts'
import { type WhirlpoolState, whirlpoolAmountIn, whirlpoolAmountOut } from './whirlpool.ts'

/** What every pool has. Addresses as the tables hold them; `tokens[0]` is the lower one of an EVM pool. */
interface PoolHead {
  readonly address: string
  /** Row of `schemas/protocols.ts`. */
  readonly protocol: string
  readonly tokens: readonly [string, string]
  /** Fee on the input, hundredths of a basis point; of a pool with bins that of the active one, rounded up: a swap tells its own. */
  readonly feePips: number
  /** Value of both sides; null = not known. */
  readonly tvlUsd: number | null
}

/** A pool that keeps the product of its reserves. */
export interface ConstantProductPool extends PoolHead {
  readonly kind: 'constant_product'
  readonly reserves: readonly [bigint, bigint]
}

/** A constant-product pool of Raydium: what it holds, without fees of others; the fee is rounded up. */
export interface FeeOnInputPool extends PoolHead {
  readonly kind: 'fee_on_input'
  readonly reserves: readonly [bigint, bigint]
}

/** A curve of pump.fun or a pool of PumpSwap. */
export interface QuotedPool extends PoolHead {
  readonly kind: 'fee_on_quote'
  readonly program: FeeOnQuotePool['kind']
  /** What it prices with. */
  readonly reserves: readonly [bigint, bigint]
  /** What it can pay. */
  readonly held: readonly [bigint, bigint]
  /** Place of the quote among its tokens. */
  readonly quoteSide: 0 | 1
  readonly feeParts: readonly number[]
}

/** A pool with liquidity between ticks. */
export interface ConcentratedPool extends PoolHead, ConcentratedState {
  readonly kind: 'concentrated'
}

/** A pool of Liquidity Book, for swaps at one moment: its fee depends on the time since the last swap. */
export interface BinPool extends PoolHead, BinBook {
  readonly kind: 'bins'
  /** As its router numbers it: 2 is V2.1, 3 is V2.2. */
  readonly version: 2 | 3
  /** Place of X among its tokens. */
  readonly sideOfX: 0 | 1
}

/** A pool of Orca's Whirlpools, as its accounts had it. */
export interface WhirlpoolPool extends PoolHead, WhirlpoolState {
  readonly kind: 'whirlpool'
  /** Place of token A among its tokens. */
  readonly sideOfA: 0 | 1
  /** Accounts of its ticks that swaps in both directions go through, from the lowest; they need not exist. */
  readonly arrays: readonly { readonly start: number; readonly address: string }[]
}

/** A pool of Meteora DLMM, for swaps at the moment at which its accounts were read. */
export interface DlmmPool extends PoolHead, DlmmBook {
  readonly kind: 'dlmm'
  /** Place of X among its tokens. */
  readonly sideOfX: 0 | 1
  /** Accounts of bins that a swap may come to, in the order in which it does, when X is sold and when Y is. */
  readonly binArrays: { readonly sellingX: readonly string[]; readonly sellingY: readonly string[] }
}

/** A pool whose exact state is known. */
export type Pool =
  | ConstantProductPool
  | ConcentratedPool
  | FeeOnInputPool
  | QuotedPool
  | BinPool
  | WhirlpoolPool
  | DlmmPool

/** Why a pool gives no quote. */
export type QuoteRefusal = 'insufficient_liquidity' | 'beyond_known_ticks'

/**
 * The other side of a quote, or why there is none; `steps` is the work that it took, `feeRaw` the fee in base units of what is sold where
 * `feePips` of the pool do not tell it.
 */
export type AmountQuote =
  | { readonly amountRaw: bigint; readonly steps: number; readonly feeRaw?: bigint }
  | { readonly refused: QuoteRefusal; readonly steps: number }

/** 0 when `token` is the pool's first token, 1 when it is the second. */
const sideOf = ({ tokens }: PoolHead, token: string): 0 | 1 => (tokens[0] === token ? 0 : 1)

const single = (amountRaw: bigint | undefined): AmountQuote =>
  amountRaw === undefined
    ? { refused: 'insufficient_liquidity', steps: 1 }
    : { amountRaw, steps: 1 }

const directed = ({ reserves, feePips }: ConstantProductPool | FeeOnInputPool, side: 0 | 1) => ({
  feePips,
  in: reserves[side],
  out: reserves[1 - side] ?? 0n,
})

const sidesOf = ({ program, reserves, held, quoteSide, feeParts }: QuotedPool): FeeOnQuotePool => {
  const baseSide = quoteSide === 0 ? 1 : 0
  return {
    kind: program,
    quote: reserves[quoteSide],
    base: reserves[baseSide],
    heldQuote: held[quoteSide],
    heldBase: held[baseSide],
    feePips: feeParts,
  }
}

const positive = (amountRaw: bigint): bigint | undefined => (amountRaw > 0n ? amountRaw : undefined)

/** Output of a swap that sells exactly `amountIn` of `tokenIn`. */
export const quoteExactIn = (pool: Pool, tokenIn: string, amountIn: bigint): AmountQuote => {
  const side = sideOf(pool, tokenIn)
  switch (pool.kind) {
    case 'bins':
      return bookAmountOut(pool, side === pool.sideOfX, amountIn)
    case 'dlmm':
      return dlmmAmountOut(pool, side === pool.sideOfX, amountIn)
    case 'concentrated':
      return concentratedAmountOut(pool, side === 0, amountIn)
    case 'constant_product':
      return single(constantProductAmountOut(amountIn, directed(pool, side)))
    case 'fee_on_input':
      return single(positive(feeOnInputAmountOut(amountIn, directed(pool, side))))
    case 'fee_on_quote': {
      const quote = pool.quoteSide === side ? buyBaseExactIn : sellBaseExactIn
      return single(quote(sidesOf(pool), amountIn))
    }
    case 'whirlpool':
      return whirlpoolAmountOut(pool, side === pool.sideOfA, amountIn)
  }
}

/** Input of a swap that buys exactly `amountOut` of the token beside `tokenIn`. */
export const quoteExactOut = (pool: Pool, tokenIn: string, amountOut: bigint): AmountQuote => {
  const side = sideOf(pool, tokenIn)
  switch (pool.kind) {
    case 'bins':
      return bookAmountIn(pool, side === pool.sideOfX, amountOut)
    case 'dlmm':
      return dlmmAmountIn(pool, side === pool.sideOfX, amountOut)
    case 'concentrated':
      return concentratedAmountIn(pool, side === 0, amountOut)
    case 'constant_product':
      return single(constantProductAmountIn(amountOut, directed(pool, side)))
    case 'fee_on_input':
      return single(feeOnInputAmountIn(amountOut, directed(pool, side)))
    case 'fee_on_quote': {
      const quote = pool.quoteSide === side ? buyBaseExactOut : sellBaseExactOut
      return single(quote(sidesOf(pool), amountOut))
    }
    case 'whirlpool':
      return whirlpoolAmountIn(pool, side === pool.sideOfA, amountOut)
  }
}

/** A pool as it is at a moment: only the fee of Liquidity Book depends on the time. That of DLMM is as of the clock of its reading. */
export const poolAt = (pool: Pool, nowMs: number): Pool =>
  pool.kind === 'bins' ? { ...pool, timeS: Math.floor(nowMs / 1_000) } : pool

/** A ratio of integers. */
export interface Ratio {
  readonly of: bigint
  readonly by: bigint
}

/** Base units of the other token that one base unit of `tokenIn` is worth before any fee. */
export const spotPrice = (pool: Pool, tokenIn: string): Ratio => {
  const { of, by } = firstPrice(pool)
  return sideOf(pool, tokenIn) === 0 ? { of, by } : { of: by, by: of }
}

/** One as the square of a Q64.64 number. */
const WORD = 1n << 128n

/** What the first token is worth in the second. */
const firstPrice = (pool: Pool): Ratio => {
  switch (pool.kind) {
    case 'bins': {
      const price = priceOfBin(pool.activeBin, pool.binStep) ?? 1n
      const one = 1n << PRICE_BITS
      return pool.sideOfX === 0 ? { of: price, by: one } : { of: one, by: price }
    }
    case 'dlmm': {
      const price = dlmmPriceOfBin(pool.activeBin, pool.binStep) ?? 1n
      const one = 1n << DLMM_PRICE_BITS
      return pool.sideOfX === 0 ? { of: price, by: one } : { of: one, by: price }
    }
    case 'concentrated':
      return { of: pool.sqrtPriceX96 * pool.sqrtPriceX96, by: 1n << 192n }
    case 'constant_product':
    case 'fee_on_input':
    case 'fee_on_quote':
      return { of: pool.reserves[1], by: pool.reserves[0] }
    case 'whirlpool': {
      const price = pool.sqrtPrice * pool.sqrtPrice
      return pool.sideOfA === 0 ? { of: price, by: WORD } : { of: WORD, by: price }
    }
  }
}

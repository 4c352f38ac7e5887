import { enterBlock, foldBlock, type QuoteTrade } from '../../core/prices/fold.ts'
import { quoteBook } from '../../core/prices/quote-assets.ts'
import { NO_QUOTES, type QuoteState } from '../../core/prices/state.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { DAI, USDC, USDT, WBTC, WETH } from './hand-chain.ts'

/** The quote assets of Ethereum. */
export const BOOK = quoteBook(CHAINS.eth)
/** Time of block 0 of the test's chain. */
export const START_MS = Date.UTC(2026, 0, 1)
export const BLOCK_MS = 12_000

const DECIMALS: Readonly<Record<string, number>> = {
  [USDC]: 6,
  [USDT]: 6,
  [DAI]: 18,
  [WETH]: 18,
  [WBTC]: 8,
}

const raw = (token: string, amount: number): bigint =>
  BigInt(Math.round(amount * 1e6)) * 10n ** BigInt((DECIMALS[token] ?? 18) - 6)

/** A trade of `amount` whole tokens at `price` whole quote tokens each. */
export const quoteTrade = (
  token: string,
  quote: string,
  price: number,
  { amount = 1, pool = `${token}-${quote}`, proven = true } = {},
): QuoteTrade => ({
  pool,
  proven,
  tokenA: token,
  tokenB: quote,
  amountARaw: raw(token, amount),
  amountBRaw: raw(quote, amount * price),
})

/** Time of a block at the test's pace. */
export const timeAt = (height: number): number => START_MS + height * BLOCK_MS

/** Folds one block of trades. */
export const fold = (
  state: QuoteState,
  height: number,
  trades: readonly QuoteTrade[],
  timeMs = timeAt(height),
): QuoteState => foldBlock(enterBlock(state, height), { height, timeMs, trades }, BOOK)

/** Folds blocks from height 1 on. */
export const foldAll = (
  blocks: readonly (readonly QuoteTrade[])[],
  from: QuoteState = NO_QUOTES,
  first = 1,
): QuoteState => blocks.reduce((state, trades, at) => fold(state, first + at, trades), from)

import { foldBlock, type QuoteTrade, resetPricesAfterGap } from '../../../core/prices/fold-block.ts'
import { makeQuoteAssets } from '../../../core/prices/quote-assets.ts'
import { EMPTY_QUOTE_STATE, type QuoteState } from '../../../core/prices/quote-state.ts'
import { CHAINS } from '../../../schemas/chains.ts'
import { DAI, USDC, USDT, WBTC, WETH } from './evm-block.ts'

/** The quote assets of Ethereum. */
export const QUOTE_ASSETS = makeQuoteAssets(CHAINS.eth)
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

const toRaw = (token: string, amount: number): bigint =>
  BigInt(Math.round(amount * 1e6)) * 10n ** BigInt((DECIMALS[token] ?? 18) - 6)

/** A trade of `amount` whole tokens at `price` whole quote tokens each. */
export const buildQuoteTrade = (
  token: string,
  quote: string,
  price: number,
  { amount = 1, pool = `${token}-${quote}`, verified = true } = {},
): QuoteTrade => ({
  pool,
  verified,
  tokenA: token,
  tokenB: quote,
  amountARaw: toRaw(token, amount),
  amountBRaw: toRaw(quote, amount * price),
})

/** Time of a block at the test's pace. */
export const blockTimeMs = (height: number): number => START_MS + height * BLOCK_MS

/** Folds one block of trades. */
export const foldTrades = (
  state: QuoteState,
  height: number,
  trades: readonly QuoteTrade[],
  timeMs = blockTimeMs(height),
): QuoteState =>
  foldBlock(resetPricesAfterGap(state, height), { height, timeMs, trades }, QUOTE_ASSETS)

/** Folds blocks from height 1 on. */
export const foldBlocks = (
  blocks: readonly (readonly QuoteTrade[])[],
  from: QuoteState = EMPTY_QUOTE_STATE,
  first = 1,
): QuoteState => blocks.reduce((state, trades, at) => foldTrades(state, first + at, trades), from)

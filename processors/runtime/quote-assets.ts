import { parseDecimal } from '../../core/amounts.ts'
import {
  makeQuoteAssets,
  type QuoteAssetPrice,
  type QuoteAssets,
  quoteAssetPricesAt,
} from '../../core/prices/quote-assets.ts'
import { EMPTY_QUOTE_STATE, type PriceEntry, pairKey } from '../../core/prices/quote-state.ts'
import { chainRow } from '../../schemas/chains.ts'
import type { BlockEvent } from '../../schemas/wire.ts'

const NO_QUOTE_ASSETS: QuoteAssets = { assets: new Map(), native: '' }

/** Quote assets of a chain: those given, else the chain's own table. */
export const quoteAssetsOf = (chain: string, given?: QuoteAssets): QuoteAssets => {
  const row = chainRow(chain)
  return given ?? (row === undefined ? NO_QUOTE_ASSETS : makeQuoteAssets(row))
}

/** As `quoteAssetsOf`, for what asks once per event: each chain's table is made once. */
export const quoteAssetsByChain = (given?: QuoteAssets): ((chain: string) => QuoteAssets) => {
  const made = new Map<string, QuoteAssets>()
  return (chain) => {
    const quoteAssets = made.get(chain) ?? quoteAssetsOf(chain, given)
    made.set(chain, quoteAssets)
    return quoteAssets
  }
}

/** True for the stablecoins of a book. */
export const isStablecoin = (token: string, { assets }: QuoteAssets): boolean =>
  assets.get(token)?.kind === 'stable'

/**
 * USD and native price of each quote asset by the price table that a block carries: a function of the record alone. The
 * record has neither volumes nor depegs, so a stable counts as 1, and of several quotes the higher-ranked one prices an asset.
 */
const quotePricesOf = (
  { quote_prices: prices, meta }: BlockEvent,
  quoteAssets: QuoteAssets,
): ReadonlyMap<string, QuoteAssetPrice> => {
  const entries = new Map<string, PriceEntry>()
  for (const { token_address: token, quote_address: quote, price, block_time } of prices) {
    const number = parseDecimal(price)
    if (number === null) continue
    entries.set(pairKey(token, quote), { token, quote, price: number, timeMs: block_time })
  }
  return quoteAssetPricesAt({ ...EMPTY_QUOTE_STATE, entries }, meta.block_time, quoteAssets)
}

/** As `quotePricesOf`, and of the chain's native token, which counts as much as its wrapped form. */
export const blockPricesOf = (
  block: BlockEvent,
  quoteAssets: QuoteAssets,
): ReadonlyMap<string, QuoteAssetPrice> => {
  const prices = quotePricesOf(block, quoteAssets)
  const native = chainRow(block.meta.chain)?.nativeAddress
  const price = prices.get(quoteAssets.native)
  return native === undefined || price === undefined ? prices : new Map(prices).set(native, price)
}

import { type ChainRow, QUOTE_RANK, type QuoteAsset } from '../../schemas/chains.ts'
import type { QuotePrice } from '../../schemas/wire.ts'
import { formatDecimal } from '../amounts.ts'
import type { ChainExtra } from '../config/settings.ts'
import { HOUR_MS } from '../time.ts'
import { type PriceEntry, pairKey, type QuoteState, USD } from './quote-state.ts'

/** Oldest price that is still one. */
export const MAX_PRICE_AGE_MS = HOUR_MS
/** Hours of block time whose volume chooses the reference pool. */
export const VOLUME_HOURS = 24
/** How far a stable's median may be from 1. */
export const PEG_TOLERANCE = 0.02
/** How long it must be off before the median counts. */
export const PEG_GRACE_MS = 600_000
/** Opinions that a median needs: with one, it is undecidable which of the two is off. */
const MIN_PEG_PRICES = 2

/** The quote assets of one chain. */
export interface QuoteAssets {
  readonly assets: ReadonlyMap<string, QuoteAsset>
  /** Wrapped native token. */
  readonly native: string
}

/** The chain's quote assets with the configured ones. Same address: the configured row wins. */
export const makeQuoteAssets = (row: ChainRow, extra?: ChainExtra): QuoteAssets => {
  const own = extra?.replace === true ? [] : row.quotes
  const assets = new Map<string, QuoteAsset>()
  for (const asset of [...own, ...(extra?.quotes ?? [])]) assets.set(asset.address, asset)
  const configured = extra?.quotes.find(({ kind }) => kind === 'native')?.address
  const native = extra?.replace === true ? (configured ?? row.wrappedNative) : row.wrappedNative
  return { assets, native }
}

/** Rank of a token in a pair; 0 = not listed. */
export const quoteRankOf = (token: string, quoteAssets: QuoteAssets): number => {
  const asset = quoteAssets.assets.get(token)
  return asset === undefined ? 0 : QUOTE_RANK[asset.kind]
}

/** Base and quote of a pair: the higher rank is the quote, on a tie the lexically smaller address is the base. */
export const orientPair = (
  tokenA: string,
  tokenB: string,
  quoteAssets: QuoteAssets,
): { readonly base: string; readonly quote: string } => {
  const difference = quoteRankOf(tokenA, quoteAssets) - quoteRankOf(tokenB, quoteAssets)
  const aIsBase = difference === 0 ? tokenA < tokenB : difference < 0
  return aIsBase ? { base: tokenA, quote: tokenB } : { base: tokenB, quote: tokenA }
}

/** USD and native price of one whole quote asset; null = unknown. */
export interface QuoteAssetPrice {
  readonly usd: number | null
  readonly native: number | null
}

/** The stamp of a token that is not a quote asset. */
export const UNKNOWN_QUOTE_ASSET_PRICE: QuoteAssetPrice = { usd: null, native: null }

/** True while an entry may be used at `timeMs` of block time. */
export const isPriceFresh = (entry: PriceEntry, timeMs: number): boolean =>
  timeMs - entry.timeMs <= MAX_PRICE_AGE_MS

/** The pool whose trades set the price of a pair, and its volume in whole quote units. */
export interface PairReference {
  readonly pool: string
  readonly volume: number
}

/** Per pair the pool with the largest volume of the last 24 h of block time; on a tie the smaller address. */
export const referencePoolsByPair = (
  state: QuoteState,
  timeMs: number,
): ReadonlyMap<string, PairReference> => {
  const oldest = Math.floor(timeMs / HOUR_MS) - VOLUME_HOURS
  const best = new Map<string, PairReference>()
  for (const [pool, { pair, hours }] of state.volumes) {
    let volume = 0
    for (const [hour, amount] of hours) if (hour > oldest) volume += amount
    const held = best.get(pair)
    const better =
      held === undefined || volume > held.volume || (volume === held.volume && pool < held.pool)
    if (volume > 0 && better) best.set(pair, { pool, volume })
  }
  return best
}

/** The middle of a stable's prices in the other stables; of two middles the one nearer to 1. null: too few. */
export const stablecoinMedian = (
  stable: string,
  state: QuoteState,
  timeMs: number,
  quoteAssets: QuoteAssets,
): number | null => {
  const prices: number[] = []
  for (const { address, kind } of quoteAssets.assets.values()) {
    if (kind !== 'stable' || address === stable) continue
    const direct = state.entries.get(pairKey(stable, address))
    const inverse = state.entries.get(pairKey(address, stable))
    if (direct && isPriceFresh(direct, timeMs)) prices.push(direct.price)
    else if (inverse && isPriceFresh(inverse, timeMs)) prices.push(1 / inverse.price)
  }
  if (prices.length < MIN_PEG_PRICES) return null
  prices.sort((a, b) => a - b)
  const upper = prices[Math.floor(prices.length / 2)] ?? 1
  const lower = prices[Math.floor((prices.length - 1) / 2)] ?? 1
  return Math.abs(upper - 1) < Math.abs(lower - 1) ? upper : lower
}

/** 1 while the peg holds, the median once it has been off for long; null: it was off and is no longer traded. */
const stablecoinPrice = (
  stable: string,
  state: QuoteState,
  timeMs: number,
  quoteAssets: QuoteAssets,
): number | null => {
  const since = state.pegs.get(stable)
  if (since === undefined || timeMs - since < PEG_GRACE_MS) return 1
  return stablecoinMedian(stable, state, timeMs, quoteAssets)
}

/**
 * Prices of all quote assets for a block at `timeMs`, from the table as the block before left it.
 * An entry is kept in its own quote and converted here; of several the one with the largest volume in USD counts.
 */
export const quoteAssetPricesAt = (
  state: QuoteState,
  timeMs: number,
  quoteAssets: QuoteAssets,
): ReadonlyMap<string, QuoteAssetPrice> => {
  const usd = new Map<string, number | null>([[USD, 1]])
  const references = referencePoolsByPair(state, timeMs)
  const ranked = [...quoteAssets.assets.values()].sort(
    (a, b) => QUOTE_RANK[b.kind] - QUOTE_RANK[a.kind] || (a.address < b.address ? -1 : 1),
  )
  for (const { address, kind } of ranked) {
    if (kind === 'stable') usd.set(address, stablecoinPrice(address, state, timeMs, quoteAssets))
    else usd.set(address, usdPriceOf(address, state, timeMs, { usd, references }))
  }
  const quotePriceOf = (token: string): QuoteAssetPrice => {
    const price = usd.get(token) ?? null
    return { usd: price, native: nativePriceOf(token, price, { state, timeMs, quoteAssets, usd }) }
  }
  return new Map(ranked.map(({ address }) => [address, quotePriceOf(address)]))
}

const nativePriceOf = (
  token: string,
  tokenUsd: number | null,
  known: {
    readonly state: QuoteState
    readonly timeMs: number
    readonly quoteAssets: QuoteAssets
    readonly usd: ReadonlyMap<string, number | null>
  },
): number | null => {
  const { native } = known.quoteAssets
  if (token === native) return 1
  const nativeUsd = known.usd.get(native) ?? null
  if (tokenUsd !== null && nativeUsd !== null) return tokenUsd / nativeUsd
  const direct = known.state.entries.get(pairKey(token, native))
  return direct && isPriceFresh(direct, known.timeMs) ? direct.price : null
}

const usdPriceOf = (
  token: string,
  state: QuoteState,
  timeMs: number,
  known: {
    readonly usd: ReadonlyMap<string, number | null>
    readonly references: ReadonlyMap<string, PairReference>
  },
): number | null => {
  let best: { readonly usd: number; readonly weight: number } | null = null
  for (const [quote, quoteUsd] of known.usd) {
    const entry = state.entries.get(pairKey(token, quote))
    if (quoteUsd === null || entry === undefined || !isPriceFresh(entry, timeMs)) continue
    const weight = (known.references.get(pairKey(token, quote))?.volume ?? 0) * quoteUsd
    const rank = quote === USD ? -1 : weight
    if (best === null || rank > best.weight) best = { usd: entry.price * quoteUsd, weight: rank }
  }
  return best?.usd ?? null
}

/** The entries as the `{c}.blocks` record shows them, in a fixed order. */
export const toWireQuotePrices = (state: QuoteState): readonly QuotePrice[] =>
  [...state.entries]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { token, quote, price, timeMs }]) => ({
      token_address: token,
      quote_address: quote,
      price: formatDecimal(price),
      block_time: timeMs,
    }))

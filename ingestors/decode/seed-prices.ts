import type { ChainExtra } from '../../core/config/settings.ts'
import { orientPair, type QuoteAssets, quoteRankOf } from '../../core/prices/quote-assets.ts'
import type { PriceEntry } from '../../core/prices/quote-state.ts'
import type { ChainRow, ReferencePool } from '../../schemas/chains.ts'
import { protocolRow, tellsReserves } from '../../schemas/protocols.ts'
import type { Call, CallAnswer, StateReader } from '../evm/abi/call.ts'
import { wordAt, wordCount } from '../evm/abi/words.ts'

const GET_RESERVES = '0x0902f1ac' // getReserves()
const SLOT0 = '0x3850c7bd' // slot0()
const TWO_96 = 2 ** 96

/** Pools whose state seeds a chain's price table: the configured ones, then the chain's own. */
export const seedPricePools = (chain: ChainRow, extra?: ChainExtra): readonly ReferencePool[] => [
  ...(extra?.referencePools ?? []),
  ...(extra?.replace === true ? [] : chain.referencePools),
]

/** The block at which the price table is seeded. */
export interface SeedPriceAt {
  /** The block before the first one. */
  readonly hash: string
  readonly timeMs: number
  readonly signal: AbortSignal
}

/**
 * Prices of quote assets from the reserves of their reference pools at one block. The first pool of a pair that answers
 * counts; a pool that is not there, has no state or no liquidity is passed over.
 */
export const seedPricesFromPools = async (
  state: StateReader,
  pools: readonly ReferencePool[],
  quoteAssets: QuoteAssets,
  { hash, timeMs, signal }: SeedPriceAt,
): Promise<readonly PriceEntry[]> => {
  const usable = pools.filter(
    ({ token, quote }) =>
      quoteRankOf(token, quoteAssets) > 0 && orientPair(token, quote, quoteAssets).quote === quote,
  )
  if (usable.length === 0) return []
  const answers = await state.calls(usable.map(stateCall), hash, signal)
  const entries = new Map<string, PriceEntry>()
  usable.forEach((pool, index) => {
    const price = poolPrice(pool, answers[index], quoteAssets)
    const key = `${pool.token}/${pool.quote}`
    if (price !== undefined && !entries.has(key)) {
      entries.set(key, { token: pool.token, quote: pool.quote, price, timeMs })
    }
  })
  return [...entries.values()]
}

const hasReserves = ({ protocol }: ReferencePool): boolean => {
  const row = protocolRow(protocol)
  return row !== undefined && tellsReserves(row.family)
}

const stateCall = (pool: ReferencePool): Call => ({
  to: pool.pool,
  data: hasReserves(pool) ? GET_RESERVES : SLOT0,
})

/** Whole quote units for one whole token, from `getReserves()` or `slot0()`; all of them order tokens by address. */
const poolPrice = (
  pool: ReferencePool,
  answer: CallAnswer | undefined,
  quoteAssets: QuoteAssets,
): number | undefined => {
  const tokenDecimals = quoteAssets.assets.get(pool.token)?.decimals
  const quoteDecimals = quoteAssets.assets.get(pool.quote)?.decimals
  if (answer?.kind !== 'value' || tokenDecimals === undefined || quoteDecimals === undefined) {
    return undefined
  }
  const rawPrice = hasReserves(pool) ? reservePrice(answer.data) : rootPrice(answer.data)
  if (rawPrice === undefined) return undefined
  const tokenIsFirst = pool.token < pool.quote
  const price = (tokenIsFirst ? rawPrice : 1 / rawPrice) * 10 ** (tokenDecimals - quoteDecimals)
  return Number.isFinite(price) && price > 0 ? price : undefined
}

/** Base units of the second token for one of the first. */
const reservePrice = (data: string): number | undefined =>
  wordCount(data) < 2 ? undefined : Number(wordAt(data, 1)) / Number(wordAt(data, 0))

const rootPrice = (data: string): number | undefined =>
  wordCount(data) < 1 ? undefined : (Number(wordAt(data, 0)) / TWO_96) ** 2

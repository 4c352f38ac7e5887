import { unitsToNumber } from '../amounts.ts'
import { HOUR_MS } from '../time.ts'
import {
  isPriceFresh,
  orientPair,
  PEG_TOLERANCE,
  type QuoteAssetPrice,
  type QuoteAssets,
  quoteAssetPricesAt,
  quoteRankOf,
  referencePoolsByPair,
  stablecoinMedian,
  VOLUME_HOURS,
} from './quote-assets.ts'
import {
  type PendingStep,
  type PoolVolume,
  type PriceEntry,
  pairKey,
  type QuoteState,
  USD,
} from './quote-state.ts'

/** Smallest trade that moves a quote's price, in USD. */
export const MIN_TRADE_USD = 100
/** Largest relative step that one trade may make. */
const MAX_SINGLE_STEP = 0.1
/** Trades that a larger step needs, and the blocks they must come from. */
const MIN_STEP_TRADES = 3
const MIN_STEP_BLOCKS = 2

/** A trade as the price table sees it. */
export interface QuoteTrade {
  readonly pool: string
  /** A listed factory names this pool. */
  readonly verified: boolean
  readonly tokenA: string
  readonly tokenB: string
  readonly amountARaw: bigint
  readonly amountBRaw: bigint
}

/** One applied block: its height and time, and its trades in log order. */
export interface QuoteBlock {
  readonly height: number
  readonly timeMs: number
  readonly trades: readonly QuoteTrade[]
}

/** A trade between two quote assets, in whole tokens. */
interface PairTrade {
  readonly pool: string
  readonly pair: string
  readonly token: string
  readonly quote: string
  readonly price: number
  readonly volume: number
}

/**
 * Across a gap every price is unknown; `seedPrices` are taken then, and at the start. `height` is one above that of
 * the block's parent: the block's own where no slots are skipped.
 */
export const resetPricesAfterGap = (
  state: QuoteState,
  height: number,
  seedPrices: readonly PriceEntry[] = [],
): QuoteState => {
  if (state.clock !== null && state.clock.height + 1 === height) return state
  const entries = new Map(seedPrices.map((entry) => [pairKey(entry.token, entry.quote), entry]))
  return { ...state, entries, steps: new Map(), pegs: new Map() }
}

/** Configured USD prices as table entries of the moment `timeMs`; tokens that are not quote assets are left out. */
export const configuredSeedPrices = (
  prices: Readonly<Record<string, number>>,
  timeMs: number,
  quoteAssets: QuoteAssets,
): readonly PriceEntry[] =>
  Object.entries(prices)
    .filter(
      ([token]) =>
        quoteAssets.assets.get(token) !== undefined && quoteRankOf(token, quoteAssets) < 3,
    )
    .map(([token, price]) => ({ token, quote: USD, price, timeMs }))

/** Folds a block into the table that the next block is stamped with. `state` has passed `resetPricesAfterGap`. */
export const foldBlock = (
  state: QuoteState,
  block: QuoteBlock,
  quoteAssets: QuoteAssets,
): QuoteState => {
  const { height, timeMs } = block
  const trades = block.trades.flatMap((trade) => toPairTrade(trade, quoteAssets) ?? [])
  const quotePrices = quoteAssetPricesAt(state, timeMs, quoteAssets)
  const volumes = updateVolumes(state, trades, timeMs)
  const references = referencePoolsByPair({ ...state, volumes }, timeMs)
  const counting = trades.filter(
    (trade) => references.get(trade.pair)?.pool === trade.pool && isLargeTrade(trade, quotePrices),
  )
  const prices = updatePrices(state, counting, { height, timeMs })
  const next = { ...state, ...prices, volumes, clock: { height, timeMs } }
  return { ...next, pegs: updatePegs(next, timeMs, quoteAssets) }
}

/** A verified pool's trade whose price says something of a quote asset; undefined for every other trade. */
const toPairTrade = (trade: QuoteTrade, quoteAssets: QuoteAssets): PairTrade | undefined => {
  if (!trade.verified || trade.amountARaw <= 0n || trade.amountBRaw <= 0n) return undefined
  const { base, quote } = orientPair(trade.tokenA, trade.tokenB, quoteAssets)
  const baseAsset = quoteAssets.assets.get(base)
  const quoteAsset = quoteAssets.assets.get(quote)
  if (baseAsset === undefined || quoteAsset === undefined) return undefined
  if (
    quoteRankOf(base, quoteAssets) === quoteRankOf(quote, quoteAssets) &&
    baseAsset.kind !== 'stable'
  )
    return undefined
  const [baseRaw, quoteRaw] =
    base === trade.tokenA
      ? [trade.amountARaw, trade.amountBRaw]
      : [trade.amountBRaw, trade.amountARaw]
  const volume = unitsToNumber(quoteRaw, quoteAsset.decimals)
  const price = volume / unitsToNumber(baseRaw, baseAsset.decimals)
  return { pool: trade.pool, pair: pairKey(base, quote), token: base, quote, price, volume }
}

/** Only trades of at least 100 USD move a price; without a price of the quote nothing can be said. */
const isLargeTrade = (
  trade: PairTrade,
  quotePrices: ReadonlyMap<string, QuoteAssetPrice>,
): boolean => {
  const usd = quotePrices.get(trade.quote)?.usd ?? 0
  return trade.volume * usd >= MIN_TRADE_USD
}

const updateVolumes = (
  state: QuoteState,
  trades: readonly PairTrade[],
  timeMs: number,
): QuoteState['volumes'] => {
  const hour = Math.floor(timeMs / HOUR_MS)
  const turned = state.clock === null || Math.floor(state.clock.timeMs / HOUR_MS) !== hour
  if (trades.length === 0 && !turned) return state.volumes
  const volumes = new Map(turned ? dropOldVolumes(state.volumes, hour) : state.volumes)
  for (const { pool, pair, volume } of trades) {
    volumes.set(pool, addVolume(volumes.get(pool) ?? { pair, hours: [] }, hour, volume))
  }
  return volumes
}

const addVolume = (held: PoolVolume, hour: number, volume: number): PoolVolume => {
  const others = held.hours.filter(([at]) => at !== hour)
  const now = held.hours.find(([at]) => at === hour)?.[1] ?? 0
  return { pair: held.pair, hours: [...others, [hour, now + volume]] }
}

const dropOldVolumes = (
  volumes: QuoteState['volumes'],
  hour: number,
): readonly (readonly [string, PoolVolume])[] =>
  [...volumes].flatMap(([pool, held]) => {
    const hours = held.hours.filter(([at]) => at > hour - VOLUME_HOURS)
    if (hours.length === held.hours.length) return [[pool, held] as const]
    return hours.length === 0 ? [] : [[pool, { pair: held.pair, hours }] as const]
  })

const updatePrices = (
  state: QuoteState,
  trades: readonly PairTrade[],
  { height, timeMs }: { readonly height: number; readonly timeMs: number },
): Pick<QuoteState, 'entries' | 'steps'> => {
  if (trades.length === 0) return state
  const entries = new Map(state.entries)
  const steps = new Map(state.steps)
  for (const { pair, token, quote, price } of trades) {
    const held = entries.get(pair)
    const step = isLargeStep(held, price, timeMs)
      ? nextStep(steps.get(pair), price, height)
      : undefined
    if (step === undefined || isConfirmed(step)) {
      entries.set(pair, { token, quote, price, timeMs })
      steps.delete(pair)
    } else steps.set(pair, step)
  }
  return { entries, steps }
}

const exceedsMaxStep = (price: number, from: number): boolean =>
  Math.abs(price / from - 1) > MAX_SINGLE_STEP

/** True when a fresh price would move by more than the limit. */
const isLargeStep = (held: PriceEntry | undefined, price: number, timeMs: number): boolean =>
  held !== undefined && isPriceFresh(held, timeMs) && exceedsMaxStep(price, held.price)

/** Counts a trade towards a large step; one that does not agree with those before it starts again. */
const nextStep = (held: PendingStep | undefined, price: number, height: number): PendingStep => {
  if (held === undefined || exceedsMaxStep(price, held.price)) {
    return { price, trades: 1, blocks: 1, lastHeight: height }
  }
  const blocks = held.blocks + (held.lastHeight === height ? 0 : 1)
  return { price, trades: held.trades + 1, blocks, lastHeight: height }
}

const isConfirmed = ({ trades, blocks }: PendingStep): boolean =>
  trades >= MIN_STEP_TRADES && blocks >= MIN_STEP_BLOCKS

/** Since when each stable's median is off; one that is no longer traded keeps what it had once it was depegged. */
const updatePegs = (
  state: QuoteState,
  timeMs: number,
  quoteAssets: QuoteAssets,
): QuoteState['pegs'] => {
  const pegs = new Map<string, number>()
  for (const { address, kind } of quoteAssets.assets.values()) {
    if (kind !== 'stable') continue
    const median = stablecoinMedian(address, state, timeMs, quoteAssets)
    const since = state.pegs.get(address)
    if (median === null && since !== undefined) pegs.set(address, since)
    else if (median !== null && Math.abs(median - 1) > PEG_TOLERANCE) {
      pegs.set(address, since ?? timeMs)
    }
  }
  return pegs
}

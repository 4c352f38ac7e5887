/**
 * The slow and plain way from chain data to trades and candles, written against the documents and not against the product:
 * it imports nothing of it. Every block looks at all trades so far again, so nothing here can be wrong in the way a fold can.
 */
import { type Hex, parseAbi, parseEventLogs } from 'viem'

/** Raw answers of a node for one block. */
export interface RawBlock {
  readonly block: {
    readonly number: Hex
    readonly hash: Hex
    readonly timestamp: Hex
    readonly transactions: readonly { readonly hash: Hex; readonly from: Hex }[]
  }
  readonly receipts: readonly {
    readonly transactionHash: Hex
    readonly transactionIndex: Hex
    readonly status: Hex
    readonly logs: readonly { readonly address: Hex; readonly logIndex: Hex }[]
  }[]
}

/** A swap as the chain logged it. */
export interface BruteSwap {
  readonly height: number
  readonly timeMs: number
  readonly txHash: string
  readonly logIndex: number
  readonly pool: string
  readonly trader: string
  readonly tokenIn: string
  readonly tokenOut: string
  readonly amountIn: bigint
  readonly amountOut: bigint
}

/** A swap with sides and prices; null = cannot be known. */
export interface BruteTrade extends BruteSwap {
  readonly base: string
  readonly quote: string
  readonly side: 'buy' | 'sell'
  readonly baseAmount: number | null
  readonly quoteAmount: number | null
  readonly priceUsd: number | null
  readonly priceNative: number | null
  readonly valueUsd: number | null
}

/** What the fold must be told. */
export interface BruteMetadata {
  readonly decimals: ReadonlyMap<string, number>
  /** Rank of a quote asset: 3 stable, 2 native, 1 bitcoin. */
  readonly ranks: ReadonlyMap<string, number>
  readonly native: string
  /** USD prices that hold for the whole run instead of the chain's own. */
  readonly fixedUsd?: ReadonlyMap<string, number>
}

const EVENTS = parseAbi([
  'event PairCreated(address indexed token0, address indexed token1, address pair, uint256 count)',
  'event PoolCreated(address indexed token0, address indexed token1, uint24 indexed fee, int24 tickSpacing, address pool)',
  'event Swap(address indexed sender, uint256 amount0In, uint256 amount1In, uint256 amount0Out, uint256 amount1Out, address indexed to)',
])
const V3_SWAP = parseAbi([
  'event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)',
])

const lowerCase = (text: string): string => text.toLowerCase()

/** Every swap of pools that the listed factories made, in log order. */
export const bruteSwaps = (
  chain: readonly RawBlock[],
  factories: ReadonlySet<string>,
): readonly BruteSwap[] => {
  const pools = new Map<string, readonly [string, string]>()
  const swaps: BruteSwap[] = []
  for (const { block, receipts } of chain) {
    for (const receipt of receipts) {
      const trader = lowerCase(
        block.transactions.find(({ hash }) => hash === receipt.transactionHash)?.from ?? '',
      )
      const logs = receipt.logs as never
      for (const log of parseEventLogs({ abi: [...EVENTS, ...V3_SWAP], logs })) {
        const address = lowerCase(log.address)
        const args = log.args as unknown as Readonly<Record<string, bigint & string>>
        const made = args.pair ?? args.pool
        if (made !== undefined && factories.has(address)) {
          pools.set(lowerCase(made), [lowerCase(args.token0 ?? ''), lowerCase(args.token1 ?? '')])
        }
        const tokens = pools.get(address)
        if (log.eventName !== 'Swap' || tokens === undefined) continue
        const [net0, net1] = poolNetAmounts(args)
        const gave0 = net0 > 0n || net1 < 0n
        const [amountIn, amountOut] = gave0 ? [net0, -net1] : [net1, -net0]
        if (amountIn < 0n || amountOut < 0n || amountIn + amountOut === 0n) continue
        swaps.push({
          height: Number(block.number),
          timeMs: Number(block.timestamp) * 1_000,
          txHash: receipt.transactionHash,
          logIndex: Number(log.logIndex),
          pool: address,
          trader,
          tokenIn: tokens[gave0 ? 0 : 1],
          tokenOut: tokens[gave0 ? 1 : 0],
          amountIn,
          amountOut,
        })
      }
    }
  }
  return swaps
}

/** What the pool received of each token, negative what it paid. */
const poolNetAmounts = (args: Readonly<Record<string, bigint>>): readonly [bigint, bigint] =>
  args.amount0 !== undefined
    ? [args.amount0, args.amount1 ?? 0n]
    : [
        (args.amount0In ?? 0n) - (args.amount0Out ?? 0n),
        (args.amount1In ?? 0n) - (args.amount1Out ?? 0n),
      ]

const units = (raw: bigint, decimals: number | undefined): number | null =>
  decimals === undefined ? null : Number(raw) / 10 ** decimals

interface OrientedSwap extends BruteSwap {
  readonly base: string
  readonly quote: string
  readonly baseAmount: number | null
  readonly quoteAmount: number | null
}

const orientSwap = (swap: BruteSwap, { decimals, ranks }: BruteMetadata): OrientedSwap => {
  const { tokenIn, tokenOut, amountIn, amountOut } = swap
  const rankIn = ranks.get(tokenIn) ?? 0
  const rankOut = ranks.get(tokenOut) ?? 0
  const inIsBase = rankIn === rankOut ? tokenIn < tokenOut : rankIn < rankOut
  const base = inIsBase ? tokenIn : tokenOut
  const quote = inIsBase ? tokenOut : tokenIn
  return {
    ...swap,
    base,
    quote,
    baseAmount: units(inIsBase ? amountIn : amountOut, decimals.get(base)),
    quoteAmount: units(inIsBase ? amountOut : amountIn, decimals.get(quote)),
  }
}

/** USD price of every quote asset for a block, from the trades of earlier blocks only. */
type QuotePricesAt = (timeMs: number, height: number) => ReadonlyMap<string, number>

const HOUR_MS = 3_600_000

/** The rules of the reference pool, looked up anew for every block. Stables count as 1: the tapes here keep their peg. */
const quotePrices = (priced: readonly OrientedSwap[], facts: BruteMetadata): QuotePricesAt => {
  const { ranks, fixedUsd } = facts
  if (fixedUsd !== undefined) {
    const stables = [...ranks]
      .filter(([, rank]) => rank === 3)
      .map(([token]) => [token, 1] as const)
    const fixed = new Map([...stables, ...fixedUsd])
    return () => fixed
  }
  const between = priced.filter(
    ({ base, quote, baseAmount, quoteAmount }) =>
      ranks.has(base) && ranks.has(quote) && baseAmount !== 0 && quoteAmount !== 0,
  )
  const heights = [...new Set(between.map(({ height }) => height))].sort((a, b) => a - b)
  const entries = new Map<string, { price: number; timeMs: number; quote: string }>()
  const steps = new Map<string, { price: number; trades: number; heights: Set<number> }>()
  const tables = new Map<number, ReadonlyMap<string, { price: number; timeMs: number }>>()
  for (const height of heights) {
    const timeMs = between.find((trade) => trade.height === height)?.timeMs ?? 0
    const before = usdTable(entries, between, { height, timeMs }, ranks)
    for (const trade of between.filter((each) => each.height === height)) {
      const pair = `${trade.base}/${trade.quote}`
      if (ranks.get(trade.base) === ranks.get(trade.quote)) continue
      if (referencePool(between, pair, timeMs, height) !== trade.pool) continue
      const quoteUsd = before.get(trade.quote)
      if (quoteUsd === undefined || (trade.quoteAmount ?? 0) * quoteUsd < 100) continue
      const price = (trade.quoteAmount ?? 0) / (trade.baseAmount ?? 1)
      const held = entries.get(pair)
      const isStep =
        held !== undefined &&
        timeMs - held.timeMs <= HOUR_MS &&
        Math.abs(price / held.price - 1) > 0.1
      if (isStep) {
        const open = steps.get(pair)
        const agrees = open !== undefined && Math.abs(price / open.price - 1) <= 0.1
        const step = agrees ? open : { price, trades: 0, heights: new Set<number>() }
        step.price = price
        step.trades += 1
        step.heights.add(height)
        steps.set(pair, step)
        if (step.trades < 3 || step.heights.size < 2) continue
      }
      entries.set(pair, { price, timeMs, quote: trade.quote })
      steps.delete(pair)
    }
    tables.set(height, new Map(entries))
  }
  return (timeMs, height) => {
    const last = heights.findLast((each) => each < height)
    const table = last === undefined ? new Map() : (tables.get(last) ?? new Map())
    return usdTable(table, between, { height: (last ?? 0) + 1, timeMs }, ranks)
  }
}

/** The pool with the largest quote volume of the last 24 full or open hours, up to and including `height`. */
const referencePool = (
  trades: readonly OrientedSwap[],
  pair: string,
  timeMs: number,
  height: number,
): string | undefined => {
  const oldest = Math.floor(timeMs / HOUR_MS) - 24
  const volumes = new Map<string, number>()
  for (const trade of trades) {
    if (trade.height > height || `${trade.base}/${trade.quote}` !== pair) continue
    if (Math.floor(trade.timeMs / HOUR_MS) <= oldest) continue
    volumes.set(trade.pool, (volumes.get(trade.pool) ?? 0) + (trade.quoteAmount ?? 0))
  }
  return [...volumes].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))[0]?.[0]
}

const usdTable = (
  entries: ReadonlyMap<string, { readonly price: number; readonly timeMs: number }>,
  trades: readonly OrientedSwap[],
  now: { readonly height: number; readonly timeMs: number },
  ranks: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> => {
  const usd = new Map<string, number>()
  for (const [token, rank] of ranks) if (rank === 3) usd.set(token, 1)
  for (const wanted of [2, 1]) {
    for (const [token, rank] of ranks) {
      if (rank !== wanted) continue
      let best: { price: number; weight: number } | undefined
      for (const [quote, quoteUsd] of [...usd].sort()) {
        const entry = entries.get(`${token}/${quote}`)
        if (entry === undefined || now.timeMs - entry.timeMs > HOUR_MS) continue
        const weight = referenceVolume(trades, `${token}/${quote}`, now) * quoteUsd
        if (best === undefined || weight > best.weight) {
          best = { price: entry.price * quoteUsd, weight }
        }
      }
      if (best !== undefined) usd.set(token, best.price)
    }
  }
  return usd
}

/** Volume of a pair's reference pool over the last 24 hours, before `height`. */
const referenceVolume = (
  trades: readonly OrientedSwap[],
  pair: string,
  { height, timeMs }: { readonly height: number; readonly timeMs: number },
): number => {
  const pool = referencePool(trades, pair, timeMs, height - 1)
  const oldest = Math.floor(timeMs / HOUR_MS) - 24
  let volume = 0
  for (const trade of trades) {
    if (trade.pool !== pool || trade.height >= height) continue
    if (Math.floor(trade.timeMs / HOUR_MS) > oldest) volume += trade.quoteAmount ?? 0
  }
  return volume
}

/** Trades with their prices, in log order. */
export const bruteTrades = (
  swaps: readonly BruteSwap[],
  facts: BruteMetadata,
): readonly BruteTrade[] => {
  const priced = swaps.map((swap) => orientSwap(swap, facts))
  const quotes = quotePrices(priced, facts)
  const tables = new Map<number, ReadonlyMap<string, number>>()
  return priced.map((trade) => {
    const { height, timeMs, base, quote, tokenOut, baseAmount, quoteAmount } = trade
    const table = tables.get(height) ?? quotes(timeMs, height)
    tables.set(height, table)
    const usd = table.get(quote)
    const nativeUsd = table.get(facts.native)
    const inNative = quote === facts.native ? 1 : usd && nativeUsd ? usd / nativeUsd : undefined
    const valueUsd = usd === undefined || quoteAmount === null ? null : quoteAmount * usd
    const priceIn = (per: number | undefined): number | null =>
      per === undefined || !quoteAmount || !baseAmount ? null : (quoteAmount / baseAmount) * per
    return {
      ...trade,
      side: tokenOut === base ? ('buy' as const) : ('sell' as const),
      valueUsd,
      priceUsd: priceIn(usd),
      priceNative: priceIn(inNative),
    }
  })
}

/** One candle of a subject. */
export interface BruteCandle {
  readonly startMs: number
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
  readonly volume: number
  readonly volumeUsd: number
  readonly trades: number
}

const RESOLUTION_SECONDS: Readonly<Record<string, number>> = {
  '1s': 1,
  '15s': 15,
  '30s': 30,
  '1m': 60,
  '3m': 180,
  '5m': 300,
  '15m': 900,
  '30m': 1_800,
  '1h': 3_600,
  '2h': 7_200,
  '4h': 14_400,
  '6h': 21_600,
  '8h': 28_800,
  '12h': 43_200,
  '1d': 86_400,
  '3d': 259_200,
}

const bucketStart = (timeMs: number, resolution: string): number => {
  const date = new Date(timeMs)
  if (resolution === '1M') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
  if (resolution === '1w') {
    const monday = date.getUTCDate() - ((date.getUTCDay() + 6) % 7)
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), monday)
  }
  const size = (RESOLUTION_SECONDS[resolution] ?? 1) * 1_000
  return timeMs - (timeMs % size)
}

/** Candles in USD of the trades given (already of one subject, suspect ones left out), oldest first. */
export const bruteCandles = (
  trades: readonly BruteTrade[],
  resolution: string,
): readonly BruteCandle[] => {
  const buckets = new Map<number, BruteTrade[]>()
  for (const trade of trades) {
    if (trade.priceUsd === null) continue
    const start = bucketStart(trade.timeMs, resolution)
    buckets.set(start, [...(buckets.get(start) ?? []), trade])
  }
  return [...buckets]
    .sort(([a], [b]) => a - b)
    .map(([startMs, inside]) => {
      const ordered = inside.toSorted((a, b) => a.height - b.height || a.logIndex - b.logIndex)
      const prices = ordered.map(({ priceUsd }) => priceUsd ?? 0)
      return {
        startMs,
        open: prices[0] ?? 0,
        high: Math.max(...prices),
        low: Math.min(...prices),
        close: prices.at(-1) ?? 0,
        volume: ordered.reduce((sum, { baseAmount }) => sum + (baseAmount ?? 0), 0),
        volumeUsd: ordered.reduce((sum, { valueUsd }) => sum + (valueUsd ?? 0), 0),
        trades: ordered.length,
      }
    })
}

import { formatDecimal, formatUnits, USD_DECIMALS } from '../core/amounts.ts'
import { bucketStart, type Resolution } from '../core/time.ts'
import type { Operation } from '../processors/runtime/stage.ts'
import type { TradeEvent } from '../schemas/wire.ts'
import {
  buildTape,
  type TapeOp,
  type TapeTrade,
  tapeOperation,
} from '../test/support/builders/trade-tape.ts'

/** Blocks of the chain of one turn. */
const BLOCKS = 320
/** Trades of each block. */
export const TRADES_PER_BLOCK = 20
const TOKENS = 150
/** Blocks of one flush. */
export const BLOCKS_PER_FLUSH = 64
const FINAL_BEHIND = 64

const BASE_DECIMALS = 9
const QUOTE_DECIMALS = 6
const QUOTE_UNIT = 10n ** BigInt(QUOTE_DECIMALS)

/** A simulated address. */
export const addressAt = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`

/** A few tokens have most of the trades, as on a real chain. */
const tradeAt = (index: number, tokens?: number): TapeTrade => {
  const spread = (Math.imul(index, 2_654_435_761) >>> 0) / 2 ** 32
  const token = tokens === undefined ? Math.floor(spread * spread * TOKENS) : index % tokens
  const baseRaw = BigInt(1_000_000_000 + (index % 997) * 1_000_003)
  return {
    base: addressAt(token + 1),
    quote: addressAt(0xffff),
    pool: addressAt(0x10_000 + token * 2 + (index % 2)),
    baseRaw,
    quoteRaw: (baseRaw * BigInt(900 + (index % 200))) / 1_000n,
    baseDecimals: BASE_DECIMALS,
    quoteDecimals: QUOTE_DECIMALS,
    buy: index % 3 !== 0,
    quoteUsd: '1',
    quoteNative: '0.0004',
    suspect: false,
  }
}

const priced = (event: TradeEvent): TradeEvent => {
  const { trade } = event
  const usd = Number(trade?.user_b_amount) / 1e6 / (Number(trade?.user_a_amount) / 1e9)
  return {
    ...event,
    trade_processed: {
      token_a_price_in_quote: '',
      token_a_price_in_usd: String(usd),
      token_a_price_in_native: String(usd * 0.0004),
      token_b_price_in_base: '',
      token_b_price_in_usd: '1',
      token_b_price_in_native: '0.0004',
      is_token_a_price_in_usd_suspect: false,
      is_token_a_price_in_usd_suspect_reason: 'TOKEN_PRICE_SUSPECT_REASON_UNSPECIFIED',
      token_a_price_in_usd_lasted: '',
      token_a_price_in_native_lasted: '',
      token_b_price_in_usd_lasted: '',
      token_b_price_in_native_lasted: '',
    },
  }
}

/** Size of a chain. */
interface ChainSize {
  readonly blocks: number
  readonly tradesPerBlock: number
  /** Default: twelve seconds. */
  readonly blockMs?: number
  /** Blocks that are not final yet. */
  readonly unfinalized?: number
  /** Default: 150, of which a few have most of the trades; otherwise so many in turn. */
  readonly tokens?: number
}
const SIZE: ChainSize = { blocks: BLOCKS, tradesPerBlock: TRADES_PER_BLOCK }

const opsOf = ({
  blocks,
  tradesPerBlock,
  blockMs = 12_000,
  unfinalized = FINAL_BEHIND,
  tokens,
}: ChainSize): readonly TapeOp[] =>
  buildTape(
    Array.from({ length: blocks }, (_, block) => [
      {
        kind: 'apply' as const,
        stepMs: blockMs,
        trades: Array.from({ length: tradesPerBlock }, (__, index) =>
          tradeAt(block * tradesPerBlock + index, tokens),
        ),
      },
      { kind: 'finalize' as const, keep: unfinalized },
    ]).flat(),
  ).ops

/** The chain with priced trades, as the candle stage gets it. */
export const pricedChain = (): readonly Operation[] =>
  opsOf(SIZE).map((op) => tapeOperation(op, 'tradesProcessed', priced))

const WALLETS = 2_000

/** A trade by one of many wallets. */
const byWallet = (event: TradeEvent, serial: number): TradeEvent => {
  const wallet = addressAt(0x100_000 + ((Math.imul(serial, 48_271) >>> 0) % WALLETS))
  const users = { user_a_account_owner_address: wallet, user_b_account_owner_address: wallet }
  return { ...event, trade: event.trade && { ...event.trade, ...users } }
}

/** The same trades as the ingestor writes them, each by one of many wallets. */
export const rawChain = (size = SIZE): readonly Operation[] =>
  opsOf(size).map((op) =>
    tapeOperation(op, 'trades', (event, block, index) =>
      byWallet(event, block.height * size.tradesPerBlock + index),
    ),
  )

/** Priced trades of many wallets, as the statistics stage gets them. */
export const pricedWalletChain = (size: ChainSize): readonly Operation[] =>
  opsOf(size).map((op) =>
    tapeOperation(op, 'tradesProcessed', (event, block, index) =>
      byWallet(priced(event), block.height * size.tradesPerBlock + index),
    ),
  )

/** Trades of one series in one stretch of time. */
interface BarePart {
  readonly startMs: number
  readonly prices: readonly [open: number, high: number, low: number, close: number]
  readonly natives: readonly [open: number, high: number, low: number, close: number]
  readonly volumeRaw: bigint
  readonly usdRaw: bigint
  readonly nativeRaw: bigint
  readonly trades: number
  readonly buys: number
}

interface BareCandle extends BarePart {
  readonly key: string
  readonly prices: [open: number, high: number, low: number, close: number]
  readonly natives: [open: number, high: number, low: number, close: number]
  volumeRaw: bigint
  usdRaw: bigint
  nativeRaw: bigint
  trades: number
  buys: number
}

/** Which resolutions a bucket goes into when it closes. */
const COARSER: Readonly<Partial<Record<Resolution, readonly Resolution[]>>> = {
  '1s': ['15s'],
  '15s': ['30s'],
  '30s': ['1m'],
  '1m': ['3m', '5m'],
  '5m': ['15m'],
  '15m': ['30m'],
  '30m': ['1h'],
  '1h': ['2h'],
  '2h': ['4h', '6h'],
  '4h': ['8h'],
  '6h': ['12h'],
  '12h': ['1d'],
  '1d': ['3d', '1w', '1M'],
}

/** Closed buckets that are printed, as the topic has them. */
const ARCHIVED: ReadonlySet<Resolution> = new Set(['1m', '1h', '1d'])

type Ladder = Map<Resolution, BareCandle>

/**
 * The least that candles take: every trade goes into the second of its token, pool and pair, and a bucket that closes into the coarser
 * ones that are made of it; amounts are bigints and are never made into text in between. Touched seconds and closed minutes, hours and days are printed at a flush. No reorgs, no finality, no state that is kept.
 */
export class BareFold {
  readonly #ladders = new Map<string, Ladder>()
  readonly #touched = new Set<BareCandle>()
  readonly #closed: BareCandle[] = []

  step({ block, records }: Operation): void {
    for (const { topic, value } of records) {
      if (topic === 'tradesProcessed')
        for (const event of value.events) this.#add(event, block.meta.block_time)
    }
  }

  flush(): readonly unknown[] {
    const events = [...this.#touched, ...this.#closed].map(printed)
    this.#touched.clear()
    this.#closed.length = 0
    return events
  }

  #add({ trade, trade_processed: processed }: TradeEvent, timeMs: number): void {
    if (trade === null || processed === null) return
    const usd = Number(processed.token_a_price_in_usd)
    const native = Number(processed.token_a_price_in_native)
    const quoteRaw = BigInt(trade.user_b_amount)
    const worth = (price: string): bigint =>
      (quoteRaw * BigInt(Math.round(Number(price) * 10 ** USD_DECIMALS))) / QUOTE_UNIT
    const one = {
      startMs: bucketStart(timeMs, '1s'),
      prices: [usd, usd, usd, usd] as const,
      natives: [native, native, native, native] as const,
      volumeRaw: BigInt(trade.user_a_amount),
      usdRaw: worth(processed.token_b_price_in_usd),
      nativeRaw: worth(processed.token_b_price_in_native),
      trades: 1,
      buys: trade.was_original_direction ? 0 : 1,
    }
    const pair = `${trade.token_a_address}-${trade.token_b_address}`
    for (const series of [trade.token_a_address, trade.pool_address, pair]) {
      const ladder = this.#ladders.get(series) ?? new Map()
      this.#ladders.set(series, ladder)
      this.#touched.add(this.#merge(ladder, series, '1s', one))
    }
  }

  /** Puts a part into the open bucket of a resolution; one that the part lies behind is closed first. */
  #merge(ladder: Ladder, series: string, resolution: Resolution, part: BarePart): BareCandle {
    const startMs = bucketStart(part.startMs, resolution)
    const open = ladder.get(resolution)
    if (open?.startMs === startMs) {
      absorb(open, part)
      return open
    }
    if (open !== undefined) {
      if (ARCHIVED.has(resolution)) this.#closed.push(open)
      for (const coarser of COARSER[resolution] ?? []) this.#merge(ladder, series, coarser, open)
    }
    const made: BareCandle = {
      key: `${series}|${resolution}|${startMs}`,
      startMs,
      prices: [...part.prices],
      natives: [...part.natives],
      volumeRaw: part.volumeRaw,
      usdRaw: part.usdRaw,
      nativeRaw: part.nativeRaw,
      trades: part.trades,
      buys: part.buys,
    }
    ladder.set(resolution, made)
    return made
  }
}

const absorb = (into: BareCandle, part: BarePart): void => {
  into.prices[1] = Math.max(into.prices[1], part.prices[1])
  into.prices[2] = Math.min(into.prices[2], part.prices[2])
  into.prices[3] = part.prices[3]
  into.natives[1] = Math.max(into.natives[1], part.natives[1])
  into.natives[2] = Math.min(into.natives[2], part.natives[2])
  into.natives[3] = part.natives[3]
  into.volumeRaw += part.volumeRaw
  into.usdRaw += part.usdRaw
  into.nativeRaw += part.nativeRaw
  into.trades += part.trades
  into.buys += part.buys
}

const printed = (candle: BareCandle): unknown => {
  const average = (raw: bigint): string =>
    formatDecimal((Number(raw) / Number(candle.volumeRaw)) * 10 ** (BASE_DECIMALS - USD_DECIMALS))
  return {
    key: candle.key,
    prices: candle.prices.map(formatDecimal),
    natives: candle.natives.map(formatDecimal),
    average: average(candle.usdRaw),
    averageNative: average(candle.nativeRaw),
    volume: formatUnits(candle.volumeRaw, BASE_DECIMALS),
    usd: formatUnits(candle.usdRaw, USD_DECIMALS),
    native: formatUnits(candle.nativeRaw, USD_DECIMALS),
    trades: candle.trades,
    buys: candle.buys,
  }
}

/** What is measured. */
interface Fold {
  step(operation: Operation): void
  flush(): unknown
}

/** Milliseconds of each flush of `BLOCKS_PER_FLUSH` blocks, the folding before it included. */
export const timesOf = (fold: Fold, operations: readonly Operation[]): readonly number[] => {
  const times: number[] = []
  let blocks = 0
  let startedMs = performance.now()
  for (const operation of operations) {
    fold.step(operation)
    if (operation.block.meta.op === 'OP_APPLY') blocks += 1
    if (blocks < BLOCKS_PER_FLUSH) continue
    fold.flush()
    times.push(performance.now() - startedMs)
    startedMs = performance.now()
    blocks = 0
  }
  return times
}

/** Sum of times. */
export const sumOf = (times: readonly number[]): number =>
  times.reduce((sum, time) => sum + time, 0)
/** Two places. */
export const rounded = (value: number): number => Math.round(value * 100) / 100

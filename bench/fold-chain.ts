import { decimalText, rawOf, USD_PLACES, unitsNumber, unitsText, usdText } from '../core/amounts.ts'
import { bucketStart, RESOLUTION_NAMES } from '../core/time.ts'
import type { Operation } from '../processors/stage.ts'
import type { TradeEvent } from '../schemas/wire.ts'
import { operationOf, type TapeOp, type TapeTrade, tapeOf } from '../test/support/tape.ts'

/** Blocks of the chain of one turn. */
const BLOCKS = 320
/** Trades of each block. */
export const TRADES_PER_BLOCK = 20
const TOKENS = 150
/** Blocks of one flush. */
export const BLOCKS_PER_FLUSH = 64
const FINAL_BEHIND = 64

/** A made-up address. */
export const addressAt = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`

/** A few tokens have most of the trades, as on a real chain. */
const tradeAt = (index: number): TapeTrade => {
  const spread = (Math.imul(index, 2_654_435_761) >>> 0) / 2 ** 32
  const token = Math.floor(spread * spread * TOKENS)
  const baseRaw = BigInt(1_000_000_000 + (index % 997) * 1_000_003)
  return {
    base: addressAt(token + 1),
    quote: addressAt(0xffff),
    pool: addressAt(0x10_000 + token * 2 + (index % 2)),
    baseRaw,
    quoteRaw: (baseRaw * BigInt(900 + (index % 200))) / 1_000n,
    baseDecimals: 9,
    quoteDecimals: 6,
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
}
const SIZE: ChainSize = { blocks: BLOCKS, tradesPerBlock: TRADES_PER_BLOCK }

const opsOf = ({ blocks, tradesPerBlock }: ChainSize): readonly TapeOp[] =>
  tapeOf(
    Array.from({ length: blocks }, (_, block) => [
      {
        kind: 'apply' as const,
        stepMs: 12_000,
        trades: Array.from({ length: tradesPerBlock }, (__, index) =>
          tradeAt(block * tradesPerBlock + index),
        ),
      },
      { kind: 'finalize' as const, keep: FINAL_BEHIND },
    ]).flat(),
  ).ops

/** The chain with priced trades, as the candle stage gets it. */
export const pricedChain = (): readonly Operation[] =>
  opsOf(SIZE).map((op) => operationOf(op, 'tradesProcessed', priced))

const WALLETS = 2_000

/** The same trades as the ingestor writes them, each by one of many wallets. */
export const rawChain = (size = SIZE): readonly Operation[] =>
  opsOf(size).map((op) =>
    operationOf(op, 'trades', (event, block, index) => {
      const serial = block.height * size.tradesPerBlock + index
      const wallet = addressAt(0x100_000 + ((Math.imul(serial, 48_271) >>> 0) % WALLETS))
      const users = { user_a_account_owner_address: wallet, user_b_account_owner_address: wallet }
      return { ...event, trade: event.trade && { ...event.trade, ...users } }
    }),
  )

interface BareCandle {
  readonly key: string
  prices: [open: number, high: number, low: number, close: number]
  natives: [open: number, high: number, low: number, close: number]
  volumeRaw: bigint
  usdRaw: bigint
  nativeRaw: bigint
  trades: number
  buys: number
}

/** What a person would write first: every trade into each of its 54 candles; every touched candle is printed at a flush. */
export class BareFold {
  readonly candles = new Map<string, BareCandle>()
  readonly touched = new Set<BareCandle>()

  step({ block, records }: Operation): void {
    for (const { topic, value } of records) {
      if (topic === 'tradesProcessed')
        for (const event of value.events) this.add(event, block.meta.block_time)
    }
  }

  add({ trade, trade_processed: processed }: TradeEvent, timeMs: number): void {
    if (trade === null || processed === null) return
    const [usd, native] = [
      Number(processed.token_a_price_in_usd),
      Number(processed.token_a_price_in_native),
    ]
    const units = unitsNumber(BigInt(trade.user_b_amount), 6)
    const raw = BigInt(trade.user_a_amount)
    const usdRaw = rawOf(usdText(units * Number(processed.token_b_price_in_usd)), USD_PLACES)
    const nativeRaw = rawOf(usdText(units * Number(processed.token_b_price_in_native)), USD_PLACES)
    const pair = `${trade.token_a_address}-${trade.token_b_address}`
    for (const resolution of RESOLUTION_NAMES) {
      const start = bucketStart(timeMs, resolution)
      for (const series of [trade.token_a_address, trade.pool_address, pair]) {
        const key = `${series}|${resolution}|${start}`
        const candle = this.candles.get(key)
        if (candle === undefined) {
          const made: BareCandle = {
            key,
            prices: [usd, usd, usd, usd],
            natives: [native, native, native, native],
            volumeRaw: raw,
            usdRaw,
            nativeRaw,
            trades: 1,
            buys: trade.was_original_direction ? 0 : 1,
          }
          this.candles.set(key, made)
          this.touched.add(made)
          continue
        }
        candle.prices = [
          candle.prices[0],
          Math.max(candle.prices[1], usd),
          Math.min(candle.prices[2], usd),
          usd,
        ]
        candle.natives = [
          candle.natives[0],
          Math.max(candle.natives[1], native),
          Math.min(candle.natives[2], native),
          native,
        ]
        candle.volumeRaw += raw
        candle.usdRaw += usdRaw
        candle.nativeRaw += nativeRaw
        candle.trades += 1
        if (!trade.was_original_direction) candle.buys += 1
        this.touched.add(candle)
      }
    }
  }

  flush(): readonly unknown[] {
    const events = [...this.touched].map((candle) => {
      const units = unitsNumber(candle.volumeRaw, 9)
      const [usd, native] = [
        unitsText(candle.usdRaw, USD_PLACES),
        unitsText(candle.nativeRaw, USD_PLACES),
      ]
      return {
        key: candle.key,
        prices: candle.prices.map(decimalText),
        natives: candle.natives.map(decimalText),
        average: decimalText(Number(usd) / units),
        averageNative: decimalText(Number(native) / units),
        volume: unitsText(candle.volumeRaw, 9),
        usd,
        native,
        trades: candle.trades,
        buys: candle.buys,
      }
    })
    this.touched.clear()
    return events
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

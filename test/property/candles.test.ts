import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { QuoteAssets } from '../../core/prices/quote-assets.ts'
import { loadCandles } from '../../processors/candles/stage.ts'
import type { FlushResult, Operation, StageProcessor } from '../../processors/runtime/stage.ts'
import type { TradeEvent } from '../../schemas/wire.ts'
import {
  type BruteCandle,
  type BruteCandleTrade,
  bruteCandles,
} from '../support/brute-force/candles.ts'
import {
  buildTape,
  type ChainStep,
  chainStepsArbitrary,
  type Tape,
  type TapeBlock,
  type TapeTrade,
  tapeOperation,
} from '../support/builders/trade-tape.ts'
import { candleKey, type FlatCandle, toFlatCandles } from '../support/flat-candles.ts'
import { createStageState } from '../support/stage-harness.ts'

/** One of the tape's bases is a stablecoin. */
const BOOK: QuoteAssets = {
  assets: new Map([['0xzzz', { address: '0xzzz', symbol: 'Z', decimals: 6, kind: 'stable' }]]),
  native: '0xweth',
}

const units = (raw: bigint, decimals: number | null): number | null =>
  decimals === null ? null : Number(raw) / 10 ** decimals

const number = (text: string): number | null => (text === '' ? null : Number(text))

const brutePrice = (trade: TapeTrade, stamp: string): number | null => {
  const [base, quote] = [
    units(trade.baseRaw, trade.baseDecimals),
    units(trade.quoteRaw, trade.quoteDecimals),
  ]
  const price = number(stamp)
  return base === null || quote === null || price === null ? null : (quote * price) / base
}

const bruteTrade = (block: TapeBlock, trade: TapeTrade): BruteCandleTrade => ({
  timeMs: block.timeMs,
  base: trade.base,
  quote: trade.quote,
  pool: trade.pool,
  buy: trade.buy,
  suspect: trade.suspect,
  priceUsd: brutePrice(trade, trade.quoteUsd),
  priceNative: brutePrice(trade, trade.quoteNative),
  valueUsd: (units(trade.quoteRaw, trade.quoteDecimals) ?? 0) * (number(trade.quoteUsd) ?? 0),
  valueNative: (units(trade.quoteRaw, trade.quoteDecimals) ?? 0) * (number(trade.quoteNative) ?? 0),
  volumeRaw: trade.baseRaw,
})

const priced = (event: TradeEvent, block: TapeBlock, index: number): TradeEvent => {
  const trade = block.trades[index]
  if (trade === undefined) return event
  const [usd, native] = [brutePrice(trade, trade.quoteUsd), brutePrice(trade, trade.quoteNative)]
  return {
    ...event,
    trade_processed: {
      token_a_price_in_quote: '',
      token_a_price_in_usd: usd === null ? '' : String(usd),
      token_a_price_in_native: native === null ? '' : String(native),
      token_b_price_in_base: '',
      token_b_price_in_usd: trade.quoteUsd,
      token_b_price_in_native: trade.quoteNative,
      is_token_a_price_in_usd_suspect: trade.suspect,
      is_token_a_price_in_usd_suspect_reason: 'TOKEN_PRICE_SUSPECT_REASON_UNSPECIFIED',
      token_a_price_in_usd_lasted: '',
      token_a_price_in_native_lasted: '',
      token_b_price_in_usd_lasted: '',
      token_b_price_in_native_lasted: '',
    },
  }
}

const operations = (tape: Tape): readonly Operation[] =>
  tape.ops.map((op) => tapeOperation(op, 'tradesProcessed', priced))

/** Newest value per key as a consumer keeps it: by version, a later record of the same version wins. */
class Board {
  readonly values = new Map<string, FlatCandle>()
  readonly state = new Map<string, string>()

  take({ publications, changes }: FlushResult): void {
    const seen = new Set<string>()
    for (const publication of publications) {
      assert.equal(publication.topic, 'candlesticks')
      if (publication.topic !== 'candlesticks') continue
      for (const candle of publication.value.events.flatMap(toFlatCandles)) {
        const key = candleKey(candle)
        assert.ok(!seen.has(key) || candle.isFinal, `${key} twice in one flush`)
        seen.add(key)
        const before = this.values.get(key)
        assert.ok(before === undefined || !before.isFinal, `${key} after it was final`)
        assert.ok((before?.version ?? 0) < candle.version, `${key}: version does not grow`)
        this.values.set(key, candle)
      }
    }
    for (const [key, value] of changes) {
      if (value === null) this.state.delete(key)
      else this.state.set(key, value)
    }
  }
}

/** Folds with the given flush sizes, and from state written and read again wherever `restarts` says so. */
const run = (
  ops: readonly Operation[],
  sizes: readonly number[] = [1],
  restarts: readonly boolean[] = [false],
  maxIdleSeries = 1_000,
): Board => {
  const board = new Board()
  const load = () =>
    loadCandles(createStageState(board.state), { quoteAssets: BOOK, maxIdleSeries })
  let folding: StageProcessor = load()
  let at = 0
  for (let round = 0; at < ops.length; round += 1) {
    const size = sizes[round % sizes.length] ?? 1
    for (const operation of ops.slice(at, at + size)) folding.step(operation)
    board.take(folding.flush())
    at += size
    if (restarts[round % restarts.length]) folding = load()
  }
  return board
}

const close = (text: string, expected: number, what: string): void => {
  const actual = Number(text)
  const limit = 1e-9 * Math.max(1, Math.abs(expected))
  assert.ok(Math.abs(actual - expected) <= limit, `${what}: ${text} is not ${expected}`)
}

/** Resolutions whose candles come once more when they are final. */
const CLOSED = new Set(['1m', '1h', '1d'])

const same = (key: string, candle: FlatCandle, expected: BruteCandle, decimals: number) => {
  const prices = [candle.open, candle.high, candle.low, candle.close]
  assert.deepEqual(
    prices.map(Number),
    [expected.open, expected.high, expected.low, expected.close],
    key,
  )
  assert.deepEqual(
    [candle.openInNative, candle.highInNative, candle.lowInNative, candle.closeInNative].map(
      number,
    ),
    [expected.openNative, expected.highNative, expected.lowNative, expected.closeNative],
    key,
  )
  assert.equal(candle.trades, expected.trades, key)
  assert.equal(candle.buys, expected.buys, key)
  close(candle.volume, Number(expected.volumeRaw) / 10 ** decimals, `${key} volume`)
  const { event } = candle
  assert.equal(event === undefined, candle.resolution !== '1s' && !candle.isFinal, key)
  if (event === undefined) return
  assert.equal(event.sells, expected.trades - expected.buys, key)
  close(event.volume_in_usd, expected.valueUsd, `${key} usd`)
  if (expected.openNative !== null) close(event.volume_in_native, expected.valueNative, key)
}

/** One count of decimals per token: the trades of one token agree on it. */
const DECIMALS: Readonly<Record<string, number>> = { '0xaaa': 6, '0xbbb': 9, '0xzzz': 6 }
const oneDecimals = (moves: readonly ChainStep[]): readonly ChainStep[] =>
  moves.map((move) =>
    move.kind === 'apply'
      ? {
          ...move,
          trades: move.trades.map((trade) => ({
            ...trade,
            baseDecimals: DECIMALS[trade.base] ?? null,
          })),
        }
      : move,
  )

const courses = chainStepsArbitrary.map((moves) => buildTape(oneDecimals(moves)))
const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 })
const restarts = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 })
const RUNS = { numRuns: 150 }

test('after any history of a chain the candles are those of its canonical trades, in all resolutions and dimensions', () => {
  fc.assert(
    fc.property(courses, sizes, restarts, (tape, flushes, stops) => {
      const { values } = run(operations(tape), flushes, stops)
      const expected = bruteCandles(
        tape.blocks.flatMap((block) => block.trades.map((trade) => bruteTrade(block, trade))),
        new Set(BOOK.assets.keys()),
      )
      const finalMs = tape.blocks.find(({ height }) => height === tape.finalHeight)?.timeMs ?? 0
      const held = [...values].filter(([, { trades }]) => trades > 0)
      assert.deepEqual(new Set(held.map(([key]) => key)), new Set(expected.keys()))
      for (const [key, candle] of held) {
        const brute = expected.get(key)
        assert.ok(brute)
        same(key, candle, brute, DECIMALS[candle.token] ?? 0)
        const isFinal = CLOSED.has(candle.resolution) && brute.endMs <= finalMs
        assert.equal(candle.isFinal, isFinal, `${key} final`)
      }
    }),
    RUNS,
  )
})

test('batch boundaries, restarts and evictions change no last candle', () => {
  fc.assert(
    fc.property(courses, sizes, restarts, (tape, flushes, stops) => {
      const ops = operations(tape)
      const one = run(ops)
      const other = run(ops, flushes, stops, 1)
      const shown = ({ values }: Board) =>
        [...values]
          .filter(([, { trades }]) => trades > 0)
          .map(([key, { event: _, ...candle }]) => [key, candle])
          .toSorted()
      assert.deepEqual(shown(other), shown(one))
      assert.deepEqual([...other.state].toSorted(), [...one.state].toSorted())
    }),
    RUNS,
  )
})

test('a block that is applied and reverted changes no candle', () => {
  fc.assert(
    fc.property(chainStepsArbitrary, chainStepsArbitrary, (before, gone) => {
      const applied = gone.filter(({ kind }) => kind === 'apply').slice(0, 6)
      const back = applied.map((): ChainStep => ({ kind: 'revert' }))
      const plain = run(operations(buildTape(oneDecimals(before))))
      const detour = run(operations(buildTape(oneDecimals([...before, ...applied, ...back]))))
      const shown = ({ values }: Board) =>
        [...values]
          .filter(([, { trades }]) => trades > 0)
          .map(([key, { version: _, event: __, ...candle }]) => [key, candle])
          .toSorted()
      assert.deepEqual(shown(detour), shown(plain))
    }),
    RUNS,
  )
})

test('a bucket that a reorg emptied is published once, with no trades', () => {
  const trade: TapeTrade = {
    base: '0xaaa',
    quote: '0xusdc',
    pool: '0xp1',
    baseRaw: 1_000_000n,
    quoteRaw: 2_000_000n,
    baseDecimals: 6,
    quoteDecimals: 6,
    buy: true,
    quoteUsd: '1',
    quoteNative: '',
    suspect: false,
  }
  const tape = buildTape([
    { kind: 'apply', stepMs: 0, trades: [trade] },
    { kind: 'revert' },
    { kind: 'apply', stepMs: 90_000, trades: [] },
    { kind: 'finalize', keep: 0 },
  ])
  const folding = loadCandles(createStageState())
  const counts = operations(tape).map((operation) => {
    folding.step(operation)
    return folding
      .flush()
      .publications.reduce(
        (sum, one) =>
          sum + (one.topic === 'candlesticks' ? one.value.events.flatMap(toFlatCandles).length : 0),
        0,
      )
  })
  assert.deepEqual(counts, [54, 54, 0, 0])
  const board = run(operations(tape))
  assert.ok([...board.values.values()].every(({ trades, open }) => trades === 0 && open === ''))
})

test('memory holds as many series at rest as it may, and every bucket of the others is closed in time', () => {
  const KEPT = 20
  const TOKENS = 300
  const tradeOf = (token: number): TapeTrade => ({
    base: `0xt${token}`,
    quote: '0xusdc',
    pool: `0xp${token}`,
    baseRaw: 1_000_000n,
    quoteRaw: 2_000_000n,
    baseDecimals: 6,
    quoteDecimals: 6,
    buy: true,
    quoteUsd: '1',
    quoteNative: '',
    suspect: false,
  })
  const launches = Array.from({ length: TOKENS }, (_, token): readonly ChainStep[] => [
    { kind: 'apply', stepMs: 60_000, trades: [tradeOf(token)] },
    { kind: 'finalize', keep: 1 },
  ])
  const later = [31, 31].map((days): readonly ChainStep[] => [
    { kind: 'apply', stepMs: days * 86_400_000, trades: [] },
    { kind: 'finalize', keep: 0 },
  ])
  const board = new Board()
  const folding = loadCandles(createStageState(board.state), { maxIdleSeries: KEPT })
  for (const operation of operations(buildTape([...launches, ...later].flat()))) {
    folding.step(operation)
    board.take(folding.flush())
    // At most two blocks are not final.
    assert.ok(folding.size <= KEPT + 2 * 3, `${folding.size} series in memory`)
  }
  assert.equal(board.values.size, TOKENS * 3 * 18)
  for (const { resolution, isFinal } of board.values.values()) {
    assert.equal(isFinal, CLOSED.has(resolution))
  }
  assert.deepEqual([...board.state.keys()], [])
  assert.equal(folding.size, 0)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatUsd } from '../../core/amounts.ts'
import type { Operation, StageProcessor } from '../../processors/runtime/stage.ts'
import { loadStats } from '../../processors/stats/stage.ts'
import type { TradeEvent, TradeStatEvent } from '../../schemas/wire.ts'
import {
  BRUTE_WINDOWS,
  type BruteSpan,
  type BruteStatTrade,
  bruteSpan,
  bruteWindow,
} from '../support/brute-force/statistics.ts'
import {
  buildTape,
  type ChainStep,
  chainStepsArbitrary,
  type Tape,
  type TapeBlock,
  type TapeOp,
  type TapeTrade,
  tapeOperation,
  tapeTradeEvent,
} from '../support/builders/trade-tape.ts'
import { createStageState } from '../support/stage-harness.ts'

const MINUTE_MS = 60_000

/** Prices of its own for every trade; a block's first is by one of few traders, the others by one of many. */
const finished = (event: TradeEvent, block: TapeBlock, index: number): TradeEvent => {
  const tape = block.trades[index]
  const owner = `0xw${(block.height * 7 + index) % (index === 0 ? 4 : 211)}`
  const price = tape?.quoteUsd === '' ? '' : String(1 + ((block.height * 31 + index * 7) % 50) / 8)
  return {
    ...event,
    trade: event.trade && { ...event.trade, user_a_account_owner_address: owner },
    trade_processed: {
      token_a_price_in_quote: '',
      token_a_price_in_usd: price,
      token_a_price_in_native: price === '' ? '' : String(Number(price) / 4),
      token_b_price_in_base: '',
      token_b_price_in_usd: '',
      token_b_price_in_native: '',
      is_token_a_price_in_usd_suspect: tape?.suspect ?? false,
      is_token_a_price_in_usd_suspect_reason: 'TOKEN_PRICE_SUSPECT_REASON_UNSPECIFIED',
      token_a_price_in_usd_lasted: '',
      token_a_price_in_native_lasted: '',
      token_b_price_in_usd_lasted: '',
      token_b_price_in_native_lasted: '',
    },
  }
}

const operations = ({ ops }: Tape): readonly Operation[] =>
  ops.map((op) => tapeOperation(op, 'tradesProcessed', finished))

const run = (
  ops: readonly Operation[],
  sizes: readonly number[],
  restarts: readonly boolean[],
  idleKept = 1_000,
  afterFlush: (done: number, values: ReadonlyMap<string, TradeStatEvent>) => void = () => {},
): ReadonlyMap<string, TradeStatEvent> => {
  const state = new Map<string, string>()
  const values = new Map<string, TradeStatEvent>()
  const load = () => loadStats(createStageState(state), idleKept)
  let folding: StageProcessor = load()
  let at = 0
  for (let round = 0; at < ops.length; round += 1) {
    const size = sizes[round % sizes.length] ?? 1
    for (const operation of ops.slice(at, at + size)) folding.step(operation)
    at += size
    const { publications, changes } = folding.flush()
    for (const publication of publications) {
      assert.ok(publication.topic === 'tradeStats')
      for (const event of publication.value.events) {
        const key = `${event.token_address} ${event.resolution}`
        assert.ok((values.get(key)?.version ?? 0) <= event.version, `${key}: version goes back`)
        values.set(key, event)
      }
    }
    for (const [key, text] of changes) {
      if (text === null) state.delete(key)
      else state.set(key, text)
    }
    afterFlush(at, values)
    if (restarts[round % restarts.length]) folding = load()
  }
  return values
}

const bruteTrade = (event: TradeEvent, timeMs: number): BruteStatTrade => {
  const { trade, trade_processed: processed, d_app } = event
  assert.ok(trade && processed)
  const value = (price: string): number | null =>
    trade.token_b_decimals === null || price === ''
      ? null
      : Number(
          formatUsd((Number(trade.user_b_amount) / 10 ** trade.token_b_decimals) * Number(price)),
        )
  const price = (text: string): number | null =>
    processed.is_token_a_price_in_usd_suspect || text === '' ? null : Number(text)
  return {
    timeMs,
    buy: !trade.was_original_direction,
    trader: trade.user_a_account_owner_address,
    pool: trade.pool_address,
    program: d_app?.program_address ?? '',
    amount: Number(trade.user_a_amount),
    valueUsd: value(event.quote_price_in_usd),
    valueNative: value(event.quote_price_in_native),
    priceUsd: price(processed.token_a_price_in_usd),
    priceNative: price(processed.token_a_price_in_native),
  }
}

/** Trades of each token, as the canonical chain of the tape has them. */
const bruteTrades = (blocks: readonly TapeBlock[]): ReadonlyMap<string, BruteStatTrade[]> => {
  const trades = new Map<string, BruteStatTrade[]>()
  for (const block of blocks) {
    for (const [index, { base }] of block.trades.entries()) {
      const event = finished(tapeTradeEvent(block, index), block, index)
      trades.set(base, [...(trades.get(base) ?? []), bruteTrade(event, block.timeMs)])
    }
  }
  return trades
}

const number = (text: string): number | null => (text === '' ? null : Number(text))
const near = (one: number, other: number): boolean =>
  Math.abs(one - other) <= 1e-9 * Math.max(1, Math.abs(one), Math.abs(other))

const NO_SPAN = bruteSpan([], 0, 0)
const exactOf = ({ usd, native, ...span }: BruteSpan) => ({
  buys: span.buys,
  sells: span.sells,
  buyers: span.buyers,
  sellers: span.sellers,
  pools: span.pools,
  programs: span.programs,
  usd,
  native,
})
const sumsOf = ({ buyUsd, sellUsd, buyNative, sellNative }: BruteSpan) =>
  [buyUsd, sellUsd, buyNative, sellNative] as const

const currentOf = (event: TradeStatEvent): BruteSpan => ({
  ...NO_SPAN,
  buys: event.buys,
  sells: event.sells,
  buyers: event.buyers,
  sellers: event.sellers,
  pools: event.pools,
  programs: event.programs,
  buyUsd: Number(event.buy_volume_in_usd),
  sellUsd: Number(event.sell_volume_in_usd),
  buyNative: Number(event.buy_volume_in_native),
  sellNative: Number(event.sell_volume_in_native),
  usd: [event.open_in_usd, event.close_in_usd, event.high_in_usd, event.low_in_usd].map(
    number,
  ) as unknown as BruteSpan['usd'],
  native: [
    event.open_in_native,
    event.close_in_native,
    event.high_in_native,
    event.low_in_native,
  ].map(number) as unknown as BruteSpan['native'],
})

const previousOf = (event: TradeStatEvent): BruteSpan => ({
  ...NO_SPAN,
  buys: event.prev_buys,
  sells: event.prev_sells,
  buyers: event.prev_buyers,
  sellers: event.prev_sellers,
  pools: event.prev_pools,
  programs: event.prev_programs,
  buyUsd: Number(event.prev_buy_volume_in_usd),
  sellUsd: Number(event.prev_sell_volume_in_usd),
  buyNative: Number(event.prev_buy_volume_in_native),
  sellNative: Number(event.prev_sell_volume_in_native),
  usd: [
    event.prev_open_in_usd,
    event.prev_close_in_usd,
    event.prev_high_in_usd,
    event.prev_low_in_usd,
  ].map(number) as unknown as BruteSpan['usd'],
  native: [
    event.prev_open_in_native,
    event.prev_close_in_native,
    event.prev_high_in_native,
    event.prev_low_in_native,
  ].map(number) as unknown as BruteSpan['native'],
})

const assertSpan = (found: BruteSpan, wanted: BruteSpan, label: string): void => {
  assert.deepEqual(exactOf(found), exactOf(wanted), label)
  const sums = sumsOf(wanted)
  for (const [at, sum] of sumsOf(found).entries()) {
    assert.ok(near(sum, sums[at] ?? Number.NaN), `${label}: sum ${at} is ${sum}, not ${sums[at]}`)
  }
}

/** Every window that was told last is that of its own time, and what is shown of a token that rests is never older than it may be. */
const assertWindows = (
  values: ReadonlyMap<string, TradeStatEvent>,
  blocks: readonly TapeBlock[],
) => {
  const tip = blocks.at(-1)
  if (tip === undefined) return
  for (const [token, trades] of bruteTrades(blocks)) {
    for (const [resolution, seconds] of Object.entries(BRUTE_WINDOWS)) {
      const label = `${token} ${resolution}`
      const found = values.get(label)
      assert.ok(found, `${label} is missing`)
      const toldMs = Number(found.timestamp)
      assert.ok(toldMs <= tip.timeMs, `${label} is told of at a later time than the chain's`)
      const noticeMs = Math.max(5, seconds / 60) * 1_000
      const dueMs = Math.max(toldMs, Math.floor(tip.timeMs / noticeMs) * noticeMs)
      for (const atMs of [toldMs, dueMs]) {
        const { current, previous } = bruteWindow(trades, seconds, atMs)
        assert.equal(found.traders, current.traders, `${label} traders`)
        assertSpan(currentOf(found), current, `${label} at ${atMs}`)
        assertSpan(previousOf(found), previous, `${label} before, at ${atMs}`)
      }
    }
  }
}

const sizesArbitrary = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 })
const restartsArbitrary = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 })

test('windows equal a brute-force computation over all trades, through reorgs, restarts and any flush size', () => {
  fc.assert(
    fc.property(
      chainStepsArbitrary,
      sizesArbitrary,
      restartsArbitrary,
      (moves, sizes, restarts) => {
        const tape = buildTape(moves)
        assertWindows(run(operations(tape), sizes, restarts, 2), tape.blocks)
      },
    ),
    { numRuns: 300 },
  )
})

/** The canonical chain after the first operations of a tape. */
const chainAfter = (ops: readonly TapeOp[], done: number): readonly TapeBlock[] => {
  const blocks: TapeBlock[] = []
  for (const { op, block } of ops.slice(0, done)) {
    if (op === 'apply') blocks.push(block)
    else if (op === 'revert') blocks.pop()
  }
  return blocks
}

const busyTrade = fc.record({
  base: fc.constantFrom('0xaaa', '0xaaa', '0xaaa', '0xzzz'),
  quote: fc.constant('0xusdc'),
  pool: fc.constantFrom('0xp1', '0xp2', '0xp3'),
  baseRaw: fc.bigInt({ min: 1n, max: 10n ** 15n }),
  quoteRaw: fc.bigInt({ min: 1n, max: 10n ** 12n }),
  baseDecimals: fc.constant(6),
  quoteDecimals: fc.constant(6),
  buy: fc.boolean(),
  quoteUsd: fc.constantFrom('1', '0.998', ''),
  quoteNative: fc.constantFrom('0.00033', ''),
  suspect: fc.constantFrom(false, false, false, true),
})
/** Hundreds of blocks, so that old seconds are merged: about so many seconds apart, and now and then much longer. */
const courseArbitrary = (
  paceSeconds: number,
  keeps: readonly number[] = [0, 0, 1, 4, 30],
): fc.Arbitrary<readonly ChainStep[]> =>
  fc.array(
    fc.oneof(
      {
        weight: 40,
        arbitrary: fc.record({
          kind: fc.constant('apply' as const),
          stepMs: fc
            .constantFrom(
              ...[0, 0.3, 0.4, 0.5, 0.7, 1, 1, 1.3, 1.9].flatMap((step) => [step, step]),
              67,
            )
            .map((steps) => Math.round(steps * paceSeconds * 1_000)),
          trades: fc.array(busyTrade, { maxLength: 3 }),
        }),
      },
      { weight: 4, arbitrary: fc.constant({ kind: 'revert' as const }) },
      {
        weight: 12,
        arbitrary: fc.record({
          kind: fc.constant('finalize' as const),
          keep: fc.constantFrom(...keeps),
        }),
      },
    ),
    { minLength: 300, maxLength: 600 },
  )
/** From several blocks a second to one in ten minutes. */
const longCourseArbitrary = fc.constantFrom(0.5, 1.3, 5, 17, 60, 200, 600).chain(courseArbitrary)

test('windows of a token with a long history are right at every block', () => {
  fc.assert(
    fc.property(
      longCourseArbitrary,
      sizesArbitrary,
      fc.integer({ min: 2, max: 9 }),
      (moves, sizes, every) => {
        const tape = buildTape(moves)
        let round = 0
        run(operations(tape), sizes, [false, false, true, false, false], 1, (done, values) => {
          round += 1
          if (round % every === 0) assertWindows(values, chainAfter(tape.ops, done))
        })
      },
    ),
    // To make so long a history shorter takes minutes.
    { numRuns: 14, endOnFailure: true },
  )
})

test('a window is dated after the last trade that left it, also once that trade is forgotten', () => {
  const hour = 3_600_000
  const trade = { base: '0xaaa', quote: '0xusdc', pool: '0xp1', baseRaw: 10n ** 9n } as const
  const rest = { quoteRaw: 10n ** 9n, baseDecimals: 6, quoteDecimals: 6, buy: true } as const
  const trades = [{ ...trade, ...rest, quoteUsd: '1', quoteNative: '', suspect: false }]
  const apply = (stepMs: number, has: typeof trades = []) =>
    ({ kind: 'apply', stepMs, trades: has }) as const
  const finalize = { kind: 'finalize', keep: 0 } as const
  const tape = buildTape([
    apply(0, trades),
    ...[apply(25 * hour, trades), finalize],
    // The first trade has left the day before the last one, and every window is as it will stay for hours.
    ...[apply(23.5 * hour), finalize, apply(0, trades), { kind: 'revert' as const }],
  ])
  assertWindows(run(operations(tape), [1], [true], 1), tape.blocks)
  assertWindows(run(operations(tape), [1], [false]), tape.blocks)
})

/** Finality far behind, block by block and now and then many at once; reorgs of several blocks, some in the same second. */
const deepCourseArbitrary = fc
  .constantFrom(0.3, 1.3, 12, 60)
  .chain((paceSeconds) =>
    courseArbitrary(paceSeconds, [120, 120, 121, 122, 20]).map((steps) =>
      steps.flatMap((step, at): readonly ChainStep[] =>
        step.kind === 'revert' ? Array.from({ length: 1 + (at % 7) }, () => step) : [step],
      ),
    ),
  )

test('windows are right with more than a hundred unfinalized blocks, through reorgs, restarts and finality at any step', () => {
  fc.assert(
    fc.property(
      deepCourseArbitrary,
      sizesArbitrary,
      restartsArbitrary,
      fc.integer({ min: 7, max: 19 }),
      (moves, sizes, restarts, every) => {
        const tape = buildTape(moves)
        let round = 0
        run(operations(tape), sizes, restarts, 1, (done, values) => {
          round += 1
          if (round % every === 0) assertWindows(values, chainAfter(tape.ops, done))
        })
      },
    ),
    { numRuns: 14, endOnFailure: true },
  )
})

test('flush sizes, restarts and evictions change no window', () => {
  fc.assert(
    fc.property(
      chainStepsArbitrary,
      sizesArbitrary,
      restartsArbitrary,
      (moves, sizes, restarts) => {
        const ops = operations(buildTape(moves))
        const one = run(ops, sizes, restarts, 1)
        assert.deepEqual([...one].sort(), [...run(ops, [1], [false])].sort())
      },
    ),
    { numRuns: 100 },
  )
})

const DAY_MS = 86_400_000

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

/** A folding over a state of its own; tells after each operation, committed, which tokens were published. */
const following = (idleKept: number) => {
  const state = new Map<string, string>()
  const folding = loadStats(createStageState(state), idleKept)
  const commit = (): ReadonlySet<string> => {
    const { publications, changes } = folding.flush()
    for (const [key, text] of changes) {
      if (text === null) state.delete(key)
      else state.set(key, text)
    }
    return new Set(publications.map(({ key }) => key))
  }
  return { state, folding, commit }
}

test('memory holds a bounded number of idle tokens, and the windows of the others advance all the same', () => {
  const KEPT = 10
  const TOKENS = 200
  const minutes = Array.from({ length: TOKENS }, (_, token): readonly ChainStep[] => [
    { kind: 'apply', stepMs: MINUTE_MS, trades: [tradeOf(token)] },
    { kind: 'finalize', keep: 0 },
  ])
  const { state, folding, commit } = following(KEPT)
  for (const operation of operations(buildTape(minutes.flat()))) {
    folding.step(operation)
    const told = commit()
    assert.ok(folding.held <= KEPT, `${folding.held} tokens in memory`)
    const { op, height } = operation.block.meta
    if (op !== 'OP_APPLY') continue
    // Block n trades token n - 1; after so many minutes a trade leaves a window, or the one before it.
    const leaving = [0, 1, 2, 5, 10, 15, 30, 60, 120].map((after) => height - 1 - after)
    const wanted = leaving.filter((token) => token >= 0).map((token) => `0xt${token}`)
    assert.deepEqual([...told].toSorted(), wanted.toSorted())
  }
  assert.equal([...state.keys()].filter((key) => key.startsWith('d/')).length, TOKENS)
})

test('a token outside every window leaves memory with the commit that publishes its last change', () => {
  const tape = buildTape([
    { kind: 'apply', stepMs: 0, trades: [tradeOf(1)] },
    { kind: 'finalize', keep: 0 },
    { kind: 'apply', stepMs: 2 * DAY_MS + MINUTE_MS, trades: [] },
    { kind: 'finalize', keep: 0 },
  ])
  const { state, folding, commit } = following(1_000)
  const [first, second] = [operations(tape).slice(0, 2), operations(tape).slice(2)]
  for (const operation of first) folding.step(operation)
  assert.deepEqual([...commit()], ['0xt1'])
  assert.equal(folding.held, 1)
  for (const operation of second) folding.step(operation)
  assert.deepEqual([...commit()], ['0xt1'])
  assert.equal(folding.held, 0)
  assert.deepEqual([...state.keys()].toSorted(), ['e/0xt1', 'final'])
})

test('the opening price from before all windows is known also in the batch in which its minute expires', () => {
  const tape = buildTape([
    { kind: 'apply', stepMs: 0, trades: [tradeOf(1)] },
    { kind: 'finalize', keep: 0 },
    { kind: 'apply', stepMs: 3 * DAY_MS, trades: [] },
    { kind: 'finalize', keep: 0 },
    { kind: 'apply', stepMs: MINUTE_MS, trades: [{ ...tradeOf(1), suspect: true }] },
  ])
  const ops = operations(tape)
  const values = [...run(ops, [1], [false]).values()]
  assert.deepEqual([...run(ops, [2, 3], [false]).values()], values)
  assert.ok(values.every(({ open_in_usd, buys }) => open_in_usd !== '' && buys === 1))
})

test('a reorg over a minute boundary publishes the windows of tokens that are on disk only', () => {
  const tape = buildTape([
    { kind: 'apply', stepMs: 0, trades: [tradeOf(1)] },
    { kind: 'apply', stepMs: 1_000, trades: [tradeOf(2)] },
    { kind: 'finalize', keep: 0 },
    { kind: 'apply', stepMs: 4 * MINUTE_MS, trades: [] },
    { kind: 'apply', stepMs: MINUTE_MS, trades: [] },
    { kind: 'revert' },
    { kind: 'apply', stepMs: MINUTE_MS, trades: [] },
  ])
  const { folding, commit } = following(1)
  const told = operations(tape).map((operation) => {
    folding.step(operation)
    return [...commit()].toSorted()
  })
  const both = ['0xt1', '0xt2']
  assert.deepEqual(told, [['0xt1'], ['0xt2'], [], both, both, both, both])
})

test('after a reorg the reported time is never that of a block in which the token did not trade', () => {
  const at = (stepMs: number, ...tokens: readonly number[]): ChainStep => ({
    kind: 'apply',
    stepMs,
    trades: tokens.map(tradeOf),
  })
  // In one second: a trade, a block without one, a trade that is taken back, then that block too.
  const moves: readonly ChainStep[] = [at(100, 1), at(200), at(300, 1)]
  const reverts: readonly ChainStep[] = [{ kind: 'revert' }, { kind: 'revert' }]
  const tape = buildTape([...moves, ...reverts])
  const values = run(operations(tape), [1], [false])
  assertWindows(values, tape.blocks)
  assert.deepEqual(
    [...values.values()].map(({ timestamp, buys }) => [Number(timestamp), buys]),
    Object.keys(BRUTE_WINDOWS).map(() => [
      Math.floor((tape.blocks[0]?.timeMs ?? 0) / 1_000) * 1_000,
      1,
    ]),
  )
})

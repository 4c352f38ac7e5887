import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatUsd } from '../../core/amounts.ts'
import type { Operation, StageProcessor } from '../../processors/runtime/stage.ts'
import { loadStats } from '../../processors/stats/stage.ts'
import type { TradeEvent, TradeStatEvent } from '../../schemas/wire.ts'
import {
  buildTape,
  type ChainStep,
  chainStepsArbitrary,
  type Tape,
  type TapeBlock,
  type TapeTrade,
  tapeOperation,
  tapeTradeEvent,
} from '../support/builders/trade-tape.ts'
import { createStageState } from '../support/stage-harness.ts'

const WINDOWS = {
  '1m': 1,
  '5m': 5,
  '15m': 15,
  '30m': 30,
  '1h': 60,
  '4h': 240,
  '6h': 360,
  '24h': 1_440,
}
const MINUTE_MS = 60_000

/** Prices of its own for every trade, and one of four traders. */
const finished = (event: TradeEvent, block: TapeBlock, index: number): TradeEvent => {
  const tape = block.trades[index]
  const owner = `0xw${(block.height * 7 + index) % 4}`
  const price = tape?.quoteUsd === '' ? '' : String(1 + ((block.height * 31 + index * 7) % 50) / 8)
  return {
    ...event,
    trade: event.trade && { ...event.trade, user_a_account_owner_address: owner },
    trade_processed: {
      token_a_price_in_quote: '',
      token_a_price_in_usd: price,
      token_a_price_in_native: '',
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
    if (restarts[round % restarts.length]) folding = load()
  }
  return values
}

interface Seen {
  readonly minute: number
  readonly event: TradeEvent
}

const numbersOf = (token: string, seen: readonly Seen[], now: number, minutes: number) => {
  const mine = seen.filter(({ event }) => event.trade?.token_a_address === token)
  const inside = mine.filter(({ minute }) => minute > now - minutes && minute <= now)
  const priced = (list: readonly Seen[]) =>
    list.flatMap(({ event }) => {
      const { trade_processed: found } = event
      const good =
        found && !found.is_token_a_price_in_usd_suspect && found.token_a_price_in_usd !== ''
      return good ? [Number(found.token_a_price_in_usd)] : []
    })
  const prices = priced(inside)
  const earlier = priced(mine.filter(({ minute }) => minute <= now - minutes)).at(-1)
  const all = prices.length > 0 ? prices : earlier === undefined ? [] : [earlier]
  const buys = inside.filter(({ event }) => event.trade?.was_original_direction === false)
  const sells = inside.filter(({ event }) => event.trade?.was_original_direction === true)
  const owners = (list: readonly Seen[]) =>
    new Set(list.map(({ event }) => event.trade?.user_a_account_owner_address)).size
  const usd = (list: readonly Seen[]) =>
    list.reduce((sum, { event }) => {
      const { trade, quote_price_in_usd: price } = event
      if (trade === null || trade.token_b_decimals === null || price === '') return sum
      const units = Number(trade.user_b_amount) / 10 ** trade.token_b_decimals
      return sum + Number(formatUsd(units * Number(price)))
    }, 0)
  return {
    buys: buys.length,
    sells: sells.length,
    buyers: owners(buys),
    sellers: owners(sells),
    traders: owners(inside),
    pools: new Set(inside.map(({ event }) => event.trade?.pool_address)).size,
    open: all[0],
    close: all.at(-1),
    high: all.length === 0 ? undefined : Math.max(...all),
    low: all.length === 0 ? undefined : Math.min(...all),
    buyUsd: usd(buys),
    sellUsd: usd(sells),
  }
}

const number = (text: string): number | undefined => (text === '' ? undefined : Number(text))
const near = (one: number, other: number): boolean =>
  Math.abs(one - other) <= 1e-9 * Math.max(1, Math.abs(one), Math.abs(other))

test('windows hold what a look at all trades gives, through reorgs, restarts and any size of flush', () => {
  fc.assert(
    fc.property(
      chainStepsArbitrary,
      fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
      (moves, sizes, restarts) => {
        const tape = buildTape(moves)
        const values = run(operations(tape), sizes, restarts)
        const seen = tape.blocks.flatMap((block) =>
          block.trades.map((_, index) => ({
            minute: Math.floor(block.timeMs / MINUTE_MS),
            event: finished(tapeTradeEvent(block, index), block, index),
          })),
        )
        const tip = tape.blocks.at(-1)
        if (tip === undefined) return
        const now = Math.floor(tip.timeMs / MINUTE_MS)
        const traded = new Set(seen.map(({ event }) => event.trade?.token_a_address ?? ''))
        for (const token of traded) {
          for (const [resolution, minutes] of Object.entries(WINDOWS)) {
            const label = `${token} ${resolution}`
            const found = values.get(label)
            assert.ok(found, `${label} is missing`)
            const { buyUsd, sellUsd, ...wanted } = numbersOf(token, seen, now, minutes)
            assert.deepEqual(
              {
                buys: found.buys,
                sells: found.sells,
                buyers: found.buyers,
                sellers: found.sellers,
                traders: found.traders,
                pools: found.pools,
                open: number(found.open_in_usd),
                close: number(found.close_in_usd),
                high: number(found.high_in_usd),
                low: number(found.low_in_usd),
              },
              wanted,
              label,
            )
            assert.ok(near(Number(found.buy_volume_in_usd), buyUsd), `${label} bought`)
            assert.ok(near(Number(found.sell_volume_in_usd), sellUsd), `${label} sold`)
          }
        }
      },
    ),
    { numRuns: 150 },
  )
})

test('flush sizes, restarts and what stays in memory leave no trace', () => {
  fc.assert(
    fc.property(
      chainStepsArbitrary,
      fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
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

test('memory holds as many idle tokens as it may, and the windows of the others roll all the same', () => {
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
  assert.equal([...state.keys()].filter((key) => key.startsWith('w/')).length, TOKENS)
})

test('a token that no window looks at any more is not in memory, also where it was just told of', () => {
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

test('a price from before all windows is known also to a trade of the batch in which its minute went', () => {
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

test('a reorg over the turn of a minute tells again of tokens that are on the disk only', () => {
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

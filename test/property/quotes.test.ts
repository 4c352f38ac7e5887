import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { enterBlock, foldBlock, type QuoteTrade } from '../../core/prices/fold.ts'
import { orient, stampsAt } from '../../core/prices/quote-assets.ts'
import {
  NO_QUOTES,
  type QuoteState,
  quoteChanges,
  type StoredChange,
  withStored,
} from '../../core/prices/state.ts'
import { DAI, TOKEN, USDC, USDT, WBTC, WETH } from '../support/builders/evm-block.ts'
import { blockTimeMs, buildQuoteTrade, QUOTE_ASSETS } from '../support/builders/quote-trade.ts'

const PAIRS = [
  [WETH, USDC],
  [WETH, USDT],
  [WBTC, WETH],
  [WBTC, USDC],
  [USDC, USDT],
  [DAI, USDC],
  [DAI, USDT],
  [TOKEN, WETH],
] as const
const LEVELS = [2_000, 2_000, 20, 40_000, 1, 1, 1, 5]

const trade = fc
  .record({
    pair: fc.nat(PAIRS.length - 1),
    pool: fc.nat(2),
    factor: fc.double({ min: 0.5, max: 1.6, noNaN: true }),
    amount: fc.double({ min: 0.001, max: 500, noNaN: true }),
    proven: fc.boolean(),
  })
  .map(({ pair, pool, factor, amount, proven }): QuoteTrade => {
    const [token, quote] = PAIRS[pair] ?? PAIRS[0]
    const price = (LEVELS[pair] ?? 1) * factor
    return buildQuoteTrade(token, quote, price, { amount, pool: `${token}${quote}${pool}`, proven })
  })

interface Step {
  readonly height: number
  readonly timeMs: number
  readonly trades: readonly QuoteTrade[]
}

/** A chain with quiet hours and gaps. */
const chain = fc
  .array(
    fc.record({
      trades: fc.array(trade, { maxLength: 6 }),
      waits: fc.constantFrom(0, 0, 0, 0, 400_000, 3_000_000, 90_000_000),
      gap: fc.constantFrom(1, 1, 1, 1, 1, 7),
    }),
    { maxLength: 30 },
  )
  .map((blocks) => {
    let height = 0
    let extraMs = 0
    return blocks.map(({ trades, waits, gap }): Step => {
      height += gap
      extraMs += waits
      return { height, timeMs: blockTimeMs(height) + extraMs, trades }
    })
  })

const next = (state: QuoteState, step: Step): QuoteState =>
  foldBlock(enterBlock(state, step.height), step, QUOTE_ASSETS)

test('a block taken back restores the table that was there before it', () => {
  fc.assert(
    fc.property(chain, (steps) => {
      let state = NO_QUOTES
      const undo: { readonly before: QuoteState; readonly changes: readonly StoredChange[] }[] = []
      for (const step of steps) {
        const after = next(state, step)
        undo.push({ before: state, changes: quoteChanges(after, state) })
        state = after
      }
      for (const { before, changes } of undo.toReversed()) {
        state = withStored(state, changes)
        assert.deepEqual(state, before)
      }
    }),
  )
})

test('a table that is stored and read back at any block goes on the same', () => {
  fc.assert(
    fc.property(chain, fc.array(fc.boolean(), { maxLength: 30 }), (steps, restarts) => {
      const straight = steps.reduce(next, NO_QUOTES)
      let state = NO_QUOTES
      let stored: readonly StoredChange[] = []
      steps.forEach((step, index) => {
        const after = next(state, step)
        stored = [...stored, ...quoteChanges(state, after)]
        state = restarts[index] ? withStored(NO_QUOTES, stored) : after
      })
      assert.deepEqual(state, straight)
    }),
  )
})

test('every stamp is a positive price or unknown', () => {
  fc.assert(
    fc.property(chain, (steps) => {
      let state = NO_QUOTES
      for (const step of steps) {
        state = next(state, step)
        for (const { usd, native } of stampsAt(state, step.timeMs, QUOTE_ASSETS).values()) {
          assert.ok(usd === null || (Number.isFinite(usd) && usd > 0))
          assert.ok(native === null || (Number.isFinite(native) && native > 0))
        }
      }
    }),
  )
})

test('trades of pools that nothing proves change no price', () => {
  fc.assert(
    fc.property(chain, (steps) => {
      const proven = steps.map((step) => ({ ...step, trades: step.trades.filter((t) => t.proven) }))
      assert.deepEqual(steps.reduce(next, NO_QUOTES), proven.reduce(next, NO_QUOTES))
    }),
  )
})

test('base and quote do not depend on the order of a pool', () => {
  const token = fc.constantFrom(TOKEN, DAI, USDC, USDT, WBTC, WETH)
  fc.assert(
    fc.property(token, token, (one, two) => {
      assert.deepEqual(orient(one, two, QUOTE_ASSETS), orient(two, one, QUOTE_ASSETS))
    }),
  )
})

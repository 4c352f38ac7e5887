import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { foldBlock, type QuoteTrade, resetPricesAfterGap } from '../../core/prices/fold-block.ts'
import { orientPair, quoteAssetPricesAt } from '../../core/prices/quote-assets.ts'
import {
  applyStoredChanges,
  diffQuoteStates,
  EMPTY_QUOTE_STATE,
  type QuoteState,
  type StoredChange,
} from '../../core/prices/quote-state.ts'
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
    verified: fc.boolean(),
  })
  .map(({ pair, pool, factor, amount, verified }): QuoteTrade => {
    const [token, quote] = PAIRS[pair] ?? PAIRS[0]
    const price = (LEVELS[pair] ?? 1) * factor
    return buildQuoteTrade(token, quote, price, {
      amount,
      pool: `${token}${quote}${pool}`,
      verified,
    })
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
  foldBlock(resetPricesAfterGap(state, step.height), step, QUOTE_ASSETS)

test('reverting a block restores the quote table from before it', () => {
  fc.assert(
    fc.property(chain, (steps) => {
      let state = EMPTY_QUOTE_STATE
      const undo: { readonly before: QuoteState; readonly changes: readonly StoredChange[] }[] = []
      for (const step of steps) {
        const after = next(state, step)
        undo.push({ before: state, changes: diffQuoteStates(after, state) })
        state = after
      }
      for (const { before, changes } of undo.toReversed()) {
        state = applyStoredChanges(state, changes)
        assert.deepEqual(state, before)
      }
    }),
  )
})

test('a table that is stored and read back at any block continues the same', () => {
  fc.assert(
    fc.property(chain, fc.array(fc.boolean(), { maxLength: 30 }), (steps, restarts) => {
      const straight = steps.reduce(next, EMPTY_QUOTE_STATE)
      let state = EMPTY_QUOTE_STATE
      let stored: readonly StoredChange[] = []
      steps.forEach((step, index) => {
        const after = next(state, step)
        stored = [...stored, ...diffQuoteStates(state, after)]
        state = restarts[index] ? applyStoredChanges(EMPTY_QUOTE_STATE, stored) : after
      })
      assert.deepEqual(state, straight)
    }),
  )
})

test('every quote price is positive or unknown', () => {
  fc.assert(
    fc.property(chain, (steps) => {
      let state = EMPTY_QUOTE_STATE
      for (const step of steps) {
        state = next(state, step)
        for (const { usd, native } of quoteAssetPricesAt(
          state,
          step.timeMs,
          QUOTE_ASSETS,
        ).values()) {
          assert.ok(usd === null || (Number.isFinite(usd) && usd > 0))
          assert.ok(native === null || (Number.isFinite(native) && native > 0))
        }
      }
    }),
  )
})

test('trades of unverified pools change no quote price', () => {
  fc.assert(
    fc.property(chain, (steps) => {
      const proven = steps.map((step) => ({
        ...step,
        trades: step.trades.filter((t) => t.verified),
      }))
      assert.deepEqual(
        steps.reduce(next, EMPTY_QUOTE_STATE),
        proven.reduce(next, EMPTY_QUOTE_STATE),
      )
    }),
  )
})

test('base and quote do not depend on the order of a pool', () => {
  const token = fc.constantFrom(TOKEN, DAI, USDC, USDT, WBTC, WETH)
  fc.assert(
    fc.property(token, token, (one, two) => {
      assert.deepEqual(orientPair(one, two, QUOTE_ASSETS), orientPair(two, one, QUOTE_ASSETS))
    }),
  )
})

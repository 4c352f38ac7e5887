import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  PEG_GRACE_MS,
  quoteAssetPricesAt,
  stablecoinMedian,
} from '../../core/prices/quote-assets.ts'
import type { QuoteState } from '../../core/prices/quote-state.ts'
import { DAI, USDC, USDT, WETH } from '../support/builders/evm-block.ts'
import {
  BLOCK_MS,
  blockTimeMs,
  buildQuoteTrade,
  foldBlocks,
  QUOTE_ASSETS,
} from '../support/builders/quote-trade.ts'

const PEG_GRACE_BLOCKS = PEG_GRACE_MS / BLOCK_MS
const usd = (state: QuoteState, token: string, height: number): number | null | undefined =>
  quoteAssetPricesAt(state, blockTimeMs(height), QUOTE_ASSETS).get(token)?.usd

/** USDC at `price` in the two other stables, which hold. */
const market = (price: number) => [
  buildQuoteTrade(USDC, USDT, price, { amount: 1_000 }),
  buildQuoteTrade(DAI, USDC, 1 / price, { amount: 1_000 }),
  buildQuoteTrade(DAI, USDT, 1, { amount: 1_000 }),
]
const blocks = (count: number, price: number) => Array.from({ length: count }, () => market(price))

test('a stablecoin is worth 1 while its median is within 2 %', () => {
  assert.equal(usd(foldBlocks(blocks(60, 0.985)), USDC, 61), 1)
})

test('a stablecoin off by more than 2 % is worth 1 for another ten minutes', () => {
  const state = foldBlocks(blocks(PEG_GRACE_BLOCKS, 0.95))
  assert.equal(usd(state, USDC, PEG_GRACE_BLOCKS), 1)
  const priced = usd(state, USDC, 1 + PEG_GRACE_BLOCKS)
  assert.ok(priced && Math.abs(priced - 0.95) < 1e-6)
})

test('other stablecoins stay at 1 while one is off', () => {
  const state = foldBlocks(blocks(PEG_GRACE_BLOCKS + 1, 0.95))
  assert.equal(usd(state, USDT, PEG_GRACE_BLOCKS + 2), 1)
  assert.equal(usd(state, DAI, PEG_GRACE_BLOCKS + 2), 1)
})

test('assets quoted in a depegged stablecoin are worth less', () => {
  const trades = blocks(PEG_GRACE_BLOCKS + 1, 0.95).map((block) => [
    ...block,
    buildQuoteTrade(WETH, USDC, 2_000),
  ])
  const price = usd(foldBlocks(trades), WETH, PEG_GRACE_BLOCKS + 2)
  assert.ok(price && Math.abs(price - 1_900) < 0.01)
})

test('the ten minutes start again after a return to the peg', () => {
  const off = foldBlocks([...blocks(40, 0.95), ...blocks(1, 1), ...blocks(40, 0.95)])
  assert.equal(usd(off, USDC, 82), 1)
})

test('a stablecoin that returns to its peg is worth 1 at once', () => {
  const back = foldBlocks([...blocks(PEG_GRACE_BLOCKS + 1, 0.95), ...blocks(1, 1)])
  assert.equal(usd(back, USDC, PEG_GRACE_BLOCKS + 3), 1)
})

test('two stablecoins off parity with each other have no median and both stay at 1 USD', () => {
  const pair = Array.from({ length: 60 }, () => [
    buildQuoteTrade(USDC, USDT, 0.9, { amount: 1_000 }),
  ])
  const state = foldBlocks(pair)
  assert.equal(stablecoinMedian(USDC, state, blockTimeMs(61), QUOTE_ASSETS), null)
  assert.equal(usd(state, USDC, 61), 1)
  assert.equal(usd(state, USDT, 61), 1)
})

test('a depegged stablecoin without trades in 301 blocks has no price', () => {
  const state = foldBlocks(blocks(PEG_GRACE_BLOCKS + 1, 0.95))
  const quiet = Array.from({ length: 301 }, () => [])
  const later = foldBlocks(quiet, state, PEG_GRACE_BLOCKS + 2)
  assert.equal(usd(later, USDC, PEG_GRACE_BLOCKS + 2 + quiet.length), null)
})

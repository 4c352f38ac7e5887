import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  configuredSeedPrices,
  foldBlock,
  MIN_TRADE_USD,
  resetPricesAfterGap,
} from '../../core/prices/fold-block.ts'
import {
  MAX_PRICE_AGE_MS,
  quoteAssetPricesAt,
  referencePoolsByPair,
  toWireQuotePrices,
} from '../../core/prices/quote-assets.ts'
import {
  diffQuoteStates,
  EMPTY_QUOTE_STATE,
  pairKey,
  type QuoteState,
} from '../../core/prices/quote-state.ts'
import { HOUR_MS } from '../../core/time.ts'
import { DAI, TOKEN, USDC, USDT, WBTC, WETH } from '../support/builders/evm-block.ts'
import {
  blockTimeMs,
  buildQuoteTrade,
  foldBlocks,
  foldTrades,
  QUOTE_ASSETS,
} from '../support/builders/quote-trade.ts'

const usd = (state: QuoteState, token: string, timeMs: number): number | null | undefined =>
  quoteAssetPricesAt(state, timeMs, QUOTE_ASSETS).get(token)?.usd
const native = (state: QuoteState, token: string, timeMs: number): number | null | undefined =>
  quoteAssetPricesAt(state, timeMs, QUOTE_ASSETS).get(token)?.native
const weth = (price: number, more = {}) => buildQuoteTrade(WETH, USDC, price, more)

test('trades of a block are priced with the quote table from before the block', () => {
  const before = foldBlocks([[weth(2_000)]])
  const during = quoteAssetPricesAt(
    resetPricesAfterGap(before, 2),
    blockTimeMs(2),
    QUOTE_ASSETS,
  ).get(WETH)
  const after = foldTrades(before, 2, [weth(2_100)])
  assert.equal(during?.usd, 2_000)
  assert.equal(usd(after, WETH, blockTimeMs(3)), 2_100)
})

test('the price of a block is that of its last trade that counts', () => {
  assert.equal(
    usd(foldBlocks([[weth(2_000), weth(2_050), weth(2_020)]]), WETH, blockTimeMs(2)),
    2_020,
  )
})

test('the reference pool is the one with the largest volume of the last 24 hours', () => {
  const deep = (price: number) => weth(price, { pool: 'deep', amount: 10 })
  const thin = (price: number) => weth(price, { pool: 'thin', amount: 2 })
  const state = foldBlocks([[deep(2_000)], [thin(2_050)]])
  assert.equal(usd(state, WETH, blockTimeMs(3)), 2_000)
  const grown = foldBlocks([[weth(2_050, { pool: 'thin', amount: 20 })]], state, 3)
  assert.equal(usd(grown, WETH, blockTimeMs(4)), 2_050)
})

test('volume older than 24 hours of block time no longer chooses the reference pool', () => {
  const old = foldBlocks([[weth(2_000, { pool: 'deep', amount: 10 })]])
  const day = 24 * 3_600_000
  const thin = weth(1_990, { pool: 'thin' })
  const soon = foldTrades(old, 2, [thin], blockTimeMs(1) + day - 3_600_000)
  const later = foldTrades(old, 2, [thin], blockTimeMs(1) + day)
  const pair = pairKey(WETH, USDC)
  assert.equal(referencePoolsByPair(soon, blockTimeMs(1) + day - 3_600_000).get(pair)?.pool, 'deep')
  assert.equal(referencePoolsByPair(later, blockTimeMs(1) + day).get(pair)?.pool, 'thin')
  assert.deepEqual([...later.volumes.keys()], ['thin'], 'old volumes are dropped')
})

test('a pool of an unlisted factory changes no price, however large', () => {
  const fake = weth(9_000, { pool: 'fake', amount: 1_000, verified: false })
  const state = foldBlocks([[weth(2_000)], [fake]])
  assert.equal(usd(state, WETH, blockTimeMs(3)), 2_000)
  assert.equal(state.volumes.has('fake'), false)
})

test('each quote asset has its own reference pool, and the one with more USD volume counts', () => {
  const state = foldBlocks([
    [weth(2_000, { amount: 5 }), buildQuoteTrade(WETH, USDT, 2_010, { amount: 50 })],
  ])
  assert.equal(state.entries.get(pairKey(WETH, USDC))?.price, 2_000)
  assert.equal(state.entries.get(pairKey(WETH, USDT))?.price, 2_010)
  assert.equal(usd(state, WETH, blockTimeMs(2)), 2_010)
})

test('trades below 100 USD do not change a price', () => {
  const dust = (MIN_TRADE_USD - 1) / 2_100
  const state = foldBlocks([[weth(2_000)]])
  assert.equal(
    usd(foldTrades(state, 2, [weth(2_100, { amount: dust })]), WETH, blockTimeMs(3)),
    2_000,
  )
  const exact = foldTrades(state, 2, [weth(1_900, { amount: 0.1 }), weth(2_000, { amount: 0.05 })])
  assert.equal(usd(exact, WETH, blockTimeMs(3)), 2_000, 'of 100 USD exactly')
})

test('a trade against an asset of unknown price is ignored', () => {
  const state = foldBlocks([[buildQuoteTrade(WBTC, WETH, 20)]])
  assert.equal(state.entries.size, 0)
  const known = foldBlocks([[weth(2_000)], [buildQuoteTrade(WBTC, WETH, 20)]])
  assert.equal(usd(known, WBTC, blockTimeMs(3)), 40_000)
})

test('a price step of up to 10 % is accepted at once', () => {
  assert.equal(usd(foldBlocks([[weth(2_000)], [weth(2_199)]]), WETH, blockTimeMs(3)), 2_199)
})

test('a price step above 10 % needs three trades', () => {
  const two = foldBlocks([[weth(2_000)], [weth(2_500)], [weth(2_510)]])
  assert.equal(usd(two, WETH, blockTimeMs(4)), 2_000)
  assert.equal(usd(foldBlocks([[weth(2_490)]], two, 4), WETH, blockTimeMs(5)), 2_490)
})

test('a price step above 10 % needs trades in two blocks', () => {
  const one = foldBlocks([[weth(2_000)], [weth(2_500), weth(2_500), weth(2_500), weth(2_500)]])
  assert.equal(usd(one, WETH, blockTimeMs(3)), 2_000)
  assert.equal(usd(foldBlocks([[weth(2_500)]], one, 3), WETH, blockTimeMs(4)), 2_500)
})

test('a trade at the old price ends a pending step, and steps that disagree start again', () => {
  const back = foldBlocks([[weth(2_000)], [weth(2_500), weth(2_500), weth(2_001)], [weth(2_500)]])
  assert.equal(usd(back, WETH, blockTimeMs(4)), 2_001)
  const apart = foldBlocks([[weth(2_000)], [weth(2_500), weth(4_000)], [weth(2_500)]])
  assert.equal(usd(apart, WETH, blockTimeMs(4)), 2_000)
})

test('a price is stored in its own quote asset and converted when it is read', () => {
  const state = foldBlocks([[weth(2_000)], [buildQuoteTrade(WBTC, WETH, 20)], [weth(2_100)]])
  assert.equal(state.entries.get(pairKey(WBTC, WETH))?.price, 20)
  assert.equal(usd(state, WBTC, blockTimeMs(4)), 42_000)
  assert.equal(native(state, WBTC, blockTimeMs(4)), 20)
  assert.equal(native(state, USDC, blockTimeMs(4)), 1 / 2_100)
  assert.equal(native(state, WETH, blockTimeMs(4)), 1)
})

test('a price older than one hour of block time is unknown', () => {
  const state = foldBlocks([[weth(2_000)]])
  assert.equal(usd(state, WETH, blockTimeMs(1) + MAX_PRICE_AGE_MS), 2_000)
  assert.equal(usd(state, WETH, blockTimeMs(1) + MAX_PRICE_AGE_MS + 1), null)
  assert.equal(native(state, WETH, blockTimeMs(1) + MAX_PRICE_AGE_MS + 1), 1)
})

test('a price that is too old does not limit the next step', () => {
  const state = foldBlocks([[weth(2_000)]])
  const later = foldTrades(state, 2, [weth(3_000)], blockTimeMs(1) + MAX_PRICE_AGE_MS + 1)
  assert.equal(usd(later, WETH, blockTimeMs(1) + MAX_PRICE_AGE_MS + 2), 3_000)
})

test('after a gap every price is unknown', () => {
  const state = foldBlocks([[weth(2_000)]])
  assert.equal(usd(resetPricesAfterGap(state, 3), WETH, blockTimeMs(3)), null)
  assert.equal(usd(resetPricesAfterGap(state, 2), WETH, blockTimeMs(2)), 2_000)
})

test('seed prices are used at a start and after a gap, and nowhere else', () => {
  const primes = configuredSeedPrices(
    { [WETH]: 1_800, [TOKEN]: 1, [USDC]: 2 },
    blockTimeMs(1),
    QUOTE_ASSETS,
  )
  assert.deepEqual(
    primes.map(({ token }) => token),
    [WETH],
  )
  assert.equal(usd(resetPricesAfterGap(EMPTY_QUOTE_STATE, 1, primes), WETH, blockTimeMs(1)), 1_800)
  const state = foldBlocks([[weth(2_000)]])
  assert.equal(usd(resetPricesAfterGap(state, 2, primes), WETH, blockTimeMs(2)), 2_000)
  assert.equal(usd(resetPricesAfterGap(state, 9, primes), WETH, blockTimeMs(2)), 1_800)
})

test('a traded price replaces a configured one', () => {
  const primes = configuredSeedPrices({ [WETH]: 1_000 }, blockTimeMs(1), QUOTE_ASSETS)
  const state = foldTrades(resetPricesAfterGap(EMPTY_QUOTE_STATE, 1, primes), 2, [])
  const traded = foldBlocks([[weth(2_000)]], {
    ...state,
    clock: { height: 0, timeMs: blockTimeMs(0) },
  })
  assert.equal(usd(traded, WETH, blockTimeMs(2)), 2_000)
})

test('trades of other tokens, and trades without amounts, change no quote price', () => {
  const none = ['amountARaw', 'amountBRaw'].map((amount) => ({ ...weth(2_000), [amount]: 0n }))
  const state = foldBlocks([[buildQuoteTrade(TOKEN, USDC, 5, { amount: 1_000 }), ...none]])
  assert.equal(state.entries.size + state.volumes.size, 0)
})

test('quote prices do not depend on the token order of the pool', () => {
  const trade = weth(2_000, { amount: 3 })
  const turned = {
    ...trade,
    tokenA: trade.tokenB,
    tokenB: trade.tokenA,
    amountARaw: trade.amountBRaw,
    amountBRaw: trade.amountARaw,
  }
  assert.deepEqual(foldBlocks([[turned]]), foldBlocks([[trade]]))
})

test('two quote assets of one rank do not price each other, unless both are stable', () => {
  const other = { address: TOKEN, symbol: 'T', decimals: 8, kind: 'btc' } as const
  const book = { ...QUOTE_ASSETS, assets: new Map([...QUOTE_ASSETS.assets, [TOKEN, other]]) }
  const trade = buildQuoteTrade(WBTC, TOKEN, 2, { amount: 1_000 })
  const block = { height: 1, timeMs: blockTimeMs(1), trades: [trade] }
  assert.equal(foldBlock(EMPTY_QUOTE_STATE, block, book).volumes.size, 0)
  assert.equal(foldBlocks([[buildQuoteTrade(USDC, USDT, 1)]]).volumes.size, 1)
})

test('the volume of a pool adds up by the hour, and an hour is dropped after 24', () => {
  const hour = Math.floor(blockTimeMs(0) / HOUR_MS)
  const trade = weth(2_000, { pool: 'deep' })
  const at = (state: QuoteState, height: number, hours: number, count: number): QuoteState =>
    foldTrades(state, height, Array(count).fill(trade), (hour + hours) * HOUR_MS)
  const hoursOf = (state: QuoteState) => state.volumes.get('deep')?.hours
  const first = at(EMPTY_QUOTE_STATE, 1, 0, 2)
  assert.deepEqual(hoursOf(first), [[hour, 4_000]])
  const second = at(at(first, 2, 0, 1), 3, 5, 1)
  assert.deepEqual(hoursOf(second), [
    [hour, 6_000],
    [hour + 5, 2_000],
  ])
  assert.deepEqual(hoursOf(at(second, 4, 5, 2)), [
    [hour, 6_000],
    [hour + 5, 6_000],
  ])
  assert.deepEqual(hoursOf(at(second, 4, 24, 0)), [[hour + 5, 2_000]])
  assert.equal(at(second, 4, 29, 0).volumes.size, 0)
})

test('a block without trades changes only the clock of the stored state', () => {
  const state = foldBlocks([[weth(2_000)]])
  const quiet = foldTrades(state, 2, [])
  assert.equal(quiet.volumes, state.volumes)
  assert.equal(quiet.entries, state.entries)
  const nextHour = foldTrades(state, 2, [], blockTimeMs(1) + HOUR_MS)
  assert.deepEqual(
    [quiet, nextHour].map((after) => diffQuoteStates(state, after).map(({ key }) => key)),
    [['quotes/clock'], ['quotes/clock']],
  )
})

test('only a stablecoin with prices can lose its peg', () => {
  const prices = [USDC, USDT, DAI].map((quote) => buildQuoteTrade(WETH, quote, 2_000))
  assert.deepEqual([...foldBlocks([prices]).pegs], [])
})

test('the block record has every price in its own quote asset, in a fixed order', () => {
  const state = foldBlocks([[weth(2_000)], [buildQuoteTrade(WBTC, WETH, 20)]])
  assert.deepEqual(toWireQuotePrices(state), [
    { token_address: WBTC, quote_address: WETH, price: '20', block_time: blockTimeMs(2) },
    { token_address: WETH, quote_address: USDC, price: '2000', block_time: blockTimeMs(1) },
  ])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enterBlock, MIN_TRADE_USD, staticPrimes } from '../../core/prices/fold.ts'
import {
  MAX_AGE_MS,
  quotePrices,
  referencePools,
  stampsAt,
} from '../../core/prices/quote-assets.ts'
import { NO_QUOTES, pairOf, type QuoteState } from '../../core/prices/state.ts'
import { COIN, USDC, USDT, WBTC, WETH } from '../support/hand-chain.ts'
import { BOOK, fold, foldAll, quoteTrade, timeAt } from '../support/quote-trades.ts'

const usd = (state: QuoteState, token: string, timeMs: number): number | null | undefined =>
  stampsAt(state, timeMs, BOOK).get(token)?.usd
const native = (state: QuoteState, token: string, timeMs: number): number | null | undefined =>
  stampsAt(state, timeMs, BOOK).get(token)?.native
const weth = (price: number, more = {}) => quoteTrade(WETH, USDC, price, more)

test('a block is stamped with the table as the block before left it', () => {
  const before = foldAll([[weth(2_000)]])
  const during = stampsAt(enterBlock(before, 2), timeAt(2), BOOK).get(WETH)
  const after = fold(before, 2, [weth(2_100)])
  assert.equal(during?.usd, 2_000)
  assert.equal(usd(after, WETH, timeAt(3)), 2_100)
})

test('the last counting trade of a block is its price', () => {
  assert.equal(usd(foldAll([[weth(2_000), weth(2_050), weth(2_020)]]), WETH, timeAt(2)), 2_020)
})

test('the reference pool is the one with the largest volume of the last 24 hours', () => {
  const deep = (price: number) => weth(price, { pool: 'deep', amount: 10 })
  const thin = (price: number) => weth(price, { pool: 'thin', amount: 2 })
  const state = foldAll([[deep(2_000)], [thin(2_050)]])
  assert.equal(usd(state, WETH, timeAt(3)), 2_000)
  const grown = foldAll([[weth(2_050, { pool: 'thin', amount: 20 })]], state, 3)
  assert.equal(usd(grown, WETH, timeAt(4)), 2_050)
})

test('volume older than 24 hours of block time no longer chooses the reference pool', () => {
  const old = foldAll([[weth(2_000, { pool: 'deep', amount: 10 })]])
  const day = 24 * 3_600_000
  const thin = weth(1_990, { pool: 'thin' })
  const soon = fold(old, 2, [thin], timeAt(1) + day - 3_600_000)
  const later = fold(old, 2, [thin], timeAt(1) + day)
  const pair = pairOf(WETH, USDC)
  assert.equal(referencePools(soon, timeAt(1) + day - 3_600_000).get(pair)?.pool, 'deep')
  assert.equal(referencePools(later, timeAt(1) + day).get(pair)?.pool, 'thin')
  assert.deepEqual([...later.volumes.keys()], ['thin'], 'old volumes are dropped')
})

test('a pool that no listed factory names moves nothing, however large', () => {
  const fake = weth(9_000, { pool: 'fake', amount: 1_000, proven: false })
  const state = foldAll([[weth(2_000)], [fake]])
  assert.equal(usd(state, WETH, timeAt(3)), 2_000)
  assert.equal(state.volumes.has('fake'), false)
})

test('each quoting asset has its own reference pool, and the one with more USD volume counts', () => {
  const state = foldAll([
    [weth(2_000, { amount: 5 }), quoteTrade(WETH, USDT, 2_010, { amount: 50 })],
  ])
  assert.equal(state.entries.get(pairOf(WETH, USDC))?.price, 2_000)
  assert.equal(state.entries.get(pairOf(WETH, USDT))?.price, 2_010)
  assert.equal(usd(state, WETH, timeAt(2)), 2_010)
})

test('only trades of at least 100 USD count', () => {
  const dust = (MIN_TRADE_USD - 1) / 2_100
  const enough = (MIN_TRADE_USD + 1) / 2_100
  const state = foldAll([[weth(2_000)]])
  assert.equal(usd(fold(state, 2, [weth(2_100, { amount: dust })]), WETH, timeAt(3)), 2_000)
  const moved = usd(fold(state, 2, [weth(2_100, { amount: enough })]), WETH, timeAt(3))
  assert.equal(Math.round(moved ?? 0), 2_100)
})

test('a trade in a quote of unknown price does not count', () => {
  const state = foldAll([[quoteTrade(WBTC, WETH, 20)]])
  assert.equal(state.entries.size, 0)
  const known = foldAll([[weth(2_000)], [quoteTrade(WBTC, WETH, 20)]])
  assert.equal(usd(known, WBTC, timeAt(3)), 40_000)
})

test('a step of 10 % is taken at once', () => {
  assert.equal(usd(foldAll([[weth(2_000)], [weth(2_199)]]), WETH, timeAt(3)), 2_199)
})

test('a step above 10 % needs three trades', () => {
  const two = foldAll([[weth(2_000)], [weth(2_500)], [weth(2_510)]])
  assert.equal(usd(two, WETH, timeAt(4)), 2_000)
  assert.equal(usd(foldAll([[weth(2_490)]], two, 4), WETH, timeAt(5)), 2_490)
})

test('a step above 10 % needs trades of two blocks', () => {
  const one = foldAll([[weth(2_000)], [weth(2_500), weth(2_500), weth(2_500), weth(2_500)]])
  assert.equal(usd(one, WETH, timeAt(3)), 2_000)
  assert.equal(usd(foldAll([[weth(2_500)]], one, 3), WETH, timeAt(4)), 2_500)
})

test('a trade at the old price ends a pending step, and steps that disagree start again', () => {
  const back = foldAll([[weth(2_000)], [weth(2_500), weth(2_500), weth(2_001)], [weth(2_500)]])
  assert.equal(usd(back, WETH, timeAt(4)), 2_001)
  const apart = foldAll([[weth(2_000)], [weth(2_500), weth(4_000)], [weth(2_500)]])
  assert.equal(usd(apart, WETH, timeAt(4)), 2_000)
})

test('an entry is kept in its own quote and converted when stamping', () => {
  const state = foldAll([[weth(2_000)], [quoteTrade(WBTC, WETH, 20)], [weth(2_100)]])
  assert.equal(state.entries.get(pairOf(WBTC, WETH))?.price, 20)
  assert.equal(usd(state, WBTC, timeAt(4)), 42_000)
  assert.equal(native(state, WBTC, timeAt(4)), 20)
  assert.equal(native(state, USDC, timeAt(4)), 1 / 2_100)
  assert.equal(native(state, WETH, timeAt(4)), 1)
})

test('an entry older than one hour of block time is unknown', () => {
  const state = foldAll([[weth(2_000)]])
  assert.equal(usd(state, WETH, timeAt(1) + MAX_AGE_MS), 2_000)
  assert.equal(usd(state, WETH, timeAt(1) + MAX_AGE_MS + 1), null)
  assert.equal(native(state, WETH, timeAt(1) + MAX_AGE_MS + 1), 1)
})

test('a price that has grown old is not a measure for a step', () => {
  const state = foldAll([[weth(2_000)]])
  const later = fold(state, 2, [weth(3_000)], timeAt(1) + MAX_AGE_MS + 1)
  assert.equal(usd(later, WETH, timeAt(1) + MAX_AGE_MS + 2), 3_000)
})

test('across a gap every entry is unknown', () => {
  const state = foldAll([[weth(2_000)]])
  assert.equal(usd(enterBlock(state, 3), WETH, timeAt(3)), null)
  assert.equal(usd(enterBlock(state, 2), WETH, timeAt(2)), 2_000)
})

test('primes are taken at a start and across a gap, and nowhere else', () => {
  const primes = staticPrimes({ [WETH]: 1_800, [COIN]: 1, [USDC]: 2 }, timeAt(1), BOOK)
  assert.deepEqual(
    primes.map(({ token }) => token),
    [WETH],
  )
  assert.equal(usd(enterBlock(NO_QUOTES, 1, primes), WETH, timeAt(1)), 1_800)
  const state = foldAll([[weth(2_000)]])
  assert.equal(usd(enterBlock(state, 2, primes), WETH, timeAt(2)), 2_000)
  assert.equal(usd(enterBlock(state, 9, primes), WETH, timeAt(2)), 1_800)
})

test('a traded price stands above a configured one', () => {
  const primes = staticPrimes({ [WETH]: 1_000 }, timeAt(1), BOOK)
  const state = fold(enterBlock(NO_QUOTES, 1, primes), 2, [])
  const traded = foldAll([[weth(2_000)]], { ...state, clock: { height: 0, timeMs: timeAt(0) } })
  assert.equal(usd(traded, WETH, timeAt(2)), 2_000)
})

test('a coin and a trade without amounts are none of the table’s business', () => {
  const none = { ...weth(2_000), amountBRaw: 0n }
  const state = foldAll([[quoteTrade(COIN, USDC, 5, { amount: 1_000 }), none]])
  assert.equal(state.entries.size + state.volumes.size, 0)
})

test('the block record shows every entry in its own quote, in a fixed order', () => {
  const state = foldAll([[weth(2_000)], [quoteTrade(WBTC, WETH, 20)]])
  assert.deepEqual(quotePrices(state), [
    { token_address: WBTC, quote_address: WETH, price: '20', block_time: timeAt(2) },
    { token_address: WETH, quote_address: USDC, price: '2000', block_time: timeAt(1) },
  ])
})

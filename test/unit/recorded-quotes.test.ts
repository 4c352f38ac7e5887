import assert from 'node:assert/strict'
import { test } from 'node:test'
import { feeOnInputAmountIn, feeOnInputAmountOut } from '../../core/prices/fee-on-input.ts'
import type { Swap } from '../../schemas/events.ts'
import { type Pool, quoteExactIn, quoteExactOut } from '../../serving/dex/pool.ts'
import { createPoolBook } from '../../serving/dex/pool-book.ts'
import { chainVenues } from '../../serving/dex/quotable-protocols.ts'
import {
  createPoolTopic,
  heldBefore,
  type RecordedSwaps,
  recordedSwaps,
} from '../support/recorded-pools.ts'

const makeBook = () =>
  createPoolBook(chainVenues('sol', undefined), { minTvlUsd: 0, poolsPerPair: 8 })

/** The state that a recorded swap found, published by a swap before it that left that state. */
const poolBefore = (recorded: RecordedSwaps, swap: Swap): Pool => {
  assert.ok(swap.pricing)
  const { pricing } = swap
  const earlier: Swap = {
    ...swap,
    pricing: { ...pricing, reserves: pricing.found },
    reservesInOut: swap.reservesBeforeInOut ?? pricing.found,
  }
  const book = makeBook()
  book.accept(createPoolTopic()(recorded, { swaps: [earlier] }))
  const pool = book.pool(swap.pool, 0)
  assert.ok(pool, 'its state is proven')
  return pool
}

const amount = (quote: ReturnType<typeof quoteExactIn>): bigint =>
  'amountRaw' in quote ? quote.amountRaw : 0n

interface RecordedCase {
  readonly file: string
  readonly at: number
  /** Which amount the instruction made exact. */
  readonly exact: 'in' | 'out'
  readonly fees: readonly number[]
  readonly of: string
}

const PUMPSWAP: readonly RecordedCase[] = [
  {
    file: 'swap_photon_1.json',
    at: 0,
    exact: 'in',
    fees: [200, 9_300, 3_000, 0],
    of: 'a tier by market value',
  },
  {
    file: 'jupiter_route_7.json',
    at: 0,
    exact: 'in',
    fees: [2_000, 500, 0, 9_000],
    of: 'cashback',
  },
  {
    file: 'pumpswap_sell_v2_AcrDzvio.json',
    at: 0,
    exact: 'in',
    fees: [2_000, 500, 8_500, 0],
    of: 'virtual quote',
  },
  {
    file: 'swap_bloom_1.json',
    at: 0,
    exact: 'in',
    fees: [2_000, 500, 8_500, 0],
    of: 'a purchase for an exact amount',
  },
  {
    file: 'swap_pumpswap_1.json',
    at: 0,
    exact: 'in',
    fees: [2_500, 500, 0, 0],
    of: 'a pool of 2025',
  },
  {
    file: 'swap_pumpswap_1.json',
    at: 1,
    exact: 'out',
    fees: [2_500, 500, 0, 0],
    of: 'a purchase of an exact amount',
  },
]

const RAYDIUM_V4: readonly RecordedCase[] = [
  { file: 'swap_nova_1.json', at: 0, exact: 'in', fees: [2_500], of: 'a sale' },
  { file: 'swap_raydium_v4_1.json', at: 0, exact: 'in', fees: [2_500], of: 'the first hop of two' },
  {
    file: 'swap_raydium_v4_1.json',
    at: 1,
    exact: 'in',
    fees: [2_500],
    of: 'the second hop of two',
  },
  {
    file: 'yellowstone_block_344556402.json',
    at: 0,
    exact: 'in',
    fees: [2_500],
    of: 'a swap of a stream',
  },
]

const checkQuote = ({ file, at, exact, fees }: RecordedCase): void => {
  const recorded = recordedSwaps(file)
  const swap = recorded.swaps[at]
  assert.ok(swap?.pricing && swap.tokenIn && swap.tokenOut)
  assert.deepEqual(swap.pricing.feePips, fees)
  const pool = poolBefore(recorded, swap)
  const quoted =
    exact === 'in'
      ? quoteExactIn(pool, swap.tokenIn, swap.amountInRaw)
      : quoteExactOut(pool, swap.tokenIn, swap.amountOutRaw)
  assert.equal(amount(quoted), exact === 'in' ? swap.amountOutRaw : swap.amountInRaw)
}

for (const one of PUMPSWAP) {
  test(`PumpSwap, ${one.of}: the quote equals the recorded amount`, () => checkQuote(one))
}

for (const one of RAYDIUM_V4) {
  test(`Raydium AMM v4, ${one.of}: the quote equals the recorded amount`, () => checkQuote(one))
}

test('reserves before a PumpSwap trade equal the vault balances before its transaction', () => {
  for (const [file, fields] of [
    ['swap_photon_1.json', [0n, 0n]],
    ['swap_bloom_1.json', [0n, 0n]],
    ['pumpswap_sell_v2_AcrDzvio.json', [0n, 17_584_418_739n]],
  ] as const) {
    const recorded = recordedSwaps(file)
    const [swap] = recorded.swaps
    assert.ok(swap?.pricing)
    const { vaultIn, vaultOut } = swap.accounts ?? {}
    assert.deepEqual(swap.pricing.found, [
      (heldBefore(recorded, vaultIn) ?? 0n) + fields[0],
      (heldBefore(recorded, vaultOut) ?? 0n) + fields[1],
    ])
  }
})

test('reserves after one PumpSwap trade give the quote of the next, through the topic', () => {
  const recorded = recordedSwaps('swap_pumpswap_1.json')
  const [sale, purchase] = recorded.swaps
  assert.ok(sale && purchase?.tokenIn)
  const [book, topic] = [makeBook(), createPoolTopic()]
  book.accept(topic(recorded, { swaps: [sale] }))
  const pool = book.pool(sale.pool, 0)
  assert.ok(pool)
  assert.equal(
    amount(quoteExactOut(pool, purchase.tokenIn, purchase.amountOutRaw)),
    purchase.amountInRaw,
  )
  book.accept(topic(recorded, { swaps: [purchase] }))
  assert.ok(book.pool(sale.pool, 0), 'the second found what the first left')
})

/** Curves log amounts without fees: those are the trader's share apart. */
const curveFees = (net: bigint, fees: readonly bigint[]): bigint =>
  fees.reduce((sum, bps) => sum + (net * bps + 9_999n) / 10_000n, 0n)

test('pump.fun, a purchase of an exact amount: the quote equals the recorded amount, fees included', () => {
  const recorded = recordedSwaps('pumpfun_create_from_blocksubscribe.json')
  const [swap] = recorded.swaps
  assert.ok(swap?.tokenIn)
  // fee and creator_fee of the recorded event.
  const paid = swap.amountInRaw + 938_126n + 296_251n
  assert.equal(paid, swap.amountInRaw + curveFees(swap.amountInRaw, [95n, 30n]))
  const pool = poolBefore(recorded, swap)
  assert.deepEqual(
    pool.kind === 'fee_on_quote' && pool.reserves.toSorted(),
    [1_073_000_000_000_000n, 30_000_000_000n].toSorted(),
  )
  assert.equal(amount(quoteExactOut(pool, swap.tokenIn, swap.amountOutRaw)), paid)
})

test('pump.fun, a sale: the quote equals the recorded amount, less fees', () => {
  const recorded = recordedSwaps('swap_maestro_1.json')
  const [swap] = recorded.swaps
  assert.ok(swap?.tokenIn)
  const got = swap.amountOutRaw - curveFees(swap.amountOutRaw, [95n, 30n])
  assert.equal(
    amount(quoteExactIn(poolBefore(recorded, swap), swap.tokenIn, swap.amountInRaw)),
    got,
  )
})

test('a curve trade that its stated reserves do not explain is not used for quotes', () => {
  for (const file of ['buy_token_pumpfun_1.json', 'pumpfun_buy_v2_usdc_quote_jsonparsed.json']) {
    assert.deepEqual(recordedSwaps(file).swaps, [])
  }
})

test('pump.fun: a curve of 2024 without stated fees is known but not quoted', () => {
  const recorded = recordedSwaps('pumpfun_create_2024_09.json')
  const [swap] = recorded.swaps
  assert.ok(swap)
  const book = makeBook()
  book.accept(createPoolTopic()(recorded, { swaps: [swap] }))
  assert.equal(book.pool(swap.pool, 0), null)
})

/** Amounts that the curve saw, of recorded events: tokens that keep a part of transfers, and a pool with a creator's fee. */
const CPMM = [
  {
    file: 'swap_raydium_cpmm_1.json',
    in: 7_052_632_423_053_742n,
    out: 1_735_732_942n,
    amountIn: 23_335_872_251_680n,
    feePips: 10_000,
    tradeFee: 233_358_722_517n,
    got: 5_667_226n,
    creatorFee: 0n,
  },
  {
    file: 'swap_exa6gyh_1.json',
    in: 647_041_661_155_172n,
    out: 2_003_637_923n,
    amountIn: 3_003_373_720_923n,
    feePips: 50,
    tradeFee: 150_168_687n,
    got: 9_187_430n,
    creatorFee: 69_427n,
  },
]

test('Raydium CPMM: quotes equal the amounts of the recorded events', () => {
  for (const { amountIn, got, creatorFee, tradeFee, ...pool } of CPMM) {
    assert.equal((amountIn * BigInt(pool.feePips) + 999_999n) / 1_000_000n, tradeFee)
    assert.equal(feeOnInputAmountOut(amountIn, pool) - creatorFee, got)
    const needed = feeOnInputAmountIn(got + creatorFee, pool) ?? 0n
    assert.equal(feeOnInputAmountOut(needed, pool), got + creatorFee)
  }
})

test('Raydium CPMM: a pool with a transfer fee or a creator fee is not used for quotes', () => {
  for (const { file } of CPMM) assert.deepEqual(recordedSwaps(file).swaps, [])
})

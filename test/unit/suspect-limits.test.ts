/** Where each limit of the suspect rules lies: the value at the limit passes, the next one does not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { priceTrade } from '../../processors/prices/stage.ts'
import {
  factorBetween,
  type PriceSignals,
  suspectReason,
} from '../../processors/prices/suspect-rules.ts'
import { buildTape, type TapeTrade, tapeTradeEvent } from '../support/builders/trade-tape.ts'

const UNKNOWN: PriceSignals = {
  priceUsd: null,
  valueUsd: null,
  productRatio: null,
  poolFactor: null,
  closeFactor: null,
}

/** Signals that pass, the nearest that do not, and the reason that they get. */
const LIMITS: readonly (readonly [
  passes: Partial<PriceSignals>,
  fails: Partial<PriceSignals>,
  reason: string,
])[] = [
  [{ priceUsd: 1e9 }, { priceUsd: 1e9 + 1 }, 'BY_BIG_PRICE'],
  [{ productRatio: 0.999_999 }, { productRatio: 0.999_998 }, 'BY_CONSTANT_PRODUCT_FORMULA'],
  [{ productRatio: 1.02 }, { productRatio: 1.020_001 }, 'BY_CONSTANT_PRODUCT_FORMULA'],
  [
    { valueUsd: 1, poolFactor: 1.2 },
    { valueUsd: 0.999, poolFactor: 1.2 },
    'BY_SMALL_AMOUNT_IN_USD_AND_POOL_PRICE_IMPACT',
  ],
  [
    { valueUsd: 0.5, poolFactor: 1.1 },
    { valueUsd: 0.5, poolFactor: 1.101 },
    'BY_SMALL_AMOUNT_IN_USD_AND_POOL_PRICE_IMPACT',
  ],
  [{ valueUsd: 0.01 }, { valueUsd: 0.009_99 }, 'BY_SMALL_AMOUNT_IN_USD'],
  [{ poolFactor: 2 }, { poolFactor: 2.001 }, 'BY_POOL_PRICE_IMPACT'],
  [{ closeFactor: 5 }, { closeFactor: 5.001 }, 'BY_LAST_CLOSE_PRICES'],
]

for (const [passes, fails, reason] of LIMITS) {
  test(`${reason} begins beyond ${JSON.stringify(passes)}`, () => {
    const reasonOf = (signals: Partial<PriceSignals>): string =>
      suspectReason({ ...UNKNOWN, ...signals }).replace('TOKEN_PRICE_SUSPECT_REASON_', '')
    assert.equal(reasonOf(passes), 'UNSPECIFIED')
    assert.equal(reasonOf(fails), reason)
  })
}

test('where several suspect rules match, the first one in order gives the reason', () => {
  const all = { priceUsd: 2e9, valueUsd: 0.001, productRatio: 2, poolFactor: 9, closeFactor: 9 }
  const removed: readonly Partial<PriceSignals>[] = [
    {},
    { priceUsd: null },
    { productRatio: null },
    { poolFactor: null },
    { valueUsd: null, poolFactor: 9 },
    { valueUsd: null },
  ]
  let left: PriceSignals = all
  const reasons = removed.map((change) => {
    left = { ...left, ...change }
    return suspectReason(left).replace('TOKEN_PRICE_SUSPECT_REASON_', '')
  })
  left = { ...left, poolFactor: null }
  assert.deepEqual(
    [...reasons.slice(0, 5), suspectReason(left).replace('TOKEN_PRICE_SUSPECT_REASON_', '')],
    [
      'BY_BIG_PRICE',
      'BY_CONSTANT_PRODUCT_FORMULA',
      'BY_SMALL_AMOUNT_IN_USD_AND_POOL_PRICE_IMPACT',
      'BY_SMALL_AMOUNT_IN_USD',
      'BY_POOL_PRICE_IMPACT',
      'BY_LAST_CLOSE_PRICES',
    ],
  )
})

test('factorBetween is the same both ways, at least 1, and null for what is not a price', () => {
  assert.equal(factorBetween(2, 6), 3)
  assert.equal(factorBetween(6, 2), 3)
  assert.equal(factorBetween(2, 2), 1)
  for (const noPrice of [null, 0, -1, Number.NaN]) {
    assert.equal(factorBetween(noPrice, 1), null, `${noPrice} and 1`)
    assert.equal(factorBetween(1, noPrice), null, `1 and ${noPrice}`)
  }
})

const DOLLAR = 1_000_000n
const AT_LEVEL: TapeTrade = {
  base: '0xaaa',
  quote: '0xusdc',
  pool: '0xp1',
  baseDecimals: 6,
  quoteDecimals: 6,
  buy: true,
  baseRaw: 100n * DOLLAR,
  quoteRaw: 200n * DOLLAR,
  quoteUsd: '1',
  quoteNative: '0.0005',
  suspect: false,
}

/** Whether each trade is suspect, of a token that closed at 0.3 USD. A trade: its height, and what was paid for 100. */
const suspicions = (trades: readonly (readonly [height: number, paid: number])[]): string =>
  trades
    .reduce<{ readonly token: Parameters<typeof priceTrade>[2]['token']; readonly said: string[] }>(
      ({ token, said }, [height, paid]) => {
        const change = { ...AT_LEVEL, quoteRaw: BigInt(paid) * DOLLAR }
        const [block] = buildTape([{ kind: 'apply', stepMs: 0, trades: [change] }]).blocks
        assert.ok(block)
        const event = tapeTradeEvent(block, 0)
        assert.ok(event.trade)
        const priced = priceTrade(
          event,
          event.trade,
          { token, pool: undefined },
          {
            height,
            timeMs: 36_000_000,
          },
        )
        const word = priced.processed.is_token_a_price_in_usd_suspect ? 'suspect' : 'good'
        return { token: priced.token, said: [...said, word] }
      },
      {
        token: { usd: 0.3, native: null, inQuote: null, timeMs: 35_999_000, level: null },
        said: [],
      },
    )
    .said.join(' ')

test('a new price level is accepted with its third trade, when these are in two blocks', () => {
  assert.equal(
    suspicions([
      [100, 200],
      [101, 200],
      [101, 200],
    ]),
    'suspect suspect good',
  )
  assert.equal(
    suspicions([
      [100, 200],
      [100, 200],
      [101, 200],
    ]),
    'suspect suspect good',
  )
  assert.equal(
    suspicions([
      [100, 200],
      [100, 200],
      [100, 200],
      [100, 200],
    ]),
    'suspect suspect suspect suspect',
  )
})

test('trades agree on a level within a factor of 1.5 of the one before; one further off begins another level', () => {
  assert.equal(
    suspicions([
      [100, 200],
      [101, 300],
      [102, 450],
    ]),
    'suspect suspect good',
  )
  assert.equal(
    suspicions([
      [100, 200],
      [101, 301],
      [102, 301],
      [103, 301],
    ]),
    'suspect suspect suspect good',
  )
})

/** Folds of a candle: what two of them make together, and what a candle says of one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  EMPTY_CANDLE,
  type FormattedCandle,
  formatCandle,
  fromStoredOhlcv,
  hasSameTrades,
  mergeInto,
  mergeOhlcv,
  type Ohlcv,
  toStoredOhlcv,
} from '../../processors/candles/ohlcv.ts'

const UNKNOWN = Number.NaN
const USD_UNIT = 10n ** 12n

/** One buy of 5 tokens of 6 decimals for 10 USD, which are 0.004 of the native token. */
const BUY: Ohlcv = {
  openUsd: 2,
  highUsd: 2,
  lowUsd: 2,
  closeUsd: 2,
  openNative: 0.0008,
  highNative: 0.0008,
  lowNative: 0.0008,
  closeNative: 0.0008,
  volumeRaw: 5_000_000n,
  usdRaw: 10n * USD_UNIT,
  nativeRaw: USD_UNIT / 250n,
  trades: 1,
  buys: 1,
  version: 7,
}

type Prices = readonly [open: number, high: number, low: number, close: number]
const inUsd = ([openUsd, highUsd, lowUsd, closeUsd]: Prices): Partial<Ohlcv> => ({
  openUsd,
  highUsd,
  lowUsd,
  closeUsd,
})
const inNative = ([openNative, highNative, lowNative, closeNative]: Prices): Partial<Ohlcv> => ({
  openNative,
  highNative,
  lowNative,
  closeNative,
})
const NO_NATIVE: Prices = [UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN]

const MERGES: readonly (readonly [
  subject: string,
  earlier: Partial<Ohlcv>,
  later: Partial<Ohlcv>,
  both: Partial<Ohlcv>,
])[] = [
  ['a later fold inside', inUsd([4, 9, 1, 5]), inUsd([6, 8, 2, 7]), inUsd([4, 9, 1, 7])],
  ['a later fold around', inUsd([6, 8, 2, 7]), inUsd([4, 9, 1, 5]), inUsd([6, 9, 1, 5])],
  ['native prices', inNative([4, 9, 2, 5]), inNative([6, 8, 1, 7]), inNative([4, 9, 1, 7])],
  ['native prices first', inNative([4, 9, 2, 5]), inNative(NO_NATIVE), inNative([4, 9, 2, 5])],
  ['native prices last', inNative(NO_NATIVE), inNative([6, 8, 1, 7]), inNative([6, 8, 1, 7])],
  ['no native price', inNative(NO_NATIVE), inNative(NO_NATIVE), inNative(NO_NATIVE)],
  ['volumes', { volumeRaw: 3n }, { volumeRaw: 4n }, { volumeRaw: 7n }],
  [
    'values',
    { usdRaw: 3n, nativeRaw: 1n },
    { usdRaw: 4n },
    { usdRaw: 7n, nativeRaw: 4_000_000_001n },
  ],
  ['counts', { trades: 3, buys: 1 }, { trades: 4, buys: 2 }, { trades: 7, buys: 3 }],
  ['a newer version after', { version: 3 }, { version: 4 }, { version: 4 }],
  ['a newer version before', { version: 4 }, { version: 3 }, { version: 4 }],
]

for (const [subject, earlier, later, both] of MERGES) {
  test(`two folds make one, as a new fold or inside the earlier one: ${subject}`, () => {
    const first: Ohlcv = { ...BUY, ...earlier }
    const second: Ohlcv = { ...BUY, ...later }
    const sums: Partial<Ohlcv> = {
      volumeRaw: 10_000_000n,
      usdRaw: 20n * USD_UNIT,
      nativeRaw: USD_UNIT / 125n,
      trades: 2,
      buys: 2,
    }
    const expected: Ohlcv = { ...BUY, ...sums, ...both }
    assert.deepEqual(mergeOhlcv(first, second), expected)
    assert.deepEqual(first, { ...BUY, ...earlier }, 'the earlier fold is as it was')
    mergeInto(first, second)
    assert.deepEqual(first, expected)
    assert.deepEqual(second, { ...BUY, ...later }, 'the later fold is as it was')
  })
}

test('folds of a series hold the same trades where their newest trade and their number are the same', () => {
  const cases: readonly (readonly [Partial<Ohlcv>, boolean])[] = [
    [{}, true],
    [{ closeUsd: 9 }, true],
    [{ version: 8 }, false],
    [{ trades: 2 }, false],
  ]
  for (const [change, same] of cases) {
    assert.equal(hasSameTrades(BUY, { ...BUY, ...change }), same, JSON.stringify(change))
  }
})

const CANDLE_OF_BUY: FormattedCandle = {
  open: '2',
  high: '2',
  low: '2',
  close: '2',
  open_in_native: '0.0008',
  high_in_native: '0.0008',
  low_in_native: '0.0008',
  close_in_native: '0.0008',
  average_price: '2',
  average_price_in_native: '0.0008',
  volume: '5',
  volume_in_usd: '10',
  volume_in_native: '0.004',
  trades: 1,
  buys: 1,
  sells: 0,
}

const CANDLES: readonly (readonly [
  subject: string,
  fold: Partial<Ohlcv>,
  candle: Partial<FormattedCandle>,
])[] = [
  ['one buy', {}, {}],
  ['one sell', { buys: 0 }, { buys: 0, sells: 1 }],
  [
    'four prices',
    { ...inUsd([2, 3.5, 1e-9, 2.5]), ...inNative([0.2, 0.4, 0.1, 0.3]) },
    {
      high: '3.5',
      low: '0.000000001',
      close: '2.5',
      open_in_native: '0.2',
      high_in_native: '0.4',
      low_in_native: '0.1',
      close_in_native: '0.3',
    },
  ],
  [
    'an average price: value by volume, not the mean of prices',
    { ...inUsd([2, 8, 2, 8]), usdRaw: 16n * USD_UNIT, nativeRaw: USD_UNIT / 10n, trades: 2 },
    {
      high: '8',
      close: '8',
      volume_in_usd: '16',
      volume_in_native: '0.1',
      average_price: '3.2',
      average_price_in_native: '0.02',
      trades: 2,
      sells: 1,
    },
  ],
  [
    'no native price',
    { ...inNative(NO_NATIVE), nativeRaw: 0n },
    {
      open_in_native: '',
      high_in_native: '',
      low_in_native: '',
      close_in_native: '',
      average_price_in_native: '',
      volume_in_native: '',
    },
  ],
  ['no volume', { volumeRaw: 0n }, { volume: '0', average_price: '', average_price_in_native: '' }],
]

for (const [subject, fold, candle] of CANDLES) {
  test(`a candle prints its fold: ${subject}`, () => {
    assert.deepEqual(formatCandle({ ...BUY, ...fold }, 6), { ...CANDLE_OF_BUY, ...candle })
  })
}

test('a fold survives its stored form, unknown native prices included', () => {
  const folds: readonly Ohlcv[] = [
    { ...BUY, ...inUsd([4, 9, 1, 5]), ...inNative([0.4, 0.9, 0.1, 0.5]) },
    { ...BUY, ...inNative(NO_NATIVE), trades: 3, buys: 2, version: 2 ** 52 },
  ]
  for (const fold of folds) {
    assert.deepEqual(fromStoredOhlcv(JSON.parse(JSON.stringify(toStoredOhlcv(fold)))), fold)
  }
})

test('an emptied candle has no price, and amounts and counts of zero', () => {
  for (const [name, value] of Object.entries(EMPTY_CANDLE)) {
    const isCount = name === 'trades' || name === 'buys' || name === 'sells'
    assert.equal(value, isCount ? 0 : name.startsWith('volume') ? '0' : '', name)
  }
  assert.deepEqual(Object.keys(EMPTY_CANDLE).toSorted(), Object.keys(CANDLE_OF_BUY).toSorted())
})

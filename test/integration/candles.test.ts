import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import {
  addressFromNumber,
  createSeededRandom,
  type MarketTrade,
  marketTradeRows,
} from '../support/builders/market-trade.ts'

const TOKEN = addressFromNumber(1)
const OTHER = addressFromNumber(2)
const UNPRICED_NATIVE = addressFromNumber(3)
const USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
const POOLS = [
  { pool: addressFromNumber(11), token: TOKEN, quote: USDC },
  { pool: addressFromNumber(12), token: TOKEN, quote: WETH },
  { pool: addressFromNumber(13), token: TOKEN, quote: WETH },
  { pool: addressFromNumber(14), token: OTHER, quote: USDC },
  { pool: addressFromNumber(15), token: UNPRICED_NATIVE, quote: USDC },
] as const

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const FIRST = Date.UTC(2026, 5, 1)
/** In the middle of an hour, a day, a week and a month: every layer has a part to play. */
const WATERMARK = Date.UTC(2026, 7, 12, 13, 37)
const LAST = Date.UTC(2026, 7, 20)

const SIZES: Readonly<Record<string, number>> = {
  '1s': SECOND,
  '15s': 15 * SECOND,
  '30s': 30 * SECOND,
  '1m': MINUTE,
  '3m': 3 * MINUTE,
  '5m': 5 * MINUTE,
  '15m': 15 * MINUTE,
  '30m': 30 * MINUTE,
  '1h': HOUR,
  '2h': 2 * HOUR,
  '4h': 4 * HOUR,
  '6h': 6 * HOUR,
  '8h': 8 * HOUR,
  '12h': 12 * HOUR,
  '1d': DAY,
  '3d': 3 * DAY,
}
const RESOLUTIONS = [...Object.keys(SIZES), '1w', '1M']

/** Start of a bucket, in calendar terms: independent of the product's arithmetic. */
const startOf = (timeMs: number, resolution: string): number => {
  const date = new Date(timeMs)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  if (resolution === '1M') return Date.UTC(year, month, 1)
  if (resolution === '1w') return Date.UTC(year, month, day - ((date.getUTCDay() + 6) % 7))
  const size = SIZES[resolution] ?? 0
  return timeMs - (timeMs % size)
}

const makeTrades = (): readonly MarketTrade[] => {
  const random = createSeededRandom(7)
  const times: number[] = []
  for (let at = FIRST; at < LAST; at += random() * 5 * HOUR) times.push(Math.floor(at))
  for (let at = WATERMARK - 3 * HOUR; at < WATERMARK + 2 * HOUR; at += random() * 90 * SECOND) {
    times.push(Math.floor(at / SECOND) * SECOND)
  }
  for (const edge of [WATERMARK, WATERMARK - HOUR, Date.UTC(2026, 7, 1), Date.UTC(2026, 7, 10)]) {
    times.push(edge - SECOND, edge, edge + SECOND)
  }
  const slots = [...new Set(times)].toSorted((left, right) => left - right)
  return slots.flatMap((timeMs, slot) =>
    Array.from({ length: 1 + Math.floor(random() * 4) }, (_, index) =>
      tradeAt(random, timeMs, 100 + slot, index),
    ),
  )
}

const tradeAt = (
  random: () => number,
  timeMs: number,
  slot: number,
  index: number,
): MarketTrade => {
  const place = POOLS[Math.floor(random() * POOLS.length)] ?? POOLS[0]
  const price = random() < 0.05 ? null : 10 ** (random() * 12 - 8)
  const isNativeUnknown = place.token === UNPRICED_NATIVE || random() < 0.1
  const native = price === null || isNativeUnknown ? null : price / 3_127.5
  return {
    ...place,
    timeMs,
    slot,
    index,
    side: random() < 0.5 ? 'BUY' : 'SELL',
    amountRaw: BigInt(Math.floor(random() * 1e15)) * 1_000_003n,
    priceUsd: price,
    priceNative: native,
    valueUsd: price === null ? null : (random() * 1e5).toFixed(12),
    valueNative: native === null ? null : (random() * 10).toFixed(12),
    suspect: random() < 0.1,
  }
}

const TRADES = makeTrades()
/** Removed by a reorg: present in the tables, gone for every reader. */
const REMOVED = TRADES.filter(({ slot }) => slot % 29 === 0)
const LIVE = TRADES.filter(({ slot }) => slot % 29 !== 0)

interface Bar {
  timestamp: number
  open: number
  high: number
  low: number
  close: number
  volume: bigint
  trades: number
  amountRaw: bigint
}

const SCALE = 12
const scaled = (text: string): bigint => {
  const [whole = '0', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(SCALE, '0').slice(0, SCALE))
}

/** The plain loop that every answer is compared with. A trade without a native price counts, and its native price does not. */
const fold = (
  trades: readonly MarketTrade[],
  resolution: string,
  priceType: 'usd' | 'native',
): readonly Bar[] => {
  const bars = new Map<number, Bar>()
  for (const trade of trades) {
    const price = priceType === 'usd' ? trade.priceUsd : trade.priceNative
    const value = priceType === 'usd' ? trade.valueUsd : trade.valueNative
    if (trade.suspect || trade.priceUsd === null) continue
    const timestamp = startOf(trade.timeMs, resolution)
    const bar = bars.get(timestamp)
    if (!bar) {
      bars.set(timestamp, {
        timestamp,
        open: price ?? Number.NaN,
        high: price ?? Number.NEGATIVE_INFINITY,
        low: price ?? Number.POSITIVE_INFINITY,
        close: price ?? Number.NaN,
        volume: scaled(value ?? '0'),
        trades: 1,
        amountRaw: trade.amountRaw,
      })
      continue
    }
    if (price !== null) {
      if (Number.isNaN(bar.open)) bar.open = price
      bar.high = Math.max(bar.high, price)
      bar.low = Math.min(bar.low, price)
      bar.close = price
    }
    bar.volume += scaled(value ?? '0')
    bar.trades += 1
    bar.amountRaw += trade.amountRaw
  }
  return [...bars.values()]
    .filter(({ open }) => !Number.isNaN(open))
    .toSorted((left, right) => left.timestamp - right.timestamp)
}

interface WireBar {
  readonly timestamp: number
  readonly open: string
  readonly high: string
  readonly low: string
  readonly close: string
  readonly volume: string
  readonly trades: number
  readonly volumeInTokenAmount: string | null
}

const comparable = (bar: WireBar): Bar => ({
  timestamp: bar.timestamp,
  open: Number(bar.open),
  high: Number(bar.high),
  low: Number(bar.low),
  close: Number(bar.close),
  volume: scaled(bar.volume),
  trades: bar.trades,
  amountRaw: BigInt(
    (() => {
      const [whole = '0', fraction = ''] = (bar.volumeInTokenAmount ?? '0').split('.')
      return whole + fraction.padEnd(18, '0')
    })(),
  ),
})

let api: TestApi
before(async () => {
  api = await startApi()
  const { warehouse } = api
  const stale = LIVE.filter(({ slot }) => slot % 31 === 0).map((trade) => ({
    ...trade,
    priceUsd: 999,
  }))
  await warehouse.insert('eth_dex_trades', [
    ...stale.map((trade) => marketTradeRows(trade, 1)),
    ...REMOVED.map((trade) => marketTradeRows(trade, 1)),
  ])
  await warehouse.insert('eth_dex_trades', [
    ...LIVE.map((trade) => marketTradeRows(trade, 2)),
    ...REMOVED.map((trade) => marketTradeRows(trade, 2, true)),
  ])
  await warehouse.insert(
    'eth_tokens',
    POOLS.map(({ token }) => ({ token_address: token, symbol: 'T', decimals: 18, _ver: 1 })),
  )
  await warehouse.insert(
    'eth_dex_pools',
    POOLS.map(({ pool, token, quote }, index) => ({
      pool_address: pool,
      token_a: index % 2 === 0 ? token : quote,
      token_b: index % 2 === 0 ? quote : token,
      base_is_a: index % 2 === 0 ? 1 : 0,
      _ver: 1,
    })),
  )
  // The finalizer has rolled one minute more than the watermark says: it is between its two steps.
  const rolled = new Date(WATERMARK + MINUTE).toISOString().slice(0, 19).replace('T', ' ')
  await warehouse.command(
    `INSERT INTO eth_trades_final SELECT * EXCEPT(_ver, _del) FROM eth_dex_trades_enriched FINAL WHERE block_time < toDateTime64('${rolled}', 3, 'UTC')`,
  )
  await warehouse.insert('eth_chain_state', [
    { key: 'rollup', hot_from: WATERMARK / SECOND, _ver: 1 },
  ])
})
after(() => api.stop())

const bars = async (path: string, query: string): Promise<readonly WireBar[]> => {
  const { status, body, text } = await callApi(api, `/v2/token/eth/${path}/candles?${query}`)
  assert.equal(status, 200, text)
  assert.ok(Array.isArray(body))
  return body
}

const SERIES = [
  { path: TOKEN, of: (trade: MarketTrade) => trade.token === TOKEN },
  {
    path: `pool/${addressFromNumber(12)}`,
    of: (trade: MarketTrade) => trade.pool === addressFromNumber(12),
  },
  {
    path: `pair/${WETH}-${TOKEN}`,
    of: (trade: MarketTrade) => trade.token === TOKEN && trade.quote === WETH,
  },
] as const

test('the tape of trades has the blocks that the comparison needs', () => {
  assert.ok(LIVE.length > 800)
  assert.ok(LIVE.some(({ timeMs }) => timeMs >= WATERMARK && timeMs < WATERMARK + MINUTE))
  assert.ok(REMOVED.length > 10)
})

for (const resolution of RESOLUTIONS) {
  test(`${resolution}: token, pool and pair candles equal a plain fold, in USD and native`, async () => {
    for (const { path, of } of SERIES) {
      for (const priceType of ['usd', 'native'] as const) {
        const expected = fold(LIVE.filter(of), resolution, priceType).slice(-1_000)
        const answer = await bars(
          path,
          `resolution=${resolution}&priceType=${priceType}&limit=1000`,
        )
        assert.ok(expected.length > 0)
        assert.deepEqual(answer.map(comparable), expected)
      }
    }
  })
}

test('from is inclusive, to is exclusive, both on bucket starts, in seconds or milliseconds', async () => {
  for (const resolution of ['1m', '3m', '1h', '1d', '1w', '1M']) {
    const all = fold(LIVE.filter(SERIES[0].of), resolution, 'usd')
    const [first, last] = [all.at(1)?.timestamp ?? 0, all.at(-1)?.timestamp ?? 0]
    const expected = all.filter(({ timestamp }) => timestamp >= first && timestamp < last)
    const query = `resolution=${resolution}&limit=1000`
    const ms = await bars(TOKEN, `${query}&from=${first}&to=${last}`)
    assert.deepEqual(ms.map(comparable), expected.slice(-1_000))
    const seconds = await bars(TOKEN, `${query}&from=${first / 1_000}&to=${last / 1_000}`)
    assert.deepEqual(seconds, ms)
    const between = await bars(TOKEN, `${query}&from=${first + 1}&to=${last + 1}`)
    const shifted = all.filter(({ timestamp }) => timestamp > first && timestamp <= last)
    assert.deepEqual(between.map(comparable), shifted.slice(-1_000))
  }
})

test('limit takes the newest buckets of the range', async () => {
  const all = fold(LIVE.filter(SERIES[0].of), '1h', 'usd')
  const answer = await bars(TOKEN, 'resolution=1h&limit=7')
  assert.deepEqual(answer.map(comparable), all.slice(-7))
  assert.equal((await bars(TOKEN, 'resolution=1h')).length, 100)
})

test('fillGaps puts flat bars where no node traded', async () => {
  const to = WATERMARK + HOUR
  const answer = await bars(TOKEN, `resolution=1s&limit=300&fillGaps=true&to=${to}`)
  assert.equal(answer.length, 300)
  const traded = fold(LIVE.filter(SERIES[0].of), '1s', 'usd').filter(
    ({ timestamp }) => timestamp < to,
  )
  let close = String(traded.findLast(({ timestamp }) => timestamp < to - 300 * SECOND)?.close)
  for (const [index, bar] of answer.entries()) {
    const start = to - (300 - index) * SECOND
    assert.equal(bar.timestamp, start)
    const own = traded.find(({ timestamp }) => timestamp === start)
    if (own) assert.deepEqual(comparable(bar), own)
    else {
      assert.deepEqual([bar.volume, bar.trades], ['0', 0])
      assert.deepEqual(
        [bar.open, bar.high, bar.low, bar.close].map(Number),
        Array(4).fill(Number(close)),
      )
    }
    close = bar.close
  }
})

test('a token without a native price has USD candles and no native ones', async () => {
  assert.ok((await bars(UNPRICED_NATIVE, 'resolution=1d')).length > 0)
  assert.deepEqual(await bars(UNPRICED_NATIVE, 'resolution=1d&priceType=native'), [])
})

test('candles of unknown tokens, pools, pairs and empty ranges are an empty list', async () => {
  const query = 'resolution=1h'
  assert.deepEqual(await bars(addressFromNumber(99), query), [])
  assert.deepEqual(await bars(`pool/${addressFromNumber(99)}`, query), [])
  assert.deepEqual(await bars(`pair/${addressFromNumber(98)}-${addressFromNumber(99)}`, query), [])
  assert.deepEqual(await bars(TOKEN, `${query}&to=1000`), [])
  assert.deepEqual(await bars(TOKEN, `${query}&from=95617584000`), [])
  const sol = await callApi(api, `/v2/token/sol/${'1'.repeat(40)}/candles?${query}`)
  assert.deepEqual([sol.status, sol.body], [200, []])
})

test('both route prefixes and both names of the chain give the same bytes of candles', async () => {
  const query = `candles?resolution=1d`
  const [one, two, three] = await Promise.all(
    [
      `/v2/token/eth/${TOKEN}`,
      `/v1/token/eth/${TOKEN}`,
      `/v1/token/ethereum/${TOKEN.toUpperCase().replace('0X', '0x')}`,
    ].map((path) => callApi(api, `${path}/${query}`)),
  )
  assert.equal(one?.text, two?.text)
  assert.equal(one?.text, three?.text)
})

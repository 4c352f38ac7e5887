import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Type } from 'typebox'
import { Fault } from '../../core/errors.ts'
import { bucketEnd, bucketStart, RESOLUTION_NAMES } from '../../core/time.ts'
import { generateApiKey, isWellFormedApiKey } from '../../serving/auth/api-keys.ts'
import { candleQuery, fillCandleGaps } from '../../serving/queries/candles.ts'
import { createCursors } from '../../serving/queries/cursors-and-pages.ts'
import { matchesQuery, searchQuery } from '../../serving/queries/token-search.ts'

const Place = Type.Object({ k: Type.String(), n: Type.Integer() }, { additionalProperties: false })
const codec = createCursors('a pepper')(Place, ['list'])

test('every cursor decodes to its position', () => {
  const places = fc.record(
    { k: fc.string({ unit: 'binary', maxLength: 60 }), n: fc.integer() },
    { noNullPrototype: true },
  )
  fc.assert(
    fc.property(places, (place) => assert.deepEqual(codec.decode(codec.encode(place)), place)),
  )
})

test('no other text is accepted as a cursor', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.base64String(),
    fc.json().map((json) => Buffer.from(json).toString('base64url')),
  )
  fc.assert(
    fc.property(texts, (text) => {
      assert.throws(
        () => codec.decode(text),
        (error) => error instanceof Fault && error.code === 40027,
      )
    }),
  )
})

test('a key with one character changed is not a key', () => {
  const change = fc.tuple(fc.nat(49), fc.constantFrom(...'abcXYZ019_-é'))
  fc.assert(
    fc.property(change, ([at, character]) => {
      const key = generateApiKey('sluice', 'live')
      const changed = key.slice(0, at) + character + key.slice(at + 1)
      assert.equal(isWellFormedApiKey(changed), changed === key)
    }),
  )
})

test('text from a caller is never part of the SQL', () => {
  const hostile = fc
    .string({ unit: 'binary', minLength: 6, maxLength: 60 })
    .map((text) => `⌁${text}⌁`)
  fc.assert(
    fc.property(hostile, hostile, (keyword, family) => {
      const search = {
        chains: ['eth'],
        keyword,
        protocols: [family],
        sortBy: 'relevance',
        descending: true,
        direction: 'next',
        after: { rank: 1, k: '1', chain: keyword, address: family },
        rows: 5,
      } as const
      for (const { sql, params } of [
        matchesQuery(search),
        searchQuery(search, null),
        searchQuery(search, new Map([['eth', [keyword]]])),
      ]) {
        assert.ok(!sql.includes('⌁'))
        assert.equal(params?.keyword, keyword)
      }
      const candles = candleQuery({
        chain: 'eth',
        series: { kind: 'pair', token: keyword, side: family },
        resolution: '1m',
        priceType: 'usd',
        fromMs: 0,
        toMs: 1e12,
        limit: 5,
      })
      assert.ok(candles && !candles.sql.includes('⌁'))
    }),
  )
})

test('a candle query covers whole buckets that start inside the range', () => {
  const times = fc.integer({ min: 0, max: Date.UTC(2099, 0, 1) })
  const resolutions = fc.constantFrom(...RESOLUTION_NAMES)
  fc.assert(
    fc.property(times, times, resolutions, (fromMs, toMs, resolution) => {
      const query = candleQuery({
        chain: 'eth',
        series: { kind: 'token', token: 'x' },
        resolution,
        priceType: 'usd',
        fromMs,
        toMs,
        limit: 1,
      })
      const own = bucketStart(fromMs, resolution)
      const first = own === fromMs ? own : bucketEnd(own, resolution)
      if (!query) return assert.ok(first >= toMs)
      const { first: from, end } = query.params as { first: number; end: number }
      assert.equal(from, first)
      assert.equal(bucketStart(end - 1, resolution), bucketStart(toMs - 1, resolution))
      assert.equal(bucketStart(end, resolution), end)
    }),
  )
})

test('flat bars leave no hole, keep every trade and never exceed the limit', () => {
  const starts = fc.uniqueArray(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 30 })
  fc.assert(
    fc.property(starts, fc.integer({ min: 1, max: 100 }), fc.nat(50), (minutes, limit, tail) => {
      const traded = minutes
        .toSorted((left, right) => left - right)
        .map((minute) => {
          const price = String(minute + 1)
          const prices = { open: price, high: price, low: price, close: price }
          return {
            timestamp: minute * 60_000,
            ...prices,
            volume: '1',
            trades: 1,
            volumeInTokenAmount: '1',
          }
        })
      const toMs = (traded.at(-1)?.timestamp ?? 0) + 60_000 * (tail + 1)
      const bars = fillCandleGaps(traded.slice(-limit), { resolution: '1m', toMs, limit })
      assert.ok(bars.length <= limit)
      assert.equal(bars.at(-1)?.timestamp, toMs - 60_000)
      for (const [index, bar] of bars.entries()) {
        const before = bars[index - 1]
        if (before) assert.equal(bar.timestamp, before.timestamp + 60_000)
        const own = traded.find(({ timestamp }) => timestamp === bar.timestamp)
        const last = traded.findLast(({ timestamp }) => timestamp <= bar.timestamp)
        assert.equal(bar.trades, own ? 1 : 0)
        assert.equal(bar.close, last?.close)
      }
    }),
  )
})

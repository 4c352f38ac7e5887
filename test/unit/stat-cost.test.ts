import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { BlockStats } from '../../processors/stats/block-stats.ts'
import { emptyBucket, type StatsBucket } from '../../processors/stats/bucket.ts'
import { createDistinctCounter } from '../../processors/stats/distinct-counter.ts'
import {
  addFinal,
  mergeCells,
  newTokenStats,
  pruneStats,
  type TokenStats,
} from '../../processors/stats/token-stats.ts'
import { windowStatsAt } from '../../processors/stats/token-windows.ts'
import { TradeSums } from '../../processors/stats/trade-sums.ts'
import { createUnfinalizedStats } from '../../processors/stats/unfinalized-stats.ts'

const NOW = 1_800_000_000
const NOTHING_KNOWN = { usd: null, native: null, liquidityUsd: null, second: null }

const side = (count: number) => ({ count, raw: BigInt(count), usdRaw: 7n, nativeRaw: 1n })

const bucketAt = (second: number, price: number): StatsBucket => {
  const span = { open: price, close: price, high: price, low: price }
  const sides = { buy: side(5), sell: side(4) }
  return { ...emptyBucket(second), ...sides, usd: span, native: span, liquidityUsd: price }
}

const partAt = (second: number, price: number): BlockStats => {
  const names = Array.from({ length: 3 }, (_, index) => `w${second}-${index}`)
  const seen = { buyers: names, sellers: names, pools: ['p'], programs: ['g'] }
  return { bucket: bucketAt(second, price), decimals: 6, seen }
}

const STEP_SECONDS = 10
/** Final trades every few seconds for so long. */
const tradedFor = (seconds: number): TokenStats => {
  const stats = newTokenStats('t', NOTHING_KNOWN)
  for (let second = NOW - seconds; second < NOW; second += STEP_SECONDS) {
    addFinal(stats, partAt(second, 1 + (second % 7)), second)
    pruneStats(stats, second)
    mergeCells(stats, second)
  }
  return stats
}

/** Looks into maps that one answer takes. */
const lookups = (stats: TokenStats): number => {
  const unfinalized = createUnfinalizedStats()
  unfinalized.push(partAt(NOW, 3), stats.names)
  let count = 0
  const get = Map.prototype.get
  const iterate = Map.prototype[Symbol.iterator]
  Map.prototype.get = function (this: Map<unknown, unknown>, key: unknown) {
    count += 1
    return get.call(this, key)
  }
  Map.prototype[Symbol.iterator] = function (this: Map<unknown, unknown>) {
    count += this.size
    return iterate.call(this)
  }
  try {
    windowStatsAt(stats, unfinalized, NOW)
    return count
  } finally {
    Map.prototype.get = get
    Map.prototype[Symbol.iterator] = iterate
  }
}

const HOUR = 3_600

test('window queries and memory cost the same after two and a half days of trades as after one', () => {
  const [day, days] = [tradedFor(24 * HOUR), tradedFor(60 * HOUR)]
  const [short, long] = [lookups(day), lookups(days)]
  assert.ok(short > 0, 'lookups are counted')
  assert.ok(long < 1.2 * short, `${short} lookups after a day, ${long} later`)
  assert.ok(long < 3_000, `${long} lookups`)
  // Buckets that some window looks at on its own: 560 between the youngest and those of 24 minutes, and what waits to be merged.
  assert.ok(days.sums.cells.length < 900, `${days.sums.cells.length} cells`)
  const [names, more] = [day.names.buyers.size, days.names.buyers.size]
  assert.ok(more < 1.05 * names, `${names} names after a day, ${more} later`)
})

const gap = fc.integer({ min: 0, max: 400 })

test('sums and prices of any range equal those of its seconds, whatever was dropped', () => {
  const bucket = fc.record({ gap, price: fc.option(fc.integer({ min: 1, max: 9 })) })
  fc.assert(
    fc.property(fc.array(bucket, { maxLength: 40 }), gap, gap, (list, dropped, length) => {
      let second = NOW
      const all = list.map(({ gap: step, price }) => {
        second += step
        const made = bucketAt(second, price ?? 1)
        return price === null ? { ...made, usd: null } : made
      })
      const sums = new TradeSums(NOTHING_KNOWN)
      for (const each of all) sums.append(each)
      sums.drop(NOW + dropped)
      const from = Math.max(second - length, NOW + dropped)
      const inside = all.filter((each) => each.second >= from)
      assert.equal(sums.totals(from, second + 1).buy.count, 5 * inside.length)
      const prices = inside.flatMap(({ usd }) => (usd === null ? [] : [usd.open]))
      const { usd } = sums.prices(from, second + 1)
      const found = usd && [usd.open, usd.close, usd.high, usd.low]
      const wanted = [prices[0], prices.at(-1), Math.max(...prices), Math.min(...prices)]
      assert.deepEqual(found, prices.length === 0 ? null : wanted)
      const before = all.findLast((each) => each.second < from && each.usd !== null)
      assert.equal(sums.knownBefore(from).usd, before?.usd?.close ?? null)
    }),
  )
})

test('the distinct count since a second is that of the names last seen then or later', () => {
  const seen = fc.record({ gap, name: fc.constantFrom('a', 'b', 'c', 'd', 'e') })
  fc.assert(
    fc.property(fc.array(seen, { maxLength: 40 }), gap, fc.nat(4_000), (list, pruned, back) => {
      const counter = createDistinctCounter()
      const last = new Map<string, number>()
      let second = NOW
      for (const { gap: step, name } of list) {
        second += step
        counter.note(name, second)
        last.set(name, second)
        assert.equal(counter.last(name), second)
      }
      counter.prune(NOW + pruned)
      const left = [...last.values()].filter((at) => at >= NOW + pruned)
      const from = second - back
      assert.equal(counter.since(from), left.filter((at) => at >= from).length)
      assert.equal(counter.size, left.length)
    }),
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { emptyBucket, type StatsBucket } from '../../processors/stats/bucket.ts'
import { createDistinctCounter } from '../../processors/stats/distinct-counter.ts'
import { MinuteSums } from '../../processors/stats/minute-sums.ts'
import {
  addFinalBlock,
  type BlockStats,
  newTokenStats,
  windowStatsAt,
} from '../../processors/stats/token-windows.ts'

const NOW = 30_000_000

const side = (count: number) => ({ count, raw: BigInt(count), usdRaw: 7n, nativeRaw: 1n })

const bucketAt = (minute: number, price: number): StatsBucket => {
  const span = { open: price, close: price, high: price, low: price }
  const sides = { buy: side(5), sell: side(4) }
  return { ...emptyBucket(minute), ...sides, usd: span, native: span, liquidityUsd: price }
}

const partAt = (bucket: StatsBucket): BlockStats => {
  const names = Array.from({ length: 5 }, (_, index) => `w${bucket.minute}-${index}`)
  const seen = { buyers: names, sellers: names, traders: names, pools: ['p'], programs: ['g'] }
  return { bucket, decimals: 6, seen }
}

/** Looks into buckets and maps that one answer takes after so many minutes with trades. */
const lookups = (minutes: number): number => {
  let count = 0
  const counted = (bucket: StatsBucket): StatsBucket =>
    new Proxy(bucket, {
      get: (target, name) => {
        count += 1
        return Reflect.get(target, name)
      },
    })
  const stats = newTokenStats('t', { usd: null, native: null, liquidityUsd: null })
  for (let minute = NOW - minutes; minute < NOW; minute += 1) {
    addFinalBlock(stats, partAt(counted(bucketAt(minute, 1 + (minute % 7)))))
  }
  const hot = [partAt(bucketAt(NOW, 3))]
  const get = Map.prototype.get
  const iterate = Map.prototype[Symbol.iterator]
  count = 0
  Map.prototype.get = function (this: Map<unknown, unknown>, key: unknown) {
    count += 1
    return get.call(this, key)
  }
  Map.prototype[Symbol.iterator] = function (this: Map<unknown, unknown>) {
    count += this.size
    return iterate.call(this)
  }
  try {
    windowStatsAt(stats, hot, NOW)
    return count
  } finally {
    Map.prototype.get = get
    Map.prototype[Symbol.iterator] = iterate
  }
}

test('an answer costs the same after two days with trades in every minute as after some hours', () => {
  const [hours, days] = [lookups(240), lookups(2_880)]
  assert.ok(hours > 0, 'lookups are counted')
  assert.ok(days < 1.5 * hours, `${hours} lookups after 240 minutes, ${days} after 2,880`)
  assert.ok(days < 3_000, `${days} lookups`)
})

const gap = fc.integer({ min: 0, max: 400 })

test('sums and prices of any window are those of its minutes, whatever was dropped', () => {
  const bucket = fc.record({ gap, price: fc.option(fc.integer({ min: 1, max: 9 })) })
  fc.assert(
    fc.property(fc.array(bucket, { maxLength: 40 }), gap, gap, (list, dropped, length) => {
      let minute = NOW
      const all = list.map(({ gap: step, price }) => {
        minute += step
        const made = bucketAt(minute, price ?? 1)
        return price === null ? { ...made, usd: null } : made
      })
      const sums = new MinuteSums()
      for (const each of all) sums.append(each)
      sums.drop(NOW + dropped)
      const from = Math.max(minute - length, NOW + dropped)
      const inside = all.filter((each) => each.minute > from)
      assert.equal(sums.between(from, minute).buy.count, 5 * inside.length)
      const prices = inside.flatMap(({ usd }) => (usd === null ? [] : [usd.open]))
      const { usd } = sums.pricesAfter(from)
      const found = usd && [usd.open, usd.close, usd.high, usd.low]
      const wanted = [prices[0], prices.at(-1), Math.max(...prices), Math.min(...prices)]
      assert.deepEqual(found, prices.length === 0 ? null : wanted)
    }),
  )
})

test('names since a minute are those that were last seen then or later', () => {
  const seen = fc.record({ gap, name: fc.constantFrom('a', 'b', 'c', 'd', 'e') })
  fc.assert(
    fc.property(fc.array(seen, { maxLength: 40 }), gap, fc.nat(4_000), (list, pruned, back) => {
      const recency = createDistinctCounter()
      const last = new Map<string, number>()
      let minute = NOW
      for (const { gap: step, name } of list) {
        minute += step
        assert.equal(recency.note(name, minute), last.get(name) !== minute)
        last.set(name, minute)
      }
      const old = [...last].flatMap(([name, at]) => (at < NOW + pruned ? [name] : []))
      assert.deepEqual([...recency.prune(NOW + pruned)].toSorted(), old.toSorted())
      for (const name of old) last.delete(name)
      const from = minute - back
      assert.equal(recency.since(from), [...last.values()].filter((at) => at >= from).length)
      assert.equal(recency.size, last.size)
    }),
  )
})

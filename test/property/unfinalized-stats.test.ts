import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type BlockStats, mergeBlockStats } from '../../processors/stats/block-stats.ts'
import { EMPTY_SIDE, emptyBucket } from '../../processors/stats/bucket.ts'
import {
  addFinal,
  mergeCells,
  newTokenStats,
  pruneStats,
} from '../../processors/stats/token-stats.ts'
import { windowStatsAt } from '../../processors/stats/token-windows.ts'
import { TradeSums } from '../../processors/stats/trade-sums.ts'
import { createUnfinalizedTokens } from '../../processors/stats/unfinalized-tokens.ts'
import { BRUTE_WINDOWS } from '../support/brute-force/statistics.ts'

const START = 1_800_000_000

type Step =
  | {
      readonly kind: 'apply'
      /** Seconds since the block before. */
      readonly gap: number
      readonly price: number | null
      readonly decimals: number | null
      readonly names: readonly number[]
    }
  | { readonly kind: 'revert' | 'finalize'; readonly count: number }
  /** Takes back a block that is not the newest. */
  | { readonly kind: 'remove'; readonly at: number }
  | { readonly kind: 'ask' }

const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.record({
      kind: fc.constant('apply' as const),
      gap: fc.constantFrom(0, 0, 1, 1, 2, 7, 30, 400, 5_000),
      price: fc.option(fc.integer({ min: 1, max: 9 })),
      decimals: fc.option(fc.constantFrom(6, 9)),
      names: fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('revert' as const, 'finalize' as const),
      count: fc.constantFrom(1, 1, 2, 9, 40),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), at: fc.nat(30) }) },
  { weight: 8, arbitrary: fc.constant({ kind: 'ask' as const }) },
)

const partOf = (step: Extract<Step, { kind: 'apply' }>, second: number): BlockStats => {
  const { price, decimals } = step
  const names = step.names.map((name) => `w${name}`)
  const range = price === null ? null : { open: price, close: price, high: price, low: price }
  const buy = { count: 1, raw: BigInt(second % 97), usdRaw: 3n, nativeRaw: 5n }
  const bucket = { ...emptyBucket(second), buy, sell: EMPTY_SIDE, usd: range, liquidityUsd: price }
  const seen = { buyers: names.slice(0, 2), sellers: names.slice(1), pools: ['p'], programs: names }
  return { bucket, decimals, seen }
}

const EMPTY_PART: BlockStats = {
  bucket: emptyBucket(START),
  decimals: null,
  seen: { buyers: [], sellers: [], pools: [], programs: [] },
}

const distinctOf = (parts: readonly BlockStats[], kinds: readonly (keyof BlockStats['seen'])[]) =>
  new Set(parts.flatMap(({ seen }) => kinds.flatMap((kind) => seen[kind]))).size

/** A span as a look at all of its blocks gives it. */
const bruteOf = (all: readonly BlockStats[], from: number, to: number) => {
  const inside = all.filter(({ bucket }) => bucket.second >= from && bucket.second < to)
  const before = all.filter(({ bucket }) => bucket.second < from)
  const flat = (price: number | undefined) =>
    price === undefined ? null : { open: price, close: price, high: price, low: price }
  const merged = inside.length === 0 ? undefined : inside.reduce(mergeBlockStats)
  return {
    count: inside.length,
    raw: inside.reduce((sum, { bucket }) => sum + bucket.buy.raw, 0n),
    usd:
      merged?.bucket.usd ??
      flat(before.findLast(({ bucket }) => bucket.usd !== null)?.bucket.usd?.close),
    liquidityUsd:
      [...before, ...inside].findLast(({ bucket }) => bucket.liquidityUsd !== null)?.bucket
        .liquidityUsd ?? null,
    buyers: distinctOf(inside, ['buyers']),
    sellers: distinctOf(inside, ['sellers']),
    pools: distinctOf(inside, ['pools']),
    programs: distinctOf(inside, ['programs']),
    traders: distinctOf(inside, ['buyers', 'sellers']),
  }
}

/** A token whose blocks are final up to a place, beside a list of all of them. */
const play = (steps: readonly Step[]): void => {
  const final = newTokenStats('t', { usd: null, native: null, liquidityUsd: null, second: null })
  const tokens = createUnfinalizedTokens(1)
  // Asked for, it takes the place of the token: one stays added up.
  const other = newTokenStats('other', {
    usd: null,
    native: null,
    liquidityUsd: null,
    second: null,
  })
  tokens.add('other', EMPTY_PART)
  const all: BlockStats[] = []
  let finals = 0
  let now = START
  const assertAnswer = (): void => {
    const { windows } = windowStatsAt(final, tokens.statsOf(final), now)
    assert.equal(windows.length, Object.keys(BRUTE_WINDOWS).length)
    for (const { name, current, previous } of windows) {
      const bucketSeconds = BRUTE_WINDOWS[name] / 60
      // Windows of one minute are told of every five seconds, and at a trade.
      const told = name === '1m' ? Math.max(now - (now % 5), all.at(-1)?.bucket.second ?? 0) : now
      const start = (Math.floor(told / bucketSeconds) - 59) * bucketSeconds
      const wanted = bruteOf(all, start, Number.POSITIVE_INFINITY)
      const { traders: _, ...before } = bruteOf(all, start - 60 * bucketSeconds, start)
      const spanOf = ({ buy, usd, liquidityUsd }: typeof previous) => ({
        count: buy.count,
        raw: buy.raw,
        usd,
        liquidityUsd,
      })
      assert.deepEqual({ ...spanOf(current), ...current.distinct }, wanted, name)
      assert.deepEqual({ ...spanOf(previous), ...previous.distinct }, before, `before ${name}`)
    }
  }
  const remove = (at: number): void => {
    const [part] = all.splice(at, 1)
    if (part !== undefined) tokens.revert('t', part)
    now = Math.max(all.at(-1)?.bucket.second ?? START, START)
  }
  for (const step of steps) {
    if (step.kind === 'apply') {
      now += step.gap
      const part = partOf(step, now)
      all.push(part)
      tokens.add('t', part)
    } else if (step.kind === 'finalize') {
      const done = all.slice(finals, finals + step.count)
      const second = done.at(-1)?.bucket.second ?? START
      for (const part of done) {
        tokens.finalize('t', part)
        addFinal(final, part, second)
      }
      finals += done.length
      pruneStats(final, second)
      mergeCells(final, second)
    } else if (step.kind === 'revert') {
      if (step.count === 2) tokens.statsOf(other)
      for (let count = step.count; count > 0 && all.length > finals; count -= 1) {
        remove(all.length - 1)
      }
    } else if (step.kind === 'remove') {
      const at = finals + (step.at % Math.max(1, all.length - finals))
      if (at < all.length) remove(at)
    } else if (all.length > 0) assertAnswer()
  }
  if (all.length > 0) assertAnswer()
  assert.equal(tokens.partsOf('t').length, all.length - finals)
  assert.equal(tokens.has('t'), all.length > finals)
}

test('windows over final and unfinalized blocks equal those over all blocks, whichever are reverted or finalized', () => {
  const steps = fc.array(stepArbitrary, { maxLength: 60, size: 'max' })
  fc.assert(fc.property(steps, play), { numRuns: 500 })
})

test('windows over hundreds of unfinalized blocks equal those over all blocks', () => {
  const steps = fc.array(stepArbitrary, { minLength: 400, maxLength: 500, size: 'max' })
  const rarelyFinal = steps.map((list) =>
    list.filter((step, at) => !('count' in step) || at % 12 === 0),
  )
  fc.assert(fc.property(rarelyFinal, play), { numRuns: 20, endOnFailure: true })
})

test('prices of any range equal those of its cells, however many are added, reverted or dropped', () => {
  const move = fc.record({
    shift: fc.boolean(),
    count: fc.integer({ min: 1, max: 90 }),
    add: fc.integer({ min: 0, max: 300 }),
    seed: fc.nat(97),
  })
  fc.assert(
    fc.property(fc.array(move, { minLength: 2, maxLength: 8, size: 'max' }), (moves) => {
      const sums = new TradeSums({ usd: null, native: null, liquidityUsd: null, second: null })
      const held: { readonly second: number; readonly price: number }[] = []
      let second = START
      for (const { shift, count, add, seed } of moves) {
        for (let at = 0; at < add; at += 1) {
          second += at % 2
          const price = 1 + ((at * 7_919 + seed * 104_729) % 100_003)
          const usd = { open: price, close: price, high: price, low: price }
          sums.push({ ...emptyBucket(second), usd })
          held.push({ second, price })
        }
        if (shift) {
          sums.shift(count)
          held.splice(0, count)
        } else {
          for (let at = 0; at < count && held.length > 0; at += 1) {
            sums.pop()
            held.pop()
          }
        }
        for (let from = START; from <= second; from += 61) {
          const prices = held.filter((one) => one.second >= from).map(({ price }) => price)
          const { usd } = sums.prices(from, second + 1)
          const found = usd && [usd.open, usd.close, usd.high, usd.low]
          const wanted = [prices[0], prices.at(-1), Math.max(...prices), Math.min(...prices)]
          assert.deepEqual(found, prices.length === 0 ? null : wanted)
        }
      }
    }),
    { numRuns: 200 },
  )
})

/** What a caller can make the server do many times with one request is bounded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../../core/errors.ts'
import { splitList } from '../../serving/http/body-values.ts'
import { liquidityByHour } from '../../serving/http/liquidity-snapshots.ts'
import { createRankingFilter } from '../../serving/http/token-filters.ts'
import { activityList } from '../../serving/queries/activities.ts'
import { walletsWithTagsSql } from '../../serving/queries/trader-tags.ts'

test('a kind of traders that is named often is asked for once', () => {
  const once = walletsWithTagsSql('eth', ['pro', 'sandwich'])
  const often = ['pro', 'sandwich', 'sandwish', ...Array.from({ length: 900 }, () => 'pro')]
  assert.equal(walletsWithTagsSql('eth', often), once)
  const asked = { tokenAddress: 't', sort: 'time', descending: true, traderTags: often } as const
  assert.ok(activityList('eth', asked).where.join().length < 5_000)
})

test('words that are not a kind, also names of JavaScript, match no trader', () => {
  const none = walletsWithTagsSql('eth', [])
  assert.equal(walletsWithTagsSql('eth', ['constructor', '__proto__', 'toString', 'kol', '']), none)
})

const words = (count: number): string => Array.from({ length: count }, (_, at) => `w${at}`).join()

test('a list parameter has at most 128 different words', () => {
  assert.equal(splitList([words(128), 'w0, w1'], 'chains').length, 128)
  const tooMany = [
    () => splitList([words(100), `x,${words(129)}`], 'chains'),
    ...(['searchKeywords', 'excludeKeywords', 'launchpadPlatform'] as const).map(
      (parameter) => () => createRankingFilter({ [parameter]: [words(2_000)] }),
    ),
  ]
  for (const read of tooMany)
    assert.throws(read, (error) => error instanceof Fault && error.status === 400)
})

test('liquidity of a token with many pools is summed without sorting them for every hour', async () => {
  let reads = 0
  const pools = 2_000
  const rows = Array.from({ length: pools }, (_, at) => ({
    pool: `p${at}`,
    hour: '3600',
    get liquidity_usd() {
      reads += 1
      return String(at)
    },
    liquidity_native: '1',
    price_usd: 2,
  }))
  const hours = Array.from({ length: 100 }, (_, at) => (at + 1) * 3_600)
  const bodies = await liquidityByHour(rows, hours)
  assert.ok(reads < 2 * pools + 1_000, `${reads} reads`)
  assert.equal(bodies.length, 100)
  const [first] = bodies
  assert.equal(first?.poolCount, pools - 1)
  assert.equal(first?.totalLiquidityInUsd, String((pools * (pools - 1)) / 2))
  assert.equal(first?.maxLiquidityPoolAddress, `p${pools - 1}`)
  assert.deepEqual(bodies.at(-1), {
    ...first,
    snapshotTime: 360_000_000,
    calculatedAt: 363_600_000,
  })
})

/** What a caller can make the server do many times with one request is bounded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../../core/errors.ts'
import { splitList } from '../../serving/http/body-values.ts'
import { createRankingFilter } from '../../serving/http/token-filters.ts'
import { activityList } from '../../serving/queries/activities.ts'
import { walletsWithTagsSql } from '../../serving/queries/trader-tags.ts'

test('repeated trader tags are queried once', () => {
  const once = walletsWithTagsSql('eth', ['pro', 'sandwich'])
  const often = ['pro', 'sandwich', 'sandwish', ...Array.from({ length: 900 }, () => 'pro')]
  assert.equal(walletsWithTagsSql('eth', often), once)
  const asked = { tokenAddress: 't', sort: 'time', descending: true, traderTags: often } as const
  assert.ok(activityList('eth', asked).where.join().length < 5_000)
})

test('unknown trader tags, also JavaScript property names, match no trader', () => {
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

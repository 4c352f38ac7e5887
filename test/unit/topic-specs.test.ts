import assert from 'node:assert/strict'
import { test } from 'node:test'
import { topicSpecs } from '../../core/bus/topic-specs.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { FEED_NAMES, feedTopics } from '../../schemas/feeds.ts'
import { TOPICS, type Topic, type TopicRow, topicName, topicRow } from '../../schemas/topics.ts'

const TWO = ['eth', 'bsc'] as const

const isOn = (topic: string, chain: (typeof TWO)[number]): boolean =>
  feedTopics(CHAINS[chain], FEED_NAMES).some((each) => each === topic)

test('every row of the topic table becomes a topic: global topics once, the others per chain that has them', () => {
  const plan = { chains: TWO, partitions: 6, retention: 'contract', feeds: FEED_NAMES } as const
  const specs = topicSpecs(plan)
  const rows = Object.entries(TOPICS) as [Topic, TopicRow][]
  const expected = rows.flatMap(([topic, { suffix, scope, optional }]) => {
    if (scope === 'global') return [suffix]
    return TWO.filter((chain) => !optional || isOn(topic, chain)).map((chain) =>
      scope === 'internal' ? `${suffix}.${chain}` : `${chain}.${suffix}`,
    )
  })
  assert.deepEqual(specs.map(({ topic }) => topic).sort(), expected.sort())
  for (const { topic } of specs) assert.ok(topicRow(topic), topic)
})

test('partitions and retention of a topic follow its row', () => {
  const find = (topic: string, retention: 'off' | 'contract') =>
    topicSpecs({ chains: TWO, partitions: 6, retention }).find((spec) => spec.topic === topic)
  assert.deepEqual(find('eth.dex.trades', 'contract'), {
    topic: 'eth.dex.trades',
    partitions: 6,
    cleanup: 'delete',
    retentionMs: 259_200_000,
  })
  assert.equal(find('eth.dex.trades', 'off')?.retentionMs, null)
  assert.equal(find('eth.blocks', 'contract')?.retentionMs, null)
  assert.equal(find('eth.blocks', 'contract')?.partitions, 1)
  assert.equal(find('eth.calls', 'off'), undefined, 'its feed is off')
  assert.equal(find('eth.dex.trades.pending', 'contract'), undefined, 'nobody follows them')
  const plan = { chains: TWO, partitions: 6, retention: 'contract', pending: ['bsc'] } as const
  const pending = topicSpecs(plan).filter(({ topic }) => topic.endsWith('.pending'))
  assert.deepEqual(pending, [
    { topic: 'bsc.dex.trades.pending', partitions: 6, cleanup: 'delete', retentionMs: 3_600_000 },
  ])
  assert.equal(find('_control.orgs', 'off')?.cleanup, 'compact')
  assert.equal(find('eth.token-prices', 'off')?.cleanup, 'compact,delete')
  assert.equal(find('eth.token-holdings', 'off')?.cleanup, 'delete', 'a state for each hour')
})

test('a topic is found by its full name', () => {
  for (const [topic, row] of Object.entries(TOPICS)) {
    assert.equal(topicRow(topicName(topic as Topic, 'eth')), row, topic)
  }
})

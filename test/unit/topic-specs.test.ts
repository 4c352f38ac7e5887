import assert from 'node:assert/strict'
import { test } from 'node:test'
import { topicSpecs } from '../../core/topic-specs.ts'
import { TOPICS, topicRow } from '../../schemas/topics.ts'

const CHAINS = ['eth', 'bsc']

test('every row of the table becomes a topic: global ones once, the others per chain', () => {
  const specs = topicSpecs({ chains: CHAINS, partitions: 6, retention: 'contract' })
  const rows = Object.values(TOPICS)
  const expected = rows.flatMap(({ suffix, scope }) => {
    if (scope === 'global') return [suffix]
    return CHAINS.map((chain) =>
      scope === 'internal' ? `${suffix}.${chain}` : `${chain}.${suffix}`,
    )
  })
  assert.deepEqual(specs.map(({ topic }) => topic).sort(), expected.sort())
  for (const { topic } of specs) assert.ok(topicRow(topic), topic)
})

test('partitions and retention follow the row', () => {
  const find = (topic: string, retention: 'off' | 'contract') =>
    topicSpecs({ chains: CHAINS, partitions: 6, retention }).find((spec) => spec.topic === topic)
  assert.deepEqual(find('eth.dex.trades', 'contract'), {
    topic: 'eth.dex.trades',
    partitions: 6,
    cleanup: 'delete',
    retentionMs: 259_200_000,
  })
  assert.equal(find('eth.dex.trades', 'off')?.retentionMs, null)
  assert.equal(find('eth.blocks', 'contract')?.retentionMs, null)
  assert.equal(find('eth.blocks', 'contract')?.partitions, 1)
  assert.equal(find('_control.orgs', 'off')?.cleanup, 'compact')
})

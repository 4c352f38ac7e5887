import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { observeBus } from '../../cli/app/ops-endpoints.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { type Metrics, makeMetrics } from '../../core/ops/metrics.ts'
import type { Source } from '../../ingestors/follow/contract.ts'
import { statusBoard } from '../../ingestors/status-board.ts'
import { stoppedPartitions } from '../../processors/readiness.ts'
import { chainRow } from '../../schemas/chains.ts'
import { withTempFolder } from '../support/temp-folder.ts'

const DOCS = new URL('../../docs/', import.meta.url)

const valuesOf = async ({ registry }: Metrics, name: string) => {
  const metric = (await registry.getMetricsAsJSON()).find((each) => each.name === name)
  return metric?.values.map(({ labels, value }) => ({ ...labels, value }))
}

/** Names of metrics in the documents, without what Prometheus adds to those of histograms. */
const documentedNames = (page: string): readonly string[] =>
  [...readFileSync(new URL(page, DOCS), 'utf8').matchAll(/\bsluice_\w+[a-z]\b/g)].map(([name]) =>
    name.replace(/_(bucket|sum|count)$/, ''),
  )

test('docs/metrics.md names every metric of a process, and the documents name no others', () => {
  const own = makeMetrics()
    .registry.getMetricsAsArray()
    .map(({ name }) => name)
    .filter((name) => name.startsWith('sluice_'))
  assert.deepEqual(documentedNames('metrics.md').toSorted(), own.toSorted())
  const pages = readdirSync(DOCS).filter((name) => name.endsWith('.md'))
  const unknown = pages.flatMap((page) =>
    documentedNames(page).filter((name) => !own.includes(name)),
  )
  assert.deepEqual(unknown, [])
})

test('a halted chain has a metric value of 1 until it moves, and none once its ingestor has stopped', async () => {
  const metrics = makeMetrics()
  const chain = chainRow('eth')
  assert.ok(chain)
  const source = { head: () => ({ height: 12 }) } as Partial<Source> as Source
  const board = statusBoard({ chain, source, metrics, nowMs: () => 9_000 })
  const halted = () => valuesOf(metrics, 'sluice_ingest_chain_halted')
  assert.deepEqual(await halted(), [{ chain: 'eth', value: 0 }])
  assert.deepEqual(await valuesOf(metrics, 'sluice_ingest_head_lag_blocks'), [])
  board.enter('halted', 'reorg-below-finality')
  assert.deepEqual(await halted(), [{ chain: 'eth', value: 1 }])
  board.committed({ seq: 1, tip: { height: 10, hash: '0x0', timeMs: 4_000 } } as Parameters<
    typeof board.committed
  >[0])
  assert.deepEqual(await halted(), [{ chain: 'eth', value: 0 }])
  assert.deepEqual(await valuesOf(metrics, 'sluice_ingest_head_lag_blocks'), [
    { chain: 'eth', value: 2 },
  ])
  assert.deepEqual(await valuesOf(metrics, 'sluice_ingest_head_lag_seconds'), [
    { chain: 'eth', value: 5 },
  ])
  board.close()
  assert.deepEqual(await halted(), [])
})

test('an embedded log has metrics of its used and maximum size; a Kafka cluster has neither', async () => {
  await withTempFolder(async (path) => {
    const mapSizeBytes = 67_108_864
    const log = makeSilentLogger()
    const bus = await openEmbeddedBus({ path, mapSizeBytes, retention: 'off', log })
    const metrics = makeMetrics()
    observeBus(metrics, bus)
    const capacity = bus.capacity()
    assert.ok(capacity && capacity.usedBytes > 0)
    assert.deepEqual(await valuesOf(metrics, 'sluice_log_used_bytes'), [
      { value: capacity.usedBytes },
    ])
    assert.deepEqual(await valuesOf(metrics, 'sluice_log_limit_bytes'), [
      { value: capacity.limitBytes },
    ])
    await bus.close()
  })
  const metrics = makeMetrics()
  observeBus(metrics, { capacity: () => undefined, halted: () => [] })
  assert.deepEqual(await valuesOf(metrics, 'sluice_log_used_bytes'), [])
  assert.deepEqual(await valuesOf(metrics, 'sluice_halted_partitions'), [])
})

test('halted partitions are counted by group and reason', async () => {
  const metrics = makeMetrics()
  const lost = { topic: 'eth.blocks', partition: 0, position: 1, low: 5, end: 9 }
  const halted = [0, 3].map((lane) => ({ group: 'process.eth', lane, ...lost }))
  observeBus(metrics, { capacity: () => undefined, halted: () => halted })
  const lane = { seq: 1, height: 1, blockTimeMs: 0 }
  metrics.observe('haltedPartitions', () =>
    stoppedPartitions({
      'process.eth': [
        { ...lane, partition: 0 },
        { ...lane, partition: 1, halted: 'gap: operation 9 follows 7' },
      ],
      'sink.eth': [{ ...lane, partition: 0 }],
    }),
  )
  assert.deepEqual(await valuesOf(metrics, 'sluice_halted_partitions'), [
    { group: 'process.eth', reason: 'offset-out-of-range', value: 2 },
    { group: 'process.eth', reason: 'invalid-input', value: 1 },
    { group: 'sink.eth', reason: 'invalid-input', value: 0 },
  ])
})

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { openWarehouse } from '../../core/clickhouse/client.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { readTableMetadata } from '../../ingestors/decode/metadata-reader.ts'
import { startIngestor } from '../../ingestors/start.ts'
import { PROCESS_PIPELINE } from '../../processors/process-pipeline.ts'
import { processorTopics, startProcessors } from '../../processors/start.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { Block } from '../../schemas/events.ts'
import {
  blockRef,
  buildEvmBlock,
  createScriptedSource,
  POOLS,
  TOKEN,
  TOKENS,
  tokenSwap,
  WETH,
  wethSwap,
} from '../support/builders/evm-block.ts'
import { until } from '../support/until.ts'

const CONFIG = { partitions: 3, retention: 'off' } as const

const chainOf = (from: number, count: number, fork: string, parent?: Block): readonly Block[] => {
  const blocks: Block[] = []
  for (let height = from; height < from + count; height += 1) {
    const parentHash = (blocks.at(-1) ?? parent)?.hash
    const swaps = [wethSwap(2_000 + (height % 7)), tokenSwap(100n + BigInt(height % 5))]
    blocks.push(buildEvmBlock({ height, ...(parentHash && { parentHash }) }, swaps, fork))
  }
  return blocks
}

test('the stages and sinks decode everything that the ingestor publishes: every table, through a reorg, without a dead letter', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-ingested-'))
  const log = makeSilentLogger()
  const codec = localCodec()
  const metrics = makeMetrics()
  const bus = await openEmbeddedBus({
    path: join(folder, 'log'),
    mapSizeBytes: 256 << 20,
    log,
    retention: 'off',
  })
  const warehouse = await openWarehouse({ kind: 'embedded', path: join(folder, 'warehouse') })
  const processors = await startProcessors({
    chains: ['eth'],
    bus,
    codec,
    warehouse,
    config: CONFIG,
    metrics,
    log,
  })
  const source = createScriptedSource()
  const ingestor = await startIngestor({
    chain: CHAINS.eth,
    source,
    bus,
    codec,
    config: { retention: 'off', pricesStatic: {} },
    metadata: {
      ...readTableMetadata(TOKENS, POOLS),
      metadataSource: 'node',
      verification: 'facts',
    },
    metrics,
    log,
  })
  const old = chainOf(100, 20, 'a')
  const next = chainOf(117, 4, 'b', old[16])
  const removed = old.slice(17)
  const settled = old[12]
  assert.ok(settled)
  const ops = [
    ...old.map((block) => ({ op: 'apply', block }) as const),
    ...removed.toReversed().map((block) => ({ op: 'revert', ref: blockRef(block) }) as const),
    ...next.map((block) => ({ op: 'apply', block }) as const),
    { op: 'finalize', ref: blockRef(settled) } as const,
  ]
  source.push(...ops)
  const column = async <T>(sql: string): Promise<readonly T[]> =>
    (await warehouse.query<{ value: T }>({ sql })).rows.map(({ value }) => value)
  const count = async (table: string): Promise<number> =>
    Number((await column<string>(`SELECT count() AS value FROM eth_${table} FINAL`))[0])
  const through = () => {
    const { groups } = processors.status()
    const lanes = groups[`${PROCESS_PIPELINE.app}.eth`] ?? []
    for (const { halted } of lanes) assert.equal(halted, undefined)
    return lanes.length === CONFIG.partitions && lanes.every(({ seq }) => seq === ops.length)
  }
  await until(through, 'the stages are through', 30_000)
  const wanted = {
    blocks: 21,
    dex_trades: 42,
    dex_pool_events_enriched: 42,
    dex_pools: 2,
    tokens: 3,
  }
  await until(
    async () => {
      for (const [table, rows] of Object.entries(wanted))
        assert.equal(await count(table), rows, table)
      assert.equal(await count('transfers'), 84)
      return true
    },
    'the tables are filled',
    30_000,
  )
  const canonical = [...old.slice(0, 17), ...next].map(({ hash }) => hash).toSorted()
  for (const table of ['blocks', 'dex_trades', 'dex_pool_events_enriched', 'transfers']) {
    const hashes = await column<string>(
      `SELECT DISTINCT block_hash AS value FROM eth_${table} FINAL ORDER BY value`,
    )
    assert.deepEqual(hashes, canonical, table)
  }
  const bases = await column<string>(
    `SELECT DISTINCT token_address AS value FROM eth_dex_trades_enriched FINAL WHERE is_base = 1 ORDER BY value`,
  )
  assert.deepEqual(bases, [TOKEN, WETH].toSorted())
  for (const { topic } of processorTopics(['eth'], CONFIG)) {
    if (!topic.startsWith('dlq.')) continue
    for (const { low, end } of await bus.ends(topic)) assert.equal(end - low, 0, topic)
  }
  await ingestor.stop()
  await processors.stop()
  await bus.close()
  await warehouse.close()
  await rm(folder, { recursive: true, force: true })
})

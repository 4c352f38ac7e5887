import assert from 'node:assert/strict'
import { test } from 'node:test'
import { localCodec } from '../../core/codec/local-codec.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import type { ChainOp } from '../../ingestors/follow/contract.ts'
import { PROCESS_PIPELINE } from '../../processors/process-pipeline.ts'
import { startStage } from '../../processors/runtime/stage-runner.ts'
import { processorTopics } from '../../processors/start.ts'
import { buildEvmBlock, tokenSwap, wethSwap } from '../support/builders/evm-block.ts'
import { openSimulatedBus } from '../support/simulation/bus.ts'
import { ingestOperations } from '../support/simulation/ingest-operations.ts'
import { SimulatedGroups } from '../support/simulation/lanes.ts'
import { until } from '../support/until.ts'

const PARTITIONS = 2
const BLOCKS = 120

const chain = (): readonly ChainOp[] => {
  const ops: ChainOp[] = []
  let parentHash: string | undefined
  for (let height = 100; height < 100 + BLOCKS; height += 1) {
    const place = { height, ...(parentHash && { parentHash }) }
    const block = buildEvmBlock(place, [wethSwap(2_000 + height), tokenSwap(100n)])
    parentHash = block.hash
    ops.push({ op: 'apply', block })
  }
  return ops
}

test('a lane that finds a backlog processes many blocks in one commit, for any commit size of the ingestor', async () => {
  const { shared } = await ingestOperations(chain(), {
    catchUp: { operations: 1 },
    isFar: () => false,
  })
  let commits = 0
  const bus = openSimulatedBus({
    name: 'lanes',
    shared,
    groups: new SimulatedGroups(),
    link: async (call, work) => {
      if (call === 'commit') commits += 1
      return work()
    },
  })
  await bus.createTopics(processorTopics(['eth'], { partitions: PARTITIONS, retention: 'off' }))
  const stage = await startStage(PROCESS_PIPELINE, {
    chain: 'eth',
    bus,
    codec: localCodec(),
    metrics: makeMetrics(),
    log: makeSilentLogger(),
  })
  const isThrough = (): boolean =>
    stage.lanes().length === PARTITIONS && stage.lanes().every(({ seq }) => seq === BLOCKS)
  await until(isThrough, 'the lanes are through', 60_000)
  assert.ok(commits <= (PARTITIONS * BLOCKS) / 20, `${commits} commits of ${PARTITIONS} lanes`)
  await stage.stop()
  await bus.close()
})

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { localCodec } from '../../core/codec/local-codec.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import type { ChainOp } from '../../ingestors/follow/contract.ts'
import { PROCESS_PIPELINE } from '../../processors/process-pipeline.ts'
import { processorsReadiness } from '../../processors/readiness.ts'
import { type RunningStage, startStage } from '../../processors/runtime/stage-runner.ts'
import { createInserter } from '../../processors/sinks/inserter.ts'
import { sinkConcurrency, startSink } from '../../processors/sinks/runner.ts'
import { SINKS } from '../../processors/sinks/tables.ts'
import { processorTopics } from '../../processors/start.ts'
import { buildEvmBlock, wethSwap } from '../support/builders/evm-block.ts'
import { openSimulatedBus } from '../support/simulation/bus.ts'
import { ingestOperations } from '../support/simulation/ingest-operations.ts'
import { SimulatedGroups } from '../support/simulation/lanes.ts'
import { until } from '../support/until.ts'

const PARTITIONS = 2
const OPERATIONS: readonly ChainOp[] = [
  { op: 'apply', block: buildEvmBlock({ height: 100 }, [wethSwap(2_000)]) },
]

/** A bus whose commits, after the first places of so many lanes, wait until `answer` is called, and how many wait. */
const openBusWithoutAnswers = async (lanes: number) => {
  const { shared } = await ingestOperations(OPERATIONS, {
    catchUp: { operations: 1 },
    isFar: () => false,
  })
  let [commits, waiting] = [0, 0]
  let answer = (): void => undefined
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  const bus = openSimulatedBus({
    name: 'lanes',
    shared,
    groups: new SimulatedGroups(),
    link: async (call, work) => {
      if (call === 'commit') commits += 1
      if (call !== 'commit' || commits <= lanes) return work()
      waiting += 1
      await answered
      return work()
    },
  })
  await bus.createTopics(processorTopics(['eth'], { partitions: PARTITIONS, retention: 'off' }))
  return { bus, answer, waiting: () => waiting }
}

/** What `/ready` says of the part so many milliseconds from now. */
const readinessIn = (ms: number, { group, lanes, failing }: RunningStage) => {
  mock.timers.enable({ apis: ['Date'], now: Date.now() + ms })
  try {
    const groups = { [group]: lanes() }
    return processorsReadiness({ groups, failing: { [group]: failing() } }, Date.now())
  } finally {
    mock.timers.reset()
  }
}

const deps = { chain: 'eth', metrics: makeMetrics(), log: makeSilentLogger() }

test('a lane whose commit is not answered makes the process not ready after a minute', async () => {
  const { bus, answer, waiting } = await openBusWithoutAnswers(PARTITIONS)
  const stage = await startStage(PROCESS_PIPELINE, { ...deps, bus, codec: localCodec() })
  await until(() => waiting() === PARTITIONS, 'the lanes commit')
  assert.deepEqual(readinessIn(50_000, stage), { ok: true })
  const { ok, detail = '' } = readinessIn(61_000, stage)
  assert.equal(ok, false)
  assert.match(
    detail,
    /^process\.eth\/[01]: failing for 6\d s: the lane neither takes records nor commits$/,
  )
  answer()
  await until(() => stage.lanes().every(({ seq }) => seq === 1), 'the lanes are through')
  // Lanes that have nothing to do ask for records all the same.
  await new Promise((resolve) => setTimeout(resolve, 600))
  assert.deepEqual(readinessIn(0, stage), { ok: true })
  assert.deepEqual(stage.failing(), [])
  await stage.stop()
  assert.deepEqual(readinessIn(61_000, stage), { ok: true })
  await bus.close()
})

test('a sink whose insert is not answered makes the process not ready after a minute', async () => {
  const { bus, answer } = await openBusWithoutAnswers(1)
  answer()
  const sink = SINKS.find(({ topic }) => topic === 'blocks')
  assert.ok(sink)
  let inserting = 0
  let stored = (): void => undefined
  const insert = (): Promise<void> => {
    inserting += 1
    return new Promise((resolve) => {
      stored = resolve
    })
  }
  const running = await startSink(sink, {
    ...deps,
    bus,
    insertLimit: sinkConcurrency(),
    makeRows: async () => ({
      tables: [{ table: 'blocks', count: 1, text: '{}\n' }],
      refused: [],
      newest: null,
    }),
    inserter: createInserter({ ...deps, warehouse: { insert } }),
  })
  await until(() => inserting > 0, 'the sink inserts')
  assert.deepEqual(readinessIn(50_000, running), { ok: true })
  assert.match(
    readinessIn(61_000, running).detail ?? '',
    /^sink\.eth\.blocks\/0: failing for 6\d s/,
  )
  stored()
  await bus.close()
})

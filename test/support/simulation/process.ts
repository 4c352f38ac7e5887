import { setTimeout as sleep } from 'node:timers/promises'
import { topicSpecs } from '../../../core/bus/topic-specs.ts'
import type { Codec } from '../../../core/codec/contract.ts'
import type { Logger } from '../../../core/ops/logger.ts'
import type { Metrics } from '../../../core/ops/metrics.ts'
import type { MetadataReader } from '../../../ingestors/decode/metadata-reader.ts'
import type { Source } from '../../../ingestors/follow/contract.ts'
import { type CatchUp, ingestTopics, startIngestor } from '../../../ingestors/start.ts'
import { PROCESS_PIPELINE } from '../../../processors/process-pipeline.ts'
import { startStage } from '../../../processors/runtime/stage-runner.ts'
import { batchRows } from '../../../processors/sinks/batch-rows.ts'
import { createInserter } from '../../../processors/sinks/inserter.ts'
import type { MakeRows } from '../../../processors/sinks/row-worker-pool.ts'
import { sinkConcurrency, startSink } from '../../../processors/sinks/runner.ts'
import { SINKS } from '../../../processors/sinks/tables.ts'
import { processorTopics } from '../../../processors/start.ts'
import { CHAINS } from '../../../schemas/chains.ts'
import { openSimulatedBus } from './bus.ts'
import type { NodeAccess } from './chain.ts'
import type { EnvironmentCall } from './faults.ts'
import type { QuiescenceParts } from './is-quiescent.ts'
import type { SimulatedGroups } from './lanes.ts'
import type { SimulatedLog } from './log.ts'
import type { SimulatedWarehouse } from './warehouse.ts'

/** What all schedules of a drill use, because it is dear to make and keeps nothing of one. */
export interface SharedResources {
  readonly codec: Codec
  readonly metrics: Metrics
}

/** What the processes of one run work with. */
export interface RunContext extends SharedResources {
  readonly shared: SimulatedLog
  readonly groups: SimulatedGroups
  /** Absent: nothing is sunk. */
  readonly warehouse?: SimulatedWarehouse
  readonly partitions: number
  readonly facts: MetadataReader
  readonly source: (node: NodeAccess) => Source
  readonly catchUp?: Partial<CatchUp>
  /** Aborted when the run is over. */
  readonly ended: AbortSignal
  /** Resolves when the log holds all of the chain, and all that the stages make of it. Absent: everything runs at once. */
  readonly calm?: (parts: QuiescenceParts) => Promise<void>
  readonly log: Logger
  readonly onFatal: (error: unknown) => void
}

/** How the calls of one process reach the world. */
export type CallEnvironment = <T>(call: EnvironmentCall, work: () => T) => Promise<T>

/** A process of the product: the ingestor, the stages and every sink of one chain. */
export interface RunningProcess {
  stop(): Promise<void>
}

const CHAIN = 'eth'

const createRowMaker =
  (codec: Codec): MakeRows =>
  async (topic, values) => {
    const sink = SINKS.find((each) => each.topic === topic)
    if (sink === undefined) throw new Error(`no sink reads ${topic}`)
    return batchRows(codec, sink, values)
  }

/** Starts a process the way the product's roles do: topics first, then what reads and writes them. */
export const startProcess = async (
  name: string,
  parts: RunContext,
  way: CallEnvironment,
): Promise<RunningProcess> => {
  const { codec, metrics, log, partitions, warehouse, onFatal } = parts
  const { shared, groups } = parts
  const bus = openSimulatedBus({ name, shared, groups, link: way, log, onHalt: onFatal })
  const config = { partitions, retention: 'off', pricesStatic: {} } as const
  const chain = CHAINS[CHAIN]
  await bus.createTopics([
    ...topicSpecs({ chains: [CHAIN], partitions, retention: 'off' }),
    ...processorTopics([CHAIN], config),
    ...ingestTopics(CHAIN, config),
  ])
  const source = parts.source({ ask: (work) => way('node', work), signal: parts.ended })
  const ingestor = await startIngestor({
    chain,
    source,
    bus,
    codec,
    config,
    metrics,
    log,
    onFatal,
    // What is written must not depend on when.
    metadata: parts.facts,
    nowMs: () => 0,
    ...(parts.catchUp && { catchUp: parts.catchUp }),
  })
  const deps = { chain: CHAIN, bus, codec, metrics, log }
  await parts.calm?.({ partitions: 0, isSunk: false })
  const running = [ingestor, await startStage(PROCESS_PIPELINE, deps)]
  await parts.calm?.({ partitions, isSunk: false })
  if (warehouse !== undefined) {
    const insert: SimulatedWarehouse['insert'] = (...insertion) => warehouse.insert(...insertion)
    const inserter = createInserter({
      metrics,
      warehouse: { insert: (...insertion) => way('insert', () => insert(...insertion)) },
    })
    const sinkDeps = {
      ...deps,
      inserter,
      makeRows: createRowMaker(codec),
      insertLimit: sinkConcurrency(),
    }
    for (const sink of SINKS) running.push(await startSink(sink, sinkDeps))
  }
  return {
    stop: async () => {
      await Promise.all(running.map((part) => part.stop()))
      await bus.close()
    },
  }
}

/** Waits in simulated time. */
export const waitMs = async (ms: number): Promise<void> => {
  if (ms > 0) await sleep(ms)
}

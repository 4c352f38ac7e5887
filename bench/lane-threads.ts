import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Bus } from '../core/bus/contract.ts'
import { openEmbeddedBus } from '../core/bus/embedded/bus.ts'
import { topicSpecs } from '../core/bus/topic-specs.ts'
import { localCodec } from '../core/codec/local-codec.ts'
import { makeSilentLogger } from '../core/ops/logger.ts'
import { makeMetrics } from '../core/ops/metrics.ts'
import { PROCESS_PIPELINE } from '../processors/process-pipeline.ts'
import { openLaneThreads } from '../processors/runtime/lane-threads.ts'
import { startStage } from '../processors/runtime/stage-runner.ts'
import { processorTopics } from '../processors/start.ts'
import { until } from '../test/support/until.ts'
import { rawChain, rounded } from './fold-chain.ts'
import { writeChain } from './written-chain.ts'

const CHAIN = 'eth'
const SIZE = { blocks: 400, tradesPerBlock: 60 }
const TRADES = SIZE.blocks * SIZE.tradesPerBlock
const PLAN = { chains: [CHAIN], partitions: 12, retention: 'off' } as const
const COUNTS = [0, 1, 2] as const
/** Each number of threads is measured so often, in turns, of which each is once the first. */
const ROUNDS = 3
const LIMIT_MS = 600_000
const MAP_BYTES = 2_147_483_648

/** One line of the bench: trades per second that the lanes drain, and how long the thread of the bus is held meanwhile. */
interface LaneThreadsLine {
  readonly bench: 'lane-threads'
  readonly node: string
  readonly threads: number
  readonly perSecond: number
  /** Rate of one thread. */
  readonly barePerSecond: number
  readonly ratio: number
  readonly bare: string
  /** Longest delay of the event loop that also serves, milliseconds. */
  readonly longestDelayMs: number
}

interface Drained {
  readonly ms: number
  readonly longestDelayMs: number
}

const openBus = (path: string): Promise<Bus> =>
  openEmbeddedBus({ path, mapSizeBytes: MAP_BYTES, log: makeSilentLogger(), retention: 'off' })

const drain = async (tape: string, count: number, last: number): Promise<Drained> => {
  const path = mkdtempSync(join(tmpdir(), 'sluice-lanes-'))
  cpSync(tape, path, { recursive: true })
  const log = makeSilentLogger()
  const bus = await openBus(path)
  const module = new URL('../processors/lane-thread', import.meta.url)
  const threads =
    count === 0 ? undefined : openLaneThreads({ count, module, data: { registry: null }, log })
  const delays = monitorEventLoopDelay({ resolution: 10 })
  try {
    const beganMs = performance.now()
    delays.enable()
    const deps = { chain: CHAIN, bus, codec: localCodec(), metrics: makeMetrics(), log }
    const stage = await startStage(PROCESS_PIPELINE, { ...deps, ...(threads && { threads }) })
    const isThrough = (): boolean => {
      const lanes = stage.lanes()
      return lanes.length === PLAN.partitions && lanes.every(({ seq }) => seq === last)
    }
    await until(isThrough, 'the lanes are through', LIMIT_MS)
    const ms = performance.now() - beganMs
    delays.disable()
    await stage.stop()
    return { ms, longestDelayMs: delays.max / 1e6 }
  } finally {
    await threads?.close()
    await bus.close()
    rmSync(path, { recursive: true, force: true })
  }
}

/** The same chain through twelve lanes: folded by the thread that also reads and commits, by one more, and by two more. */
export const laneThreadsBench = async (): Promise<void> => {
  const tape = mkdtempSync(join(tmpdir(), 'sluice-tape-'))
  try {
    const bus = await openBus(tape)
    await bus.createTopics([...topicSpecs(PLAN), ...processorTopics(PLAN.chains, PLAN)])
    const operations = rawChain(SIZE)
    const target = { bus, codec: localCodec(), chain: CHAIN, partitions: PLAN.partitions }
    await writeChain(target, operations)
    await bus.close()
    const last = operations.at(-1)?.block.meta?.seq ?? 0
    const sums = COUNTS.map((count) => ({ count, ms: 0, longestDelayMs: 0 }))
    // Files, caches and compiled code: what comes first would pay for all.
    await drain(tape, 0, last)
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const sum of [...sums.slice(round), ...sums.slice(0, round)]) {
        const { ms, longestDelayMs } = await drain(tape, sum.count, last)
        sum.ms += ms
        sum.longestDelayMs = Math.max(sum.longestDelayMs, longestDelayMs)
      }
    }
    const rate = (ms: number): number => (1_000 * ROUNDS * TRADES) / ms
    const bareMs = sums.find(({ count }) => count === 1)?.ms ?? 0
    for (const { count, ms, longestDelayMs } of sums) {
      const line: LaneThreadsLine = {
        bench: 'lane-threads',
        node: process.version,
        threads: count,
        perSecond: Math.round(rate(ms)),
        barePerSecond: Math.round(rate(bareMs)),
        ratio: rounded(bareMs / ms),
        bare: 'one thread beside that of the bus',
        longestDelayMs: Math.round(longestDelayMs),
      }
      process.stdout.write(`${JSON.stringify(line)}\n`)
    }
  } finally {
    rmSync(tape, { recursive: true, force: true })
  }
}

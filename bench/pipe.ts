import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bus } from '../core/bus/contract.ts'
import { openKafkaBus } from '../core/bus/kafka/bus.ts'
import { topicSpecs } from '../core/bus/topic-specs.ts'
import type { Codec } from '../core/codec/contract.ts'
import { registerSchemas, registryCodec } from '../core/codec/registry-codec.ts'
import { makeSilentLogger } from '../core/ops/logger.ts'
import { makeMetrics } from '../core/ops/metrics.ts'
import { PROCESS_PIPELINE } from '../processors/process-pipeline.ts'
import { startStage } from '../processors/runtime/stage-runner.ts'
import { processorTopics } from '../processors/start.ts'
import { topicName } from '../schemas/topics.ts'
import { startKafka, startRegistry } from '../test/support/kafka.ts'
import { tryStart } from '../test/support/optional-dependency.ts'
import { until } from '../test/support/until.ts'
import { rawChain, rounded } from './fold-chain.ts'
import { naiveCopy, packedCopy, type Reading, writeSingles } from './pipe-copies.ts'
import { tradesOf, type WrittenChain, writeChain } from './written-chain.ts'

const CHAIN = 'eth'
const SIZE = { blocks: 400, tradesPerBlock: 50 }
const TRADES = SIZE.blocks * SIZE.tradesPerBlock
/** Trades that one record each carries: the naive copy is slow, and its rate does not change. */
const SINGLES = 4_000
/** Share of the trades that warms up: joining the group, first metadata, compilation. */
const WARM_UP = 0.25
const LIMIT_MS = 600_000
const PLAN = { chains: [CHAIN], partitions: 3, retention: 'off' } as const

/** One line of the bench: trades per second through a whole lane, and through a copy of the same trades. */
interface PipeLine {
  readonly bench: 'pipe'
  readonly node: string
  readonly perSecond: number
  readonly barePerSecond: number
  /** Ours divided by bare. */
  readonly ratio: number
  readonly bare: string
}

/** The pipeline of every lane; what counts as done is committed. */
const pipe = async (
  { bus, codec }: { readonly bus: Bus; readonly codec: Codec },
  { upTo }: WrittenChain,
): Promise<Reading> => {
  const log = makeSilentLogger()
  const stage = await startStage(PROCESS_PIPELINE, {
    chain: CHAIN,
    bus,
    codec,
    metrics: makeMetrics(),
    log,
  })
  return {
    done: () =>
      stage.lanes().reduce((sum, { partition, seq, halted }) => {
        if (halted !== undefined) throw new Error(`lane ${partition} halted: ${halted}`)
        return sum + (upTo[partition]?.get(seq ?? 0) ?? 0)
      }, 0),
    stop: () => stage.stop(),
  }
}

/** Trades per second from the end of the warm-up to the last one. */
const rateOf = async (start: () => Promise<Reading>, total: number): Promise<number> => {
  const reading = await start()
  await until(() => reading.done() >= total * WARM_UP, 'the warm-up is over', LIMIT_MS)
  const [from, fromMs] = [reading.done(), performance.now()]
  await until(() => reading.done() >= total, 'everything is read', LIMIT_MS)
  const rate = (1_000 * (total - from)) / (performance.now() - fromMs)
  await reading.stop()
  return rate
}

const lineOf = (perSecond: number, bares: readonly number[], bare: string): PipeLine => {
  const barePerSecond = bares.reduce((sum, rate) => sum + rate, 0) / bares.length
  return {
    bench: 'pipe',
    node: process.version,
    perSecond: Math.round(perSecond),
    barePerSecond: Math.round(barePerSecond),
    ratio: rounded(perSecond / barePerSecond),
    bare,
  }
}

/**
 * Blocks of trades that lie on a real broker go through every stage of every lane; before and after that kafkajs alone
 * copies the same trades, one record per trade and packed as they lie.
 */
export const pipeBench = async (): Promise<void> => {
  const servers = await tryStart('Kafka and its registry (Java, Maven, pip)', () =>
    Promise.all([startKafka(1), startRegistry()]),
  )
  if (servers === undefined) return
  const [{ brokers }, { url }] = servers
  const folder = mkdtempSync(join(tmpdir(), 'sluice-pipe-'))
  const log = makeSilentLogger()
  const state = { path: folder, mapSizeBytes: 1_073_741_824 }
  const bus = await openKafkaBus({ brokers, clientId: 'bench', log, state })
  try {
    const topics = [...topicSpecs(PLAN), ...processorTopics(PLAN.chains, PLAN)]
    await bus.createTopics(topics)
    const names = topics.map(({ topic }) => topic)
    await registerSchemas({ url, log }, names)
    const deps = { bus, codec: await registryCodec({ url, log }) }
    const operations = rawChain(SIZE)
    const written = await writeChain(
      { ...deps, chain: CHAIN, partitions: PLAN.partitions },
      operations,
    )
    await writeSingles(bus, operations.flatMap(tradesOf).slice(0, SINGLES))
    const naive = () => rateOf(() => naiveCopy(bus, brokers), SINGLES)
    const packed = () =>
      rateOf(() => packedCopy(bus, brokers, topicName('trades', CHAIN), written.perRecord), TRADES)
    const before = { naive: await naive(), packed: await packed() }
    const ours = await rateOf(() => pipe(deps, written), TRADES)
    const after = { packed: await packed(), naive: await naive() }
    for (const line of [
      lineOf(
        ours,
        [before.naive, after.naive],
        'kafkajs eachMessage, one record and send per trade',
      ),
      lineOf(ours, [before.packed, after.packed], 'kafkajs eachBatch, one sendBatch per batch'),
    ]) {
      process.stdout.write(`${JSON.stringify(line)}\n`)
    }
  } finally {
    await bus.close()
    await Promise.all(servers.map((server) => server.stop()))
    rmSync(folder, { recursive: true, force: true })
  }
}

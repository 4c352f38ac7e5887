import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bus, ProducerRecord } from '../core/bus/contract.ts'
import { openKafkaBus } from '../core/bus/kafka/bus.ts'
import { topicSpecs } from '../core/bus/topic-specs.ts'
import type { Codec } from '../core/codec/contract.ts'
import { registerSchemas, registryCodec } from '../core/codec/registry-codec.ts'
import { makeSilentLogger } from '../core/ops/logger.ts'
import { makeMetrics } from '../core/ops/metrics.ts'
import { blockRecord } from '../ingestors/publish/block-record.ts'
import { type Chunk, chunksOf, encodedRecords } from '../ingestors/publish/record-batches.ts'
import type { Operation } from '../processors/runtime/stage.ts'
import { startStage } from '../processors/runtime/stage-runner.ts'
import { PROCESS_PIPELINE, processorTopics } from '../processors/start.ts'
import { topicName } from '../schemas/topics.ts'
import type { TradeEvent } from '../schemas/wire.ts'
import { startKafka, startRegistry } from '../test/support/kafka.ts'
import { tryStart } from '../test/support/optional-dependency.ts'
import { until } from '../test/support/until.ts'
import { rawChain, rounded } from './fold-chain.ts'
import { naiveCopy, packedCopy, type Reading, writeSingles } from './pipe-copies.ts'

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

const NOTHING = {
  pools: [],
  transfers: [],
  tokens: [],
  tokenMetadata: [],
  balances: [],
  holderDeltas: [],
  tokenSupplies: [],
} as const

const tradesOf = ({ records }: Operation) =>
  records.flatMap(({ topic, key, value }) =>
    topic === 'trades' ? value.events.map((event: TradeEvent) => ({ key, event })) : [],
  )

const eventsAt = (chunks: readonly Chunk[], topic: string, partition: number): number =>
  chunks.reduce(
    (sum, chunk) =>
      chunk.topic === topic && chunk.partition === partition ? sum + chunk.events.length : sum,
    0,
  )

/** What lies on the log: trades per record of `{c}.dex.trades` by partition, and trades up to each operation by lane. */
interface Written {
  readonly perRecord: readonly (readonly number[])[]
  readonly upTo: readonly ReadonlyMap<number, number>[]
}

/** Commits the operations as the ingestor does: one transaction each, trades by token, the block's record last. */
const write = async (
  { bus, codec }: { readonly bus: Bus; readonly codec: Codec },
  operations: readonly Operation[],
): Promise<Written> => {
  const writer = await bus.writer('bench-ingest')
  const lanes = Array.from({ length: PLAN.partitions }, () => ({
    perRecord: [] as number[],
    upTo: new Map<number, number>(),
    sum: 0,
  }))
  for (const operation of operations) {
    const { meta } = operation.block
    if (meta === null) throw new Error('an operation without meta')
    const chunks = chunksOf(
      { ...NOTHING, trades: tradesOf(operation) },
      CHAIN,
      () => PLAN.partitions,
    )
    const { part: _part, parts: _parts, ...place } = meta
    await writer.commit({
      records: encodedRecords(chunks, place, codec),
      seal: (spans): readonly ProducerRecord[] => {
        const described = spans.map(({ topic, partition, baseOffset, records }) => ({
          topic,
          partition,
          base_offset: baseOffset,
          records,
          events: eventsAt(chunks, topic, partition),
        }))
        return [blockRecord({ ...operation.block, spans: described }, codec)]
      },
    })
    for (const { partition, events } of chunks) {
      const lane = lanes[partition]
      lane?.perRecord.push(events.length)
      if (lane !== undefined) lane.sum += events.length
    }
    for (const lane of lanes) lane.upTo.set(meta.seq, lane.sum)
  }
  await writer.close()
  return { perRecord: lanes.map((lane) => lane.perRecord), upTo: lanes.map((lane) => lane.upTo) }
}

/** The pipeline of every lane; what counts as done is committed. */
const pipe = async (
  { bus, codec }: { readonly bus: Bus; readonly codec: Codec },
  { upTo }: Written,
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
    const written = await write(deps, operations)
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

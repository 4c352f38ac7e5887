/** Lanes that come back after a topic's retention, on any kind of bus. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lostLanes } from '../../../cli/app/lost-lanes.ts'
import { laneOffsets } from '../../../cli/checksum/consumer-lag.ts'
import { moveLanes } from '../../../cli/commands/resume.ts'
import type { Bus, Lane, LogRecord, OffsetRange } from '../../../core/bus/contract.ts'
import { changelogSpec, topicSpecs } from '../../../core/bus/topic-specs.ts'
import { localCodec } from '../../../core/codec/local-codec.ts'
import { makeSilentLogger } from '../../../core/ops/logger.ts'
import { makeMetrics } from '../../../core/ops/metrics.ts'
import { PROCESS_PIPELINE } from '../../../processors/process-pipeline.ts'
import type { Stage } from '../../../processors/runtime/stage.ts'
import { type RunningStage, startStage } from '../../../processors/runtime/stage-runner.ts'
import { stateTopic, topicName } from '../../../schemas/topics.ts'
import { until } from '../until.ts'

const CHAIN = 'eth'
const LANES = 2
const TRADES = topicName('trades', CHAIN)
const TRANSFERS = topicName('transfers', CHAIN)
const START_MS = 1_767_225_600_000
const PROCESSED = topicName('tradesProcessed', CHAIN)
const SINK = `sink.${PROCESSED}`
const ALL = [TRADES, TRANSFERS, PROCESSED]

/** The bus of such a suite, and what retention does there. */
export interface LostLanesFixture {
  readonly bus: Bus
  /** Deletes the records of every partition of a topic before an offset. */
  readonly expire: (topic: string, before: number) => Promise<void>
}

const codec = localCodec()

const eventMeta = (seq: number) => ({
  ...({ chain: CHAIN, op: 'OP_APPLY', seq, height: 1_000 + seq, slot: 1_000 + seq } as const),
  hash: `h${seq}`,
  parent_hash: `h${seq - 1}`,
  block_time: START_MS + 12_000 * seq,
  ...({ commitment: 'COMMITMENT_CONFIRMED', produced_at: 0, part: 0, parts: 1 } as const),
})

/** Spans tell where the records of ingestors lie, not those of stages. */
const isIngested = ({ topic }: OffsetRange): boolean => topic !== PROCESSED

/** One commit per operation: a record of each partition of trades, raw and processed, with every third one transfers, then the block. */
const publish = async (bus: Bus, from: number, to: number, parts = 1): Promise<void> => {
  const writer = await bus.writer(`ingest.${CHAIN}`)
  for (let seq = from; seq <= to; seq += 1) {
    const topics = ALL.filter((topic) => topic !== TRANSFERS || seq % 3 === 1)
    const meta = eventMeta(seq)
    await writer.commit({
      records: topics.flatMap((topic) =>
        Array.from({ length: LANES * parts }, (_, index) => ({
          topic,
          partition: index % LANES,
          key: `k${index % LANES}`,
          value:
            topic === TRANSFERS
              ? codec.encode('transfer.TransferEvents', { meta, events: [] })
              : codec.encode('dex.trade.TradeEvents', { meta, events: [] }),
          headers: { seq: String(seq), part: `${Math.floor(index / LANES)}/${parts}` },
        })),
      ),
      finalRecords: (spans) => [
        {
          topic: topicName('blocks', CHAIN),
          partition: 0,
          key: CHAIN,
          value: codec.encode('block.BlockEvent', {
            meta,
            spans: spans
              .filter(isIngested)
              .map(({ topic, partition, baseOffset: base_offset, records }) => ({
                topic,
                partition,
                base_offset,
                records,
                events: 0,
              })),
          }),
        },
      ],
    })
  }
  await writer.close()
}

interface TestConsumers {
  /** Operations by lane, as the stage folded them. */
  readonly folded: Map<string, number[]>
  readonly sunk: number[]
  stop(): Promise<void>
}

/** The process stage with a fold that only notes what it sees, and a group of the kind of a sink. */
const startReaders = async (bus: Bus): Promise<TestConsumers> => {
  const folded = new Map<string, number[]>()
  const sunk: number[] = []
  const stage: Stage = {
    app: PROCESS_PIPELINE.app,
    inputs: PROCESS_PIPELINE.inputs,
    outputs: [],
    load: () => ({
      step: ({ block, records }) => {
        const key = records[0]?.key ?? '-'
        folded.set(key, [...(folded.get(key) ?? []), block.meta.seq])
        return []
      },
      flush: () => ({ publications: [], changes: [] }),
    }),
  }
  const log = makeSilentLogger()
  const stages: RunningStage = await startStage(stage, {
    chain: CHAIN,
    bus,
    codec,
    metrics: makeMetrics(),
    log,
  })
  const sinks = await bus.subscribe({
    group: SINK,
    topics: [PROCESSED],
    needsWholeLog: true,
    run: (lane) => runSink(lane, (record) => sunk.push(Number(record.headers.seq))),
  })
  return {
    folded,
    sunk,
    stop: async () => {
      await Promise.all([stages.stop(), sinks.stop()])
    },
  }
}

const runSink = async (lane: Lane, take: (record: LogRecord) => void): Promise<void> => {
  for (;;) {
    const records = await lane.take({ maxRecords: 100, maxWaitMs: 100 })
    const last = records.at(-1)
    if (last === undefined) continue
    records.forEach(take)
    const next = [{ topic: PROCESSED, partition: lane.partition, offset: last.offset + 1 }]
    await lane.writer.commit({ offsets: { group: SINK, next } })
  }
}

const sequenceRange = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index)

const offsetOfOperation = async (bus: Bus, topic: string, seq: number): Promise<number> => {
  const [{ low = 0 } = {}] = await bus.ends(topic)
  for await (const { offset, headers } of bus.read(topic, 0, low)) {
    if (headers.seq === String(seq)) return offset
  }
  return assert.fail(`${topic} has no operation ${seq}`)
}

/** Reads to operation 12, is away while 13 to 60 come and records before operation 40 expire, and comes back. */
export const lostLanesSuite = (open: () => Promise<LostLanesFixture>): void => {
  test('after an outage beyond retention lanes halt, a command lists the lost operations, and the lanes continue', async () => {
    const { bus, expire } = await open()
    await bus.createTopics([
      ...topicSpecs({ chains: [CHAIN], partitions: LANES, retention: 'contract' }),
      changelogSpec(stateTopic(PROCESS_PIPELINE.app, CHAIN), LANES),
    ])
    await publish(bus, 1, 12)
    const before = await startReaders(bus)
    const all = (readers: TestConsumers, to: number): boolean =>
      [0, 1].every((lane) => readers.folded.get(`k${lane}`)?.at(-1) === to) &&
      readers.sunk.filter((seq) => seq === to).length === LANES
    await until(() => all(before, 12), 'all is read', 60_000)
    await before.stop()
    assert.deepEqual(await lostLanes({ bus, codec, from: 'earliest' }, CHAIN), [])
    await publish(bus, 13, 60)
    const left = new Map<string, number>()
    for (const topic of ALL) left.set(topic, await offsetOfOperation(bus, topic, 40))
    for (const [topic, before] of left) await expire(topic, before)
    const after = await startReaders(bus)
    await until(() => bus.halted().length === 2 * LANES, 'the lanes rest', 60_000)
    assert.deepEqual([after.folded.size, after.sunk], [0, []])
    const lanes = await lostLanes({ bus, codec, from: 'earliest' }, CHAIN)
    assert.deepEqual(
      lanes.map(({ group, partition, first, next }) => [group, partition, first?.seq, next?.seq]),
      [
        ['process.eth', 0, 13, 40],
        ['process.eth', 1, 13, 40],
        [SINK, 0, undefined, 40],
        [SINK, 1, undefined, 40],
      ],
    )
    assert.deepEqual(
      [lanes[0]?.first?.height, lanes[0]?.next?.timeMs],
      [1_013, START_MS + 12_000 * 40],
    )
    await moveLanes(bus, lanes)
    await until(() => all(after, 60), 'the lanes continue', 60_000)
    assert.deepEqual(after.folded.get('k0'), sequenceRange(40, 60))
    assert.deepEqual(
      after.sunk.toSorted((a, b) => a - b),
      sequenceRange(40, 60).flatMap((seq) => [seq, seq]),
    )
    assert.deepEqual(bus.halted(), [])
    await untilCommitted(bus, 60)
    await after.stop()
    await resumeFromNow({ bus, expire })
  })
}

/** A bus whose log begins one record later in the first partition of trades, as a broker that cut a segment there. */
const withoutFirstTrade = (bus: Bus): Bus => ({
  ...bus,
  ends: async (topic) =>
    (await bus.ends(topic)).map((bounds) =>
      topic === TRADES && bounds.partition === 0 ? { ...bounds, low: bounds.low + 1 } : bounds,
    ),
})

/** The oldest operation that is left may have lost its first records: a lane that began with it would fold half of it. */
export const halfOperationSuite = (open: () => Promise<LostLanesFixture>): void => {
  test('a lost lane continues at the next whole operation', async () => {
    const { bus } = await open()
    await bus.createTopics(
      topicSpecs({ chains: [CHAIN], partitions: LANES, retention: 'contract' }),
    )
    await publish(bus, 1, 3, 2)
    const group = `${PROCESS_PIPELINE.app}.${CHAIN}`
    const writer = await bus.writer('test')
    await writer.commit({ offsets: { group, next: [{ topic: TRADES, partition: 0, offset: 0 }] } })
    const lanes = await lostLanes({ bus: withoutFirstTrade(bus), codec, from: 'earliest' }, CHAIN)
    assert.deepEqual(
      lanes.map(({ first, next }) => [first?.seq, next?.seq]),
      [[1, 2]],
    )
    const place = lanes[0]?.offsets.find(({ topic }) => topic === TRADES)
    assert.equal(place?.offset, await offsetOfOperation(bus, TRADES, 2))
  })
}

/** A group that is declared has a place: what retention takes before its first record is done is a loss like any other. */
export const firstPlacesSuite = (open: () => Promise<LostLanesFixture>): void => {
  test('lanes that start after retention removed records halt, are listed, and continue from a chosen position', async () => {
    const { bus, expire } = await open()
    await bus.createTopics([
      ...topicSpecs({ chains: [CHAIN], partitions: LANES, retention: 'contract' }),
      changelogSpec(stateTopic(PROCESS_PIPELINE.app, CHAIN), LANES),
    ])
    await publish(bus, 1, 20)
    for (const topic of ALL) {
      const before = await offsetOfOperation(bus, topic, 16)
      await expire(topic, before)
    }
    const readers = await startReaders(bus)
    await until(() => bus.halted().length === 2 * LANES, 'the lanes rest', 60_000)
    assert.deepEqual([readers.folded.size, readers.sunk], [0, []])
    const lost = (await laneOffsets(bus, CHAIN)).filter((lane) => lane.lost > 0)
    const of = (name: string) => lost.filter(({ group }) => group === name).length
    assert.deepEqual([of('process.eth') > 0, of(SINK)], [true, LANES])
    const lanes = await lostLanes({ bus, codec, from: 'earliest' }, CHAIN)
    assert.deepEqual(
      lanes.map(({ group, partition, next }) => [group, partition, next?.seq]),
      ['process.eth', SINK].flatMap((group) => [0, 1].map((lane) => [group, lane, 16])),
    )
    await moveLanes(bus, lanes)
    await until(
      () =>
        [0, 1].every((lane) => readers.folded.get(`k${lane}`)?.at(-1) === 20) &&
        readers.sunk.length === 5 * LANES,
      'the lanes continue',
      60_000,
    )
    assert.deepEqual(readers.folded.get('k0'), sequenceRange(16, 20))
    assert.deepEqual(bus.halted(), [])
    await readers.stop()
  })
}

/** What is folded is committed a moment later; a stop in between leaves it for the next reader. */
const untilCommitted = async (bus: Bus, seq: number): Promise<void> => {
  for (const [group, topic] of [
    [`${PROCESS_PIPELINE.app}.${CHAIN}`, TRADES],
    [SINK, PROCESSED],
  ] as const) {
    const last = await offsetOfOperation(bus, topic, seq)
    await until(async () => {
      const committed = await bus.offsets(group, [topic])
      return committed.length === LANES && committed.every(({ offset }) => offset > last)
    }, `${group} is committed`)
  }
}

/** Everything that a lane has not read is gone: `now` skips to what comes next. */
const resumeFromNow = async ({ bus, expire }: LostLanesFixture): Promise<void> => {
  await publish(bus, 61, 70)
  for (const topic of ALL) {
    await expire(topic, (await bus.ends(topic))[0]?.end ?? 0)
  }
  const lanes = await lostLanes({ bus, codec, from: 'now' }, CHAIN)
  assert.deepEqual(
    lanes.map(({ first, next }) => [first?.seq, next]),
    lanes.map(({ group }) => [group === SINK ? undefined : 61, null]),
  )
  assert.equal(lanes.length, 2 * LANES)
  await moveLanes(bus, lanes)
  const readers = await startReaders(bus)
  await publish(bus, 71, 73)
  await until(() => readers.folded.get('k1')?.at(-1) === 73, 'it continues', 60_000)
  assert.deepEqual(readers.folded.get('k1'), [71, 72, 73])
  await until(() => readers.sunk.length === 6, 'so does the sink')
  await readers.stop()
}

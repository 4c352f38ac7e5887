/** How far the store has followed the log: what subscriptions may deliver. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { createStoreProgress } from '../../cli/app/store-progress.ts'
import type { Bus, Writer } from '../../core/bus/contract.ts'
import { PROCESS_PIPELINE } from '../../processors/process-pipeline.ts'
import { FEED_SINKS } from '../../processors/sinks/feed-sinks.ts'
import { sinkGroup } from '../../processors/sinks/runner.ts'
import { SINKS, type Sink } from '../../processors/sinks/tables.ts'
import { TOPICS, type Topic, topicName } from '../../schemas/topics.ts'
import { openTempBus, type TempBus } from '../support/temp-bus.ts'

const CHAIN = 'eth'
const PARTITIONS = 2
const VALUE = new Uint8Array([1])
const ALWAYS: readonly Topic[] = [
  ...new Set<Topic>([...SINKS.map(({ topic }) => topic), ...PROCESS_PIPELINE.inputs]),
]
const sinkOf = (topic: Topic): Sink => {
  const sink = [...SINKS, ...FEED_SINKS].find((each) => each.topic === topic)
  assert.ok(sink, topic)
  return sink
}

let opened: TempBus
let bus: Bus
let writer: Writer

const publish = (topic: Topic, seqs: readonly number[], partition = 0) =>
  writer.commit({
    records: seqs.map((seq) => ({
      topic: topicName(topic, CHAIN),
      partition,
      key: 'k',
      value: VALUE,
      headers: { seq: String(seq) },
    })),
  })
/** Moves a group in front of an offset of a topic's first partition. */
const commitAt = (group: string, topic: Topic, offset: number) =>
  writer.commit({
    offsets: { group, next: [{ topic: topicName(topic, CHAIN), partition: 0, offset }] },
  })
/** The offsets of all records of a topic's first partition. */
const offsetsOf = async (topic: Topic): Promise<readonly number[]> => {
  const offsets: number[] = []
  for await (const { offset } of bus.read(topicName(topic, CHAIN), 0, 0)) offsets.push(offset)
  return offsets
}
/** Stages and sinks that always run have read everything. */
const readAll = async (): Promise<void> => {
  const ends = async (topic: Topic) =>
    (await bus.ends(topicName(topic, CHAIN))).map(({ partition, end }) => ({
      topic: topicName(topic, CHAIN),
      partition,
      offset: end,
    }))
  for (const sink of SINKS) {
    const next = await ends(sink.topic)
    await writer.commit({ offsets: { group: sinkGroup(sink, CHAIN), next } })
  }
  const next = (await Promise.all(PROCESS_PIPELINE.inputs.map(ends))).flat()
  await writer.commit({ offsets: { group: `${PROCESS_PIPELINE.app}.${CHAIN}`, next } })
}

/** A log that counts the readings, and the records that they gave. */
const countReads = () => {
  let reads = 0
  let records = 0
  const counted: Pick<Bus, 'topics' | 'ends' | 'offsets' | 'read'> = {
    topics: (prefix) => bus.topics(prefix),
    ends: (topic) => bus.ends(topic),
    offsets: (group, topics) => bus.offsets(group, topics),
    read: async function* (...args) {
      reads += 1
      for await (const record of bus.read(...args)) {
        records += 1
        yield record
      }
    },
  }
  return { counted, reads: () => reads, records: () => records }
}

beforeEach(async () => {
  opened = await openTempBus()
  bus = opened.bus
  await bus.createTopics(
    [...ALWAYS, 'events' as const].map((topic) => ({
      topic: topicName(topic, CHAIN),
      partitions: PARTITIONS,
      cleanup: TOPICS[topic].cleanup,
      retentionMs: null,
    })),
  )
  writer = await bus.writer('test')
})
afterEach(() => opened.stop())

test('every input of the stages is waited for', async () => {
  const progress = createStoreProgress(bus, { feeds: [] })
  let seq = 20
  for (const topic of PROCESS_PIPELINE.inputs) {
    seq += 1
    await publish(topic, [seq])
    assert.equal(await progress.storedSeq(CHAIN), seq - 1, topic)
    await readAll()
    assert.equal(await progress.storedSeq(CHAIN), Number.POSITIVE_INFINITY, topic)
  }
})

describe('feeds', () => {
  const eventsSink = sinkOf('events')

  test('an unread record of a feed that is switched off holds nothing up', async () => {
    await publish('events', [10, 11])
    const [, second] = await offsetsOf('events')
    assert.ok(second !== undefined)
    await commitAt(sinkGroup(eventsSink, CHAIN), 'events', second)
    const off = createStoreProgress(bus, { feeds: [] })
    for (const seq of [12, 500]) {
      for (const topic of ALWAYS) await publish(topic, [seq])
      assert.equal(await off.storedSeq(CHAIN), seq - 1)
      await readAll()
      assert.equal(await off.storedSeq(CHAIN), Number.POSITIVE_INFINITY)
    }
  })

  test('the sink of a feed that is on is waited for, also before it first ran', async () => {
    await publish('events', [10, 11])
    const on = createStoreProgress(bus, { feeds: ['events'] })
    assert.equal(await on.storedSeq(CHAIN), 9)
    const [, second] = await offsetsOf('events')
    assert.ok(second !== undefined)
    await commitAt(sinkGroup(eventsSink, CHAIN), 'events', second)
    assert.equal(await on.storedSeq(CHAIN), 10)
  })
})

describe('records of several lanes in one partition', () => {
  const group = sinkGroup(sinkOf('walletTokenPnls'), CHAIN)

  test('an earlier operation behind a later one is not stored', async () => {
    await publish('walletTokenPnls', [100, 95, 100, 97, 101])
    const progress = createStoreProgress(bus, { feeds: [] })
    const offsets = await offsetsOf('walletTokenPnls')
    const answers: (number | undefined)[] = []
    for (const offset of offsets) {
      await commitAt(group, 'walletTokenPnls', offset)
      answers.push(await progress.storedSeq(CHAIN))
    }
    assert.deepEqual(answers, [94, 94, 96, 96, 100])
    // What comes later may be earlier again, and a group that was moved back reads anew.
    await publish('walletTokenPnls', [99])
    assert.equal(await progress.storedSeq(CHAIN), 98)
    await commitAt(group, 'walletTokenPnls', offsets[1] ?? 0)
    assert.equal(await progress.storedSeq(CHAIN), 94)
  })

  test('each answer is the least of what is unread, whatever the order', async () => {
    let state = 7
    const random = (below: number): number => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
      return state % below
    }
    const progress = createStoreProgress(bus, { feeds: [] })
    const seqs: number[] = []
    let read = 0
    for (let round = 0; round < 60; round++) {
      const more = Array.from({ length: random(6) }, () => 100 + round + random(20))
      seqs.push(...more)
      if (more.length > 0) await publish('walletTokenPnls', more)
      read += random(seqs.length - read + 1)
      const offsets = await offsetsOf('walletTokenPnls')
      const [{ end = 0 } = {}] = await bus.ends(topicName('walletTokenPnls', CHAIN))
      await commitAt(group, 'walletTokenPnls', offsets[read] ?? end)
      assert.equal(await progress.storedSeq(CHAIN), Math.min(...seqs.slice(read)) - 1)
    }
  })
})

describe('many unread records of several lanes', () => {
  const group = sinkGroup(sinkOf('walletTokenPnls'), CHAIN)
  const LIMITS = { recordsPerLook: 40, operations: 8 }

  test('are read in bounded looks, and once', async () => {
    const { counted, records } = countReads()
    const progress = createStoreProgress(counted, { feeds: [] }, LIMITS)
    const seqs = Array.from({ length: 100 }, (_, index) => 200 - index)
    await publish('walletTokenPnls', seqs)
    assert.equal(await progress.storedSeq(CHAIN), undefined)
    assert.ok(records() <= LIMITS.recordsPerLook + 1, String(records()))
    assert.equal(await progress.storedSeq(CHAIN), undefined)
    assert.equal(await progress.storedSeq(CHAIN), 100)
    assert.ok(records() <= seqs.length + 2, String(records()))
    // What its group has stored meanwhile is not read any more.
    await publish('walletTokenPnls', seqs)
    assert.equal(await progress.storedSeq(CHAIN), undefined)
    const before = records()
    await commitAt(group, 'walletTokenPnls', (await offsetsOf('walletTokenPnls'))[199] ?? 0)
    assert.equal(await progress.storedSeq(CHAIN), 100)
    assert.equal(records(), before + 1)
  })

  test('hold up earlier operations at most while there are too many to remember', async () => {
    const progress = createStoreProgress(bus, { feeds: [] }, { ...LIMITS, recordsPerLook: 1_000 })
    const seqs = Array.from({ length: 100 }, (_, index) => 100 + index)
    await publish('walletTokenPnls', seqs)
    const offsets = await offsetsOf('walletTokenPnls')
    const answers = new Set<number | undefined>()
    for (const [read, offset] of offsets.entries()) {
      await commitAt(group, 'walletTokenPnls', offset)
      const stored = await progress.storedSeq(CHAIN)
      answers.add(stored)
      assert.ok(stored !== undefined && stored >= 99 && stored <= 99 + read, `${read}: ${stored}`)
    }
    assert.ok(answers.size > 1 && answers.size <= LIMITS.operations, String(answers.size))
    await readAll()
    assert.equal(await progress.storedSeq(CHAIN), Number.POSITIVE_INFINITY)
    await publish('walletTokenPnls', [300, 290])
    assert.equal(await progress.storedSeq(CHAIN), 289)
  })
})

test('what was read of a partition is not read again before its group has moved', async () => {
  const { counted, reads } = countReads()
  const progress = createStoreProgress(counted, { feeds: [] })
  for (const topic of ALWAYS) {
    for (let partition = 0; partition < PARTITIONS; partition++)
      await publish(topic, [5, 6], partition)
  }
  const pairs = SINKS.length + PROCESS_PIPELINE.inputs.length
  assert.equal(await progress.storedSeq(CHAIN), 4)
  assert.equal(reads(), pairs * PARTITIONS)
  for (let call = 0; call < 5; call++) assert.equal(await progress.storedSeq(CHAIN), 4)
  assert.equal(reads(), pairs * PARTITIONS)
  await readAll()
  assert.equal(await progress.storedSeq(CHAIN), Number.POSITIVE_INFINITY)
  assert.equal(reads(), pairs * PARTITIONS)
})

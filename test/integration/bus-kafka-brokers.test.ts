import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Bus, LogRecord, RunningTask, Writer } from '../../core/bus/contract.ts'
import { openKafkaBus } from '../../core/bus/kafka/bus.ts'
import { Outage } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { retry } from '../../core/retry.ts'
import { readAll } from '../support/bus/suite.ts'
import { type KafkaCluster, startKafka } from '../support/kafka.ts'
import { tryStart } from '../support/optional-dependency.ts'
import { until } from '../support/until.ts'

/** How often a broker is killed; the long drill sets more. */
const KILLS = Number(process.env.SLUICE_BROKER_KILLS ?? 3)
const PARTITIONS = 6
const PER_COMMIT = 60
const TOPIC = 'ledger'
/** What a group makes of the ledger while brokers die. */
const COPY = 'ledger-copy'

const cluster = await tryStart('three Kafka brokers (Java, Maven)', () => startKafka(3))

const openWriter = (bus: Bus): Promise<Writer> =>
  retry(() => bus.writer('ledger'), { firstMs: 50, maxMs: 1_000, tries: 120 })

interface Ledger {
  readonly acked: number[]
  /** Longest time between two acknowledged commits. */
  stallMs: number
  outages: number
  /** Commits so far, whatever came of them. */
  commits: number
}

/** Commits numbers over all partitions until stopped; what an outage leaves unknown is not sent again. */
const write = async (bus: Bus, ledger: Ledger, stopped: () => boolean): Promise<void> => {
  let writer = await openWriter(bus)
  let lastMs = Date.now()
  while (!stopped()) {
    const first = ledger.commits * PER_COMMIT
    ledger.commits += 1
    const numbers = Array.from({ length: PER_COMMIT }, (_, i) => first + i)
    const records = numbers.map((number) => ({
      topic: TOPIC,
      partition: number % PARTITIONS,
      key: `${number % 97}`,
      value: Buffer.from(String(number)),
    }))
    try {
      await writer.commit({ records })
      ledger.acked.push(...numbers)
      ledger.stallMs = Math.max(ledger.stallMs, Date.now() - lastMs)
      lastMs = Date.now()
    } catch (error) {
      assert.ok(error instanceof Outage, String(error))
      ledger.outages += 1
      writer = await openWriter(bus)
    }
  }
  await writer.close()
}

const acknowledges = async (ledger: Ledger, commits: number): Promise<void> => {
  const goal = ledger.acked.length + commits * PER_COMMIT
  await until(() => ledger.acked.length >= goal, `${commits} commits come through`, 60_000)
}

/** How often each number was read. */
type Seen = Map<number, number>

const note = (seen: Seen, records: readonly LogRecord[]): void => {
  for (const { value } of records) {
    const number = Number(Buffer.from(value ?? []).toString())
    seen.set(number, (seen.get(number) ?? 0) + 1)
  }
}

/** Copies the ledger partition by partition, records and offsets in one transaction, as a processor does. */
const copyLedger = (bus: Bus): Promise<RunningTask> =>
  bus.subscribe({
    group: 'copy',
    topics: [TOPIC],
    run: async ({ take, writer, partition, signal }) => {
      while (!signal.aborted) {
        const records = await take({ maxRecords: 600, maxWaitMs: 200 })
        const last = records.at(-1)
        if (last === undefined) continue
        await writer.commit({
          records: records.map(({ key, value }) => ({ topic: COPY, partition, key, value })),
          offsets: { group: 'copy', next: [{ topic: TOPIC, partition, offset: last.offset + 1 }] },
        })
      }
    },
  })

/** Numbers that were acknowledged and not seen, and those seen more than once. */
const faults = (acked: readonly number[], seen: Seen) => ({
  lost: acked.filter((number) => !seen.has(number)),
  doubled: [...seen].filter(([, times]) => times > 1),
})
const NONE = { lost: [], doubled: [] }

const suite = ({ brokers, kill, restart }: KafkaCluster): void => {
  test(`${KILLS} broker kills while writing and reading: nothing acknowledged is lost, nothing is doubled`, async () => {
    const bus = await openKafkaBus({ brokers, clientId: 'brokers', log: makeSilentLogger() })
    const spec = { cleanup: 'delete', retentionMs: null } as const
    await bus.createTopics(
      [TOPIC, COPY].map((topic) => ({ ...spec, topic, partitions: PARTITIONS })),
    )
    const tailed: Seen = new Map()
    const reading = [
      await bus.tail({
        topics: [TOPIC],
        from: 'earliest',
        onRecords: (records) => note(tailed, records),
      }),
      await copyLedger(bus),
    ]
    const ledger: Ledger = { acked: [], stallMs: 0, outages: 0, commits: 0 }
    let stopped = false
    const writing = write(bus, ledger, () => stopped)
    for (let round = 0; round < KILLS; round += 1) {
      await acknowledges(ledger, 30)
      await kill(round % 3)
      await acknowledges(ledger, 10)
      await restart(round % 3)
    }
    await acknowledges(ledger, 10)
    stopped = true
    await writing
    const seen: Seen = new Map()
    note(seen, await readAll(bus, TOPIC, ledger.acked.length))
    assert.deepEqual(faults(ledger.acked, seen), NONE)
    await until(() => tailed.size === seen.size, 'the tail read everything', 60_000)
    const copied = async (): Promise<Seen> => {
      const copies: Seen = new Map()
      note(copies, await readAll(bus, COPY))
      return copies
    }
    await until(
      async () => (await copied()).size === seen.size,
      'the group copied everything',
      60_000,
    )
    assert.deepEqual(faults(ledger.acked, tailed), NONE)
    assert.deepEqual(faults(ledger.acked, await copied()), NONE)
    await Promise.all(reading.map((each) => each.stop()))
    const commits = new Map<number, number>()
    for (const number of seen.keys()) {
      const commit = Math.floor(number / PER_COMMIT)
      commits.set(commit, (commits.get(commit) ?? 0) + 1)
    }
    assert.ok([...commits.values()].every((count) => count === PER_COMMIT))
    const { outages, stallMs, acked } = ledger
    console.log(`# ${KILLS} kills, ${outages} outages, longest stall ${stallMs} ms`)
    console.log(`# ${acked.length} records acknowledged, ${seen.size} in the log`)
    await bus.close()
  })
}

if (cluster) suite(cluster)
after(() => cluster?.stop())

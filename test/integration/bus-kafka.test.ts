import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Admin, Kafka, logLevel, Partitioners } from 'kafkajs'
import type { Bus } from '../../core/bus/contract.ts'
import { type KafkaBusOptions, openKafkaBus } from '../../core/bus/kafka/bus.ts'
import { makeKafkaClient } from '../../core/bus/kafka/client.ts'
import type { Outage } from '../../core/errors.ts'
import { type Logger, makeSilentLogger } from '../../core/ops/logger.ts'
import { kafkaStateSuite } from '../support/bus/kafka-suite.ts'
import { lostLanesSuite } from '../support/bus/lost-lanes-suite.ts'
import { busSuite, readAll } from '../support/bus/suite.ts'
import { type KafkaCluster, SASL_PASSWORD, SASL_USER, startKafka } from '../support/kafka.ts'
import { tryStart } from '../support/optional-dependency.ts'
import { until } from '../support/until.ts'

const cluster = await tryStart('a Kafka broker (Java, Maven)', () => startKafka(1))

const MAP_BYTES = 268_435_456
const FOREIGN_MEMBER = fileURLToPath(
  new URL('../support/bus/kafka-foreign-member-child.ts', import.meta.url),
)
const folder = mkdtempSync(join(tmpdir(), 'sluice-state-'))

const openAt = (
  brokers: readonly string[],
  halts: Outage[] = [],
  more: Partial<KafkaBusOptions> = {},
): Promise<Bus> =>
  openKafkaBus({
    brokers,
    clientId: 'sluice-test',
    log: makeSilentLogger(),
    ...more,
    onHalt: (outage) => halts.push(outage),
  })

/** Segments roll only when something is written to them: a record of a key of its own, until the log cleaner ran. */
const compact = async (bus: Bus, admin: Admin, topic: string): Promise<void> => {
  await admin.alterConfigs({
    validateOnly: false,
    resources: [
      {
        type: 2,
        name: topic,
        configEntries: [
          { name: 'cleanup.policy', value: 'compact' },
          { name: 'segment.ms', value: '200' },
          { name: 'min.cleanable.dirty.ratio', value: '0.01' },
        ],
      },
    ],
  })
  const writer = await bus.writer(`compact.${topic}`)
  const roll = { topic, partition: 0, key: 'roll', value: Buffer.from('roll') }
  const shrunk = async (): Promise<boolean> => {
    await writer.commit({ records: [roll] })
    return (await readAll(bus, topic)).length < 50
  }
  await until(shrunk, 'the cleaner ran', 60_000)
  await writer.close()
}

const suite = async ({ brokers, saslBrokers }: KafkaCluster): Promise<void> => {
  const kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING })
  const admin = kafka.admin()
  await admin.connect()
  busSuite('Kafka', async () => {
    const halts: Outage[] = []
    const state = (member: string) => ({ path: join(folder, member), mapSizeBytes: MAP_BYTES })
    const both = async () =>
      [
        await openAt(brokers, halts, { state: state('one') }),
        await openAt(brokers, halts, { state: state('two') }),
      ] as const
    let buses = await both()
    return {
      get bus() {
        return buses[0]
      },
      get other() {
        return buses[1]
      },
      halts,
      restart: async () => {
        await Promise.all(buses.map((bus) => bus.close()))
        buses = await both()
      },
      expire: async (topic) => {
        const ends = await admin.fetchTopicOffsets(topic)
        await admin.deleteTopicRecords({
          topic,
          partitions: ends.map(({ partition, high }) => ({ partition, offset: high })),
        })
      },
      compact: (topic) => compact(buses[0], admin, topic),
      close: async () => {
        await Promise.all(buses.map((bus) => bus.close()))
      },
    }
  })

  kafkaStateSuite({
    broker: brokers[0] ?? '',
    admin,
    folder,
    open: (path, sessionTimeoutMs = 10_000) =>
      openAt(brokers, [], { state: { path, mapSizeBytes: MAP_BYTES }, sessionTimeoutMs }),
  })

  describe('lanes that come back after retention, on Kafka', () => {
    const opened: Bus[] = []
    after(() => Promise.all(opened.map((bus) => bus.close())))
    lostLanesSuite(async () => {
      const more = { state: { path: join(folder, 'lost'), mapSizeBytes: MAP_BYTES } }
      const bus = await openAt(brokers, [], more)
      opened.push(bus)
      return {
        bus,
        expire: async (topic, before) => {
          const ends = await admin.fetchTopicOffsets(topic)
          const offset = String(before)
          const partitions = ends.map(({ partition }) => ({ partition, offset }))
          await admin.deleteTopicRecords({ topic, partitions })
        },
      }
    })
  })

  describe('bus: only on Kafka', () => {
    test('a producer asks for its coordinators once, and again when they are forgotten', async () => {
      const bus = await openAt(brokers)
      const topic = `coordinators.${process.pid}`
      await bus.createTopics([{ topic, partitions: 1, cleanup: 'delete', retentionMs: null }])
      const client = makeKafkaClient({ brokers, clientId: 'sluice-test', log: makeSilentLogger() })
      const { producer, forgetCoordinators } = client.producer({
        transactionalId: `remembering.${process.pid}`,
        maxInFlightRequests: 1,
        createPartitioner: Partitioners.DefaultPartitioner,
      })
      const requests: string[] = []
      producer.on('producer.network.request', ({ payload }) => requests.push(payload.apiName))
      const questionsOfCommit = async (offset: string): Promise<number> => {
        requests.length = 0
        const transaction = await producer.transaction()
        await transaction.send({ topic, messages: [{ key: 'k', value: offset }] })
        await transaction.sendOffsets({
          consumerGroupId: `remembering.${process.pid}`,
          topics: [{ topic, partitions: [{ partition: 0, offset }] }],
        })
        await transaction.commit()
        assert.ok(requests.includes('EndTxn'))
        return requests.filter((name) => name === 'GroupCoordinator').length
      }
      await producer.connect()
      assert.equal(await questionsOfCommit('1'), 2)
      assert.equal(await questionsOfCommit('2'), 0)
      forgetCoordinators()
      assert.equal(await questionsOfCommit('3'), 2)
      assert.equal((await readAll(bus, topic)).length, 3)
      await producer.disconnect()
      await bus.close()
    })

    test('an open transaction of a stock producer is neither read nor part of the ends', async () => {
      const bus = await openAt(brokers)
      const topic = `open.${process.pid}`
      await bus.createTopics([{ topic, partitions: 1, cleanup: 'delete', retentionMs: null }])
      const producer = kafka.producer({
        transactionalId: `stock.${process.pid}`,
        idempotent: true,
        maxInFlightRequests: 1,
        createPartitioner: Partitioners.DefaultPartitioner,
      })
      await producer.connect()
      const transaction = await producer.transaction()
      await transaction.send({ topic, messages: [{ key: 'k', value: 'open' }] })
      assert.deepEqual(await bus.ends(topic), [{ partition: 0, low: 0, end: 0 }])
      assert.deepEqual(await readAll(bus, topic), [])
      await transaction.abort()
      const writer = await bus.writer(`w.${process.pid}`)
      await writer.commit({ records: [{ topic, key: 'k', value: Buffer.from('committed') }] })
      const records = await readAll(bus, topic, 1)
      assert.deepEqual(
        records.map(({ value }) => Buffer.from(value ?? []).toString()),
        ['committed'],
      )
      await producer.disconnect()
      await writer.close()
      await bus.close()
    })

    /** A topic of one partition with one record, read to its end by a lane that then left. */
    const readToItsEnd = async (word: string, bus: Bus) => {
      const [topic, group] = [`${word}.${process.pid}`, `${word}.g.${process.pid}`]
      await bus.createTopics([{ topic, partitions: 1, cleanup: 'delete', retentionMs: null }])
      const taken: string[] = []
      const join = () =>
        bus.subscribe({
          group,
          topics: [topic],
          run: async (lane) => {
            for (;;) {
              const records = await lane.take({ maxRecords: 10, maxWaitMs: 100 })
              const last = records.at(-1)
              if (last === undefined) continue
              taken.push(...records.map(({ key }) => key))
              const next = [{ topic, partition: 0, offset: last.offset + 1 }]
              await lane.writer.commit({ offsets: { group, next } })
            }
          },
        })
      const write = async (key: string): Promise<void> => {
        const writer = await bus.writer(`${word}.w.${process.pid}`)
        await writer.commit({ records: [{ topic, key, value: Buffer.from(key) }] })
        await writer.close()
      }
      /** The log's next offset; the group stands there when it has committed what it read. */
      const isAtEnd = async (): Promise<boolean> => {
        const [ends, places] = [await bus.ends(topic), await bus.offsets(group, [topic])]
        return places[0]?.offset === ends[0]?.end
      }
      const expireAll = async (): Promise<void> => {
        const offset = (await admin.fetchTopicOffsets(topic))[0]?.high ?? ''
        await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset }] })
      }
      await write('first')
      const running = await join()
      await until(() => taken.length === 1, 'the record was taken')
      return { topic, group, taken, running, join, write, isAtEnd, expireAll }
    }

    test('retention may pass the marker behind the last record that a group has read', async () => {
      const halts: Outage[] = []
      const bus = await openAt(brokers, halts)
      const lane = await readToItsEnd('marker', bus)
      await until(lane.isAtEnd, 'the place is behind the marker')
      await lane.running.stop()
      await lane.expireAll()
      const again = await lane.join()
      await lane.write('second')
      await until(() => lane.taken.length === 2 || halts.length > 0, 'the lane continues', 30_000)
      assert.deepEqual([lane.taken, halts], [['first', 'second'], []])
      await again.stop()
      await bus.close()
    })

    test('retention may pass what a stock producer wrote and aborted', async () => {
      const halts: Outage[] = []
      const bus = await openAt(brokers, halts)
      const lane = await readToItsEnd('aborted', bus)
      const producer = kafka.producer({
        transactionalId: `aborted.stock.${process.pid}`,
        idempotent: true,
        maxInFlightRequests: 1,
        createPartitioner: Partitioners.DefaultPartitioner,
      })
      await producer.connect()
      const transaction = await producer.transaction()
      const messages = Array.from({ length: 20 }, () => ({ key: 'k', value: 'aborted' }))
      await transaction.send({ topic: lane.topic, messages })
      await transaction.abort()
      await producer.disconnect()
      await until(async () => ((await bus.ends(lane.topic))[0]?.end ?? 0) > 20, 'it was aborted')
      await until(lane.isAtEnd, 'an idle lane commits how far it read')
      await lane.running.stop()
      await lane.expireAll()
      const again = await lane.join()
      await lane.write('second')
      await until(() => lane.taken.length === 2 || halts.length > 0, 'the lane continues', 30_000)
      assert.deepEqual([lane.taken, halts], [['first', 'second'], []])
      await again.stop()
      await bus.close()
    })

    test('a consumer that its group dropped and refuses continues once it has joined again', async () => {
      const warnings: string[] = []
      const log = {
        ...makeSilentLogger(),
        warn: (_: object, message: string) => warnings.push(message),
        child: () => log,
      } as unknown as Logger
      const bus = await openAt(brokers, [], { log, sessionTimeoutMs: 2_000 })
      const lane = await readToItsEnd('forgotten', bus)
      // Nothing of this process runs until the other has joined: the session ends meanwhile.
      const words = [brokers[0] ?? '', lane.group, lane.topic]
      const { status } = spawnSync(
        process.execPath,
        ['--import', 'tsx', FOREIGN_MEMBER, ...words],
        {
          timeout: 60_000,
        },
      )
      assert.equal(status, 0)
      await until(() => warnings.includes('consumer restarting'), 'the join is refused', 30_000)
      await lane.write('second')
      await until(() => lane.taken.length === 2, 'the lane continues', 30_000)
      assert.deepEqual(lane.taken, ['first', 'second'])
      await lane.running.stop()
      await bus.close()
    })

    test('an unreachable Kafka broker is reported as an outage', async () => {
      await assert.rejects(openAt(['127.0.0.1:1']), { name: 'Outage' })
    })

    for (const mechanism of ['scram-sha-512', 'plain'] as const) {
      test(`a login by ${mechanism} reads and writes; a wrong password is an outage`, async () => {
        const login = (password: string) =>
          openAt(saslBrokers, [], { sasl: { mechanism, username: SASL_USER, password } })
        const bus = await login(SASL_PASSWORD)
        const topic = `sasl.${mechanism}`
        await bus.createTopics([{ topic, partitions: 1, cleanup: 'delete', retentionMs: null }])
        const writer = await bus.writer(`sasl.${mechanism}`)
        await writer.commit({ records: [{ topic, key: 'k', value: Buffer.from('v') }] })
        // The end of a transaction is seen a moment after its commit was answered.
        await until(async () => (await readAll(bus, topic)).length === 1, 'the record is read')
        await writer.close()
        await bus.close()
        await assert.rejects(login('wrong'), { name: 'Outage' })
        await assert.rejects(openAt(saslBrokers), { name: 'Outage' })
      })
    }

    test('reading joins no group', async () => {
      const bus = await openAt(brokers)
      const topic = `reads.${process.pid}`
      await bus.createTopics([{ topic, partitions: 1, cleanup: 'delete', retentionMs: null }])
      const writer = await bus.writer(topic)
      const count = 5_000
      for (let from = 0; from < count; from += 1_000) {
        const records = Array.from({ length: 1_000 }, (_, index) => ({
          topic,
          key: `${from + index}`,
          value: Buffer.alloc(2_000, index),
        }))
        await writer.commit({ records })
      }
      const groupsNow = async (): Promise<readonly string[]> =>
        (await admin.listGroups()).groups.map(({ groupId }) => groupId).toSorted()
      const before = await groupsNow()
      await until(async () => (await readAll(bus, topic)).length === count, 'all are read')
      const keys = (await readAll(bus, topic)).map(({ key }) => key)
      assert.deepEqual(
        keys,
        Array.from({ length: count }, (_, index) => `${index}`),
      )
      for (let read = 0; read < 100; read += 1) {
        for await (const record of bus.read(topic, 0, read * 40)) {
          assert.ok(record.offset >= read * 40)
          // While it reads, not only afterwards.
          if (read % 25 === 0) assert.deepEqual(await groupsNow(), before)
          break
        }
      }
      await writer.close()
      await bus.close()
    })

    test('a topic that is deleted and created again has another id', async () => {
      const bus = await openAt(brokers)
      const topic = `anew.${process.pid}`
      const spec = { topic, partitions: 1, cleanup: 'delete', retentionMs: null } as const
      await bus.createTopics([spec])
      const first = await bus.life(topic)
      assert.match(first, /^[^/]+\/anew\.\d+\/[0-9a-f]{32}$/)
      await admin.deleteTopics({ topics: [topic] })
      await until(async () => !(await admin.listTopics()).includes(topic), 'the topic is gone')
      // kafkajs' administrator does not get over a topic that it knew and that is gone.
      const other = await openAt(brokers)
      const make = () =>
        other.createTopics([spec]).then(
          () => true,
          () => false,
        )
      await until(make, 'it is made again')
      const second = await bus.life(topic)
      assert.match(second, /[0-9a-f]{32}$/)
      assert.notEqual(second, first)
      await Promise.all([bus.close(), other.close()])
    })

    test('readers leave no groups behind', async () => {
      const { groups } = await admin.listGroups()
      const left = groups.filter(({ groupId }) => groupId.startsWith('sluice-test.'))
      assert.deepEqual(left, [])
    })
  })

  after(async () => {
    await admin.disconnect()
    await cluster?.stop()
    rmSync(folder, { recursive: true, force: true })
  })
}

if (cluster) await suite(cluster)

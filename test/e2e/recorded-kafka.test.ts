import assert from 'node:assert/strict'
import { SchemaRegistry } from '@kafkajs/confluent-schema-registry'
import kafkajs from 'kafkajs'
import { tail } from '../../cli/tail.ts'
import type { TradeEvents } from '../../schemas/wire.ts'
import {
  type KafkaCluster,
  kafkaOrExplain,
  type Registry,
  startKafka,
  startRegistry,
} from '../support/kafka.ts'
import { testRecorded } from '../support/recorded-run.ts'

const TOPIC = 'eth.dex.trades.processed'

/** Everything on the topic, by a stock consumer and the stock registry client: no code of the house. */
const consumeAll = async (brokers: readonly string[], url: string): Promise<TradeEvents[]> => {
  const kafka = new kafkajs.Kafka({ brokers: [...brokers], logLevel: kafkajs.logLevel.NOTHING })
  const registry = new SchemaRegistry({ host: url })
  const admin = kafka.admin()
  await admin.connect()
  const ends = await admin.fetchTopicOffsets(TOPIC)
  await admin.disconnect()
  const open = new Map(
    ends
      .filter(({ high, low }) => high !== low)
      .map(({ partition, high }) => [partition, Number(high)]),
  )
  const values: TradeEvents[] = []
  const consumer = kafka.consumer({ groupId: 'somebody-else', maxWaitTimeInMs: 100 })
  await consumer.connect()
  await consumer.subscribe({ topic: TOPIC, fromBeginning: true })
  await new Promise<void>((resolve, reject) => {
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
      const end = open.get(payload.partition)
      if (end !== undefined && Number(payload.lastOffset) >= end - 1) open.delete(payload.partition)
      if (open.size === 0) resolve()
    })
    consumer
      .run({
        eachMessage: async ({ message }) => {
          if (message.value) values.push(await registry.decode(message.value))
        },
      })
      .catch(reject)
  })
  await consumer.disconnect()
  return values
}

/** The same topic by `sluice tail`: as many lines as asked, decoded. */
const tailOne = async (brokers: readonly string[], url: string): Promise<void> => {
  const lines: string[] = []
  const environment = { KAFKA_BROKERS: brokers.join(','), SCHEMA_REGISTRY_URL: url }
  const code = await tail({
    ...{ topic: TOPIC, dataDir: '.data', environment, back: 1, limit: 1 },
    write: (line) => lines.push(line),
    signal: AbortSignal.timeout(30_000),
  })
  assert.equal(code, 0)
  const [line] = lines.map((text) => JSON.parse(text) as { value: TradeEvents; topic: string })
  assert.equal(line?.topic, TOPIC)
  assert.ok((line?.value.events.length ?? 0) > 0)
}

const parts = await kafkaOrExplain('a Kafka broker with a schema registry', () =>
  Promise.all([startKafka(1), startRegistry()]),
)

if (parts) {
  const [cluster, registry]: [KafkaCluster, Registry] = parts
  await testRecorded({
    name: 'recorded ethereum blocks, replayed on real Kafka and a real registry',
    overrides: async () => ({
      kafkaBrokers: [...cluster.brokers],
      schemaRegistryUrl: registry.url,
    }),
    consume: async () => {
      await tailOne(cluster.brokers, registry.url)
      return consumeAll(cluster.brokers, registry.url)
    },
    close: async () => {
      await cluster.stop()
      await registry.stop()
    },
  })
}

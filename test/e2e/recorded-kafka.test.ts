import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { SchemaRegistry } from '@kafkajs/confluent-schema-registry'
import kafkajs from 'kafkajs'
import { tail } from '../../cli/commands/tail.ts'
import { openKafkaBus } from '../../core/bus/kafka/bus.ts'
import { kafkaBusOptions } from '../../core/bus/kafka/config.ts'
import { registryCodec } from '../../core/codec/registry-codec.ts'
import { loadConfig } from '../../core/config/load.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import type { TradeEvents } from '../../schemas/wire.ts'
import { joinEventTables } from '../support/join-event-tables.ts'
import { type KafkaCluster, type Registry, startKafka, startRegistry } from '../support/kafka.ts'
import { tryStart } from '../support/optional-dependency.ts'
import { fetchKafkaClient, type PythonRecord, readWithPython } from '../support/python-clients.ts'
import { testEthereumReplay } from '../support/recordings/replay-ethereum.ts'
import { testSolanaReplay } from '../support/recordings/replay-solana.ts'
import { withTimeout } from '../support/until.ts'

const ETH_TRADES = 'eth.dex.trades.processed'
const SOL_TRADES = 'sol.dex.trades.processed'
/** Topics of different messages, with the message that each carries. */
const FOR_PYTHON = {
  [ETH_TRADES]: 'dex.trade.TradeEvents',
  [SOL_TRADES]: 'dex.trade.TradeEvents',
  'sol.tokens.created': 'token.TokenEvents',
  'sol.tokens.migrated': 'token.TokenEvents',
  'sol.balances.processed': 'balance.BalanceEvents',
  'sol.candlesticks': 'candlestick.CandlestickEvents',
  'eth.transfers.processed': 'transfer.TransferEvents',
} as const

/** Everything on the topic, by a stock consumer and the stock registry client: no code of the product. */
const consumeAll = async (
  topic: string,
  brokers: readonly string[],
  url: string,
): Promise<TradeEvents[]> => {
  const kafka = new kafkajs.Kafka({ brokers: [...brokers], logLevel: kafkajs.logLevel.NOTHING })
  const registry = new SchemaRegistry({ host: url })
  const admin = kafka.admin()
  await admin.connect()
  const ends = await admin.fetchTopicOffsets(topic)
  await admin.disconnect()
  const open = new Map(
    ends
      .filter(({ high, low }) => high !== low)
      .map(({ partition, high }) => [partition, Number(high)]),
  )
  const values: TradeEvents[] = []
  const consumer = kafka.consumer({ groupId: `somebody-else-${topic}`, maxWaitTimeInMs: 100 })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  const read = new Promise<void>((resolve, reject) => {
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
      const end = open.get(payload.partition)
      if (end !== undefined && Number(payload.lastOffset) >= end - 1) open.delete(payload.partition)
      if (open.size === 0) resolve()
    })
    consumer
      .run({
        eachMessage: async ({ message }) => {
          if (message.value)
            values.push(joinEventTables(await registry.decode(message.value)) as TradeEvents)
        },
      })
      .catch(reject)
  })
  await withTimeout(read, `all of ${topic} is read`, 240_000)
  await consumer.disconnect()
  return values
}

/** The same topic by `sluice tail`: as many lines as asked, decoded. */
const tailOne = async (brokers: readonly string[], url: string): Promise<void> => {
  const lines: string[] = []
  const environment = { KAFKA_BROKERS: brokers.join(','), SCHEMA_REGISTRY_URL: url }
  const code = await tail({
    topic: ETH_TRADES,
    dataDir: '.data',
    environment,
    back: 1,
    limit: 1,
    write: (line) => lines.push(line),
    signal: AbortSignal.timeout(30_000),
  })
  assert.equal(code, 0)
  const [line] = lines.map((text) => JSON.parse(text) as { value: TradeEvents; topic: string })
  assert.equal(line?.topic, ETH_TRADES)
  assert.ok((line?.value.events.length ?? 0) > 0)
}

/** The same records as Python's client and the product's codec read them. */
const testPython = (brokers: readonly string[], url: string): Promise<void> =>
  test('Python reads by the registry what the codec wrote', async () => {
    const log = makeSilentLogger()
    const codec = await registryCodec({ url, log })
    const config = loadConfig(
      {},
      {
        kafkaBrokers: [...brokers],
        schemaRegistryUrl: url,
        dataDir: folder,
      },
    )
    const bus = await openKafkaBus({ ...kafkaBusOptions(config), clientId: 'python', log })
    const records = await readWithPython(brokers, url, Object.keys(FOR_PYTHON))
    for (const [topic, message] of Object.entries(FOR_PYTHON)) {
      const got = records
        .filter((record) => record.topic === topic)
        .sort((one, other) => one.partition - other.partition || one.offset - other.offset)
      const want: PythonRecord[] = []
      for (const { partition, low, end } of await bus.ends(topic)) {
        for await (const { offset, key, value } of bus.read(topic, partition, low, end)) {
          if (value === null) continue
          want.push({ topic, partition, offset, key, value: codec.decode(message, value) })
        }
      }
      assert.ok(want.length > 0, `${topic} holds something`)
      assert.equal(got.length, want.length, topic)
      for (const [index, record] of want.entries()) {
        const read = got[index]
        const value = joinEventTables(read?.value as object)
        assert.deepEqual({ ...read, value }, JSON.parse(JSON.stringify(record)), topic)
      }
    }
    await bus.close()
  })

const folder = mkdtempSync(join(tmpdir(), 'sluice-recorded-kafka-'))
const parts = await tryStart('a Kafka broker with a schema registry', () =>
  Promise.all([startKafka(1), startRegistry()]),
)
const python = await tryStart("Python's Kafka client", async () => {
  await fetchKafkaClient()
  return true
})

if (parts) {
  const [cluster, registry]: [KafkaCluster, Registry] = parts
  const { brokers } = cluster
  const overrides = async () => ({
    kafkaBrokers: [...brokers],
    schemaRegistryUrl: registry.url,
    dataDir: folder,
  })
  const close = async (): Promise<void> => undefined
  await describe('on real Kafka and a real registry', () => {
    after(async () => {
      await cluster.stop()
      await registry.stop()
      rmSync(folder, { recursive: true, force: true })
    })
    testEthereumReplay({
      name: 'recorded ethereum blocks, replayed',
      overrides,
      consume: async () => {
        await tailOne(brokers, registry.url)
        return consumeAll(ETH_TRADES, brokers, registry.url)
      },
      close,
    })
    testSolanaReplay({
      name: 'recorded Solana transactions, replayed',
      overrides,
      consume: () => consumeAll(SOL_TRADES, brokers, registry.url),
      close,
    })
    if (python) testPython(brokers, registry.url)
  })
}

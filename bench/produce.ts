import kafkajs, { Kafka, logLevel, Partitioners } from 'kafkajs'
import { openKafkaBus } from '../core/bus/kafka/bus.ts'
import { partitionOf } from '../core/bus/partitioner.ts'
import { localCodec } from '../core/codec/local-codec.ts'
import { makeSilentLogger } from '../core/ops/logger.ts'
import { startKafka } from '../test/support/kafka.ts'
import { tryStart } from '../test/support/optional-dependency.ts'

const PARTITIONS = 3
const RECORDS = 500
const COMMITS = 60
const ROUNDS = 4
const TOPIC = 'bench'

interface Encoded {
  readonly key: string
  readonly value: Buffer
}

/** One block of trades by token, as the ingestor encodes them. */
const block = (seq: number): readonly Encoded[] => {
  const codec = localCodec()
  return Array.from({ length: RECORDS }, (_, i) => {
    const token = `0x${(i * 7919).toString(16).padStart(40, '0')}`
    const meta = {
      chain: 'eth',
      op: 'OP_APPLY',
      seq,
      height: seq,
      block_time: seq * 12_000,
    } as const
    const trade = { token_a_address: token, user_a_amount: `${i}000000`, token_a_decimals: 18 }
    return {
      key: token,
      value: codec.encode('dex.trade.TradeEvents', { meta, events: [{ trade }] }),
    }
  })
}

type CommitBlock = (records: readonly Encoded[]) => Promise<unknown>

/** Milliseconds of each commit. */
const measure = async (commit: CommitBlock, records: readonly Encoded[]): Promise<number[]> => {
  const spent: number[] = []
  for (let i = 0; i < COMMITS; i += 1) {
    const start = performance.now()
    await commit(records)
    spent.push(performance.now() - start)
  }
  return spent
}

/** A transaction around one `sendBatch` over all partitions: what kafkajs does without guards. */
const bareCommit = async (brokers: readonly string[]) => {
  const kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING })
  const producer = kafka.producer({
    transactionalId: 'bench-bare',
    idempotent: true,
    maxInFlightRequests: 1,
    createPartitioner: Partitioners.DefaultPartitioner,
    retry: { initialRetryTime: 5, retries: 1_000 },
  })
  await producer.connect()
  const commit: CommitBlock = async (records) => {
    const transaction = await producer.transaction()
    const messages = records.map(({ key, value }) => ({
      key,
      value,
      partition: partitionOf(key, PARTITIONS),
    }))
    const compression = kafkajs.CompressionTypes.GZIP
    await transaction.sendBatch({
      acks: -1,
      compression,
      topicMessages: [{ topic: TOPIC, messages }],
    })
    await transaction.commit()
  }
  return { commit, close: () => producer.disconnect() }
}

const at = (sorted: readonly number[], share: number): number =>
  Number((sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(2))

const rate = (spent: readonly number[]): number =>
  Math.round((spent.length * RECORDS) / (spent.reduce((a, b) => a + b, 0) / 1_000))

/** Commits of one block to a real broker: the bus against kafkajs alone with the same encoded messages and codec. */
export const produceBench = async (): Promise<void> => {
  const cluster = await tryStart('a Kafka broker (Java, Maven)', () => startKafka(1))
  if (!cluster) return
  const { brokers } = cluster
  const bus = await openKafkaBus({ brokers, clientId: 'bench', log: makeSilentLogger() })
  const spec = { topic: TOPIC, cleanup: 'delete', retentionMs: null } as const
  await bus.createTopics([{ ...spec, partitions: PARTITIONS }])
  const writer = await bus.writer('bench-bus')
  const bare = await bareCommit(brokers)
  const records = block(1)
  const ours: CommitBlock = (rows) =>
    writer.commit({ records: rows.map((row) => ({ topic: TOPIC, ...row })) })
  await measure(ours, records)
  await measure(bare.commit, records)
  const spent = { ours: [] as number[], bare: [] as number[] }
  for (let round = 0; round < ROUNDS; round += 1) {
    spent.ours.push(...(await measure(ours, records)))
    spent.bare.push(...(await measure(bare.commit, records)))
  }
  await writer.close()
  await bare.close()
  await bus.close()
  await cluster.stop()
  const sorted = [...spent.ours].sort((a, b) => a - b)
  const [perSecond, barePerSecond] = [rate(spent.ours), rate(spent.bare)]
  console.log(
    JSON.stringify({
      bench: 'produce',
      node: process.version,
      perSecond,
      p50Ms: at(sorted, 0.5),
      p99Ms: at(sorted, 0.99),
      barePerSecond,
      ratio: Number((perSecond / barePerSecond).toFixed(2)),
      bare: 'kafkajs: one transaction and one sendBatch per block, same messages, same codec',
    }),
  )
}

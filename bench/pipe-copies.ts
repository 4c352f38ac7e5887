import { randomUUID } from 'node:crypto'
import kafkajs, { Kafka, logLevel, Partitioners } from 'kafkajs'
import type { Bus } from '../core/bus/contract.ts'
import type { TradeEvent } from '../schemas/wire.ts'

/** Something that reads the log to its end. */
export interface Reading {
  /** Trades that are read, and written on, so far. */
  done(): number
  stop(): Promise<void>
}

const SINGLES = 'bench.singles'
const PARTITIONS = 3
const SEND_RECORDS = 500

const topicSpec = (topic: string) =>
  ({ topic, partitions: PARTITIONS, cleanup: 'delete', retentionMs: null }) as const

/** Writes every trade as a record of its own, as JSON by token. */
export const writeSingles = async (
  bus: Bus,
  trades: readonly { readonly key: string; readonly event: TradeEvent }[],
): Promise<void> => {
  await bus.createTopics([topicSpec(SINGLES)])
  const writer = await bus.writer('bench-singles')
  for (let at = 0; at < trades.length; at += SEND_RECORDS) {
    const records = trades.slice(at, at + SEND_RECORDS).map(({ key, event }) => ({
      topic: SINGLES,
      key,
      value: Buffer.from(JSON.stringify(event)),
    }))
    await writer.commit({ records })
  }
  await writer.close()
}

/** A consumer and a producer of a group and a target topic of their own. */
const copier = async (bus: Bus, brokers: readonly string[]) => {
  const name = `bench.copy.${randomUUID()}`
  await bus.createTopics([topicSpec(name)])
  const kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING })
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner })
  const consumer = kafka.consumer({ groupId: name })
  await Promise.all([producer.connect(), consumer.connect()])
  const stop = async (): Promise<void> => {
    await consumer.disconnect()
    await producer.disconnect()
  }
  return { target: name, producer, consumer, stop }
}

/** What a person would write first: each message is read as JSON and sent on by itself. */
export const naiveCopy = async (bus: Bus, brokers: readonly string[]): Promise<Reading> => {
  const { target, producer, consumer, stop } = await copier(bus, brokers)
  let copied = 0
  await consumer.subscribe({ topics: [SINGLES], fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ message: { key, value } }) => {
      const trade = JSON.parse(value?.toString() ?? '')
      await producer.send({ topic: target, messages: [{ key, value: JSON.stringify(trade) }] })
      copied += 1
    },
  })
  return { done: () => copied, stop }
}

/** The fastest that kafkajs copies: batches continue as they come, their bytes untouched. */
export const packedCopy = async (
  bus: Bus,
  brokers: readonly string[],
  source: string,
  tradesPerRecord: readonly (readonly number[])[],
): Promise<Reading> => {
  const { target, producer, consumer, stop } = await copier(bus, brokers)
  const places = tradesPerRecord.map(() => 0)
  let copied = 0
  await consumer.subscribe({ topics: [source], fromBeginning: true })
  await consumer.run({
    eachBatch: async ({ batch: { partition, messages } }) => {
      await producer.sendBatch({
        compression: kafkajs.CompressionTypes.GZIP,
        topicMessages: [
          {
            topic: target,
            messages: messages.map(({ key, value, headers }) => ({
              key,
              value,
              partition,
              ...(headers && { headers }),
            })),
          },
        ],
      })
      const from = places[partition] ?? 0
      const to = from + messages.length
      places[partition] = to
      copied += (tradesPerRecord[partition] ?? [])
        .slice(from, to)
        .reduce((sum, trades) => sum + trades, 0)
    },
  })
  return { done: () => copied, stop }
}

import type { Consumer, ConsumerRunConfig, PartitionAssigner } from 'kafkajs'
import type { Logger } from '../../ops/logger.ts'
import { pause, retry } from '../../retry.ts'
import { busOutage, type KafkaClient } from './client.ts'

/** A consumer that is to stay. */
export interface ConsumerOptions {
  readonly kafka: KafkaClient
  readonly log: Logger
  readonly groupId: string
  readonly assigner: PartitionAssigner
  readonly topics: readonly string[]
  readonly config: ConsumerRunConfig
  /** Called with every joining of the group, before anything is fetched: what this member owns, by topic. */
  readonly onJoined: (
    consumer: Pick<Consumer, 'seek' | 'pause'>,
    owned: Readonly<Record<string, readonly number[]>>,
  ) => void
  /** Partitions that were fetched and held nothing, up to and with `last`. */
  readonly onEmpty: (at: {
    readonly topic: string
    readonly partition: number
    readonly first: number
    readonly last: number
  }) => void
}

/** A consumer that comes back whatever ended it. */
export interface RestartingConsumer {
  /** Acts on the consumer while it is a member; between two lives nothing is done, `onJoined` comes with the next one. */
  whileMember(act: (consumer: Pick<Consumer, 'seek' | 'pause' | 'resume'>) => void): void
  stop(): Promise<void>
}

const RESTART_DELAY_MS = 500
const MAX_RESTART_DELAY_MS = 5_000

/**
 * Starts a consumer and starts it again after every crash. kafkajs does so itself only after errors that it calls retriable; after
 * the others (a member that was forgotten while it joined, for one) its consumer stays dead. Throws `Outage` when the first start fails.
 */
export const openRestartingConsumer = async (
  plan: ConsumerOptions,
): Promise<RestartingConsumer> => {
  const { kafka, log, groupId } = plan
  const consumer = kafka.consumer(groupId, plan.assigner)
  const ending = new AbortController()
  let isMember = false
  let revived: Promise<void> = Promise.resolve()
  const start = async (): Promise<void> => {
    await consumer.connect()
    await consumer.run(plan.config)
  }
  const revive = async (): Promise<void> => {
    const { signal } = ending
    await pause(RESTART_DELAY_MS, signal)
    await retry(start, {
      firstMs: RESTART_DELAY_MS,
      maxMs: MAX_RESTART_DELAY_MS,
      tries: Number.POSITIVE_INFINITY,
      signal,
      onRetry: (error, attempt) =>
        log.warn({ groupId, err: error, attempt }, 'consumer failed to start'),
    })
  }
  consumer.on('consumer.stop', () => {
    isMember = false
  })
  consumer.on('consumer.crash', ({ payload }) => {
    isMember = false
    if (ending.signal.aborted) return
    log.warn({ groupId, err: payload.error }, 'consumer restarting')
    revived = revive().catch((error: unknown) => {
      if (!ending.signal.aborted) throw error
    })
  })
  consumer.on('consumer.group_join', ({ payload }) => {
    isMember = true
    plan.onJoined(consumer, payload.memberAssignment)
  })
  consumer.on('consumer.end_batch_process', ({ payload }) => {
    const { topic, partition, batchSize, firstOffset, lastOffset } = payload
    if (batchSize > 0) return
    plan.onEmpty({ topic, partition, first: Number(firstOffset), last: Number(lastOffset) })
  })
  try {
    await consumer.connect()
    await consumer.subscribe({ topics: [...plan.topics], fromBeginning: true })
    await consumer.run(plan.config)
  } catch (error) {
    ending.abort()
    await consumer.disconnect().catch(() => undefined)
    throw busOutage(`reader ${groupId} was not opened`, error)
  }
  return {
    whileMember: (act) => {
      if (isMember) act(consumer)
    },
    stop: async () => {
      ending.abort()
      await revived
      await consumer.disconnect()
    },
  }
}

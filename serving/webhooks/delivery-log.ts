import type {
  Bus,
  GroupOffset,
  Lane,
  LogRecord,
  ProducerRecord,
  RunningTask,
} from '../../core/bus/contract.ts'
import { deadLetterRecord, tryDecode } from '../../core/bus/dead-letters.ts'
import { deadLetterSpec } from '../../core/bus/topic-specs.ts'
import type { Warehouse } from '../../core/clickhouse/client.ts'
import type { Codec } from '../../core/codec/contract.ts'
import type { Config } from '../../core/config/settings.ts'
import { InvalidInput } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { pause, retry } from '../../core/retry.ts'
import { toIsoTime } from '../../core/time.ts'
import { deadLetterTopic } from '../../schemas/topics.ts'
import { DELIVERY_LOG_GROUP, DELIVERY_LOG_TOPICS } from './topics.ts'

/** Dependencies of the log of messages and attempts. */
export interface DeliveryLogDeps {
  readonly bus: Bus
  readonly codec: Codec
  readonly warehouse: Pick<Warehouse, 'insert'>
  readonly config: Pick<Config, 'retention'>
  readonly metrics: Metrics
  readonly log: Logger
}

const [MESSAGES_TOPIC, ATTEMPTS_TOPIC] = DELIVERY_LOG_TOPICS
const TABLE_BY_TOPIC: Readonly<Record<string, string>> = {
  [MESSAGES_TOPIC]: 'webhook_messages',
  [ATTEMPTS_TOPIC]: 'webhook_attempts',
}
const POLL_OPTIONS = { maxRecords: 5_000, maxWaitMs: 250 }
/** Records that arrive within this time after the first are inserted with them. */
const BATCH_WINDOW_MS = 1_000
const INSERT_RETRY = { firstMs: 100, maxMs: 10_000, tries: Number.POSITIVE_INFINITY }

/** Row of a record. Times are epoch milliseconds, which the tables read as such. */
const toRow = (codec: Codec, { topic, value }: LogRecord): object => {
  if (value === null) throw new InvalidInput('tombstone', 'unexpected tombstone')
  if (topic === MESSAGES_TOPIC) {
    const message = codec.decode('webhook.Message', value)
    const { event_time, created_at } = message
    return {
      ...message,
      event_time: toIsoTime(event_time),
      created_at: toIsoTime(created_at),
      _ver: 1,
    }
  }
  const { at, next_at, ...attempt } = codec.decode('webhook.Attempt', value)
  return { ...attempt, at: toIsoTime(at), next_at: toIsoTime(next_at), _ver: 1 }
}

const runLogLane = async (deps: DeliveryLogDeps, lane: Lane): Promise<void> => {
  while (!lane.signal.aborted) {
    const first = await lane.take(POLL_OPTIONS)
    if (first.length === 0) continue
    await pause(BATCH_WINDOW_MS, lane.signal)
    await insertAndCommit(deps, lane, [
      ...first,
      ...(await lane.take({ ...POLL_OPTIONS, maxWaitMs: 0 })),
    ])
  }
}

const insertAndCommit = async (
  { codec, warehouse, metrics, log }: DeliveryLogDeps,
  { partition, signal, writer }: Lane,
  records: readonly LogRecord[],
): Promise<void> => {
  const deadLetters: ProducerRecord[] = []
  const rows = new Map<string, object[]>()
  const next = new Map<string, GroupOffset>()
  for (const record of records) {
    const { topic, offset } = record
    next.set(topic, { topic, partition, offset: offset + 1 })
    const row = tryDecode(() => toRow(codec, record))
    if (row instanceof InvalidInput) {
      metrics.eventsDropped.inc({ stage: DELIVERY_LOG_GROUP, reason: row.reason })
      log.error({ topic, offset, err: row }, 'undecodable record sent to dead-letter topic')
      deadLetters.push(deadLetterRecord(DELIVERY_LOG_GROUP, record, row))
    } else {
      const tableRows = rows.get(topic)
      if (tableRows) tableRows.push(row.value)
      else rows.set(topic, [row.value])
    }
  }
  for (const [topic, list] of rows) {
    const table = TABLE_BY_TOPIC[topic] ?? ''
    await retry(() => warehouse.insert(table, list), {
      ...INSERT_RETRY,
      signal,
      onRetry: (err, attempt, waitMs) =>
        log.warn({ table, err, attempt, waitMs }, 'ClickHouse insert failed, retrying same batch'),
    })
    metrics.insertedRows.inc({ table }, list.length)
  }
  await writer.commit({
    records: deadLetters,
    offsets: { group: DELIVERY_LOG_GROUP, next: [...next.values()] },
  })
}

/**
 * Writes messages and attempts to the warehouse: insert, then commit. A repeated insert writes the same rows under the
 * same keys. A warehouse that is down holds up this log only, no delivery.
 */
export const startDeliveryLog = async (deps: DeliveryLogDeps): Promise<RunningTask> => {
  await deps.bus.createTopics([
    deadLetterSpec(deadLetterTopic(DELIVERY_LOG_GROUP), deps.config.retention),
  ])
  return deps.bus.subscribe({
    group: DELIVERY_LOG_GROUP,
    topics: DELIVERY_LOG_TOPICS,
    run: (lane) => runLogLane(deps, lane),
  })
}

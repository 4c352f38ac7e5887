import { ulid } from 'ulid'
import type {
  Bus,
  LogRecord,
  ProducerRecord,
  RunningTask,
  Writer,
} from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { InvalidInput, Outage } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { RecordSigner } from '../../core/security/record-signature.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type { UsageEvents } from '../../schemas/wire.ts'
import { isAuthenticRecord } from '../auth/control-log.ts'
import { createUsageTotals, type UsageTotals } from './usage-totals.ts'

const USAGE_TOPIC = globalTopic('usageEvents')

/** Flush interval: several processes together may overshoot a quota by the charges of this time. */
const FLUSH_INTERVAL_MS = 1_000
/** Records of one commit; the others are in the next. */
const MAX_RECORDS_PER_COMMIT = 2_000

/** The charges of the installation. */
export interface UsageLog extends RunningTask {
  readonly totals: UsageTotals
}

/** Dependencies of the usage log. */
export interface UsageLogDeps {
  readonly bus: Bus
  readonly codec: Codec
  readonly nowMs: () => number
  readonly log: Logger
  /** Signs the totals; others' records count only with this signature. */
  readonly signer: RecordSigner
  readonly metrics: Pick<Metrics, 'controlRecordsRefused'>
  /** Default 1 s. */
  readonly writeEveryMs?: number
}

/**
 * Counts over restarts and processes: each process writes its own totals per organization and day, and reads everybody's.
 * Compaction keeps the newest record of each, so a start reads few. Returns when the topic has been read to its end.
 */
export const openUsageLog = async (deps: UsageLogDeps): Promise<UsageLog> => {
  const { bus, codec, nowMs, log, writeEveryMs = FLUSH_INTERVAL_MS } = deps
  const node = ulid(nowMs())
  const usage = createUsageTotals(node, nowMs)
  const tail = await tailUntilCaughtUp(bus, (record) => {
    if (isAuthenticRecord(deps, record)) applyUsageRecord(usage, codec, log, record)
  })
  const write = createUsageWriter(deps, `usage-${node}`)
  let writing: Promise<number> = Promise.resolve(0)
  /** Writes one commit; gives how many records it wrote. */
  const publish = (): Promise<number> => {
    writing = writing.then(async () => {
      const records = usage.takeChanged(MAX_RECORDS_PER_COMMIT)
      if (records.length === 0) return 0
      try {
        await write(records)
        return records.length
      } catch (error) {
        if (!(error instanceof Outage)) throw error
        usage.requeue(records)
        log.warn({ err: error }, 'usage flush failed, retrying')
        return 0
      }
    })
    return writing
  }
  let busy = false
  const timer = setInterval(() => {
    if (busy) return
    busy = true
    publish().finally(() => {
      busy = false
    })
  }, writeEveryMs)
  timer.unref()
  return {
    totals: usage,
    stop: async () => {
      clearInterval(timer)
      while ((await publish()) > 0);
      await tail.stop()
      await write.close()
    },
  }
}

const applyUsageRecord = (
  usage: UsageTotals,
  codec: Codec,
  log: Logger,
  { value, offset }: LogRecord,
): void => {
  if (value === null) return
  try {
    usage.applyRecord(codec.decode('usage.UsageEvents', value))
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    log.error({ err: error, offset }, 'skipped invalid usage record')
  }
}

const tailUntilCaughtUp = async (
  bus: Bus,
  onRecord: (record: LogRecord) => void,
): Promise<RunningTask> => {
  let onCaughtUp = (): void => undefined
  const caughtUp = new Promise<void>((resolve) => {
    onCaughtUp = resolve
  })
  const onRecords = (records: readonly LogRecord[]): void => records.forEach(onRecord)
  const running = await bus.tail({ topics: [USAGE_TOPIC], from: 'earliest', onRecords, onCaughtUp })
  await caughtUp
  return running
}

interface UsageWriter {
  (records: readonly UsageEvents[]): Promise<void>
  close(): Promise<void>
}

const createUsageWriter = ({ bus, codec, signer }: UsageLogDeps, writerId: string): UsageWriter => {
  let writer: Writer | undefined
  const write = async (rows: readonly UsageEvents[]): Promise<void> => {
    const records = rows.map(
      (row): ProducerRecord =>
        signer.sign({
          topic: USAGE_TOPIC,
          partition: 0,
          key: `${row.org_id}/${row.day}/${row.node}`,
          value: codec.encode('usage.UsageEvents', row),
        }),
    )
    writer ??= await bus.writer(writerId)
    try {
      await writer.commit({ records })
    } catch (error) {
      await writer.close().catch(() => undefined)
      writer = undefined
      throw error
    }
  }
  return Object.assign(write, { close: async () => writer?.close() })
}

import { ulid } from 'ulid'
import type {
  Bus,
  LogRecord,
  ProducerRecord,
  RunningTask,
  Writer,
} from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { InvalidInput, Outage, RecordTooLarge } from '../../core/errors.ts'
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
  /** `eventsDropped` counts totals that the log refuses for their size. */
  readonly metrics: Pick<Metrics, 'controlRecordsRefused' | 'eventsDropped'>
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

const usageRecord = (codec: Codec, signer: RecordSigner, row: UsageEvents): ProducerRecord =>
  signer.sign({
    topic: USAGE_TOPIC,
    partition: 0,
    key: `${row.org_id}/${row.day}/${row.node}`,
    value: codec.encode('usage.UsageEvents', row),
  })

interface UsageWriter {
  /** Writes totals in one commit. Those that the log refuses for their size are left out, logged and counted. */
  (rows: readonly UsageEvents[]): Promise<void>
  close(): Promise<void>
}

const sizeOf = ({ value }: ProducerRecord): number => value?.byteLength ?? 0

const createUsageWriter = (deps: UsageLogDeps, writerId: string): UsageWriter => {
  const { bus, codec, signer, log, metrics } = deps
  let writer: Writer | undefined
  const commit = async (records: readonly ProducerRecord[]): Promise<void> => {
    writer ??= await bus.writer(writerId)
    try {
      await writer.commit({ records })
    } catch (error) {
      await writer.close().catch(() => undefined)
      writer = undefined
      throw error
    }
  }
  /** Where the log refuses the size, the largest is committed alone and then the others, as often as that happens. */
  const write = async (rows: readonly UsageEvents[]): Promise<void> => {
    const records = rows
      .map((row): ProducerRecord => usageRecord(codec, signer, row))
      .toSorted((one, other) => sizeOf(other) - sizeOf(one))
    let rest: readonly ProducerRecord[] = records
    while (rest.length > 0) {
      try {
        return await commit(rest)
      } catch (error) {
        if (!(error instanceof RecordTooLarge)) throw error
      }
      const [largest, ...others] = rest
      if (largest) await commitAlone(largest)
      rest = others
    }
  }
  const commitAlone = async (record: ProducerRecord): Promise<void> => {
    try {
      await commit([record])
    } catch (error) {
      if (!(error instanceof RecordTooLarge)) throw error
      const { key } = record
      log.error({ err: error, key, bytes: sizeOf(record) }, 'usage record too large, not written')
      metrics.eventsDropped.inc({ stage: 'usage', reason: 'too-large' })
    }
  }
  return Object.assign(write, { close: async () => writer?.close() })
}

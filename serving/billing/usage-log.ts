import { ulid } from 'ulid'
import type { Bus, LogRecord, OutRecord, Running, Writer } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { Malformed, Outage } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { RecordSigner } from '../../core/security/record-signature.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type { UsageEvents } from '../../schemas/wire.ts'
import { isGenuine } from '../auth/control-log.ts'
import { makeUsageBook, type UsageBook } from './usage-book.ts'

const TOPIC = globalTopic('usageEvents')

/** How often charges are written: by so much may several processes together overshoot a quota. */
const WRITE_EVERY_MS = 1_000
/** Records of one commit; what is beyond waits for the next. */
const MAX_RECORDS = 2_000

/** The charges of the installation. */
export interface Usage extends Running {
  readonly book: UsageBook
}

/** What usage needs of the process. */
export interface UsageDeps {
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
export const openUsage = async (deps: UsageDeps): Promise<Usage> => {
  const { bus, codec, nowMs, log, writeEveryMs = WRITE_EVERY_MS } = deps
  const node = ulid(nowMs())
  const book = makeUsageBook(node, nowMs)
  const tail = await tailFromStart(bus, (record) => {
    if (isGenuine(deps, record)) take(book, codec, log, record)
  })
  const write = makeWrite(deps, `usage-${node}`)
  let writing: Promise<void> = Promise.resolve()
  const publish = (): Promise<void> => {
    writing = writing.then(async () => {
      const records = book.changed(MAX_RECORDS)
      if (records.length === 0) return
      try {
        await write(records)
      } catch (error) {
        if (!(error instanceof Outage)) throw error
        book.putBack(records)
        log.warn({ err: error }, 'usage flush failed, will retry')
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
    book,
    stop: async () => {
      clearInterval(timer)
      await publish()
      await tail.stop()
      await write.close()
    },
  }
}

const take = (book: UsageBook, codec: Codec, log: Logger, { value, offset }: LogRecord): void => {
  if (value === null) return
  try {
    book.take(codec.decode('usage.UsageEvents', value))
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    log.error({ err: error, offset }, 'invalid usage record')
  }
}

const tailFromStart = async (bus: Bus, onRecord: (record: LogRecord) => void): Promise<Running> => {
  let onCaughtUp = (): void => undefined
  const caughtUp = new Promise<void>((resolve) => {
    onCaughtUp = resolve
  })
  const onRecords = (records: readonly LogRecord[]): void => records.forEach(onRecord)
  const running = await bus.tail({ topics: [TOPIC], from: 'earliest', onRecords, onCaughtUp })
  await caughtUp
  return running
}

interface Write {
  (records: readonly UsageEvents[]): Promise<void>
  close(): Promise<void>
}

const makeWrite = ({ bus, codec, signer }: UsageDeps, writerId: string): Write => {
  let writer: Writer | undefined
  const write = async (rows: readonly UsageEvents[]): Promise<void> => {
    const records = rows.map(
      (row): OutRecord =>
        signer.sign({
          topic: TOPIC,
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

import type {
  Bus,
  LogRecord,
  OffsetRange,
  ProducerRecord,
  RunningTask,
  Writer,
} from '../../core/bus/contract.ts'
import { Outage } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { retry } from '../../core/retry.ts'
import type { RecordSigner } from '../../core/security/record-signature.ts'
import { createOwnCommit, type OwnCommit } from './own-commit.ts'
import { createWriterQueue } from './writer-queue.ts'

/** Key of an empty record: written to find out how far the tail has read, and to recognise a commit that leaves nothing else to read. */
const NOOP_KEY = 'noop'

/** Producer id of the control topics; the newest writer fences the others, and a fenced one opens it again at its next write. */
const WRITER_ID = 'control-writer'

/** How long a write waits until it is read back here. */
const APPLY_TIMEOUT_MS = 5_000

/** How often the tail is compared with the log's end. */
const CHECK_INTERVAL_MS = 5_000

/** When the maps are older than this, every credential is rejected. */
const MAX_STALENESS_MS = 30_000

/** Compacted topics read into memory from the start, with writes that can be read when they return. */
export interface ControlLog {
  /**
   * Computes records from the maps as they are at the end of the log, commits them and waits until they are applied.
   * No other process can write in between: a new writer fences the others and reads to the end first. So
   * `compute` may run again, but not where the commit was made and only its answer was lost: its records are recognised in the log.
   * What the last run computed is what was committed. Organizations write in turn; without `orgId` it is the installation that writes.
   * Throws `Outage` when the outcome is not known in time, `Fault` CONCURRENCY_LIMIT while 16 writes of the organization wait, and
   * what `compute` throws.
   */
  update(compute: () => RecordsToWrite | Promise<RecordsToWrite>, orgId?: string): Promise<void>
  /** True while the maps are at most 30 s behind the log. */
  isFresh(): boolean
  stop(): Promise<void>
}

type RecordsToWrite = readonly ProducerRecord[]

/** What a control log needs. `apply` is called once per record, in order per topic. */
export interface ControlLogDeps {
  readonly bus: Bus
  readonly topics: readonly string[]
  readonly apply: (record: LogRecord) => void
  /** Signs what is written; what it does not recognise is refused, counted and logged. */
  readonly signer: RecordSigner
  readonly metrics: Pick<Metrics, 'controlRecordsRefused'>
  readonly nowMs: () => number
  readonly log: Logger
  /** Default 5 s. */
  readonly checkEveryMs?: number
  /**
   * Id of the writer; logs of one process that share it would fence each other, and access rules of a cluster allow no other
   * prefix. Default: `control-writer`.
   */
  readonly writerId?: `control-${string}`
}

/** Committed, but not read back in time: a retry would not help. */
class ReadBackTimeout extends Outage {}

interface ApplyWaiter {
  readonly topic: string
  readonly next: number
  readonly done: () => void
  readonly fail: () => void
}

/** Opens the log and returns when everything that was there has been applied. */
export const openControlLog = async (deps: ControlLogDeps): Promise<ControlLog> => {
  const { bus, topics, nowMs } = deps
  const applied = new Map<string, number>()
  const waiters = new Set<ApplyWaiter>()
  const ownCommit = createOwnCommit(topics, deps.signer)
  let verifiedAtMs = Number.NEGATIVE_INFINITY

  const applyRecord = (record: LogRecord): void => {
    if (record.key !== NOOP_KEY && isAuthenticRecord(deps, record)) deps.apply(record)
    ownCommit.read(record)
    applied.set(record.topic, record.offset + 1)
    for (const waiter of waiters) {
      if (waiter.topic === record.topic && record.offset + 1 >= waiter.next) waiter.done()
    }
  }
  const untilApplied = (topic: string, next: number): Promise<void> =>
    new Promise((resolve, reject) => {
      if ((applied.get(topic) ?? 0) >= next) return resolve()
      const end = (finish: () => void): void => {
        clearTimeout(timer)
        waiters.delete(waiter)
        finish()
      }
      const missing = new ReadBackTimeout('bus', 'a control record was not read back in time')
      const fail = (): void => end(() => reject(missing))
      const waiter: ApplyWaiter = { topic, next, done: () => end(resolve), fail }
      const timer = setTimeout(fail, APPLY_TIMEOUT_MS)
      waiters.add(waiter)
    })

  const applySpans = async (spans: readonly OffsetRange[]): Promise<void> => {
    const read = spans.filter(({ topic }) => topics.includes(topic))
    await Promise.all(read.map((s) => untilApplied(s.topic, s.baseOffset + s.records)))
  }
  const noops = (names: readonly string[]): readonly ProducerRecord[] =>
    names.map((topic) => ({ topic, partition: 0, key: NOOP_KEY, value: null }))
  const committer = createCommitter(bus, {
    writerId: deps.writerId ?? WRITER_ID,
    ownCommit,
    toReadBack: (records) =>
      records.some(({ topic }) => topics.includes(topic))
        ? records
        : [...records, ...noops(topics.slice(0, 1))],
    onWriterOpened: async (writer) => applySpans(await writer.commit({ records: noops(topics) })),
    applySpans,
  })

  /** A Kafka log may end with one commit marker; with more behind, only a record of this process proves that the tail reads. */
  const verify = async (): Promise<void> => {
    const ends = await Promise.all(
      topics.map(async (topic) => ({ topic, end: (await bus.ends(topic))[0]?.end ?? 0 })),
    )
    const behind = ends.filter(({ topic, end }) => end - (applied.get(topic) ?? 0) > 1)
    if (behind.length > 0) await committer.update(() => noops(behind.map(({ topic }) => topic)))
    verifiedAtMs = nowMs()
  }

  const tail = await tailUntilCaughtUp(bus, topics, applyRecord)
  verifiedAtMs = nowMs()
  let checking = false
  const check = async (): Promise<void> => {
    if (checking) return
    checking = true
    await verify().catch((err: unknown) =>
      deps.log.warn({ err }, 'control topics unavailable, credentials may be stale'),
    )
    checking = false
  }
  const timer = setInterval(check, deps.checkEveryMs ?? CHECK_INTERVAL_MS)
  timer.unref()
  return {
    update: committer.update,
    isFresh: () => nowMs() - verifiedAtMs <= MAX_STALENESS_MS,
    stop: async () => {
      clearInterval(timer)
      for (const waiter of waiters) waiter.fail()
      await tail.stop()
      await committer.close()
    },
  }
}

/** Returns when all records that existed at the start have been applied. */
const tailUntilCaughtUp = async (
  bus: Bus,
  topics: readonly string[],
  applyRecord: (record: LogRecord) => void,
): Promise<RunningTask> => {
  let onCaughtUp = (): void => undefined
  const caughtUp = new Promise<void>((resolve) => {
    onCaughtUp = resolve
  })
  const onRecords = (records: readonly LogRecord[]): void => records.forEach(applyRecord)
  const running = await bus.tail({ topics, from: 'earliest', onRecords, onCaughtUp })
  await caughtUp
  return running
}

/** Whether a record of a control topic was signed by this installation; others are counted and logged. */
export const isAuthenticRecord = (
  { signer, metrics, log }: Pick<ControlLogDeps, 'signer' | 'metrics' | 'log'>,
  record: LogRecord,
): boolean => {
  const reason = signer.problemOf(record)
  if (reason === undefined) return true
  const { topic, offset, partition } = record
  metrics.controlRecordsRefused.inc({ topic, reason })
  log.error({ topic, partition, offset, reason }, 'rejected control record')
  return false
}

/** Dependencies of a committer. */
interface CommitterDeps {
  readonly writerId: string
  readonly ownCommit: OwnCommit
  /** Adds a record of a tailed topic where the commit has none. */
  readonly toReadBack: (records: RecordsToWrite) => RecordsToWrite
  /** Called with a new writer: other processes may have written since the previous one. Returns when the tail is at the end. */
  readonly onWriterOpened: (writer: Writer) => Promise<void>
  readonly applySpans: (spans: readonly OffsetRange[]) => Promise<void>
}

interface Committer {
  update(compute: () => RecordsToWrite | Promise<RecordsToWrite>, orgId?: string): Promise<void>
  close(): Promise<void>
}

/** A commit that failed is made again, where its records are not in the log. */
const COMMIT_RETRY = {
  firstMs: 20,
  maxMs: 500,
  // Processes that fence each other at the same time need several tries until one commits.
  tries: 8,
  again: (error: unknown) => error instanceof Outage && !(error instanceof ReadBackTimeout),
}

/** One update after another through one writer; a writer that failed or was fenced is replaced. */
const createCommitter = (bus: Bus, deps: CommitterDeps): Committer => {
  const { writerId, ownCommit, toReadBack, onWriterOpened, applySpans } = deps
  let writer: Writer | undefined
  const queue = createWriterQueue()
  const discardWriter = async (): Promise<void> => {
    await writer?.close().catch(() => undefined)
    writer = undefined
  }
  const openWriter = async (): Promise<Writer> => {
    if (writer !== undefined) return writer
    writer = await bus.writer(writerId)
    await onWriterOpened(writer)
    return writer
  }
  const once = async (compute: () => RecordsToWrite | Promise<RecordsToWrite>): Promise<void> => {
    try {
      const current = await openWriter()
      // After a failed commit the writer is a new one: the outcome is final, and everything that was committed has been read.
      if (ownCommit.isInLog()) return
      const computed = await compute()
      if (computed.length === 0) return
      const records = ownCommit.begin(toReadBack(computed))
      await applySpans(await current.commit({ records }))
    } catch (error) {
      if (error instanceof Outage) await discardWriter()
      throw error
    }
  }
  return {
    update: (compute, orgId) =>
      queue.run(orgId, () => retry(() => once(compute), COMMIT_RETRY).finally(ownCommit.end)),
    close: async () => {
      await queue.idle()
      await writer?.close()
    },
  }
}

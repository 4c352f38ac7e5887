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
import { createWriterTurns } from './writer-turns.ts'

/** Key of a record that says nothing: written to learn how far the tail has come. */
const NOOP_KEY = 'noop'

/** Who writes the control topics; the newest holder fences the others, and takes the id back at its next write. */
const WRITER_ID = 'control-writer'

/** How long a write waits until it can be read here. */
const APPLY_TIMEOUT_MS = 5_000

/** How often the tail is compared with the log's end. */
const CHECK_INTERVAL_MS = 5_000

/** Older than this the accounts reject every credential. */
const MAX_STALENESS_MS = 30_000

/** Compacted topics read into memory from the start, with writes that can be read when they return. */
export interface ControlLog {
  /**
   * Computes records from the maps as they are at the end of the log, commits them and waits until they are applied.
   * No other process can write in between: whoever takes the writer fences the others and reads to the end first. So
   * `compute` may run again. Organizations write in turn; without `orgId` it is the installation that writes. Throws `Outage` when
   * the outcome is not known in time, `Fault` CONCURRENCY_LIMIT while 16 writes of the organization wait, and what `compute` throws.
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

/** Written, but the tail does not show it: writing again would not help. */
class ReadBackTimeout extends Outage {}

interface ApplyWaiter {
  readonly topic: string
  readonly next: number
  readonly done: () => void
  readonly giveUp: () => void
}

/** Opens the log and returns when everything that was there has been applied. */
export const openControlLog = async (deps: ControlLogDeps): Promise<ControlLog> => {
  const { bus, topics, nowMs } = deps
  const applied = new Map<string, number>()
  const waiters = new Set<ApplyWaiter>()
  let verifiedAtMs = Number.NEGATIVE_INFINITY

  const take = (record: LogRecord): void => {
    if (record.key !== NOOP_KEY && isAuthenticRecord(deps, record)) deps.apply(record)
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
      const giveUp = (): void => end(() => reject(missing))
      const waiter: ApplyWaiter = { topic, next, done: () => end(resolve), giveUp }
      const timer = setTimeout(giveUp, APPLY_TIMEOUT_MS)
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
    signer: deps.signer,
    taken: async (writer) => applySpans(await writer.commit({ records: noops(topics) })),
    applySpans,
  })

  /** The end of a Kafka log may hide one commit marker; more than that, and only a record of our own proves the tail lives. */
  const verify = async (): Promise<void> => {
    const ends = await Promise.all(
      topics.map(async (topic) => ({ topic, end: (await bus.ends(topic))[0]?.end ?? 0 })),
    )
    const behind = ends.filter(({ topic, end }) => end - (applied.get(topic) ?? 0) > 1)
    if (behind.length > 0) await committer.update(() => noops(behind.map(({ topic }) => topic)))
    verifiedAtMs = nowMs()
  }

  const tail = await tailUntilCaughtUp(bus, topics, take)
  verifiedAtMs = nowMs()
  let checking = false
  const check = async (): Promise<void> => {
    if (checking) return
    checking = true
    await verify().catch((err: unknown) =>
      deps.log.warn({ err }, 'control topics unavailable, accounts may be stale'),
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
      for (const waiter of waiters) waiter.giveUp()
      await tail.stop()
      await committer.close()
    },
  }
}

/** Returns when everything that was there at the start has been handed over. */
const tailUntilCaughtUp = async (
  bus: Bus,
  topics: readonly string[],
  take: (record: LogRecord) => void,
): Promise<RunningTask> => {
  let onCaughtUp = (): void => undefined
  const caughtUp = new Promise<void>((resolve) => {
    onCaughtUp = resolve
  })
  const onRecords = (records: readonly LogRecord[]): void => records.forEach(take)
  const running = await bus.tail({ topics, from: 'earliest', onRecords, onCaughtUp })
  await caughtUp
  return running
}

/** Whether a record of a control topic was written by this installation; what was not is counted and logged. */
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

/** What a committer needs of its log. */
interface CommitterDeps {
  readonly writerId: string
  readonly signer: RecordSigner
  /** Called with a writer that is new: others may have written since the one before it. */
  readonly taken: (writer: Writer) => Promise<void>
  readonly applySpans: (spans: readonly OffsetRange[]) => Promise<void>
}

interface Committer {
  update(compute: () => RecordsToWrite | Promise<RecordsToWrite>, orgId?: string): Promise<void>
  close(): Promise<void>
}

/** Control records are whole values under ids of their own, so writing them a second time changes nothing. */
const COMMIT_RETRY = {
  firstMs: 20,
  maxMs: 500,
  // Processes that take the writer from each other at the same time need some tries until one is through.
  tries: 8,
  again: (error: unknown) => error instanceof Outage && !(error instanceof ReadBackTimeout),
}

/** One update after another through one writer; a writer that failed or was fenced is replaced. */
const createCommitter = (bus: Bus, deps: CommitterDeps): Committer => {
  const { writerId, signer, taken, applySpans } = deps
  let writer: Writer | undefined
  const turns = createWriterTurns()
  const lose = async (): Promise<void> => {
    await writer?.close().catch(() => undefined)
    writer = undefined
  }
  const held = async (): Promise<Writer> => {
    if (writer !== undefined) return writer
    writer = await bus.writer(writerId)
    await taken(writer)
    return writer
  }
  const once = async (compute: () => RecordsToWrite | Promise<RecordsToWrite>): Promise<void> => {
    try {
      const own = await held()
      const records = (await compute()).map(signer.sign)
      if (records.length > 0) await applySpans(await own.commit({ records }))
    } catch (error) {
      if (error instanceof Outage) await lose()
      throw error
    }
  }
  return {
    update: (compute, orgId) => turns.run(orgId, () => retry(() => once(compute), COMMIT_RETRY)),
    close: async () => {
      await turns.idle()
      await writer?.close()
    },
  }
}

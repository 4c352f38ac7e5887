import type { Bus, LogRecord, OutRecord, Running, Span, Writer } from '../../core/bus-contract.ts'
import { Outage } from '../../core/fault.ts'
import type { Logger } from '../../core/log.ts'
import { retry } from '../../core/retry.ts'

/** Key of a record that says nothing: written to learn how far the tail has come. */
const NOOP = 'noop'

/** Who writes the control topics; the newest holder fences the others, and takes the id back at its next write. */
const WRITER_ID = 'control-writer'

/** How long a write waits until it can be read here. */
const APPLY_LIMIT_MS = 5_000

/** How often the tail is compared with the log's end. */
const CHECK_EVERY_MS = 5_000

/** Older than this the accounts answer nobody (contract/auth.md 4). */
const STALE_AFTER_MS = 30_000

/** Compacted topics read into memory from the start, with writes that can be read when they return. */
export interface ControlLog {
  /** Commits, then waits until the tail has applied it. Throws `Outage` when the outcome is not known in time. */
  write(records: readonly OutRecord[]): Promise<void>
  /** True while the maps are at most 30 s behind the log. */
  isFresh(): boolean
  stop(): Promise<void>
}

/** What a control log needs. `apply` is called once per record, in order per topic. */
export interface ControlLogDeps {
  readonly bus: Bus
  readonly topics: readonly string[]
  readonly apply: (record: LogRecord) => void
  readonly nowMs: () => number
  readonly log: Logger
  /** Default 5 s. */
  readonly checkEveryMs?: number
}

interface Waiter {
  readonly topic: string
  readonly next: number
  readonly done: () => void
}

/** Opens the log and returns when everything that was there has been applied. */
export const openControlLog = async (deps: ControlLogDeps): Promise<ControlLog> => {
  const { bus, topics, nowMs } = deps
  const applied = new Map<string, number>()
  const waiters = new Set<Waiter>()
  let verifiedAtMs = Number.NEGATIVE_INFINITY

  const take = (record: LogRecord): void => {
    if (record.key !== NOOP) deps.apply(record)
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
      const waiter: Waiter = { topic, next, done: () => end(resolve) }
      const timer = setTimeout(
        () => end(() => reject(new Outage('bus', 'a control record was not read back in time'))),
        APPLY_LIMIT_MS,
      )
      waiters.add(waiter)
    })

  const commit = makeCommit(bus)
  const write = async (records: readonly OutRecord[]): Promise<void> => {
    const spans = await commit(records)
    await Promise.all(spans.map((s) => untilApplied(s.topic, s.baseOffset + s.records)))
  }

  /** The end of a Kafka log may hide one commit marker; more than that, and only a record of our own proves the tail lives. */
  const verify = async (): Promise<void> => {
    const ends = await Promise.all(
      topics.map(async (topic) => ({ topic, end: (await bus.ends(topic))[0]?.end ?? 0 })),
    )
    const behind = ends.filter(({ topic, end }) => end - (applied.get(topic) ?? 0) > 1)
    if (behind.length > 0) {
      await write(behind.map(({ topic }) => ({ topic, partition: 0, key: NOOP, value: null })))
    }
    verifiedAtMs = nowMs()
  }

  const tail = await tailFromStart(bus, topics, take)
  verifiedAtMs = nowMs()
  let checking = false
  const check = async (): Promise<void> => {
    if (checking) return
    checking = true
    await verify().catch((err: unknown) => deps.log.warn({ err }, 'accounts may be stale'))
    checking = false
  }
  const timer = setInterval(check, deps.checkEveryMs ?? CHECK_EVERY_MS)
  timer.unref()
  return {
    write,
    isFresh: () => nowMs() - verifiedAtMs <= STALE_AFTER_MS,
    stop: async () => {
      clearInterval(timer)
      await tail.stop()
      await commit.close()
    },
  }
}

/** Returns when everything that was there at the start has been handed over. */
const tailFromStart = async (
  bus: Bus,
  topics: readonly string[],
  take: (record: LogRecord) => void,
): Promise<Running> => {
  let onCaughtUp = (): void => undefined
  const caughtUp = new Promise<void>((resolve) => {
    onCaughtUp = resolve
  })
  const onRecords = (records: readonly LogRecord[]): void => records.forEach(take)
  const running = await bus.tail({ topics, from: 'earliest', onRecords, onCaughtUp })
  await caughtUp
  return running
}

interface Committer {
  (records: readonly OutRecord[]): Promise<readonly Span[]>
  close(): Promise<void>
}

/** Control records are whole values under ids of their own, so writing them a second time changes nothing. */
const AGAIN = {
  firstMs: 20,
  maxMs: 200,
  tries: 3,
  again: (error: unknown) => error instanceof Outage,
}

/** One commit after another through one writer; a writer that failed or was fenced is replaced. */
const makeCommit = (bus: Bus): Committer => {
  let writer: Writer | undefined
  let last: Promise<unknown> = Promise.resolve()
  const commitOnce = async (records: readonly OutRecord[]): Promise<readonly Span[]> => {
    writer ??= await bus.writer(WRITER_ID)
    try {
      return await writer.commit({ records })
    } catch (error) {
      await writer.close().catch(() => undefined)
      writer = undefined
      throw error
    }
  }
  const commit = (records: readonly OutRecord[]): Promise<readonly Span[]> => {
    const next = last.then(() => retry(() => commitOnce(records), AGAIN))
    last = next.catch(() => undefined)
    return next
  }
  return Object.assign(commit, {
    close: async () => {
      await last
      await writer?.close()
    },
  })
}

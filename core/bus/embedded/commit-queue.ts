import { Outage } from '../../errors.ts'
import { makeDeferred } from '../../runtime/deferred.ts'
import type { Commit, OffsetRange, ProducerRecord } from '../contract.ts'
import { validateStateKey } from '../validate-state-key.ts'
import { diskOutage, isRetryable, MAX_ATTEMPTS } from './lmdb.ts'
import type { EmbeddedLog } from './log.ts'
import { logUsedBytes } from './log-size.ts'
import { type RecordPosition, toBuffer, WriteBatch } from './write-batch.ts'

/** One lmdb transaction takes at most so much; what waits beyond it has the next turn of the event loop. */
const MAX_BATCH_COMMITS = 256
const MAX_BATCH_BYTES = 16_777_216
/** Beyond that a commit is refused: its callers do not wait for the ones before. */
const MAX_PENDING_COMMITS = 10_000
const MAX_PENDING_BYTES = 268_435_456
/** After a transaction the process gets as much time as the disk took, up to this: what comes meanwhile shares the next one. */
const MAX_BATCH_DELAY_MS = 20
/** Pages that a commit touches beside its own bytes: one path per tree, and the free list. */
const TRANSACTION_OVERHEAD_BYTES = 262_144

/** Order of a commit's writes; tests end the process between them. */
export type CommitStep = 'records' | 'final-records' | 'state' | 'offsets' | 'written' | 'durable'

/** Runs the writes of a batch; the product's way is one lmdb transaction. */
export type RunTransaction = (log: EmbeddedLog, steps: readonly (() => void)[]) => void

/** For the crash suite only: sees each step, may take the transaction away. */
export interface CommitHooks {
  readonly onStep?: (step: CommitStep) => void
  readonly transact?: RunTransaction
}

/** Takes commits and writes those that come close together in one transaction, durable before any of them resolves. */
export interface CommitQueue {
  /**
   * `alive` is asked at the moment of writing; when it throws, nothing of this commit is written. Throws `Outage` when
   * more waits than the queue may hold, and a final one after `close`.
   */
  add(commit: Commit, alive: () => void): Promise<readonly OffsetRange[]>
  /** Writes or refuses what waits; a commit that comes later is refused. Before the log is closed. */
  close(): void
}

interface PendingCommit {
  readonly commit: Commit
  readonly bytes: number
  readonly alive: () => void
  readonly resolve: (ranges: readonly OffsetRange[]) => void
  readonly reject: (error: unknown) => void
}

interface CommitQueueDeps {
  readonly log: EmbeddedLog
  readonly limitBytes: () => number
  /** Deletes what retention allows, until so many bytes more fit. False: the sweep failed or was ended before. Never throws. */
  readonly makeRoom: (bytes: number) => Promise<boolean>
  /** Called before each transaction with the bytes in use. */
  readonly onUsed: (bytes: number) => void
  readonly nowMs: () => number
  readonly hooks: CommitHooks
  /** Topics that grew. */
  readonly onCommitted: (topics: ReadonlySet<string>) => void
  /** A transaction was undone and is written again. */
  readonly onRetry: (error: unknown) => void
  /** Once: the log cannot take more. */
  readonly onBroken: (outage: Outage) => void
}

/** One transaction, flushed to disk before it returns. */
const inOneTransaction: RunTransaction = ({ root }, steps) =>
  root.transactionSync(() => {
    for (const step of steps) step()
  })

/**
 * Makes the queue. Commits that find the log full wait for a sweep; where that makes no room they are refused with an
 * `Outage`, and the ones after them are tried again. After a failed write every commit is refused with the same final `Outage`.
 */
export const makeCommitQueue = (plan: CommitQueueDeps): CommitQueue => {
  let waiting: PendingCommit[] = []
  let waitingBytes = 0
  let broken: Outage | undefined
  /** The log takes no more: refuses a batch, what waits behind it and all that will come. */
  const breakWith = (error: unknown, batch: readonly PendingCommit[]): void => {
    const outage = error instanceof Outage ? error : diskOutage(plan.log.path, error)
    broken = outage
    plan.onBroken(outage)
    for (const { reject } of [...batch, ...waiting]) reject(outage)
    waiting = []
    waitingBytes = 0
  }
  const write = (pending: readonly PendingCommit[], isSwept: boolean): void => {
    let batch = pending.filter(isWriterValid)
    if (bytesToFree(plan, batch) > 0) {
      const outage = logFullOutage(plan, isSwept)
      if (outage.final) plan.onBroken(outage)
      for (const { reject } of batch) reject(outage)
      return
    }
    for (let tries = 1; batch.length > 0; ) {
      const outcome = writeBatch(plan, batch)
      if (outcome.failed === undefined) return
      if (tries < MAX_ATTEMPTS && isRetryable(outcome.failed)) {
        plan.onRetry(outcome.failed)
        tries += 1
        continue
      }
      if (outcome.culprit === undefined) {
        breakWith(outcome.failed, batch)
        return
      }
      outcome.culprit.reject(outcome.failed)
      batch = batch.filter((one) => one !== outcome.culprit)
    }
  }
  const writeSome = (batch = nextBatch(waiting), isSwept = false): void => {
    // A flush may have written what waited for room.
    if (waiting[0] !== batch[0]) return
    waiting = waiting.slice(batch.length)
    waitingBytes -= pendingBytes(batch)
    try {
      write(batch, isSwept)
    } catch (error) {
      breakWith(error, batch)
    }
  }
  let readyAtMs = 0
  const soon = (): void => {
    const pauseMs = readyAtMs - performance.now()
    if (pauseMs <= 0) setImmediate(begin)
    else setTimeout(begin, pauseMs)
  }
  /** Runs in no call of anyone: an error would end the process. */
  const begin = (): void => {
    const batch = nextBatch(waiting)
    try {
      const lacking = bytesToFree(plan, batch)
      if (lacking > 0) plan.makeRoom(lacking).then((isSwept) => turn(batch, isSwept))
      else turn(batch, false)
    } catch (error) {
      breakWith(error, [])
    }
  }
  const turn = (batch: readonly PendingCommit[], isSwept: boolean): void => {
    const beganMs = performance.now()
    writeSome(batch, isSwept)
    const endedMs = performance.now()
    readyAtMs = endedMs + Math.min(endedMs - beganMs, MAX_BATCH_DELAY_MS)
    if (waiting.length > 0) soon()
  }
  return {
    close: () => {
      while (waiting.length > 0) writeSome()
      broken ??= new Outage('bus', `${plan.log.path} is closed`, { final: true })
    },
    add: (commit, alive) => {
      if (broken) return Promise.reject(broken)
      const bytes = estimateCommitBytes(commit)
      if (waiting.length >= MAX_PENDING_COMMITS || waitingBytes > MAX_PENDING_BYTES) {
        return Promise.reject(new Outage('bus', `${waiting.length} commits wait to be written`))
      }
      const { promise, resolve, reject } = makeDeferred<readonly OffsetRange[]>()
      if (waiting.length === 0) soon()
      waiting.push({ commit, bytes, alive, resolve, reject })
      waitingBytes += bytes
      return promise
    },
  }
}

/** Refuses a commit whose writer may not write any more; nothing can change that until the batch is written. */
const isWriterValid = ({ alive, reject }: PendingCommit): boolean => {
  try {
    alive()
    return true
  } catch (error) {
    reject(error)
    return false
  }
}

const pendingBytes = (batch: readonly PendingCommit[]): number =>
  batch.reduce((sum, { bytes }) => sum + bytes, 0)

/** The commits of the next transaction; the first one always fits. */
const nextBatch = (waiting: readonly PendingCommit[]): readonly PendingCommit[] => {
  let room = MAX_BATCH_BYTES
  const end = waiting.findIndex(({ bytes }, index) => {
    room -= bytes
    return index >= MAX_BATCH_COMMITS || (index > 0 && room < 0)
  })
  return end < 0 ? waiting : waiting.slice(0, end)
}

/** An error of the caller's own part (fenced, unknown topic, a throwing `finalRecords`): only that commit fails. */
class InvalidCommit extends Error {}

interface BatchResult {
  readonly failed?: unknown
  readonly culprit?: PendingCommit
}

const writeBatch = (plan: CommitQueueDeps, batch: readonly PendingCommit[]): BatchResult => {
  const { log, hooks } = plan
  const transact = hooks.transact ?? inOneTransaction
  const draft = new WriteBatch(log, plan.nowMs())
  const ranges = new Map<PendingCommit, OffsetRange[]>()
  let current: PendingCommit | undefined
  const own =
    (pending: PendingCommit, work: () => void): (() => void) =>
    () => {
      current = pending
      work()
      current = undefined
    }
  const steps = batch.flatMap((pending) => {
    const held: OffsetRange[] = []
    ranges.set(pending, held)
    return commitSteps(pending, draft, held, hooks).map((step) => own(pending, step))
  })
  try {
    transact(log, [...steps, () => hooks.onStep?.('written')])
  } catch (error) {
    return error instanceof InvalidCommit && current
      ? { failed: error.cause, culprit: current }
      : { failed: error }
  }
  hooks.onStep?.('durable')
  plan.onCommitted(draft.publish())
  for (const [pending, held] of ranges) pending.resolve(held)
  return {}
}

const commitSteps = (
  { commit }: PendingCommit,
  draft: WriteBatch,
  ranges: OffsetRange[],
  { onStep }: CommitHooks,
): readonly (() => void)[] => [
  () => {
    onStep?.('records')
    appendRecords(draft, commit.records ?? [], ranges)
  },
  () => {
    onStep?.('final-records')
    const { finalRecords } = commit
    if (finalRecords)
      appendRecords(
        draft,
        asCallerError(() => finalRecords([...ranges])),
        ranges,
      )
  },
  () => {
    onStep?.('state')
    for (const { store, partition, key, value } of commit.state ?? []) {
      asCallerError(() => validateStateKey(key))
      if (value === null) draft.log.state.removeSync([store, partition, key])
      else draft.log.state.putSync([store, partition, key], toBuffer(value))
    }
  },
  () => {
    onStep?.('offsets')
    const { group = '', next = [] } = commit.offsets ?? {}
    for (const { topic, partition, offset, metadata } of next) {
      draft.log.offsets.putSync([group, topic, partition], [offset, metadata ?? null])
    }
  },
]

const asCallerError = <T>(work: () => T): T => {
  try {
    return work()
  } catch (cause) {
    throw new InvalidCommit('the commit is not valid', { cause })
  }
}

const appendRecords = (
  draft: WriteBatch,
  records: readonly ProducerRecord[],
  ranges: OffsetRange[],
): void => {
  const open = new Map<unknown, { range: OffsetRange; place: number; records: number }>()
  const rangeOf = (record: ProducerRecord, { partition, offset }: RecordPosition) => {
    const { topic } = record
    const known = ranges.findIndex(
      (range) => range.topic === topic && range.partition === partition,
    )
    const place = known < 0 ? ranges.length : known
    const range = ranges[known] ?? { topic, partition, baseOffset: offset, records: 0 }
    ranges[place] = range
    return { range, place, records: range.records }
  }
  for (const record of records) {
    const at = positionOf(draft, record)
    const range = open.get(at.draft) ?? rangeOf(record, at)
    range.records += 1
    open.set(at.draft, range)
    draft.put(record, at)
  }
  for (const { range, place, records: count } of open.values()) {
    ranges[place] = { ...range, records: count }
  }
  if (records.length > 0) draft.save()
}

const positionOf = (draft: WriteBatch, record: ProducerRecord): RecordPosition => {
  try {
    return draft.position(record)
  } catch (cause) {
    throw new InvalidCommit('the commit is not valid', { cause })
  }
}

/** Bytes by which a batch would exceed the limit, which is kept before anything is written; 0 when it fits. */
const bytesToFree = (plan: CommitQueueDeps, batch: readonly PendingCommit[]): number => {
  if (batch.length === 0) return 0
  const used = logUsedBytes(plan.log)
  plan.onUsed(used)
  const bytes = pendingBytes(batch) + TRANSACTION_OVERHEAD_BYTES
  return used + bytes <= plan.limitBytes() ? 0 : bytes
}

/** Final when a sweep has done what it can: what is left is what no sweep deletes. */
const logFullOutage = ({ log, limitBytes }: CommitQueueDeps, isSwept: boolean): Outage =>
  new Outage('disk', `${log.path} is full: ${limitBytes()} bytes (LOG_MAX_MB)`, { final: isSwept })

const estimateCommitBytes = ({ records = [], state = [] }: Commit): number => {
  let bytes = 0
  for (const { value } of records) bytes += 128 + (value?.byteLength ?? 0)
  for (const { value } of state) bytes += 128 + (value?.byteLength ?? 0)
  return bytes
}

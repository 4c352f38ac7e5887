import type {
  Commit,
  GroupOffset,
  ProducerRecord,
  StateChange,
  Writer,
} from '../../core/bus/contract.ts'
import { Outage } from '../../core/errors.ts'

/** One part of a group commit. */
export interface CommitPart {
  readonly records?: readonly ProducerRecord[]
  readonly state?: readonly StateChange[]
  readonly next?: readonly GroupOffset[]
}

/** What goes in every commit beside the parts that were added. */
export interface CommitSource {
  /** Asked when a commit begins. */
  part(): CommitPart
  /** The commit with the last part is durable. */
  durable(): void
}

/** Group commit of one writer, one commit at a time; parts that arrive during a commit are merged into the next. */
export interface GroupCommit {
  /** Resolves when the part is durable. */
  add(part: CommitPart): Promise<void>
  /** The same with a call instead of a promise: many parts wait at the same time. */
  put(part: CommitPart, onDurable: () => void, onFailed: (error: unknown) => void): void
  /** Commits what waits, without a linger; what is added from then on is refused with a final `Outage`. Never rejects. */
  close(): Promise<void>
}

/** Shortest linger: a commit costs the disk the same for one part and for a hundred. */
const MIN_LINGER_MS = 40
/** Longest linger: a part waits twice as long as the last commit took, so that a slow disk gets fewer commits. */
const MAX_LINGER_MS = 200
/** A batch of this many parts is committed at once. */
const MAX_BATCH_PARTS = 512

interface PendingPart {
  readonly part: CommitPart
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Over a lane's writer. A part's offsets must be newer than those of the parts before it. A commit of nothing is not written. */
export const createGroupCommit = (
  writer: Writer,
  group: string,
  source: CommitSource = NO_SOURCE,
): GroupCommit => {
  let waiting: PendingPart[] = []
  let flushing: Promise<void> | undefined
  let isClosed = false
  let lingerMs = MIN_LINGER_MS
  let timer: NodeJS.Timeout | undefined
  const commitWaiting = async (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    const batch = waiting
    waiting = []
    const startedMs = performance.now()
    try {
      const commit = mergeParts([...batch.map(({ part }) => part), source.part()], group)
      if (!isEmpty(commit)) await writer.commit(commit)
      source.durable()
      for (const { resolve } of batch) resolve()
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    flushing = undefined
    const tookMs = performance.now() - startedMs
    lingerMs = Math.min(MAX_LINGER_MS, Math.max(MIN_LINGER_MS, 2 * tookMs))
    schedule()
  }
  const flush = (): void => {
    flushing = commitWaiting()
  }
  /** Commits when the batch is full or the linger is over. */
  const schedule = (): void => {
    if (flushing || waiting.length === 0) return
    if (isClosed || waiting.length >= MAX_BATCH_PARTS) flush()
    else timer ??= setTimeout(flush, lingerMs)
  }
  const put: GroupCommit['put'] = (part, resolve, reject) => {
    if (isClosed) return reject(new Outage('bus', `${group} has ended`, { final: true }))
    waiting.push({ part, resolve, reject })
    schedule()
  }
  return {
    put,
    add: (part) => new Promise((resolve, reject) => put(part, resolve, reject)),
    close: async () => {
      isClosed = true
      schedule()
      // The commit that is being written, and the one of what came meanwhile.
      while (flushing) await flushing
    },
  }
}

const NO_SOURCE: CommitSource = { part: () => ({}), durable: () => undefined }

const mergeParts = (parts: readonly CommitPart[], group: string): Commit => {
  const records: ProducerRecord[] = []
  const state: StateChange[] = []
  const next = new Map<string, GroupOffset>()
  for (const part of parts) {
    for (const record of part.records ?? []) records.push(record)
    for (const change of part.state ?? []) state.push(change)
    for (const offset of part.next ?? []) next.set(`${offset.topic}/${offset.partition}`, offset)
  }
  return { records, state, ...(next.size > 0 && { offsets: { group, next: [...next.values()] } }) }
}

const isEmpty = ({ records = [], state = [], offsets }: Commit): boolean =>
  records.length === 0 && state.length === 0 && offsets === undefined

import type {
  Commit,
  GroupOffset,
  ProducerRecord,
  StateChange,
  Writer,
} from '../../core/bus/contract.ts'

/** One part of a commit that others may ride along with. */
export interface CommitPart {
  readonly records?: readonly ProducerRecord[]
  readonly state?: readonly StateChange[]
  readonly next?: readonly GroupOffset[]
  /** A caller waits for it: it goes at once, with those that wait already. */
  readonly isUrgent?: boolean
}

/** Commits of one writer, one at a time; parts that come while one is on its way go together with the next. */
export interface GroupCommit {
  /** Resolves when the part is durable. */
  add(part: CommitPart): Promise<void>
}

/** How long a part waits for others: a commit costs the disk the same for one part and for a hundred. */
const MIN_LINGER_MS = 40
/** A disk that is slow is asked less often: a part waits twice as long as the last commit took, up to this. */
const MAX_LINGER_MS = 200
/** So many parts wait for no others. */
const MAX_BATCH_PARTS = 128

interface PendingPart {
  readonly part: CommitPart
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Makes one over a lane's writer. A part's offsets must be newer than those of the parts before it. */
export const createGroupCommit = (writer: Writer, group: string): GroupCommit => {
  let waiting: PendingPart[] = []
  let isUrgent = false
  let busy = false
  let lingerMs = MIN_LINGER_MS
  let timer: NodeJS.Timeout | undefined
  const flush = async (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    const batch = waiting
    waiting = []
    isUrgent = false
    busy = true
    const startedMs = performance.now()
    try {
      await writer.commit(mergeParts(batch, group))
      for (const { resolve } of batch) resolve()
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    busy = false
    const tookMs = performance.now() - startedMs
    lingerMs = Math.min(MAX_LINGER_MS, Math.max(MIN_LINGER_MS, 2 * tookMs))
    schedule()
  }
  /** Whatever waits goes when it is enough, when one of them is urgent, or when it waited long enough. */
  const schedule = (): void => {
    if (busy || waiting.length === 0) return
    if (isUrgent || waiting.length >= MAX_BATCH_PARTS) flush()
    else timer ??= setTimeout(flush, lingerMs)
  }
  return {
    add: (part) =>
      new Promise((resolve, reject) => {
        waiting.push({ part, resolve, reject })
        isUrgent ||= part.isUrgent === true
        schedule()
      }),
  }
}

const mergeParts = (batch: readonly PendingPart[], group: string): Commit => {
  const next = new Map<string, GroupOffset>()
  for (const { part } of batch) {
    for (const offset of part.next ?? []) next.set(`${offset.topic}/${offset.partition}`, offset)
  }
  return {
    records: batch.flatMap(({ part }) => part.records ?? []),
    state: batch.flatMap(({ part }) => part.state ?? []),
    ...(next.size > 0 && { offsets: { group, next: [...next.values()] } }),
  }
}

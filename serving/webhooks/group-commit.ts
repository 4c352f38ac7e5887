import { setTimeout as sleep } from 'node:timers/promises'
import type {
  Commit,
  GroupOffset,
  OutRecord,
  StateChange,
  Writer,
} from '../../core/bus-contract.ts'

/** One part of a commit that others may ride along with. */
export interface Part {
  readonly records?: readonly OutRecord[]
  readonly state?: readonly StateChange[]
  readonly next?: readonly GroupOffset[]
}

/** Commits of one writer, one at a time; parts that come while one is on its way go together with the next. */
export interface GroupCommit {
  /** Resolves when the part is durable. */
  add(part: Part): Promise<void>
}

/** How long a part waits for others: a commit costs the disk the same for one part and for a hundred. */
const LINGER_MS = 15
/** So many parts wait for no others. */
const ENOUGH = 128

interface Pending {
  readonly part: Part
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Makes one over a lane's writer. A part's offsets must be newer than those of the parts before it. */
export const groupCommit = (writer: Writer, group: string): GroupCommit => {
  let waiting: Pending[] = []
  let busy = false
  const flush = async (): Promise<void> => {
    if (busy) return
    busy = true
    while (waiting.length > 0) {
      if (waiting.length < ENOUGH) await sleep(LINGER_MS)
      const batch = waiting
      waiting = []
      try {
        await writer.commit(commitOf(batch, group))
        for (const { resolve } of batch) resolve()
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    busy = false
  }
  return {
    add: (part) =>
      new Promise((resolve, reject) => {
        waiting.push({ part, resolve, reject })
        flush()
      }),
  }
}

const commitOf = (batch: readonly Pending[], group: string): Commit => {
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

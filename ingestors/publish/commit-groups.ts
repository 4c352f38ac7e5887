import { type Deferred, makeDeferred } from '../../core/runtime/deferred.ts'

/** Most that one commit takes; a single operation may be larger. */
export interface GroupLimits {
  readonly operations: number
  readonly records: number
  /** Bytes of records and state changes. */
  readonly bytes: number
  /** Longest that an operation waits for others, milliseconds. */
  readonly waitMs: number
}

/** What an operation adds to its commit. */
export type OperationSize = Pick<GroupLimits, 'records' | 'bytes'>

/**
 * Operations that share commits, in order: one commit is on its way while the next is collected. After a commit that failed
 * nothing is committed any more.
 */
export interface CommitGroups<Operation> {
  /** Waits only while two commits are full. Throws what a commit threw. */
  add(operation: Operation): Promise<void>
  /** Commits what was added, and waits for it. Throws what a commit threw. */
  flush(): Promise<void>
  /** The outcome of the newest operation, which resolves without a further call; undefined = all are committed. */
  pending(): Promise<void> | undefined
}

/** What groups are made of. */
export interface CommitGroupsOptions<Operation> {
  readonly limits: GroupLimits
  readonly sizeOf: (operation: Operation) => OperationSize
  /** Commits whole operations, never two groups at a time. */
  readonly commit: (operations: readonly Operation[]) => Promise<void>
}

interface Group<Operation> {
  readonly operations: Operation[]
  readonly outcome: Deferred<void>
  readonly timer: NodeJS.Timeout
  records: number
  bytes: number
}

/** Groups with nothing in them. */
export const makeCommitGroups = <Operation>({
  limits,
  sizeOf,
  commit,
}: CommitGroupsOptions<Operation>): CommitGroups<Operation> => {
  let open: Group<Operation> | undefined
  let inFlight: Group<Operation> | undefined
  let failed: { readonly error: unknown } | undefined
  const run = async (group: Group<Operation>): Promise<void> => {
    try {
      await commit(group.operations)
      group.outcome.resolve()
    } catch (error) {
      failed = { error }
      for (const each of [group, open]) {
        clearTimeout(each?.timer)
        each?.outcome.reject(error)
      }
      open = undefined
    } finally {
      inFlight = undefined
    }
  }
  /** Starts the commit of what is open now, once the one before is through. */
  const close = async (): Promise<void> => {
    const group = open
    while (inFlight !== undefined && open === group) await inFlight.outcome.promise
    if (failed) throw failed.error
    if (group === undefined || open !== group) return
    inFlight = group
    open = undefined
    clearTimeout(group.timer)
    void run(group)
  }
  const begin = (): Group<Operation> => {
    const outcome = makeDeferred<void>()
    outcome.promise.catch(() => undefined)
    const timer = setTimeout(() => close().catch(() => undefined), limits.waitMs)
    return { operations: [], outcome, timer, records: 0, bytes: 0 }
  }
  return {
    add: async (operation) => {
      const size = sizeOf(operation)
      if (open !== undefined && !hasRoom(open, size, limits)) await close()
      if (failed) throw failed.error
      open ??= begin()
      open.operations.push(operation)
      open.records += size.records
      open.bytes += size.bytes
      if (!hasRoom(open, NOTHING, limits)) await close()
    },
    flush: async () => {
      await close()
      while (inFlight !== undefined) await inFlight.outcome.promise
      if (failed) throw failed.error
    },
    pending: () => (open ?? inFlight)?.outcome.promise,
  }
}

const NOTHING: OperationSize = { records: 0, bytes: 0 }

/** Whether one more operation of at least this size fits. */
const hasRoom = (
  { operations, records, bytes }: Group<unknown>,
  more: OperationSize,
  limits: GroupLimits,
): boolean =>
  operations.length < limits.operations &&
  records + more.records < limits.records &&
  bytes + more.bytes < limits.bytes

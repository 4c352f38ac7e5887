import type { Commit, OffsetRange } from '../../core/bus/contract.ts'
import type { BlockEvent } from '../../schemas/wire.ts'
import type { ChainContext, Prepared } from './block-operation.ts'
import { blockRecord } from './block-record.ts'
import type { OperationSize } from './commit-groups.ts'
import { stateChanges } from './metadata-store.ts'
import type { EventBatch } from './record-batches.ts'

/** A commit of several whole operations, and what it wrote to `{c}.blocks`. */
export interface MergedCommit {
  readonly commit: Commit
  /** Block events in the order of the operations; empty before the commit has made them. */
  readonly events: () => readonly BlockEvent[]
}

/**
 * Operations as one commit: in each partition the records of one behind those of another, their block records last. Reading the
 * log in order shows the same as one commit for each.
 */
export const mergedCommit = (
  operations: readonly Prepared[],
  { codec, store, partition }: Pick<ChainContext, 'codec' | 'store' | 'partition'>,
): MergedCommit => {
  let events: readonly BlockEvent[] = []
  return {
    commit: {
      records: operations.flatMap(({ records }) => records),
      finalRecords: (ranges) => {
        const own = rangesByOperation(operations, ranges)
        events = operations.map(({ event }, index) => event(own[index] ?? []))
        return events.map((event) => blockRecord(event, codec))
      },
      state: stateChanges(
        operations.flatMap(({ pending }) => pending.changes),
        store,
        partition,
      ),
    },
    events: () => events,
  }
}

/** What an operation adds to a commit, but for its block record. */
export const sizeOfOperation = ({ records, pending }: Prepared): OperationSize => ({
  records: records.length,
  bytes:
    records.reduce((sum, { value }) => sum + (value?.byteLength ?? 0), 0) +
    pending.changes.reduce((sum, { json }) => sum + (json?.length ?? 0), 0),
})

/**
 * Each operation's share of the offset ranges of a commit: in a partition they follow one another. Offsets are counted
 * from the first of a range, because the raw topics of a chain have one writer, this one: its records lie side by side. Only a replay of
 * dead letters may write between two sends of one commit, on Kafka; an offset that is counted is too low then, never too high, and
 * `recordsOf` of `reread-block.ts` reads on until it has found every record.
 */
const rangesByOperation = (
  operations: readonly { readonly batches: readonly EventBatch[] }[],
  ranges: readonly OffsetRange[],
): readonly (readonly OffsetRange[])[] => {
  const next = new Map(ranges.map((range) => [partitionName(range), range.baseOffset]))
  return operations.map(({ batches }) => {
    const own = new Map<string, OffsetRange>()
    for (const { topic, partition } of batches) {
      const name = partitionName({ topic, partition })
      const baseOffset = own.get(name)?.baseOffset ?? next.get(name)
      if (baseOffset === undefined)
        throw new Error(`the bus reported no offset range for records in ${name}`)
      own.set(name, {
        topic,
        partition,
        baseOffset,
        records: (own.get(name)?.records ?? 0) + 1,
      })
    }
    for (const [name, { baseOffset, records }] of own) next.set(name, baseOffset + records)
    return [...own.values()]
  })
}

const partitionName = ({ topic, partition }: Pick<OffsetRange, 'topic' | 'partition'>): string =>
  `${topic}/${partition}`

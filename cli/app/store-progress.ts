import pLimit from 'p-limit'
import type { Bus, GroupOffset, LogRecord, PartitionBounds } from '../../core/bus/contract.ts'
import type { Config } from '../../core/config/settings.ts'
import { makeYieldIfDue } from '../../core/runtime/yield-if-due.ts'
import { PROCESS_PIPELINE } from '../../processors/process-pipeline.ts'
import { REPARTITIONED_TOPICS } from '../../processors/runtime/stage.ts'
import { enabledFeedSinks } from '../../processors/sinks/feed-sinks.ts'
import { sinkGroup } from '../../processors/sinks/runner.ts'
import { SINKS, type Sink } from '../../processors/sinks/tables.ts'
import { chainRow } from '../../schemas/chains.ts'
import { topicName } from '../../schemas/topics.ts'
import type { StoreProgress } from '../../serving/interfaces.ts'

/** What is asked of the log. */
type ProgressBus = Pick<Bus, 'topics' | 'ends' | 'offsets' | 'read'>

const ALL = Number.POSITIVE_INFINITY

/** What one look at a partition whose records come from several lanes takes. */
export interface ProgressLimits {
  /** Records that are read at most; another look continues behind them. */
  readonly recordsPerLook: number
  /** Most block operations that are remembered one by one. */
  readonly operations: number
}

/** More than is unread while sinks keep up. */
const PROGRESS_LIMITS: ProgressLimits = { recordsPerLook: 50_000, operations: 10_000 }

/** Offsets of one partition that a group has not read; there is at least one. */
interface UnreadOffsets {
  readonly topic: string
  readonly partition: number
  readonly from: number
  readonly end: number
}

/** Remembers of one partition what was read before. */
interface UnreadPartition {
  /**
   * Least block operation of the unread records, or an earlier one; Infinity where none of them belongs to a block, undefined where
   * another look has to continue.
   */
  leastSeq(bus: ProgressBus, unread: UnreadOffsets): Promise<number | undefined>
}

/** A record without one belongs to no block. */
const seqOf = ({ headers }: LogRecord): number =>
  headers.seq === undefined ? ALL : Number(headers.seq)

/** Operations come in order: the first unread record has the least. It is read again once the group has moved on. */
const createOrderedPartition = (): UnreadPartition => {
  let known = { from: -1, end: -1, seq: ALL, isFound: false }
  return {
    leastSeq: async (bus, { topic, partition, from, end }) => {
      if (from === known.from && (known.isFound || end === known.end)) return known.seq
      let read = { from, end, seq: ALL, isFound: false }
      // What stands between a position and the end may not be a record: offsets skip over transaction marks.
      for await (const record of bus.read(topic, partition, from, end)) {
        read = { from, end, seq: seqOf(record), isFound: true }
        break
      }
      known = read
      return known.seq
    },
  }
}

/** Records from the one behind the last entry up to `offset` have no operation before `seq`, nor has any later record. */
interface LeastFrom {
  readonly offset: number
  readonly seq: number
}

/** Of two entries one: for the records of the second it tells an earlier operation, never a later one. */
const mergePairs = (entries: readonly LeastFrom[]): LeastFrom[] =>
  entries.flatMap((entry, index) => {
    const before = entries[index - 1]
    if (index % 2 === 1 && before !== undefined) return [{ offset: entry.offset, seq: before.seq }]
    return index === entries.length - 1 ? [entry] : []
  })

/**
 * Records of several lanes, each in its own order: one behind another may be of an earlier operation. Each is read once, so many in
 * one look; where there are too many operations to remember, the answer is an earlier one until the group has passed them.
 */
const createMixedPartition = ({ recordsPerLook, operations }: ProgressLimits): UnreadPartition => {
  let first = 0
  let next = 0
  // Records than which no later one is less: the first is the least of all.
  let least: LeastFrom[] = []
  const remember = (offset: number, seq: number): void => {
    while ((least.at(-1)?.seq ?? -1) >= seq) least.pop()
    least.push({ offset, seq })
    if (least.length > operations) least = mergePairs(least)
  }
  return {
    leastSeq: async (bus, { topic, partition, from, end }) => {
      // Not where it continued, but somewhere else.
      if (from < first || from > next || end < next) {
        least = []
        next = from
      }
      first = from
      const yieldIfDue = makeYieldIfDue()
      let looked = 0
      if (next < end) {
        for await (const record of bus.read(topic, partition, next, end)) {
          if (looked === recordsPerLook) return undefined
          remember(record.offset, seqOf(record))
          next = record.offset + 1
          looked += 1
          const turn = yieldIfDue()
          if (turn) await turn
        }
        next = end
      }
      while ((least[0]?.offset ?? from) < from) least.shift()
      return least[0]?.seq ?? ALL
    },
  }
}

/** A group and the topics whose records it must have read. */
interface ReadingGroup {
  readonly group: string
  readonly topics: readonly string[]
  readonly partitions: Map<string, UnreadPartition>
  readonly createPartition: () => UnreadPartition
}

const unreadOffsets = (
  topic: string,
  { partition, low, end }: PartitionBounds,
  committed: readonly GroupOffset[],
): readonly UnreadOffsets[] => {
  const last = committed.find((at) => at.topic === topic && at.partition === partition)
  const from = Math.max(low, last?.offset ?? low)
  return from < end ? [{ topic, partition, from, end }] : []
}

/** The least of them; undefined where one is not known. */
const leastOf = (seqs: readonly (number | undefined)[]): number | undefined =>
  seqs.reduce<number | undefined>(
    (least, seq) => (least === undefined || seq === undefined ? undefined : Math.min(least, seq)),
    ALL,
  )

/** Block operation of the next record which the group has not read; Infinity where it has read everything, undefined where it is not known yet. */
const nextUnread = async (
  bus: ProgressBus,
  { group, topics, partitions, createPartition }: ReadingGroup,
): Promise<number | undefined> => {
  const committed = await bus.offsets(group, topics)
  const unread = await Promise.all(
    topics.map(async (topic) =>
      (await bus.ends(topic)).flatMap((bounds) => unreadOffsets(topic, bounds, committed)),
    ),
  )
  const seqs = unread.flat().map((offsets) => {
    const name = `${offsets.topic}/${offsets.partition}`
    const held = partitions.get(name) ?? createPartition()
    partitions.set(name, held)
    return held.leastSeq(bus, offsets)
  })
  return leastOf(await Promise.all(seqs))
}

const isMixed = ({ topic }: Sink): boolean =>
  [...REPARTITIONED_TOPICS].some((repartitioned) => repartitioned === topic)

const sinkReader =
  (chain: string, limits: ProgressLimits) =>
  (sink: Sink): ReadingGroup => ({
    group: sinkGroup(sink, chain),
    topics: [topicName(sink.topic, chain)],
    partitions: new Map(),
    createPartition: isMixed(sink) ? () => createMixedPartition(limits) : createOrderedPartition,
  })

/** The stages of a chain and its sinks, those of the feeds that are on among them. */
const chainReaders = (chain: string, { feeds }: Pick<Config, 'feeds'>, limits: ProgressLimits) => {
  const row = chainRow(chain)
  const sinks = row === undefined ? SINKS : [...SINKS, ...enabledFeedSinks(row, feeds)]
  const stages: ReadingGroup = {
    group: `${PROCESS_PIPELINE.app}.${chain}`,
    topics: PROCESS_PIPELINE.inputs.map((input) => topicName(input, chain)),
    partitions: new Map(),
    createPartition: createOrderedPartition,
  }
  // What is remembered of a partition has one user at a time.
  return { stages, sinks: sinks.map(sinkReader(chain, limits)), turn: pLimit(1) }
}

/**
 * How far the store has followed the log, by the offsets that the stages and the sinks have committed: what a sink has committed
 * is stored. Sinks write in turns of some seconds, and the slowest of them tells. The feeds are those of the process role: a sink
 * of a feed that was switched off reads nothing, and none waits for it.
 */
export const createStoreProgress = (
  bus: ProgressBus,
  config: Pick<Config, 'feeds'>,
  limits = PROGRESS_LIMITS,
): StoreProgress => {
  const readers = new Map<string, ReturnType<typeof chainReaders>>()
  const readersOf = (chain: string) => {
    const held = readers.get(chain) ?? chainReaders(chain, config, limits)
    readers.set(chain, held)
    return held
  }
  return {
    storedSeq: (chain) => {
      const { stages, sinks, turn } = readersOf(chain)
      return turn(async () => {
        // Of every name: those of repartitioned topics do not begin with the chain's.
        const held = new Set(await bus.topics(''))
        const unreadOf = async (groups: readonly ReadingGroup[]): Promise<number | undefined> => {
          const there = groups
            .map((each) => ({ ...each, topics: each.topics.filter((topic) => held.has(topic)) }))
            .filter(({ topics }) => topics.length > 0)
          return leastOf(await Promise.all(there.map((each) => nextUnread(bus, each))))
        }
        // The stages first: what they had published by then, the sinks have before them.
        const unfolded = await unreadOf([stages])
        const next = leastOf([unfolded, await unreadOf(sinks)])
        return next === undefined ? undefined : next - 1
      })
    },
  }
}

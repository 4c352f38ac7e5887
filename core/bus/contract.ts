/**
 * The bus: one contract that `kafka/bus.ts` and `embedded/bus.ts` (lmdb) both keep; one conformance suite runs on both.
 *
 * A commit is records, state and offsets together or nothing. Readers see committed records only. Offsets are sparse:
 * they grow, they may skip. A writer that was fenced, or whose commit was not answered, is dead: take a new one.
 */

/** Record headers: UTF-8 text. */
export type RecordHeaders = Readonly<Record<string, string>>

/** A record to be written. `value: null` is a tombstone. */
export interface ProducerRecord {
  readonly topic: string
  /** Absent: `partitionOf(key)`. */
  readonly partition?: number
  readonly key: string
  readonly value: Uint8Array | null
  readonly headers?: RecordHeaders
}

/** A committed record. */
export interface LogRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly key: string
  readonly value: Uint8Array | null
  readonly headers: RecordHeaders
  /** When the log took it, epoch milliseconds. */
  readonly timestampMs: number
}

/**
 * Where the records of one commit lie, one entry per topic-partition: offset of the first, and how many there are. Those
 * of a large commit may have another writer's between them.
 */
export interface OffsetRange {
  readonly topic: string
  readonly partition: number
  readonly baseOffset: number
  readonly records: number
}

/** The next offset a group will read, with a free text beside it. A lane's may be moved on over offsets without a record. */
export interface GroupOffset {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly metadata?: string
}

/** One change of a lane's state; `value: null` removes the key. */
export interface StateChange {
  readonly store: string
  readonly partition: number
  readonly key: string
  readonly value: Uint8Array | null
}

/** What goes in one atomic commit. */
export interface Commit {
  readonly records?: readonly ProducerRecord[]
  /** Makes the records that hold the offset ranges of the others (`{c}.blocks` spans); written last in the same commit. */
  readonly finalRecords?: (ranges: readonly OffsetRange[]) => readonly ProducerRecord[]
  readonly state?: readonly StateChange[]
  readonly offsets?: { readonly group: string; readonly next: readonly GroupOffset[] }
}

/** A commit that waits for no offsets of its own records: plain data, which another thread may make. */
export type LaneCommit = Omit<Commit, 'finalRecords'> & { readonly finalRecords?: never }

/** The only holder of its id: taking the same id again fences this one. */
export interface Writer {
  readonly id: string
  /** Throws `Outage` when the outcome is not known or the writer was fenced; the writer is dead then. */
  commit(commit: Commit): Promise<readonly OffsetRange[]>
  close(): Promise<void>
}

/** Id of the writer that a lane of a group commits with: whoever takes it fences the lane. */
export const laneWriterId = (group: string, partition: number): string =>
  `${group}.lane${partition}`

/** Topic as it must exist. */
export interface TopicSpec {
  readonly topic: string
  readonly partitions: number
  readonly cleanup: 'delete' | 'compact' | 'compact,delete'
  /** null = never deleted by age. */
  readonly retentionMs: number | null
  /** True: a record may be larger than what is published to readers may be. */
  readonly hasLargeValues?: boolean
}

/** First readable and next offset of one partition, committed records only. */
export interface PartitionBounds {
  readonly partition: number
  readonly low: number
  readonly end: number
}

/** Where the state of a lane lies on the local disk: a table of the embedded log, or a folder of its own. */
export type StateLocation =
  | {
      readonly kind: 'table'
      readonly path: string
      readonly store: string
      readonly partition: number
    }
  | { readonly kind: 'folder'; readonly path: string }

/** State of one lane as of its last commit. Reads are synchronous and from the local disk: nothing is held in memory. */
export interface LaneState {
  /** For another thread of this process, which reads it by `makeStateReaders`. Absent: the state is in memory. */
  readonly location?: StateLocation
  get(key: string): Uint8Array | undefined
  /** In the order of the keys' UTF-8 bytes. */
  entries(prefix?: string): Iterable<readonly [string, Uint8Array]>
}

/** State that another thread of this process writes. */
export interface SharedState<State> {
  readonly state: State
  /** What has been committed until now is read from here on. */
  refresh(): void
  close(): Promise<void>
}

/** What a lane's handler works with; the bus fenced the lane's writer before it read the committed offsets. */
export interface Lane {
  readonly partition: number
  readonly writer: Writer
  readonly committed: readonly GroupOffset[]
  /** Aborted when the lane is taken away or the bus closes. */
  readonly signal: AbortSignal
  /** Opens a store at this lane's partition. */
  state(store: string): Promise<LaneState>
  /** Next records of the lane, in offset order per topic-partition; empty after `maxWaitMs` without any. */
  take(options: {
    readonly maxRecords: number
    readonly maxWaitMs: number
    /** Topics that wait: none of their records are handed over by this call. */
    readonly without?: ReadonlySet<string>
  }): Promise<readonly LogRecord[]>
}

/** A consumer group over co-partitioned topics. */
export interface Subscription {
  readonly group: string
  /** Topics of one partition count; lane p owns partition p of each. */
  readonly topics: readonly string[]
  /**
   * True: a lane without a committed offset starts at offset 0. If retention has removed records before it first ran, it is halted.
   * Default: it begins with the oldest record there is.
   */
  readonly needsWholeLog?: boolean
  /** Single-partition topics that every lane reads whole. */
  readonly broadcast?: readonly string[]
  /** Where a lane reads a broadcast topic from: the lane's own state knows. Default: the start. */
  readonly broadcastFrom?: (
    lane: Pick<Lane, 'partition' | 'state'>,
    topic: string,
  ) => Promise<number>
  /**
   * Runs once per owned lane. A throw discards the writer and starts the lane again after a pause; a lane that returns is
   * read no further and holds up no other, and no other member gets it while this member lives. A lane whose position left the
   * log is halted (`Bus.halted`) until its committed offset is in the log again.
   */
  readonly run: (lane: Lane) => Promise<void>
}

/** Something that runs until it is stopped. */
export interface RunningTask {
  stop(): Promise<void>
}

/** Reads every partition without a group: sockets, control tables, `sluice tail`. */
export interface TailSubscription {
  readonly topics: readonly string[]
  readonly from: 'earliest' | 'latest'
  readonly onRecords: (records: readonly LogRecord[]) => void | Promise<void>
  /** Once, when everything that was there at the start has been handed over. */
  readonly onCaughtUp?: () => void
}

/**
 * How long records are kept: `off` keeps everything, `contract` the documented hours, `bounded` those as well, and on
 * the embedded log at least `LOG_RETENTION_HOURS` and what a group has not read.
 */
export type RetentionPolicy = 'off' | 'contract' | 'bounded'

/** How much of its limit a log takes; bytes. */
export interface LogCapacity {
  readonly usedBytes: number
  readonly limitBytes: number
  /** Size of the file, which does not shrink: pages of deleted records are used again. */
  readonly fileBytes: number
  readonly retention: RetentionPolicy
}

/** A lane that is halted because the log no longer holds its position: retention went past it, or the topic was created again. */
export interface HaltedLane {
  readonly group: string
  readonly lane: number
  readonly topic: string
  readonly partition: number
  /** Next offset that the lane wants, and the offsets that the log holds. */
  readonly position: number
  readonly low: number
  readonly end: number
}

/** The bus of one process. */
export interface Bus {
  createTopics(specs: readonly TopicSpec[]): Promise<void>
  /** Names of the topics that exist and begin so, sorted. */
  topics(prefix: string): Promise<readonly string[]>
  partitions(topic: string): Promise<number>
  ends(topic: string): Promise<readonly PartitionBounds[]>
  /** Takes the id; whoever held it is fenced. */
  writer(id: string): Promise<Writer>
  /** Committed records of one partition from `from` up to, not including, `to` (default: the end now). */
  read(topic: string, partition: number, from: number, to?: number): AsyncIterable<LogRecord>
  offsets(group: string, topics: readonly string[]): Promise<readonly GroupOffset[]>
  subscribe(subscription: Subscription): Promise<RunningTask>
  tail(tail: TailSubscription): Promise<RunningTask>
  /**
   * Drops what retention allows to drop and compacts, where no broker does it; removes local copies of lanes that went
   * elsewhere long ago.
   */
  sweep(nowMs: number): Promise<void>
  /** undefined where the log is a cluster's. */
  capacity(): LogCapacity | undefined
  /** Lanes of this process that are halted until `sluice resume` moves their position. */
  halted(): readonly HaltedLane[]
  /** Name of a topic that no other topic ever bears: another cluster's, or one that was deleted and made again. */
  life(topic: string): Promise<string>
  close(): Promise<void>
}

import { createHash } from 'node:crypto'
import pLimit, { type LimitFunction } from 'p-limit'
import type { GroupOffset, Lane, LogRecord } from '../../core/bus/contract.ts'
import { type DeadLetterStage, deadLetterRecord } from '../../core/bus/dead-letters.ts'
import { classifyInsertError, errorLabel } from '../../core/clickhouse/insert-errors.ts'
import { InvalidInput } from '../../core/errors.ts'
import { pause, retry } from '../../core/retry.ts'
import { topicName } from '../../schemas/topics.ts'
import type { EventMeta } from '../../schemas/wire.ts'
import { type FailingLane, makeLaneActivity } from '../runtime/lane-activity.ts'
import { makeLaneStatuses } from '../runtime/lane-statuses.ts'
import type { LaneStatus } from '../runtime/stage-lane.ts'
import type { RunningStage, StageDeps } from '../runtime/stage-runner.ts'
import type { RejectedRecord } from './batch-rows.ts'
import type { Inserter } from './inserter.ts'
import type { MakeRows } from './row-worker-pool.ts'
import type { Sink } from './tables.ts'

/** What a sink works with beside the bus. */
export interface SinkDeps extends Omit<StageDeps, 'codec'> {
  readonly inserter: Inserter
  readonly makeRows: MakeRows
  /** Large batches that are rows at a time, over all sinks of the process: rows take many times the memory of their records. */
  readonly insertLimit: LimitFunction
}

/** Large batches of a process that are made into rows or inserted at a time. */
const MAX_CONCURRENT_LARGE_BATCHES = 6
const FIRST_FETCH = { maxRecords: 1, maxWaitMs: 250 }
const NEXT_FETCH = { maxRecords: 500, maxWaitMs: 0 }
const MAX_BATCH_BYTES = 4_194_304
/** A batch below this needs no slot of `insertLimit`: the lanes of a quiet chain wait together, and their rows become one statement. */
const SMALL_BATCH_BYTES = 65_536
/** How long the turn of a sink that had nothing to write waits for its other lanes. */
const GATHER_LANES_MS = 50
/** Time between two turns of a sink: each insert costs time by itself; trades must be readable within 1.5 s, the rest within 5 s. */
const LINGER_MS = { watched: 1_000, other: 4_000 } as const
const INSERT_RETRY = { firstMs: 100, maxMs: 10_000, tries: Number.POSITIVE_INFINITY }

/** Times at which all lanes of a sink write what has come meanwhile, so that one statement holds the rows of all. */
class FlushSchedule {
  readonly #lingerMs: number
  #opensMs = Number.NEGATIVE_INFINITY

  constructor(sink: Sink) {
    this.#lingerMs = sink.isWatched ? LINGER_MS.watched : LINGER_MS.other
  }

  /** Milliseconds until the turn that a lane may still join. */
  waitMs(nowMs: number): number {
    if (nowMs >= this.#opensMs) {
      this.#opensMs = Math.max(nowMs + GATHER_LANES_MS, this.#opensMs + this.#lingerMs)
    }
    return this.#opensMs - nowMs
  }
}

/** The insert limit of a process. */
export const sinkConcurrency = (): LimitFunction => pLimit(MAX_CONCURRENT_LARGE_BATCHES)

const totalBytes = (records: readonly LogRecord[]): number =>
  records.reduce((sum, { value }) => sum + (value?.byteLength ?? 0), 0)

/** Records of a lane that are stored and committed together. */
class RecordBatch {
  readonly #lane: Lane
  readonly records: LogRecord[] = []
  bytes = 0
  #isFull = false

  constructor(lane: Lane) {
    this.#lane = lane
  }

  /** Whether a record came. */
  async begin(): Promise<boolean> {
    this.#add(await this.#lane.take(FIRST_FETCH))
    return this.records.length > 0
  }

  /** Takes what is there, up to about `mostBytes`. A batch that has been stored once does not grow again. */
  async fill(mostBytes: number): Promise<void> {
    while (!this.#isFull && this.bytes < mostBytes) {
      const more = await this.#lane.take(NEXT_FETCH)
      this.#add(more)
      this.#isFull = more.length === 0
    }
  }

  #add(records: readonly LogRecord[]): void {
    for (const record of records) this.records.push(record)
    this.bytes += totalBytes(records)
  }
}

interface PendingDeadLetter extends Omit<RejectedRecord, 'index'> {
  readonly record: LogRecord
  readonly stage: DeadLetterStage
}

/** What became of the records of a batch. */
interface StoreResult {
  /** Rows by table, without the chain prefix. */
  readonly counts: readonly { readonly table: string; readonly count: number }[]
  readonly deadLetters: readonly PendingDeadLetter[]
  /** Of the last record that has one. */
  readonly newest: EventMeta | null
}

const mergeResults = (older: StoreResult, newer: StoreResult): StoreResult => ({
  counts: [...older.counts, ...newer.counts],
  deadLetters: [...older.deadLetters, ...newer.deadLetters],
  newest: newer.newest ?? older.newest,
})

/** The engine's message as a dead letter keeps it. */
const errorMessage = (error: unknown): string =>
  String(error instanceof Error ? error.message : error)

/** What a lane tells of itself. */
interface LaneReporter {
  readonly done: (status: LaneStatus) => void
  /** null: it continues. */
  readonly failing: (failing: FailingLane | null) => void
}

interface SinkLaneDeps {
  readonly lane: Lane
  /** Shared by the lanes of the sink. */
  readonly turns: FlushSchedule
  readonly reports: LaneReporter
}

class SinkLane {
  readonly #sink: Sink
  readonly #deps: SinkDeps
  readonly #lane: Lane
  readonly #reports: LaneReporter
  readonly #group: string
  readonly #turns: FlushSchedule
  #failingSinceMs: number | undefined
  #life = ''

  constructor(sink: Sink, deps: SinkDeps, { lane, turns, reports }: SinkLaneDeps) {
    this.#sink = sink
    this.#turns = turns
    this.#deps = deps
    this.#lane = lane
    this.#reports = reports
    this.#group = sinkGroup(sink, deps.chain)
  }

  /** A lane that keeps up writes when it is its sink's turn; one that is behind writes batch after batch. */
  async run(): Promise<void> {
    const { signal } = this.#lane
    this.#life = await this.#deps.bus.life(topicName(this.#sink.topic, this.#deps.chain))
    let isBehind = false
    while (!signal.aborted) {
      const batch = new RecordBatch(this.#lane)
      if (!(await batch.begin())) continue
      if (!isBehind) await pause(this.#turns.waitMs(performance.now()), signal)
      await batch.fill(SMALL_BATCH_BYTES)
      const stored = await this.#storeUntil(batch)
      this.#recovered()
      await this.#commit(batch.records, stored)
      isBehind = batch.bytes >= MAX_BATCH_BYTES
    }
  }

  /** Stores a batch, however long the store is unavailable. A large one grows until `insertLimit` lets it be stored. */
  #storeUntil(batch: RecordBatch): Promise<StoreResult> {
    const { insertLimit } = this.#deps
    const { signal } = this.#lane
    const store = async (): Promise<StoreResult> => {
      signal.throwIfAborted()
      await batch.fill(MAX_BATCH_BYTES)
      return this.#store(batch.records)
    }
    // The slot is released while the warehouse is unavailable, and the rows with it: they are made again.
    const attempt = (): Promise<StoreResult> =>
      batch.bytes < SMALL_BATCH_BYTES ? this.#store(batch.records) : insertLimit(store)
    return retry(attempt, {
      ...INSERT_RETRY,
      signal,
      onRetry: (error, tries, waitMs) => this.#failed(error, tries, waitMs),
    })
  }

  #failed(error: unknown, attempt: number, waitMs: number): void {
    const { metrics, log } = this.#deps
    const group = this.#group
    this.#failingSinceMs ??= Date.now()
    const { partition } = this.#lane
    this.#reports.failing({ partition, sinceMs: this.#failingSinceMs, error: errorMessage(error) })
    metrics.sinkRetries.inc({ group, reason: errorLabel(error) })
    log.warn(
      { group, partition, err: error, attempt, waitMs },
      'batch was not stored, retrying same batch',
    )
  }

  #recovered(): void {
    if (this.#failingSinceMs === undefined) return
    this.#failingSinceMs = undefined
    this.#reports.failing(null)
  }

  /**
   * Inserts the rows of the records. Where the store refuses a row for what it is, the batch is halved until the record that
   * holds it stands alone; that one becomes a dead letter. Throws errors that may pass: the whole batch is repeated then, and
   * rows that are stored already come again under their key and version, which count once.
   */
  async #store(records: readonly LogRecord[]): Promise<StoreResult> {
    try {
      return await this.#write(records)
    } catch (error) {
      if (classifyInsertError(error) === 'passing') throw error
      const [record] = records
      if (record === undefined) throw error
      if (records.length === 1) {
        const refused = { reason: 'refused-by-store', message: errorMessage(error) }
        return { counts: [], deadLetters: [{ ...refused, record, stage: 'insert' }], newest: null }
      }
      this.#lane.signal.throwIfAborted()
      const middle = records.length >>> 1
      const older = await this.#store(records.slice(0, middle))
      return mergeResults(older, await this.#store(records.slice(middle)))
    }
  }

  async #write(records: readonly LogRecord[]): Promise<StoreResult> {
    const { chain, inserter, makeRows } = this.#deps
    const { partition, signal } = this.#lane
    const made = await makeRows(
      this.#sink.topic,
      records.map(({ value }) => value),
    )
    const [from, to] = [records[0]?.offset ?? 0, records.at(-1)?.offset ?? 0]
    for (const { table: name, ...rows } of made.tables) {
      const table = `${chain}_${name}`
      const token = insertToken(table, `${this.#life}/${partition}`, from, to)
      await inserter.insert(table, { ...rows, token }, signal)
    }
    const deadLetters = made.refused.flatMap(
      ({ index, reason, message }): readonly PendingDeadLetter[] => {
        const record = records[index]
        return record ? [{ record, reason, message, stage: 'decode' }] : []
      },
    )
    const counts = made.tables.map(({ table, count }) => ({ table, count }))
    return { counts, deadLetters, newest: made.newest }
  }

  async #commit(records: readonly LogRecord[], stored: StoreResult): Promise<void> {
    const { counts, deadLetters, newest } = stored
    const { chain, metrics, log } = this.#deps
    const { partition } = this.#lane
    const topic = topicName(this.#sink.topic, chain)
    const next: GroupOffset[] = [{ topic, partition, offset: (records.at(-1)?.offset ?? 0) + 1 }]
    const deadLetterRecords = deadLetters.map(({ record, reason, message, stage }) => {
      const error = new InvalidInput(reason, message)
      metrics.eventsDropped.inc({ stage: 'sink', reason })
      const fields = { group: this.#group, partition, offset: record.offset, stage, err: error }
      log.error(fields, 'record sent to the dead-letter topic')
      return deadLetterRecord(this.#group, record, error, stage)
    })
    await this.#lane.writer.commit({
      records: deadLetterRecords,
      offsets: { group: this.#group, next },
    })
    metrics.recordsProcessed.inc({ group: this.#group }, records.length)
    for (const { table, count } of counts) {
      metrics.insertedRows.inc({ table: `${chain}_${table}` }, count)
    }
    if (newest === null) return
    const { seq, height, block_time: blockTimeMs } = newest
    const lagMs = Math.max(0, Date.now() - blockTimeMs)
    metrics.processLagSeconds.set({ group: this.#group }, lagMs / 1_000)
    this.#reports.done({ partition, seq, height, blockTimeMs })
  }
}

/**
 * Name of the insert of one range of one lane: the same range has the same token for ever, and no range of another
 * cluster or of a topic that was made anew has it. `lane`: the topic's life (`Bus.life`) and the partition.
 */
export const insertToken = (table: string, lane: string, first: number, last: number): string =>
  createHash('sha1').update(`${table}|${lane}|${first}-${last}`).digest('hex')

/** Consumer group of a sink. */
export const sinkGroup = (sink: Sink, chain: string): string =>
  `sink.${topicName(sink.topic, chain)}`

/**
 * Runs a sink: insert with a deterministic token, then commit the offsets. An insert that fails with an error that may pass is
 * repeated until it succeeds; a row that can never be stored goes to the dead-letter topic with its record, and what is behind
 * it flows on. A batch cut differently after a crash writes the same versions again, which `FINAL` hides.
 */
export const startSink = async (sink: Sink, deps: SinkDeps): Promise<RunningStage> => {
  const group = sinkGroup(sink, deps.chain)
  const statuses = makeLaneStatuses()
  const failing = new Map<number, FailingLane>()
  const turns = new FlushSchedule(sink)
  const activity = makeLaneActivity()
  const running = await deps.bus.subscribe({
    group,
    topics: [topicName(sink.topic, deps.chain)],
    needsWholeLog: true,
    run: async (lane) => {
      const { partition } = lane
      const reports: LaneReporter = {
        done: (status) => statuses.set(lane, status),
        failing: (state) => {
          if (state === null) failing.delete(partition)
          else failing.set(partition, state)
        },
      }
      try {
        await activity.watch(lane, (watched) =>
          new SinkLane(sink, deps, { lane: watched, turns, reports }).run(),
        )
      } finally {
        failing.delete(partition)
      }
    },
  })
  return {
    group,
    lanes: statuses.list,
    failing: () => {
      const stalled = activity.stalled(Date.now())
      return [...failing.values(), ...stalled.filter(({ partition }) => !failing.has(partition))]
    },
    stop: () => running.stop(),
  }
}

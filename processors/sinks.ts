import { createHash } from 'node:crypto'
import pLimit, { type LimitFunction } from 'p-limit'
import type { GroupOffset, Lane, LogRecord } from '../core/bus-contract.ts'
import { deadLetter } from '../core/dead-letter.ts'
import { Malformed } from '../core/fault.ts'
import { pause, retry } from '../core/retry.ts'
import type { Warehouse } from '../core/warehouse.ts'
import { topicName } from '../schemas/topics.ts'
import type { BatchRows } from './batch-rows.ts'
import type { MakeRows } from './row-threads.ts'
import type { LaneStatus, ProcessDeps, StageRunning } from './run.ts'
import type { Sink } from './sink-tables.ts'

/** What a sink works with beside the bus. */
export interface SinkDeps extends Omit<ProcessDeps, 'codec'> {
  readonly warehouse: Warehouse
  readonly makeRows: MakeRows
  /** Batches that are rows at a time, over all sinks of the process: rows take many times the memory of their records. */
  readonly places: LimitFunction
}

/** Batches of a process that are made into rows or inserted at a time. */
const PLACES = 6
const FIRST = { maxRecords: 1, maxWaitMs: 250 }
const MORE = { maxRecords: 5_000, maxWaitMs: 0 }
const BATCH_BYTES = 4_194_304
/** Time between two batches of a lane that has something to write all the time: an insert has a price of its own. */
const LINGER_MS = 1_000
const AGAIN = { firstMs: 100, maxMs: 10_000, tries: Number.POSITIVE_INFINITY }

/** The places of a process. */
export const sinkPlaces = (): LimitFunction => pLimit(PLACES)

const bytesOf = (records: readonly LogRecord[]): number =>
  records.reduce((sum, { value }) => sum + (value?.byteLength ?? 0), 0)

class SinkLane {
  readonly #sink: Sink
  readonly #deps: SinkDeps
  readonly #lane: Lane
  readonly #report: (status: LaneStatus) => void
  readonly #group: string
  #begunMs = Number.NEGATIVE_INFINITY
  #life = ''

  constructor(sink: Sink, deps: SinkDeps, lane: Lane, report: (status: LaneStatus) => void) {
    this.#sink = sink
    this.#deps = deps
    this.#lane = lane
    this.#report = report
    this.#group = sinkGroup(sink, deps.chain)
  }

  /** A batch after a pause is whatever is there, so that the head is fresh; else what came while the lane rested. */
  async run(): Promise<void> {
    const { places, log } = this.#deps
    const { signal } = this.#lane
    this.#life = await this.#deps.bus.life(topicName(this.#sink.topic, this.#deps.chain))
    while (!signal.aborted) {
      const first = await this.#lane.take(FIRST)
      if (first.length === 0) continue
      await pause(Math.max(0, this.#begunMs + LINGER_MS - performance.now()), signal)
      let records: readonly LogRecord[] | undefined
      // The place is given back while the warehouse rests, and the rows with it: they are made again.
      const rows = await retry(
        () =>
          places(async () => {
            signal.throwIfAborted()
            records ??= await this.#rest(first)
            return this.#write(records)
          }),
        {
          ...AGAIN,
          signal,
          onRetry: (error, attempt, waitMs) =>
            log.warn({ group: this.#group, err: error, attempt, waitMs }, 'the same batch again'),
        },
      )
      await this.#commit(records ?? first, rows)
    }
  }

  async #rest(first: readonly LogRecord[]): Promise<readonly LogRecord[]> {
    this.#begunMs = performance.now()
    const records = [...first]
    let bytes = bytesOf(first)
    for (;;) {
      const more = await this.#lane.take(MORE)
      for (const record of more) records.push(record)
      bytes += bytesOf(more)
      if (more.length === 0 || bytes >= BATCH_BYTES) return records
    }
  }

  async #write(records: readonly LogRecord[]): Promise<BatchRows> {
    const { chain, warehouse, metrics, makeRows } = this.#deps
    const { partition } = this.#lane
    const made = await makeRows(
      this.#sink.topic,
      records.map(({ value }) => value),
    )
    const [from, to] = [records[0]?.offset ?? 0, records.at(-1)?.offset ?? 0]
    for (const { table: name, ...rows } of made.tables) {
      const table = `${chain}_${name}`
      const end = metrics.insertSeconds.startTimer({ table })
      await warehouse.insert(table, rows, {
        token: insertToken(table, `${this.#life}/${partition}`, from, to),
      })
      end()
    }
    return made
  }

  async #commit(
    records: readonly LogRecord[],
    { tables, refused, newest }: BatchRows,
  ): Promise<void> {
    const { chain, metrics, log } = this.#deps
    const { partition } = this.#lane
    const topic = topicName(this.#sink.topic, chain)
    const next: GroupOffset[] = [{ topic, partition, offset: (records.at(-1)?.offset ?? 0) + 1 }]
    const poison = refused.flatMap(({ index, reason, message }) => {
      const record = records[index]
      const error = new Malformed(reason, message)
      metrics.eventsDropped.inc({ stage: 'sink', reason })
      log.error({ group: this.#group, offset: record?.offset, err: error }, 'poison')
      return record ? [deadLetter(this.#group, record, error)] : []
    })
    await this.#lane.writer.commit({ records: poison, offsets: { group: this.#group, next } })
    metrics.recordsProcessed.inc({ app: this.#group }, records.length)
    for (const { table, count } of tables) {
      metrics.insertedRows.inc({ table: `${chain}_${table}` }, count)
    }
    if (newest === null) return
    const { seq, height, block_time: blockTimeMs } = newest
    const lagMs = Math.max(0, Date.now() - blockTimeMs)
    metrics.processLagSeconds.set({ app: this.#group }, lagMs / 1_000)
    this.#report({ partition, seq, height, blockTimeMs })
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
 * Runs a sink: insert with a deterministic token, then commit the offsets. An insert that fails is repeated as it is
 * until it succeeds; a batch cut differently after a crash writes the same versions again, which `FINAL` hides.
 */
export const startSink = async (sink: Sink, deps: SinkDeps): Promise<StageRunning> => {
  const group = sinkGroup(sink, deps.chain)
  const statuses = new Map<number, LaneStatus>()
  const running = await deps.bus.subscribe({
    group,
    topics: [topicName(sink.topic, deps.chain)],
    run: async (lane) =>
      new SinkLane(sink, deps, lane, (status) => statuses.set(lane.partition, status)).run(),
  })
  return { group, lanes: () => [...statuses.values()], stop: () => running.stop() }
}

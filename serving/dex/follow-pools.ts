import type { Bus, LogRecord, RunningTask } from '../../core/bus/contract.ts'
import type { Warehouse } from '../../core/clickhouse/client.ts'
import type { Codec } from '../../core/codec/contract.ts'
import type { Logger } from '../../core/ops/logger.ts'
import { retry } from '../../core/retry.ts'
import { topicName } from '../../schemas/topics.ts'
import {
  type PoolBinRow,
  type PoolStateRow,
  type PoolTickRow,
  poolBinsQuery,
  poolStatesQuery,
  poolTicksQuery,
} from '../queries/pool-states.ts'
import { MAX_POOLS, type PoolBook } from './pool-book.ts'
import type { PoolProgress } from './pool-progress.ts'

/** What the follower works with. */
export interface FollowPoolsOptions {
  readonly bus: Bus
  readonly codec: Codec
  readonly warehouse: Warehouse
  readonly log: Logger
  readonly chain: string
  readonly pools: PoolBook
  readonly progress: PoolProgress
  /** Ids of protocols whose pools are wanted. */
  readonly protocols: readonly string[]
}

/**
 * How far behind the log the tables may be when they are read, by the log's clock: rows are written within seconds, so records older than
 * this are in them.
 */
const OVERLAP_MS = 10 * 60_000
/** Ticks of all pools together that are read at a start; the pools of those beyond are not exact. */
const MAX_TICK_ROWS = 2_000_000
/** The same for bins. */
const MAX_BIN_ROWS = 2_000_000
/** First step back from the end of a partition; each further one is twice as long. */
const FIRST_STEP = 64

/**
 * Fills a book from the tables and keeps it from the log. The tail begins first and waits, then the tables are read, then the log from
 * some minutes before: versions keep what is read twice from counting twice.
 */
const followPools = async (options: FollowPoolsOptions): Promise<RunningTask> => {
  const { bus, chain, pools, protocols } = options
  const topic = topicName('poolsProcessed', chain)
  const blocks = topicName('blocks', chain)
  if (protocols.length === 0) return { stop: () => Promise.resolve() }
  let start = (): void => undefined
  const ready = new Promise<void>((resolve) => {
    start = resolve
  })
  const next = new Map<number, number>()
  const accept = createRecordReader(options)
  const acceptBlock = createBlockReader(options)
  const tail = await bus.tail({
    topics: [topic, blocks],
    from: 'latest',
    onRecords: async (records) => {
      await ready
      for (const record of records) {
        if (record.topic === blocks) {
          acceptBlock(record)
          continue
        }
        const from = next.get(record.partition) ?? record.offset
        if (record.offset < from) continue
        for await (const missed of bus.read(topic, record.partition, from, record.offset)) {
          accept(missed)
        }
        accept(record)
        next.set(record.partition, record.offset + 1)
      }
    },
  })
  try {
    pools.load(...(await readTables(options)))
    // Records of earlier blocks may be in the tables only.
    const newest = await newestRecord(bus, blocks)
    if (newest) acceptBlock(newest)
    for (const { partition, low, end } of await bus.ends(topic)) {
      const from = await offsetBefore(bus, topic, { partition, low, end })
      for await (const record of bus.read(topic, partition, from, end)) accept(record)
      next.set(partition, end)
    }
  } catch (error) {
    start()
    await tail.stop()
    throw error
  }
  start()
  return tail
}

/** Pauses between tries to begin. */
const RETRIES = { firstMs: 1_000, maxMs: 30_000, tries: Number.POSITIVE_INFINITY }

/** Begins to follow as soon as tables and log can be read. Until then the book is empty, and a swap finds no route. */
export const followPoolsWhenReadable = (options: FollowPoolsOptions): RunningTask => {
  const closing = new AbortController()
  const begun = retry(() => followPools(options), {
    ...RETRIES,
    signal: closing.signal,
    onRetry: (err, attempt) => options.log.warn({ err, attempt }, 'pool states not read yet'),
  }).catch((error: unknown) => {
    if (!closing.signal.aborted) throw error
  })
  return {
    stop: async () => {
      closing.abort(new Error('the server stops'))
      const running = await begun
      await running?.stop()
    },
  }
}

const readTables = async ({
  warehouse,
  chain,
  protocols,
}: FollowPoolsOptions): Promise<
  readonly [readonly PoolStateRow[], readonly PoolTickRow[], readonly PoolBinRow[]]
> => {
  const pools = await warehouse.query<PoolStateRow>(poolStatesQuery(chain, protocols, MAX_POOLS))
  const ticks = await warehouse.query<PoolTickRow>(poolTicksQuery(chain, MAX_TICK_ROWS))
  const bins = await warehouse.query<PoolBinRow>(poolBinsQuery(chain, MAX_BIN_ROWS))
  return [pools.rows, ticks.rows, bins.rows]
}

/** Tells the progress which pool records a block has. One that cannot be read is passed over: the next tells. */
const createBlockReader = ({ codec, progress, chain, log }: FollowPoolsOptions) => {
  const counted = topicName('pools', chain)
  return ({ topic, partition, offset, value }: LogRecord): void => {
    if (value === null) return
    try {
      const { meta, spans, parent_slot } = codec.decode('block.BlockEvent', value)
      const isRemoval = meta.op === 'OP_REVERT'
      if (!isRemoval && meta.op !== 'OP_APPLY') return
      const { seq, height, slot } = meta
      // `.processed` records are one for one those of the raw topic.
      const own = spans.filter((span) => span.topic === counted)
      const records = own.reduce((sum, span) => sum + span.records, 0)
      const place = isRemoval ? { height: height - 1, slot: parent_slot } : { height, slot }
      progress.block({ seq, place, records })
    } catch (err) {
      log.error({ err, topic, partition, offset }, 'block record not read')
    }
  }
}

/** The last record of a topic of one partition; undefined: there is none. */
const newestRecord = async (bus: Bus, topic: string): Promise<LogRecord | undefined> => {
  const [bounds] = await bus.ends(topic)
  if (bounds === undefined) return undefined
  const { partition, low, end } = bounds
  let newest: LogRecord | undefined
  for (let step = FIRST_STEP, from = end; newest === undefined && from > low; step *= 2) {
    from = Math.max(low, end - step)
    for await (const record of bus.read(topic, partition, from, end)) newest = record
  }
  return newest
}

/** A record that cannot be read may be of any pool: nothing that the book holds is exact after it. */
const createRecordReader = ({ codec, pools, progress, log }: FollowPoolsOptions) => {
  return ({ topic, partition, offset, value }: LogRecord): void => {
    if (value === null) return
    try {
      const record = codec.decode('dex.pool.DexPoolEvents', value)
      pools.accept(record)
      if (record.meta) progress.record(record.meta.seq)
    } catch (err) {
      pools.clear()
      progress.reset()
      log.error({ err, topic, partition, offset }, 'pool record not read, states of pools dropped')
    }
  }
}

/** An offset whose record is at least `OVERLAP_MS` older than the newest one; the first readable one where there is none. */
const offsetBefore = async (
  bus: Bus,
  topic: string,
  {
    partition,
    low,
    end,
  }: { readonly partition: number; readonly low: number; readonly end: number },
): Promise<number> => {
  let step = FIRST_STEP
  let newestMs: number | undefined
  for (let from = Math.max(low, end - step); from > low; from = Math.max(low, end - step)) {
    const atMs = await timeAt(bus, topic, partition, from)
    newestMs ??= await timeAt(bus, topic, partition, Math.max(low, end - 1))
    if (atMs !== undefined && newestMs !== undefined && newestMs - atMs >= OVERLAP_MS) return from
    step *= 2
  }
  return low
}

const timeAt = async (
  bus: Bus,
  topic: string,
  partition: number,
  offset: number,
): Promise<number | undefined> => {
  for await (const { timestampMs } of bus.read(topic, partition, offset, undefined))
    return timestampMs
  return undefined
}

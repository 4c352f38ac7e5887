import type { Bus, LogRecord, ProducerRecord } from '../../core/bus/contract.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { TOPICS } from '../../schemas/topics.ts'
import { chainGroups, SHARED_GROUPS } from '../checksum/consumer-lag.ts'
import type { DeadLetterPrices } from './dead-letter-prices.ts'
import {
  committedPosition,
  positionsAfter,
  type ReplayPosition,
  replayGroup,
  replayPositions,
  wasPublished,
} from './replay-positions.ts'
import {
  createDeadLetterRetry,
  ingestDlqChain,
  type RetryResult,
} from './retry-ingest-dead-letters.ts'

/** A dead letter: the rejected record, its source, and why it was rejected. */
export interface DeadLetterEntry {
  readonly group: string
  readonly partition: number
  readonly offset: number
  readonly time: string
  /** Position of the rejected record; offset -1: nothing was read from a topic. */
  readonly source: { readonly topic: string; readonly partition: number; readonly offset: number }
  readonly stage: string
  readonly error: string
  readonly message: string
  readonly replayed: boolean
  /** Why a replay leaves it out; null: it can be replayed. */
  readonly stays: string | null
}

/** Which dead letters to list or to replay. */
export interface DeadLetterRequest {
  readonly bus: Bus
  /** Consumer group; absent = every one. */
  readonly group?: string
  /** Most dead letters of one call. */
  readonly limit: number
  /** Source of prices of a chain's pools that were unknown; default: none. */
  readonly pricesOf?: (chain: string) => DeadLetterPrices | undefined
}

const DLQ_PREFIX = 'dlq.'
/** Dead letters of one commit. */
const REPLAY_BATCH_SIZE = 100

/** Dead letters, oldest first per partition, with their replay state. */
export async function* listDeadLetters(request: DeadLetterRequest): AsyncIterable<DeadLetterEntry> {
  let left = request.limit
  for (const topic of await deadLetterTopics(request)) {
    const positions = await replayPositions(request.bus, topic)
    for await (const record of readDeadLetters(request.bus, topic, () => undefined)) {
      if (left <= 0) return
      left -= 1
      const deadLetter = toDeadLetterEntry(topic, record)
      // Earlier versions did not record which dead letters were not published.
      yield {
        ...deadLetter,
        replayed: deadLetter.stays === null && wasPublished(positions, record),
      }
    }
  }
}

/** What a replay did. */
export interface ReplayResult {
  readonly published: number
  /** Dead letters that were not published, and why. */
  readonly notReplayed: readonly DeadLetterEntry[]
  /** Dead letters of ingestors, decoded again, with the result. */
  readonly rerun: readonly { readonly deadLetter: DeadLetterEntry; readonly result: RetryResult }[]
}

/**
 * Publishes the original records again where they came from, with `dlq.replay=1` and their own `seq`, and notes in the
 * same commit how far it came: a dead letter is replayed once, however often this is called or killed; one that is not published is tried again
 * by the next call. Sinks insert them; a stage has folded their operation without them and takes them for records it has seen.
 *
 * What an ingestor rejected was never a record: it is decoded again with this build, as often as this is called, and nothing
 * is published, because the operation of its block is closed.
 */
export const replayDeadLetters = async (request: DeadLetterRequest): Promise<ReplayResult> => {
  const { bus } = request
  let left = request.limit
  let published = 0
  const notReplayed: DeadLetterEntry[] = []
  const rerun: ReplayResult['rerun'][number][] = []
  for (const topic of await deadLetterTopics(request)) {
    const chain = ingestDlqChain(topic)
    if (chain !== undefined) {
      const again = await retryIngestDeadLetters(request, { topic, chain, limit: left })
      rerun.push(...again)
      left -= again.length
      continue
    }
    const done = await replayTopic(bus, topic, left)
    left -= done.inspected
    published += done.published
    notReplayed.push(...done.notReplayed)
  }
  return { published, notReplayed, rerun }
}

interface ReplayedTopic extends Pick<ReplayResult, 'published' | 'notReplayed'> {
  /** Dead letters that no replay had looked at, and older ones that were published now. */
  readonly inspected: number
}

/** Dead letters that no replay has looked at, at most `limit`, then with what is left of it those that earlier replays could not publish. */
const replayTopic = async (bus: Bus, topic: string, limit: number): Promise<ReplayedTopic> => {
  let [inspected, published] = [0, 0]
  const notReplayed: DeadLetterEntry[] = []
  let positions = await replayPositions(bus, topic)
  const earlier = [...positions.values()]
  const writer = await bus.writer(replayGroup(topic))
  const publish = async (batch: readonly LogRecord[]): Promise<number> => {
    const deadLetters = batch.map((record) => ({
      record,
      deadLetter: toDeadLetterEntry(topic, record),
    }))
    const good = deadLetters.filter(({ deadLetter }) => deadLetter.stays === null)
    const after = deadLetters.map(({ record, deadLetter }) => ({
      record,
      stays: deadLetter.stays !== null,
    }))
    positions = positionsAfter(positions, after)
    await writer.commit({
      records: good.map(({ record }) => originalRecord(record)),
      offsets: {
        group: replayGroup(topic),
        next: [...positions.values()].map((position) => committedPosition(topic, position)),
      },
    })
    published += good.length
    notReplayed.push(
      ...deadLetters.flatMap(({ deadLetter }) => (deadLetter.stays === null ? [] : [deadLetter])),
    )
    return good.length
  }
  try {
    const from = (partition: number): number | undefined => positions.get(partition)?.offset
    const unseen = readDeadLetters(bus, topic, from)
    for await (const batch of inBatches(unseen, () => limit - inspected)) {
      await publish(batch)
      inspected += batch.length
    }
    const again = readNotReplayed(bus, topic, earlier)
    for await (const batch of inBatches(again, () => limit - inspected))
      inspected += await publish(batch)
  } finally {
    await writer.close()
  }
  return { inspected, published, notReplayed }
}

async function* readNotReplayed(
  bus: Bus,
  topic: string,
  positions: readonly ReplayPosition[],
): AsyncIterable<LogRecord> {
  for (const { partition, notReplayed } of positions) {
    for (const offset of notReplayed) yield* bus.read(topic, partition, offset, offset + 1)
  }
}

interface IngestRetryRequest {
  readonly topic: string
  readonly chain: string
  readonly limit: number
}

const retryIngestDeadLetters = async (
  { bus, pricesOf }: DeadLetterRequest,
  { topic, chain, limit }: IngestRetryRequest,
): Promise<ReplayResult['rerun']> => {
  const prices = pricesOf?.(chain)
  const rerun: ReplayResult['rerun'][number][] = []
  try {
    const again = await createDeadLetterRetry(bus, chain, prices)
    const deadLetters = readDeadLetters(bus, topic, () => undefined)
    for await (const batch of inBatches(deadLetters, () => limit - rerun.length)) {
      for (const record of batch) {
        rerun.push({
          deadLetter: toDeadLetterEntry(topic, record),
          result: await again(record),
        })
      }
    }
  } finally {
    prices?.close()
  }
  return rerun
}

const deadLetterTopics = async ({ bus, group }: DeadLetterRequest): Promise<readonly string[]> => {
  const topics = await bus.topics(DLQ_PREFIX)
  return group === undefined ? topics : topics.filter((topic) => topic === DLQ_PREFIX + group)
}

async function* readDeadLetters(
  bus: Bus,
  topic: string,
  from: (partition: number) => number | undefined,
): AsyncIterable<LogRecord> {
  for (const { partition, low, end } of await bus.ends(topic)) {
    yield* bus.read(topic, partition, Math.max(low, from(partition) ?? low), end)
  }
}

async function* inBatches(
  records: AsyncIterable<LogRecord>,
  left: () => number,
): AsyncIterable<readonly LogRecord[]> {
  let batch: LogRecord[] = []
  for await (const record of records) {
    if (batch.length >= left()) break
    batch.push(record)
    if (batch.length < REPLAY_BATCH_SIZE) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

const toDeadLetterEntry = (topic: string, record: LogRecord): DeadLetterEntry => {
  const { partition, offset, headers, timestampMs } = record
  const text = (name: string): string => headers[`dlq.${name}`] ?? ''
  return {
    group: topic.slice(DLQ_PREFIX.length),
    partition,
    offset,
    time: new Date(timestampMs).toISOString(),
    source: {
      topic: text('topic'),
      partition: Number(text('partition') || -1),
      offset: Number(text('offset') || -1),
    },
    stage: text('stage'),
    error: text('error.class'),
    message: text('error.message'),
    replayed: false,
    stays:
      ingestDlqChain(topic) === undefined
        ? notReplayableReason(topic.slice(DLQ_PREFIX.length), record)
        : null,
  }
}

/** Topics of records that no stage aligns: they belong to no block operation, and their newest wins by its own time. */
const UNALIGNED_TOPICS = new RegExp(`\\.${TOPICS.tokenDocuments.suffix.replaceAll('.', '\\.')}$`)

/** Whoever writes to a dead-letter topic names where the record is published: a header alone must not reach any topic. */
const isReadByGroup = (group: string, topic: string): boolean =>
  [...SHARED_GROUPS, ...Object.keys(CHAINS).flatMap(chainGroups)].some(
    (known) => known.group === group && known.topics.includes(topic),
  )

/** A record without its position in the operation would break the order of consumers that align by it. */
const notReplayableReason = (group: string, { headers }: LogRecord): string | null => {
  const { 'dlq.topic': topic = '' } = headers
  const offset = Number(headers['dlq.offset'] ?? -1)
  if (!(offset >= 0)) return 'it was never a record of a topic'
  if (!isReadByGroup(group, topic)) return 'it names a topic that its group does not read'
  if (UNALIGNED_TOPICS.test(topic)) return null
  if (!/^\d{1,15}$/.test(headers.seq ?? '') || !/^\d+\/\d+$/.test(headers.part ?? '')) {
    return 'it does not say which block operation it belongs to'
  }
  return null
}

const originalRecord = ({ key, value, headers }: LogRecord): ProducerRecord => {
  const own = Object.entries(headers).filter(([name]) => !name.startsWith(DLQ_PREFIX))
  return {
    topic: headers['dlq.topic'] ?? '',
    partition: Number(headers['dlq.partition']),
    key,
    value,
    headers: { ...Object.fromEntries(own), 'dlq.replay': '1' },
  }
}

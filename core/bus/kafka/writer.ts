import { setTimeout as sleep } from 'node:timers/promises'
import { type Message, Partitioners, type Transaction } from 'kafkajs'
import { InvalidInput, Outage } from '../../errors.ts'
import type {
  Commit,
  GroupOffset,
  OffsetRange,
  ProducerRecord,
  StateChange,
  Writer,
} from '../contract.ts'
import { partitionOf } from '../partitioner.ts'
import { validateStateKey } from '../validate-state-key.ts'
import {
  busOutage,
  COMPRESSION,
  isFencingError,
  type KafkaClient,
  kafkaErrorType,
} from './client.ts'
import type { RememberingProducer } from './kafkajs-internals.ts'

/** The broker aborts a transaction that is open longer; it blocks readers until then. */
const TRANSACTION_TIMEOUT_MS = 15_000
/** Bytes of one partition in one send: they become one batch, and `message.max.bytes` is 2 MiB. */
const MAX_SEND_BYTES = 1_048_576
/** kafkajs resets sequence numbers at 2^31 instead of wrapping. */
const MAX_RECORDS_PER_PRODUCER = 1_000_000_000
const RETRY_INITIAL_MS = 2
const RETRY_MAX_MS = 100

/** Where the last record of a partition's part of a commit lies. */
export interface ChangelogPosition {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  /** When the log took it; undefined for a topic that keeps the writer's time. */
  readonly timestampMs: number | undefined
}

/** A writer that also tells where the state changes of a commit went. */
export interface LaneWriter extends Writer {
  commitWithPositions(commit: Commit): Promise<{
    readonly ranges: readonly OffsetRange[]
    readonly state: readonly ChangelogPosition[]
  }>
}

/** Partition leaders as last seen; a stale answer costs a failed commit, never a record. */
export interface PartitionLeaders {
  /** Leader node per partition. Throws `Outage` for an unknown topic. */
  of(topic: string): Promise<readonly number[]>
  /** True for a cluster of one broker: no send can split there. */
  alone(): boolean
  forget(): void
}

/**
 * Takes a transactional id: initialising the producer fences the older holder and ends its open transaction. Sends are
 * not retried by kafkajs, because its retries lose and double records; what failed is
 * discarded with the whole producer.
 */
export const openWriter = async (
  kafka: KafkaClient,
  leaders: PartitionLeaders,
  id: string,
): Promise<LaneWriter> => {
  const remembering = kafka.producer({
    transactionalId: id,
    transactionTimeout: TRANSACTION_TIMEOUT_MS,
    maxInFlightRequests: 1,
    createPartitioner: Partitioners.DefaultPartitioner,
    allowAutoTopicCreation: false,
    metadataMaxAge: 60_000,
    retry: { retries: 0 },
  })
  const { producer } = remembering
  try {
    await producer.connect()
    const fence = await producer.transaction()
    await fence.abort()
  } catch (error) {
    await producer.disconnect().catch(() => undefined)
    throw busOutage(`writer ${id} was not opened`, error)
  }
  return makeWriter(remembering, leaders, id)
}

const makeWriter = (
  remembering: RememberingProducer,
  leaders: PartitionLeaders,
  id: string,
): LaneWriter => {
  const { producer } = remembering
  let dead: Outage | undefined
  let last: Promise<unknown> = Promise.resolve()
  let written = 0
  const discard = async (outage: Outage): Promise<void> => {
    dead ??= outage
    leaders.forget()
    await producer.disconnect().catch(() => undefined)
  }
  const run = async (commit: Commit): Promise<CommitResult> => {
    if (dead) throw dead
    for (const { key } of commit.state ?? []) validateStateKey(key)
    try {
      const committed = await commitTransaction(remembering, leaders, commit)
      const { ranges } = committed
      written += ranges.reduce((sum, { records }) => sum + records, commit.state?.length ?? 0)
      if (written > MAX_RECORDS_PER_PRODUCER) {
        await discard(
          new Outage('bus', `producer ${id} reached its sequence limit, recreate the producer`),
        )
      }
      return committed
    } catch (error) {
      if (error instanceof InvalidInput) throw error
      const outage = busOutage(
        isFencingError(error) ? `writer ${id} was fenced` : `writer ${id}`,
        error,
      )
      await discard(outage)
      throw outage
    }
  }
  const commitWithPositions = (commit: Commit): Promise<CommitResult> => {
    const next = last.then(() => run(commit))
    last = next.catch(() => undefined)
    return next
  }
  return {
    id,
    commit: async (commit) => (await commitWithPositions(commit)).ranges,
    commitWithPositions,
    close: async () => {
      await last
      await discard(new Outage('bus', `writer ${id} is closed`, { final: true }))
    },
  }
}

type CommitResult = Awaited<ReturnType<LaneWriter['commitWithPositions']>>

/**
 * One transaction: records, then those that tell where these lie, offsets, commit. State goes with the last records, because each send is a
 * round trip. Only the caller's own mistake ends it by an abort.
 */
const commitTransaction = async (
  { producer, forgetCoordinators }: RememberingProducer,
  leaders: PartitionLeaders,
  { records = [], finalRecords, state = [], offsets }: Commit,
): Promise<CommitResult> => {
  const transaction = await producer.transaction()
  const sending = { transaction, leaders, forgetCoordinators, begun: false }
  const changes = state.map(changelogRecord)
  let sent: readonly SentRange[]
  if (finalRecords) {
    const before = await sendAll(sending, records)
    const ranges = before.map(toOffsetRange)
    const last = await buildFinalRecords(transaction, () => finalRecords(ranges))
    sent = mergeRanges([...before, ...(await sendAll(sending, [...last, ...changes]))])
  } else sent = await sendAll(sending, [...records, ...changes])
  if (offsets && offsets.next.length > 0) {
    const request = { consumerGroupId: offsets.group, topics: offsetTopics(offsets.next) }
    await retryOnErrors(() => transaction.sendOffsets(request), forgetCoordinators)
  }
  await transaction.commit()
  const stores = new Set(state.map(({ store }) => store))
  return {
    ranges: sent.filter(({ topic }) => !stores.has(topic)).map(toOffsetRange),
    state: sent.filter(({ topic }) => stores.has(topic)).map(toChangelogPosition),
  }
}

const toOffsetRange = ({ topic, partition, baseOffset, records }: SentRange): OffsetRange => ({
  topic,
  partition,
  baseOffset,
  records,
})

const toChangelogPosition = ({
  topic,
  partition,
  lastOffset,
  timestampMs,
}: SentRange): ChangelogPosition => ({
  topic,
  partition,
  offset: lastOffset,
  timestampMs,
})

const buildFinalRecords = async (
  transaction: Transaction,
  finalRecords: () => readonly ProducerRecord[],
): Promise<readonly ProducerRecord[]> => {
  try {
    return finalRecords()
  } catch (error) {
    await transaction.abort()
    throw error
  }
}

const changelogRecord = ({ store, partition, key, value }: StateChange): ProducerRecord => ({
  topic: store,
  partition,
  key,
  value,
})

const offsetTopics = (next: readonly GroupOffset[]) =>
  [...groupByTopic(next)].map(([topic, rows]) => ({
    topic,
    partitions: rows.map(({ partition, offset, metadata = null }) => ({
      partition,
      offset: String(offset),
      metadata,
    })),
  }))

const groupByTopic = <Row extends { readonly topic: string }>(
  rows: readonly Row[],
): ReadonlyMap<string, readonly Row[]> => {
  const out = new Map<string, Row[]>()
  for (const row of rows) {
    const held = out.get(row.topic)
    if (held) held.push(row)
    else out.set(row.topic, [row])
  }
  return out
}

/** A span, its last record's offset, and when the log took that. */
interface SentRange extends OffsetRange {
  readonly lastOffset: number
  readonly timestampMs: number | undefined
}

interface TransactionSends {
  readonly transaction: Transaction
  readonly leaders: PartitionLeaders
  readonly forgetCoordinators: () => void
  /** False until a partition is part of the transaction: only then can the one before it still be ending. */
  begun: boolean
}

interface PartitionBatch {
  readonly topic: string
  readonly partition: number
  readonly leader: number
  readonly messages: Message[]
  bytes: number
}

const sendAll = async (
  sending: TransactionSends,
  records: readonly ProducerRecord[],
): Promise<readonly SentRange[]> => {
  const ranges: SentRange[] = []
  for (const batches of groupIntoSends(
    sending,
    await toPartitionBatches(sending.leaders, records),
  )) {
    ranges.push(...(await sendGroup(sending, batches)))
    sending.begun = true
  }
  return mergeRanges(ranges)
}

/** Records by partition, in order, cut where a send would become too large. */
const toPartitionBatches = async (
  leaders: PartitionLeaders,
  records: readonly ProducerRecord[],
): Promise<readonly PartitionBatch[]> => {
  const batches: PartitionBatch[] = []
  const open = new Map<string, PartitionBatch>()
  for (const record of records) {
    const nodes = await leaders.of(record.topic)
    const partition = record.partition ?? partitionOf(record.key, nodes.length)
    const leader = nodes[partition]
    if (leader === undefined) {
      throw new Outage('bus', `${record.topic} has no partition ${partition}`, { final: true })
    }
    const name = `${record.topic}/${partition}`
    const bytes = record.key.length + (record.value?.byteLength ?? 0) + 64
    let batch = open.get(name)
    if (!batch || batch.bytes + bytes > MAX_SEND_BYTES) {
      batch = { topic: record.topic, partition, leader, messages: [], bytes: 0 }
      batches.push(batch)
      open.set(name, batch)
    }
    batch.bytes += bytes
    batch.messages.push(toMessage(record, partition))
  }
  return batches
}

const toMessage = ({ key, value, headers }: ProducerRecord, partition: number): Message => ({
  key,
  value: value && Buffer.from(value.buffer, value.byteOffset, value.byteLength),
  partition,
  ...(headers && { headers: { ...headers } }),
})

/**
 * Batches of one send: one leader, each partition once. The first send of a transaction may have to be repeated while
 * the transaction before it ends, and is safe to repeat only if it cannot split, so it carries a single partition
 * where there is more than one leader.
 */
const groupIntoSends = (
  { begun, leaders }: TransactionSends,
  batches: readonly PartitionBatch[],
): readonly (readonly PartitionBatch[])[] => {
  const out: PartitionBatch[][] = []
  let rest = [...batches]
  if (!begun && !leaders.alone()) out.push(rest.splice(0, 1))
  while (rest.length > 0) {
    const leader = rest[0]?.leader
    const names = new Set<string>()
    const group: PartitionBatch[] = []
    const later: PartitionBatch[] = []
    for (const batch of rest) {
      const name = `${batch.topic}/${batch.partition}`
      const fits = batch.leader === leader && !names.has(name)
      names.add(name)
      if (fits) group.push(batch)
      else later.push(batch)
    }
    out.push(group)
    rest = later
  }
  return out
}

/** Sends and demands an answer without error for every partition that was sent. */
const sendGroup = async (
  { transaction, begun, forgetCoordinators }: TransactionSends,
  batches: readonly PartitionBatch[],
): Promise<readonly SentRange[]> => {
  const topicMessages = [...groupByTopic(batches)].map(([topic, rows]) => ({
    topic,
    messages: rows.flatMap(({ messages }) => messages),
  }))
  const send = () => transaction.sendBatch({ acks: -1, compression: COMPRESSION, topicMessages })
  const answers = begun ? await send() : await retryOnErrors(send, forgetCoordinators)
  return batches.map(({ topic, partition, messages }) => {
    const answer = answers.find(
      (row) => row.topicName === topic && row.partition === partition && row.errorCode === 0,
    )
    if (answer?.baseOffset === undefined) {
      throw new Outage('bus', `${topic}/${partition}: no answer for ${messages.length} records`)
    }
    const taken = Number(answer.logAppendTime ?? -1)
    return {
      topic,
      partition,
      baseOffset: Number(answer.baseOffset),
      lastOffset: Number(answer.baseOffset) + messages.length - 1,
      records: messages.length,
      timestampMs: taken < 0 ? undefined : taken,
    }
  })
}

/** One offset range per partition. Lanes may share a partition: each send is written between those of the others. */
const mergeRanges = (ranges: readonly SentRange[]): readonly SentRange[] => {
  const out = new Map<string, SentRange>()
  for (const range of ranges) {
    const name = `${range.topic}/${range.partition}`
    const before = out.get(name)
    const { baseOffset = range.baseOffset, records = 0 } = before ?? {}
    out.set(name, { ...range, baseOffset, records: records + range.records })
  }
  return [...out.values()]
}

/** A coordinator that moves or loads; who it is now is asked. */
const COORDINATOR_ERRORS: ReadonlySet<string> = new Set([
  'NOT_COORDINATOR_FOR_GROUP',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'GROUP_LOAD_IN_PROGRESS',
])
/** The transaction before this one is still ending. */
const STILL_ENDING = 'CONCURRENT_TRANSACTIONS'

/**
 * Repeats what failed because the transaction before it is still ending, or by its coordinator, until the transaction would have timed out.
 * Neither has written anything of a first send; offsets may be sent twice in one transaction.
 */
const retryOnErrors = async <T>(
  work: () => Promise<T>,
  forgetCoordinators: () => void,
): Promise<T> => {
  const giveUpAt = Date.now() + TRANSACTION_TIMEOUT_MS
  for (let waitMs = RETRY_INITIAL_MS; ; waitMs = Math.min(2 * waitMs, RETRY_MAX_MS)) {
    try {
      return await work()
    } catch (error) {
      const type = kafkaErrorType(error) ?? ''
      const isMoved = COORDINATOR_ERRORS.has(type)
      if ((!isMoved && type !== STILL_ENDING) || Date.now() > giveUpAt) throw error
      if (isMoved) forgetCoordinators()
      await sleep(waitMs)
    }
  }
}

import type { ProducerRecord } from '../../core/bus/contract.ts'
import { partitionOf } from '../../core/bus/partitioner.ts'
import type { Codec, DeepPartial } from '../../core/codec/contract.ts'
import { recordHeaders } from '../../core/codec/record-headers.ts'
import { TOPICS, type TopicMessage, topicName } from '../../schemas/topics.ts'
import type * as Wire from '../../schemas/wire.ts'
import type { BlockEvents } from '../to-wire/block-events.ts'
import type { Keyed } from '../to-wire/context.ts'

/** Most events of one record, and most bytes of its events before encoding. */
export const MAX_RECORD_EVENTS = 250
export const MAX_RECORD_BYTES = 512 * 1_024

/** Data topics that an ingestor writes, in the order in which it writes them. */
export const FAMILIES = [
  'tokens',
  'tokenMetadata',
  'tokenSupplies',
  'trades',
  'pools',
  'transfers',
  'balances',
  'holderDeltas',
] as const

/** Topics of optional feeds, written behind them. */
export const FEED_FAMILIES = [
  ...(['calls', 'events', 'minerRewards', 'uncles'] as const),
  ...(['instructions', 'rewards', 'orders'] as const),
  ...(['predictionTrades', 'predictionManagements', 'predictionSettlements'] as const),
  'transactions',
  'predictionPositions',
  'redpackets',
  'addressLabels',
] as const
export type Family = (typeof FAMILIES)[number] | (typeof FEED_FAMILIES)[number]

/** Everything that may have been written for a block. */
export const ALL_FAMILIES: readonly Family[] = [...FAMILIES, ...FEED_FAMILIES]

type DataMessage = TopicMessage<Family>

/** One record of a block operation before encoding: events of one key. */
export interface EventBatch {
  readonly family: Family
  readonly topic: string
  readonly partition: number
  readonly key: string
  readonly events: readonly DeepPartial<AnyEvent>[]
}
type AnyEvent =
  | Wire.TradeEvent
  | Wire.DexPoolEvent
  | Wire.TransferEvent
  | Wire.TokenEvent
  | Wire.BalanceEvent
  | Wire.TokenSupplyEvent
  | Wire.CallEvent
  | Wire.LogEvent
  | Wire.MinerRewardEvent
  | Wire.UncleEvent
  | Wire.InstructionEvent
  | Wire.RewardEvent
  | Wire.OrderEvent
  | Wire.PredictionTradeEvent
  | Wire.PredictionManagementEvent
  | Wire.PredictionSettlementEvent
  | Wire.TransactionEvent
  | Wire.PredictionPositionEvent
  | Wire.RedPacketEvent
  | Wire.AddressLabelEvent

/** Meta of a block operation; the index among the records of a partition is added to each. */
export type OperationMeta = Omit<Wire.EventMeta, 'part' | 'parts'>

/** Groups a block's events by key and cuts the groups into records, in a fixed order. */
export const batchesOf = (
  events: BlockEvents,
  chain: string,
  partitions: (topic: string) => number,
): readonly EventBatch[] =>
  ALL_FAMILIES.flatMap((family) => {
    const list = events[family] ?? []
    if (list.length === 0) return []
    const topic = topicName(family, chain)
    return batchesByKey(list, { family, topic, partitions: partitions(topic) })
  })

/** Where events are written, and as what. */
interface Destination {
  readonly family: Family
  readonly topic: string
  readonly partitions: number
}

/** Groups events by key and cuts the groups into records, in a fixed order. */
export const batchesByKey = (
  list: readonly Keyed<AnyEvent>[],
  { family, topic, partitions }: Destination,
): readonly EventBatch[] => {
  const groups = new Map<string, DeepPartial<AnyEvent>[]>()
  for (const { key, event } of list) {
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [event])
    else group.push(event)
  }
  return [...groups].flatMap(([key, group]) => {
    const partition = partitionOf(key, partitions)
    return cut(group).map((part) => ({ family, topic, partition, key, events: part }))
  })
}

/** The records that take a block's records back: the same bodies, newest first. */
export const revertedBatches = (batches: readonly EventBatch[]): readonly EventBatch[] =>
  batches.toReversed().map((batch) => ({ ...batch, events: batch.events.toReversed() }))

/** Encodes a block operation's records and numbers them within their partitions. Throws `InvalidInput` for a body that does not fit. */
export const encodedRecords = (
  batches: readonly EventBatch[],
  meta: OperationMeta,
  codec: Codec,
): readonly ProducerRecord[] => {
  const totals = new Map<string, number>()
  for (const batch of batches)
    totals.set(partitionName(batch), (totals.get(partitionName(batch)) ?? 0) + 1)
  const seen = new Map<string, number>()
  return batches.map((batch) => {
    const part = seen.get(partitionName(batch)) ?? 0
    seen.set(partitionName(batch), part + 1)
    const parts = totals.get(partitionName(batch)) ?? 1
    // The parent of a block is told by its own record in `{c}.blocks`.
    const whole: Wire.EventMeta = { part, ...meta, parent_hash: '', parts }
    const message = TOPICS[batch.family].message
    const value = { meta: whole, events: batch.events } as DeepPartial<Wire.Messages[DataMessage]>
    return {
      topic: batch.topic,
      partition: batch.partition,
      key: batch.key,
      value: codec.encode(message, value),
      headers: recordHeaders(whole),
    }
  })
}

const partitionName = ({ topic, partition }: EventBatch): string => `${topic}/${partition}`

const cut = <T>(events: readonly T[]): readonly (readonly T[])[] => {
  const parts: T[][] = []
  let part: T[] = []
  let bytes = 0
  for (const event of events) {
    const size = weightOf(event)
    if (part.length > 0 && (part.length === MAX_RECORD_EVENTS || bytes + size > MAX_RECORD_BYTES)) {
      parts.push(part)
      part = []
      bytes = 0
    }
    part.push(event)
    bytes += size
  }
  if (part.length > 0) parts.push(part)
  return parts
}

/** Bytes of a value's texts and numbers, a little above what Avro takes for them. */
const weightOf = (value: unknown): number => {
  if (typeof value === 'string') return Buffer.byteLength(value) + 2
  if (typeof value !== 'object' || value === null) return 8
  let sum = 0
  for (const item of Object.values(value)) sum += weightOf(item)
  return sum
}

/** Puts tapes on a bus the way an ingestor commits them: one commit per operation, the block record last. */
import type { Bus, ProducerRecord, Writer } from '../../../core/bus/contract.ts'
import { partitionOf } from '../../../core/bus/partitioner.ts'
import type { Codec } from '../../../core/codec/contract.ts'
import { TOPICS, topicName } from '../../../schemas/topics.ts'
import type { TradeEvent } from '../../../schemas/wire.ts'
import { type TapeOp, tapeBlockEvent, tapeMeta, tapeTradeEvent, tradeOrder } from './trade-tape.ts'
import { type KeyedEvents, type WalletTape, walletTapeRecords } from './wallet-tape.ts'

/** Where a tape goes. */
interface PublishDeps {
  readonly bus: Bus
  readonly codec: Codec
  readonly writer: Writer
}

/** Replaces a record, so that a test can break it. */
type ReplaceRecord = (record: ProducerRecord, op: TapeOp) => ProducerRecord

/** An operation with what it publishes. */
interface OperationRecords {
  readonly op: TapeOp
  readonly records: readonly KeyedEvents[]
}

const CHAIN = 'eth'

interface PartitionedEvents extends KeyedEvents {
  readonly name: string
  readonly partition: number
}

const assignPartitions = (
  records: readonly KeyedEvents[],
  partitions: number,
): readonly PartitionedEvents[] =>
  records.map((record) => ({
    ...record,
    name: topicName(record.topic, CHAIN),
    partition: partitionOf(record.key, partitions),
  }))

const toOutRecords = (
  op: TapeOp,
  records: readonly PartitionedEvents[],
  codec: Codec,
): readonly ProducerRecord[] => {
  const next = new Map<string, number>()
  return records.map(({ topic, name, partition, key, events }) => {
    const place = `${name}/${partition}`
    const part = next.get(place) ?? 0
    next.set(place, part + 1)
    const parts = records.filter((one) => `${one.name}/${one.partition}` === place).length
    const meta = tapeMeta(op, part, parts)
    return {
      topic: name,
      partition,
      key,
      value: codec.encode(TOPICS[topic].message, { meta, events } as never),
      headers: { seq: String(meta.seq), part: `${part}/${parts}` },
    }
  })
}

const publishOperations = async (
  { bus, codec, writer }: PublishDeps,
  published: readonly OperationRecords[],
  spoil: ReplaceRecord = (record) => record,
): Promise<void> => {
  const partitions = await bus.partitions(topicName('trades', CHAIN))
  for (const { op, records } of published) {
    const all = assignPartitions(records, partitions)
    await writer.commit({
      records: toOutRecords(op, all, codec).map((record) => spoil(record, op)),
      finalRecords: (spans) => [
        {
          topic: topicName('blocks', CHAIN),
          partition: 0,
          key: CHAIN,
          value: codec.encode(
            'block.BlockEvent',
            tapeBlockEvent(
              op,
              spans.map((span) => ({
                topic: span.topic,
                partition: span.partition,
                base_offset: span.baseOffset,
                records: span.records,
                events: all
                  .filter(
                    ({ name, partition }) => name === span.topic && partition === span.partition,
                  )
                  .reduce((sum, { events }) => sum + events.length, 0),
              })),
            ),
          ),
        },
      ],
    })
  }
}

const groupByToken = (op: TapeOp): ReadonlyMap<string, TradeEvent[]> => {
  const groups = new Map<string, TradeEvent[]>()
  if (op.op === 'finalize') return groups
  for (const index of tradeOrder(op)) {
    const event = tapeTradeEvent(op.block, index)
    const key = event.trade?.token_a_address ?? ''
    groups.set(key, [...(groups.get(key) ?? []), event])
  }
  return groups
}

/** Commits the operations of trades in order. `spoil` may replace a record's bytes. */
export const publishTradeTape = (
  deps: PublishDeps,
  ops: readonly TapeOp[],
  spoil?: ReplaceRecord,
): Promise<void> =>
  publishOperations(
    deps,
    ops.map((op) => ({
      op,
      records: [...groupByToken(op)].map(([key, events]) => ({ topic: 'trades', key, events })),
    })),
    spoil,
  )

/** Commits the operations of acts from `from` up to `to` in order. */
export const publishWalletTape = (
  deps: PublishDeps,
  tape: WalletTape,
  from = 0,
  to = tape.ops.length,
): Promise<void> => {
  const records = walletTapeRecords(tape)
  const published = tape.ops.map((op, at) => ({ op, records: records[at] ?? [] }))
  return publishOperations(deps, published.slice(from, to))
}

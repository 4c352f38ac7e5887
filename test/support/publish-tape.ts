/** Puts tapes on a bus the way an ingestor commits them: one commit per operation, the block record last. */
import type { Bus, OutRecord, Writer } from '../../core/bus-contract.ts'
import type { Codec } from '../../core/codec-contract.ts'
import { partitionOf } from '../../core/partition.ts'
import { topicName } from '../../schemas/topics.ts'
import type { TradeEvent } from '../../schemas/wire.ts'
import { blockEventOf, metaOf, type TapeOp, tradeEventOf, tradeOrder } from './tape.ts'

const byToken = (op: TapeOp): ReadonlyMap<string, TradeEvent[]> => {
  const groups = new Map<string, TradeEvent[]>()
  if (op.op === 'finalize') return groups
  for (const index of tradeOrder(op)) {
    const event = tradeEventOf(op.block, index)
    const key = event.trade?.token_a_address ?? ''
    groups.set(key, [...(groups.get(key) ?? []), event])
  }
  return groups
}

const tradeRecords = (op: TapeOp, codec: Codec, partitions: number): readonly OutRecord[] => {
  const groups = [...byToken(op)].map(([key, events]) => ({
    key,
    events,
    partition: partitionOf(key, partitions),
  }))
  const next = new Map<number, number>()
  return groups.map(({ key, events, partition }) => {
    const part = next.get(partition) ?? 0
    next.set(partition, part + 1)
    const parts = groups.filter((group) => group.partition === partition).length
    const meta = metaOf(op, part, parts)
    return {
      topic: topicName('trades', 'eth'),
      partition,
      key,
      value: codec.encode('dex.trade.TradeEvents', { meta, events }),
      headers: { seq: String(meta.seq), part: `${part}/${parts}` },
    }
  })
}

/** Commits the operations in order. `spoil` may replace a record's bytes. */
export const publishTape = async (
  { bus, codec, writer }: { readonly bus: Bus; readonly codec: Codec; readonly writer: Writer },
  ops: readonly TapeOp[],
  spoil: (record: OutRecord, op: TapeOp) => OutRecord = (record) => record,
): Promise<void> => {
  const partitions = await bus.partitions(topicName('trades', 'eth'))
  for (const op of ops) {
    const records = tradeRecords(op, codec, partitions).map((record) => spoil(record, op))
    await writer.commit({
      records,
      seal: (spans) => [
        {
          topic: topicName('blocks', 'eth'),
          partition: 0,
          key: 'eth',
          value: codec.encode(
            'block.BlockEvent',
            blockEventOf(
              op,
              spans.map((span) => ({
                topic: span.topic,
                partition: span.partition,
                base_offset: span.baseOffset,
                records: span.records,
                events: [...byToken(op)]
                  .filter(([key]) => partitionOf(key, partitions) === span.partition)
                  .reduce((sum, [, events]) => sum + events.length, 0),
              })),
            ),
          ),
        },
      ],
    })
  }
}

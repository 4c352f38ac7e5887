import type { Bus, ProducerRecord } from '../core/bus/contract.ts'
import type { Codec } from '../core/codec/contract.ts'
import { blockRecord } from '../ingestors/publish/block-record.ts'
import { batchesOf, type EventBatch, encodedRecords } from '../ingestors/publish/record-batches.ts'
import type { Operation } from '../processors/runtime/stage.ts'
import type { TradeEvent } from '../schemas/wire.ts'

const NOTHING = {
  pools: [],
  transfers: [],
  tokens: [],
  tokenMetadata: [],
  balances: [],
  holderDeltas: [],
  tokenSupplies: [],
} as const

/** The raw trades of an operation. */
export const tradesOf = ({ records }: Operation) =>
  records.flatMap(({ topic, key, value }) =>
    topic === 'trades' ? value.events.map((event: TradeEvent) => ({ key, event })) : [],
  )

const eventsAt = (chunks: readonly EventBatch[], topic: string, partition: number): number =>
  chunks.reduce(
    (sum, chunk) =>
      chunk.topic === topic && chunk.partition === partition ? sum + chunk.events.length : sum,
    0,
  )

/** What lies on the log: trades per record of `{c}.dex.trades` by partition, and trades up to each operation by lane. */
export interface WrittenChain {
  readonly perRecord: readonly (readonly number[])[]
  readonly upTo: readonly ReadonlyMap<number, number>[]
}

/** Where a chain of trades is written. */
interface ChainTarget {
  readonly bus: Bus
  readonly codec: Codec
  readonly chain: string
  readonly partitions: number
}

/** Commits the operations as the ingestor does: one transaction each, trades by token, the block's record last. */
export const writeChain = async (
  { bus, codec, chain, partitions }: ChainTarget,
  operations: readonly Operation[],
): Promise<WrittenChain> => {
  const writer = await bus.writer('bench-ingest')
  const lanes = Array.from({ length: partitions }, () => ({
    perRecord: [] as number[],
    upTo: new Map<number, number>(),
    sum: 0,
  }))
  for (const operation of operations) {
    const { meta } = operation.block
    if (meta === null) throw new Error('an operation without meta')
    const chunks = batchesOf({ ...NOTHING, trades: tradesOf(operation) }, chain, () => partitions)
    const { part: _part, parts: _parts, ...place } = meta
    await writer.commit({
      records: encodedRecords(chunks, place, codec),
      finalRecords: (spans): readonly ProducerRecord[] => {
        const described = spans.map(({ topic, partition, baseOffset, records }) => ({
          topic,
          partition,
          base_offset: baseOffset,
          records,
          events: eventsAt(chunks, topic, partition),
        }))
        return [blockRecord({ ...operation.block, spans: described }, codec)]
      },
    })
    for (const { partition, events } of chunks) {
      const lane = lanes[partition]
      lane?.perRecord.push(events.length)
      if (lane !== undefined) lane.sum += events.length
    }
    for (const lane of lanes) lane.upTo.set(meta.seq, lane.sum)
  }
  await writer.close()
  return { perRecord: lanes.map((lane) => lane.perRecord), upTo: lanes.map((lane) => lane.upTo) }
}

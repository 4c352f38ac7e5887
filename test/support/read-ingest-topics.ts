import type { Bus } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { FAMILIES, type Family } from '../../ingestors/publish/record-batches.ts'
import { TOPICS, topicName } from '../../schemas/topics.ts'
import type { BlockEvent, EventMeta } from '../../schemas/wire.ts'

/** A decoded record of a data topic. */
export interface DataRecord {
  readonly family: Family
  readonly partition: number
  readonly offset: number
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
  readonly meta: EventMeta
  readonly events: readonly unknown[]
}

/** All `{c}.blocks` records of a chain. */
export const readBlockEvents = async (
  bus: Bus,
  codec: Codec,
  chain = 'eth',
): Promise<BlockEvent[]> => {
  const events: BlockEvent[] = []
  for await (const { value } of bus.read(topicName('blocks', chain), 0, 0)) {
    if (value !== null) events.push(codec.decode('block.BlockEvent', value))
  }
  return events
}

/** All records of a chain's data topics. */
export const readDataRecords = async (
  bus: Bus,
  codec: Codec,
  chain = 'eth',
): Promise<DataRecord[]> => {
  const found: DataRecord[] = []
  for (const family of FAMILIES) {
    const topic = topicName(family, chain)
    for (let partition = 0; partition < (await bus.partitions(topic)); partition += 1) {
      for await (const record of bus.read(topic, partition, 0)) {
        if (record.value === null) continue
        const { meta, events } = codec.decode(TOPICS[family].message, record.value)
        if (meta === null) throw new Error(`${topic}: a record without meta`)
        const { offset, key, headers } = record
        found.push({ family, partition, offset, key, headers, meta, events })
      }
    }
  }
  return found
}

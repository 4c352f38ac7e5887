import type { Bus } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { InvalidInput } from '../../core/errors.ts'
import { TOPICS, topicName } from '../../schemas/topics.ts'
import type { TopicSpan } from '../../schemas/wire.ts'
import { ALL_FAMILIES, type EventBatch } from './record-batches.ts'

/** The log of one chain. */
interface ChainLog {
  readonly bus: Bus
  readonly codec: Codec
  readonly chain: string
}

/** Reads the records of an applied block again from where its `{c}.blocks` record says they lie. Throws `InvalidInput` when they are gone. */
export const batchesAt = async (
  { bus, codec, chain }: ChainLog,
  { seq, spans }: { readonly seq: number; readonly spans: readonly TopicSpan[] },
): Promise<readonly EventBatch[]> => {
  const batches: EventBatch[] = []
  for (const family of ALL_FAMILIES) {
    const topic = topicName(family, chain)
    const message = TOPICS[family].message
    for (const span of spans.filter((candidate) => candidate.topic === topic)) {
      for (const { key, value } of await recordsOf(bus, span, seq)) {
        const { events } = codec.decode(message, value)
        batches.push({ family, topic, partition: span.partition, key, events })
      }
    }
  }
  return batches
}

interface StoredBatch {
  readonly key: string
  readonly value: Uint8Array
}

/** The records of one operation in one partition, which lie side by side as a rule (see `mergedCommit`): those of other writers are skipped. */
const recordsOf = async (
  bus: Bus,
  span: TopicSpan,
  seq: number,
): Promise<readonly StoredBatch[]> => {
  const found: StoredBatch[] = []
  const { topic, partition, records, base_offset: from } = span
  // No further than needed: only where another writer's records lie between them is the end of the partition asked for.
  let [at, end] = [from, from + records]
  while (found.length < records && at < end) {
    for await (const record of bus.read(topic, partition, at, Math.min(at + records, end))) {
      const { key, value, headers } = record
      if (value !== null && headers.seq === String(seq)) found.push({ key, value })
    }
    at += records
    if (at === end) end = await endOf(bus, topic, partition)
  }
  if (found.length >= records) return found.slice(0, records)
  throw new InvalidInput(
    'expired-from-log',
    `${topic}/${partition}: records of operation ${seq} have expired from the log`,
  )
}

const endOf = async (bus: Bus, topic: string, partition: number): Promise<number> =>
  (await bus.ends(topic)).find((each) => each.partition === partition)?.end ?? 0

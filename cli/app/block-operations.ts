import type { LogRecord } from '../../core/bus/contract.ts'
import { topicName } from '../../schemas/topics.ts'
import type { BlockEvent } from '../../schemas/wire.ts'
import type { LogInfra } from './infra.ts'

/** One block operation of a chain, and where it lies in `{c}.blocks`. */
export interface BlockOperation {
  readonly offset: number
  readonly seq: number
  readonly height: number
  /** Block time, epoch milliseconds. */
  readonly timeMs: number
}

/** The block operations of a chain, searched by halves: they lie in the order of `seq`. */
export interface BlockTopic {
  readonly oldest: BlockOperation | null
  readonly newest: BlockOperation | null
  /** Next offset of the topic, taken before `newest` was looked for. */
  readonly end: number
  /** The operation `seq`, or the first after it; null when it has not come. */
  at(seq: number): Promise<BlockOperation | null>
  /** True when no record that an operation has in a partition lies before an offset. */
  isWhole(seq: number, topic: string, partition: number, low: number): Promise<boolean>
  /** First operation with records of a partition at an offset or behind it; null where spans do not tell. */
  holding(topic: string, partition: number, offset: number): Promise<BlockOperation | null>
}

/** Operations without a record of a partition that a search looks past. */
const MAX_SCANNED_OPERATIONS = 2_000
/** How far back the newest record is looked for: transaction marks may stand behind it. */
export const LOOK_BACK_OFFSETS = [4, 64, Number.POSITIVE_INFINITY]

/** Opens the block operations of a chain as they are now. Throws `Outage` when the log does not answer. */
export const openBlockTopic = async (
  { bus, codec }: LogInfra,
  chain: string,
): Promise<BlockTopic> => {
  const topic = topicName('blocks', chain)
  const [{ low, end } = { low: 0, end: 0 }] = await bus.ends(topic)
  const eventOf = ({ value }: LogRecord): BlockEvent | undefined =>
    value === null ? undefined : codec.decode('block.BlockEvent', value)
  const operationOf = (record: LogRecord | undefined): BlockOperation | null => {
    const event = record && eventOf(record)
    if (record === undefined || event === undefined) return null
    const { seq, height, block_time: timeMs } = event.meta
    return { offset: record.offset, seq, height, timeMs }
  }
  const recordFrom = async (offset: number): Promise<LogRecord | undefined> => {
    for await (const record of bus.read(topic, 0, offset, end)) return record
    return undefined
  }
  /** First record for which `reached` holds; it holds for all behind it. */
  const search = async (
    reached: (record: LogRecord) => Promise<boolean> | boolean,
  ): Promise<LogRecord | undefined> => {
    let [from, to] = [low, end]
    let found: LogRecord | undefined
    while (from < to) {
      const middle = Math.floor((from + to) / 2)
      const record = await recordFrom(middle)
      if (record === undefined || record.offset >= to) to = middle
      else if (await reached(record)) {
        found = record
        to = middle
      } else from = record.offset + 1
    }
    return found
  }
  const newest = async (): Promise<LogRecord | undefined> => {
    for (const back of LOOK_BACK_OFFSETS) {
      let last: LogRecord | undefined
      for await (const record of bus.read(topic, 0, Math.max(low, end - back), end)) last = record
      if (last !== undefined) return last
    }
    return undefined
  }
  /** End of the first span of a partition from a block record on; undefined when there is none near. */
  const spanEnd = async (from: LogRecord, name: string, partition: number) => {
    let looked = 0
    for await (const record of bus.read(topic, 0, from.offset, end)) {
      const own = eventOf(record)?.spans.filter(
        (span) => span.topic === name && span.partition === partition,
      )
      const last = own?.at(-1)
      if (last !== undefined) return { record, end: last.base_offset + last.records }
      looked += 1
      if (looked > MAX_SCANNED_OPERATIONS) return undefined
    }
    return undefined
  }
  return {
    end,
    oldest: operationOf(await recordFrom(low)),
    newest: operationOf(await newest()),
    at: async (seq) =>
      operationOf(await search((record) => (operationOf(record)?.seq ?? 0) >= seq)),
    isWhole: async (seq, name, partition, lowest) => {
      const found = await search((record) => (operationOf(record)?.seq ?? 0) >= seq)
      const event = found && eventOf(found)
      if (event?.meta.seq !== seq) return false
      return event.spans
        .filter((span) => span.topic === name && span.partition === partition)
        .every(({ base_offset }) => base_offset >= lowest)
    },
    holding: async (name, partition, offset) => {
      const found = await search(async (record) => {
        const span = await spanEnd(record, name, partition)
        return span !== undefined && span.end > offset
      })
      const span = found && (await spanEnd(found, name, partition))
      return operationOf(span?.record)
    },
  }
}

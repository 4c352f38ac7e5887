import type { Bus } from '../../core/bus/contract.ts'
import { PROCESS_PIPELINE } from '../../processors/process-pipeline.ts'
import { FEED_SINKS } from '../../processors/sinks/feed-sinks.ts'
import { sinkGroup } from '../../processors/sinks/runner.ts'
import { SINKS, type Sink } from '../../processors/sinks/tables.ts'
import { topicName } from '../../schemas/topics.ts'
import type { StoreProgress } from '../../serving/interfaces.ts'

interface Reader {
  readonly group: string
  readonly topics: readonly string[]
  /** It may never have run, and is not waited for then. */
  readonly isOptional: boolean
}

const ALL = Number.POSITIVE_INFINITY

/** Block operation before that of the next record which the group has not read; Infinity where it has read everything. */
const readUpTo = async (bus: Bus, { group, topics, isOptional }: Reader): Promise<number> => {
  const committed = await bus.offsets(group, topics)
  if (committed.length === 0 && isOptional) return ALL
  let least = ALL
  for (const topic of topics) {
    for (const { partition, low, end } of await bus.ends(topic)) {
      const last = committed.find((at) => at.topic === topic && at.partition === partition)
      const position = Math.max(low, last?.offset ?? low)
      if (position >= end) continue
      // What stands between a position and the end may not be a record: offsets skip over transaction marks.
      for await (const { headers } of bus.read(topic, partition, position, end)) {
        // A record without one belongs to no block.
        if (headers.seq !== undefined) least = Math.min(least, Number(headers.seq) - 1)
        break
      }
    }
  }
  return least
}

/**
 * How far the store has followed the log, by the offsets that the stages and the sinks have committed: what a sink has committed
 * is stored. Sinks write in turns of some seconds, and the slowest of them tells.
 */
export const createStoreProgress = (bus: Bus): StoreProgress => ({
  storedSeq: async (chain) => {
    const held = new Set(await bus.topics(`${chain}.`))
    const sinkReader =
      (isOptional: boolean) =>
      (sink: Sink): Reader => ({
        group: sinkGroup(sink, chain),
        topics: [topicName(sink.topic, chain)],
        isOptional,
      })
    const readAll = async (readers: readonly Reader[]): Promise<number> => {
      const there = readers.filter(({ topics }) => topics.every((topic) => held.has(topic)))
      return Math.min(ALL, ...(await Promise.all(there.map((each) => readUpTo(bus, each)))))
    }
    const stages = {
      group: `${PROCESS_PIPELINE.app}.${chain}`,
      topics: PROCESS_PIPELINE.inputs.map((input) => topicName(input, chain)),
      isOptional: false,
    }
    // The stages first: what they had published by then, the sinks have before them.
    const folded = await readAll([stages])
    const sunk = await readAll([
      ...SINKS.map(sinkReader(false)),
      ...FEED_SINKS.map(sinkReader(true)),
    ])
    return Math.min(folded, sunk)
  },
})

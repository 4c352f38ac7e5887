import type { Bus } from '../../core/bus/contract.ts'
import { PROCESS_PIPELINE } from '../../processors/process-pipeline.ts'
import { FEED_SINKS } from '../../processors/sinks/feed-sinks.ts'
import { sinkGroup } from '../../processors/sinks/runner.ts'
import { SINKS } from '../../processors/sinks/tables.ts'
import type { RunningProcessors } from '../../processors/start.ts'
import { topicName } from '../../schemas/topics.ts'

/** What decides whether a chain has been processed. */
export interface CaughtUpDeps {
  readonly bus: Bus
  readonly processors: RunningProcessors
  readonly partitions: number
}

/**
 * True when every stage has folded block operation `seq` of a chain in every lane, and every sink has inserted all that
 * stands on its topic. With seq 0 nothing was ingested, and nothing has to follow.
 */
export const isCaughtUp = async (
  chain: string,
  seq: number,
  { bus, processors, partitions }: CaughtUpDeps,
): Promise<boolean> => {
  if (seq === 0) return true
  const { groups } = processors.status()
  const lanes = groups[`${PROCESS_PIPELINE.app}.${chain}`] ?? []
  if (lanes.length !== partitions || lanes.some((lane) => (lane.seq ?? 0) < seq)) return false
  const running = FEED_SINKS.filter((sink) => sinkGroup(sink, chain) in groups)
  const sunk = await Promise.all(
    [...SINKS, ...running].map(async (sink) => {
      const topic = topicName(sink.topic, chain)
      const positions = await bus.offsets(sinkGroup(sink, chain), [topic])
      const ends = await bus.ends(topic)
      for (const { partition, low, end } of ends) {
        const position = positions.find((each) => each.partition === partition)?.offset ?? low
        // What stands between a position and the end may not be a record: offsets skip over transaction marks.
        if (position < end)
          for await (const _ of bus.read(topic, partition, position, end)) return false
      }
      return true
    }),
  )
  return sunk.every((done) => done)
}

import type { Bus } from '../../core/bus/contract.ts'
import { PROCESS_PIPELINE } from '../../processors/process-pipeline.ts'
import { sinkGroup } from '../../processors/sinks/runner.ts'
import { SINKS } from '../../processors/sinks/tables.ts'
import type { RunningProcessors } from '../../processors/start.ts'
import { topicName } from '../../schemas/topics.ts'

/** True when the stages of chain `eth` are through operation `seq` and the sinks have committed all that there is. */
export const isDrained = async (
  bus: Bus,
  processors: RunningProcessors,
  seq: number,
): Promise<boolean> => {
  const { groups } = processors.status()
  const through = groups[`${PROCESS_PIPELINE.app}.eth`]?.every((lane) => lane.seq === seq)
  if (!through) return false
  for (const sink of SINKS) {
    const topic = topicName(sink.topic, 'eth')
    const offsets = await bus.offsets(sinkGroup(sink, 'eth'), [topic])
    const next = new Map(offsets.map(({ partition, offset }) => [partition, offset]))
    const ends = await bus.ends(topic)
    if (ends.some(({ partition, low, end }) => end > low && next.get(partition) !== end))
      return false
  }
  return true
}

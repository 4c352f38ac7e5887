import type { Bus, PartitionBounds } from '../../core/bus/contract.ts'
import { Fault } from '../../core/errors.ts'
import { DELIVERY_LOG_GROUP, DELIVERY_LOG_TOPICS } from './topics.ts'

/** A log of messages and attempts that is further behind than this is not waited for. */
const MAX_LOG_LAG_MS = 600_000

/** What had been recorded at a time. */
interface RecordedEnds {
  readonly atMs: number
  readonly ends: readonly (PartitionBounds & { readonly topic: string })[]
}

/**
 * Returns a check that is true once the warehouse has every message and attempt that was recorded before a time, which must have
 * passed. Throws `Fault` DATABASE_ERROR when the writer of the tables is more than `MAX_LOG_LAG_MS` behind.
 */
export const createLogProgress = ({
  bus,
  nowMs,
}: {
  readonly bus: Pick<Bus, 'ends' | 'offsets' | 'read'>
  readonly nowMs: () => number
}): ((timeMs: number) => Promise<boolean>) => {
  let completeToMs = Number.NEGATIVE_INFINITY
  let awaited: RecordedEnds | undefined
  return async (timeMs) => {
    if (completeToMs >= timeMs) return true
    awaited ??= { atMs: nowMs(), ends: await recordedEnds(bus) }
    if (await areWritten(bus, awaited.ends)) {
      completeToMs = awaited.atMs
      awaited = undefined
      return completeToMs >= timeMs
    }
    if (nowMs() - awaited.atMs <= MAX_LOG_LAG_MS) return false
    throw new Fault(
      'DATABASE_ERROR',
      'The log of attempts is more than ten minutes behind: start the task again later',
    )
  }
}

const recordedEnds = async (bus: Pick<Bus, 'ends'>): Promise<RecordedEnds['ends']> => {
  const byTopic = await Promise.all(
    DELIVERY_LOG_TOPICS.map(async (topic) =>
      (await bus.ends(topic)).map((bounds) => ({ topic, ...bounds })),
    ),
  )
  return byTopic.flat()
}

const areWritten = async (
  bus: Pick<Bus, 'offsets' | 'read'>,
  ends: RecordedEnds['ends'],
): Promise<boolean> => {
  const committed = await bus.offsets(DELIVERY_LOG_GROUP, DELIVERY_LOG_TOPICS)
  for (const { topic, partition, low, end } of ends) {
    const position = committed.find((each) => each.topic === topic && each.partition === partition)
    const from = position?.offset ?? low
    // Transaction markers move an end too: only a record that is not written yet counts.
    if (from < end) for await (const _ of bus.read(topic, partition, from, end)) return false
  }
  return true
}

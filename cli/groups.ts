import type { Bus } from '../core/bus-contract.ts'
import { PROCESS } from '../processors/all.ts'
import { SINKS, sinkGroup } from '../processors/sinks.ts'
import { topicName } from '../schemas/topics.ts'

/** A consumer group of the house and the topics whose offsets it commits. */
interface HouseGroup {
  readonly group: string
  readonly topics: readonly string[]
}

/** The stages and every sink of a chain. */
const groupsOf = (chain: string): readonly HouseGroup[] => [
  {
    group: `${PROCESS.app}.${chain}`,
    topics: PROCESS.inputs.map((input) => topicName(input, chain)),
  },
  ...SINKS.map((sink) => ({
    group: sinkGroup(sink, chain),
    topics: [topicName(sink.topic, chain)],
  })),
]

/** How far one group is in one partition. */
export interface LanePlace {
  readonly group: string
  readonly topic: string
  readonly partition: number
  /** Next offset that it reads. */
  readonly place: number
  readonly end: number
}

/** Places of every group of a chain. */
export const lanePlaces = async (bus: Bus, chain: string): Promise<readonly LanePlace[]> => {
  const places = await Promise.all(
    groupsOf(chain).map(async ({ group, topics }) => {
      const committed = await bus.offsets(group, topics)
      const lanes = await Promise.all(
        topics.map(async (topic) =>
          (await bus.ends(topic)).map(({ partition, low, end }) => {
            const held = committed.find((at) => at.topic === topic && at.partition === partition)
            return { group, topic, partition, place: Math.max(low, held?.offset ?? low), end }
          }),
        ),
      )
      return lanes.flat()
    }),
  )
  return places.flat()
}

/** Groups that have not gone past block operation `seq`, in words: the next record of theirs carries it or an older one. */
export const groupsBehind = async (
  bus: Bus,
  chain: string,
  seq: number,
): Promise<readonly string[]> => {
  const behind: string[] = []
  for (const { group, topic, partition, place, end } of await lanePlaces(bus, chain)) {
    // What stands between a place and the end may be no record: offsets skip over transaction marks.
    for await (const { headers } of bus.read(topic, partition, place, end)) {
      if (Number(headers.seq ?? 0) <= seq) {
        behind.push(`${group} has not processed operation ${headers.seq ?? '?'} of ${topic}`)
      }
      break
    }
  }
  return behind
}

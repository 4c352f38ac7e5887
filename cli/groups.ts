import type { Bus } from '../core/bus-contract.ts'
import { documentsGroup } from '../ingestors/metadata/worker.ts'
import { PROCESS } from '../processors/all.ts'
import { FEED_SINKS } from '../processors/feed-sinks.ts'
import { SINKS } from '../processors/sink-tables.ts'
import { sinkGroup } from '../processors/sinks.ts'
import { topicName } from '../schemas/topics.ts'
import { TOPIC_FACTS } from './checksum-facts.ts'

/** A consumer group of the house and the topics whose offsets it commits. */
interface HouseGroup {
  readonly group: string
  readonly topics: readonly string[]
  /** What it writes follows from the chain alone, so a checksum waits for it. */
  readonly isSettling: boolean
}

/** The stages and every sink of a chain, and the worker that fetches documents. */
const groupsOf = (chain: string): readonly HouseGroup[] => [
  {
    group: `${PROCESS.app}.${chain}`,
    topics: PROCESS.inputs.map((input) => topicName(input, chain)),
    isSettling: true,
  },
  ...[...SINKS, ...FEED_SINKS].map((sink) => ({
    group: sinkGroup(sink, chain),
    topics: [topicName(sink.topic, chain)],
    isSettling: TOPIC_FACTS[sink.topic].how !== 'left out',
  })),
  {
    group: documentsGroup(chain),
    topics: [topicName('tokensCreated', chain)],
    isSettling: false,
  },
]

/** How far one group is in one partition. */
export interface LanePlace {
  readonly group: string
  readonly topic: string
  readonly partition: number
  /** Next offset that it reads. */
  readonly place: number
  readonly end: number
  readonly isSettling: boolean
}

/** Places of every group of a chain whose topics are there; of one that does not settle only where it has ever run. */
export const lanePlaces = async (bus: Bus, chain: string): Promise<readonly LanePlace[]> => {
  const held = new Set(await bus.topics(''))
  const groups = groupsOf(chain).filter(({ topics }) => topics.every((topic) => held.has(topic)))
  const places = await Promise.all(
    groups.map(async ({ group, topics, isSettling }) => {
      const committed = await bus.offsets(group, topics)
      if (committed.length === 0 && !isSettling) return []
      const lanes = await Promise.all(
        topics.map(async (topic) =>
          (await bus.ends(topic)).map(({ partition, low, end }) => {
            const last = committed.find((at) => at.topic === topic && at.partition === partition)
            const place = Math.max(low, last?.offset ?? low)
            return { group, topic, partition, place, end, isSettling }
          }),
        ),
      )
      return lanes.flat()
    }),
  )
  return places.flat()
}

/** Settling groups that have not gone past block operation `seq`, in words: the next record of theirs carries it or an older one. */
export const groupsBehind = async (
  bus: Bus,
  chain: string,
  seq: number,
): Promise<readonly string[]> => {
  const behind: string[] = []
  for (const { group, topic, partition, place, end, isSettling } of await lanePlaces(bus, chain)) {
    if (!isSettling) continue
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

import type { Bus } from '../../core/bus/contract.ts'
import { documentsGroup } from '../../ingestors/metadata/worker.ts'
import { PROCESS_PIPELINE } from '../../processors/process-pipeline.ts'
import { FEED_SINKS } from '../../processors/sinks/feed-sinks.ts'
import { sinkGroup } from '../../processors/sinks/runner.ts'
import { SINKS } from '../../processors/sinks/tables.ts'
import { globalTopic, topicName } from '../../schemas/topics.ts'
import { matcherTopics } from '../../serving/webhooks/matcher.ts'
import {
  DELIVERY_LOG_GROUP,
  DELIVERY_LOG_TOPICS,
  matcherGroup,
  SENDER_GROUP,
  TASKS_GROUP,
} from '../../serving/webhooks/topics.ts'
import { TOPIC_RULES } from './comparison-rules.ts'

/** A consumer group of the product and the topics whose offsets it commits. */
export interface ConsumerGroup {
  readonly group: string
  readonly topics: readonly string[]
  /** What it writes follows from the chain alone, so a checksum waits for it. */
  readonly isChecksummed: boolean
  /** Application whose lanes put their inputs together by block operation; their state says how far they are. */
  readonly stage?: string
}

/** Groups that webhooks of all chains go through, where they are on. */
export const SHARED_GROUPS: readonly ConsumerGroup[] = [
  {
    group: SENDER_GROUP,
    topics: [globalTopic('webhookOutbox')],
    isChecksummed: false,
  },
  {
    group: DELIVERY_LOG_GROUP,
    topics: DELIVERY_LOG_TOPICS,
    isChecksummed: false,
  },
  { group: TASKS_GROUP, topics: [globalTopic('controlWebhookTasks')], isChecksummed: false },
]

/** The stages and every sink of a chain, the worker that fetches documents and the matcher of webhooks. */
export const chainGroups = (chain: string): readonly ConsumerGroup[] => [
  {
    group: `${PROCESS_PIPELINE.app}.${chain}`,
    topics: PROCESS_PIPELINE.inputs.map((input) => topicName(input, chain)),
    isChecksummed: true,
    stage: PROCESS_PIPELINE.app,
  },
  ...[...SINKS, ...FEED_SINKS].map((sink) => ({
    group: sinkGroup(sink, chain),
    topics: [topicName(sink.topic, chain)],
    isChecksummed: TOPIC_RULES[sink.topic].how !== 'left out',
  })),
  {
    group: documentsGroup(chain),
    topics: [topicName('tokensCreated', chain)],
    isChecksummed: false,
  },
  { group: matcherGroup(chain), topics: matcherTopics(chain), isChecksummed: false },
]

/** How far one group is in one partition. */
export interface LaneOffset {
  readonly group: string
  readonly topic: string
  readonly partition: number
  /** Next offset that it reads. */
  readonly position: number
  readonly end: number
  /** Offsets before the log's first one, and those of a topic that was made anew: the group never read them. */
  readonly lost: number
  readonly isChecksummed: boolean
}

/** Offsets of every group of a chain whose topics are there; of one that no checksum waits for only where it has ever run. */
export const laneOffsets = async (bus: Bus, chain: string): Promise<readonly LaneOffset[]> => {
  const held = new Set(await bus.topics(''))
  const groups = chainGroups(chain).filter(({ topics }) => topics.every((topic) => held.has(topic)))
  const offsets = await Promise.all(
    groups.map(async ({ group, topics, isChecksummed }) => {
      const committed = await bus.offsets(group, topics)
      if (committed.length === 0 && !isChecksummed) return []
      const lanes = await Promise.all(
        topics.map(async (topic) =>
          (await bus.ends(topic)).map(({ partition, low, end }) => {
            const last = committed.find((at) => at.topic === topic && at.partition === partition)
            const position = Math.max(low, last?.offset ?? low)
            const lost = lostOffsets(last?.offset ?? low, { low, end })
            return { group, topic, partition, position, end, lost, isChecksummed }
          }),
        ),
      )
      return lanes.flat()
    }),
  )
  return offsets.flat()
}

/** Offsets between a position and the log; a position past its end belongs to a topic that was deleted and created again, and all is lost. */
export const lostOffsets = (
  position: number,
  { low, end }: { readonly low: number; readonly end: number },
): number => (position > end ? Math.max(1, end - low) : Math.max(0, low - position))

/** Groups that a checksum waits for and that have not gone past block operation `seq`, in words: the next record of theirs carries it or an older one. */
export const laggingGroups = async (
  bus: Bus,
  chain: string,
  seq: number,
): Promise<readonly string[]> => {
  const behind: string[] = []
  for (const { group, topic, partition, position, end, isChecksummed } of await laneOffsets(
    bus,
    chain,
  )) {
    if (!isChecksummed) continue
    // What stands between a position and the end may not be a record: offsets skip over transaction marks.
    for await (const { headers } of bus.read(topic, partition, position, end)) {
      if (Number(headers.seq ?? 0) <= seq) {
        behind.push(`${group} has not processed operation ${headers.seq ?? '?'} of ${topic}`)
      }
      break
    }
  }
  return behind
}

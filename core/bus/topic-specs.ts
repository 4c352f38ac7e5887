import { chainRow } from '../../schemas/chains.ts'
import { type Feed, feedTopics } from '../../schemas/feeds.ts'
import { TOPICS, type Topic, type TopicRow, topicName } from '../../schemas/topics.ts'
import { HOUR_MS } from '../time.ts'
import type { RetentionPolicy, TopicSpec } from './contract.ts'

/** Partitions of topics that carry little. */
const LIGHT_PARTITIONS = 3
const DEAD_LETTER_RETENTION_DAYS = 14

/** What decides how topics are created. */
export interface TopicOptions {
  /** Internal chain ids, `eth`. */
  readonly chains: readonly string[]
  /** Partitions of token-keyed topics. */
  readonly partitions: number
  readonly retention: RetentionPolicy
  /** Default: none. */
  readonly feeds?: readonly Feed[]
  /** Chains whose pre-confirmed blocks are followed. Default: none. */
  readonly pending?: readonly string[]
}

const partitionCountOf = (row: TopicRow, plan: TopicOptions): number => {
  if (row.partitions === 'one') return 1
  return row.partitions === 'token' ? plan.partitions : Math.min(LIGHT_PARTITIONS, plan.partitions)
}

const toTopicSpec = (topic: string, row: TopicRow, plan: TopicOptions): TopicSpec => ({
  topic,
  partitions: partitionCountOf(row, plan),
  cleanup: row.cleanup,
  retentionMs:
    plan.retention === 'off' || row.retentionHours === null ? null : row.retentionHours * HOUR_MS,
})

const isTopicEnabled = (
  topic: Topic,
  row: TopicRow,
  chain: string,
  { feeds = [], pending = [] }: TopicOptions,
): boolean => {
  if (topic === 'tradesPending') return pending.includes(chain)
  const facts = chainRow(chain)
  return !row.optional || (facts !== undefined && feedTopics(facts, feeds).includes(topic))
}

/** Every topic of `schemas/topics.ts`: global ones once, the others per chain, those of feeds where they are on. */
export const topicSpecs = (plan: TopicOptions): readonly TopicSpec[] =>
  (Object.entries(TOPICS) as [Topic, TopicRow][]).flatMap(([topic, row]) =>
    row.scope === 'global'
      ? [toTopicSpec(row.suffix, row, plan)]
      : plan.chains
          .filter((chain) => isTopicEnabled(topic, row, chain, plan))
          .map((chain) => toTopicSpec(topicName(topic, chain), row, plan)),
  )

/** The changelog of a state store: compacted, with as many partitions as the inputs of its stage. */
export const changelogSpec = (store: string, partitions: number): TopicSpec => ({
  topic: store,
  partitions,
  cleanup: 'compact',
  retentionMs: null,
  hasLargeValues: true,
})

/** The dead-letter topic of a consumer group, by its full name. */
export const deadLetterSpec = (topic: string, retention: TopicOptions['retention']): TopicSpec => ({
  topic,
  partitions: LIGHT_PARTITIONS,
  cleanup: 'delete',
  retentionMs: retention === 'off' ? null : DEAD_LETTER_RETENTION_DAYS * 24 * HOUR_MS,
})

import type { TopicSpec } from '../../core/bus/contract.ts'
import { changelogSpec, deadLetterSpec } from '../../core/bus/topic-specs.ts'
import type { Config } from '../../core/config/settings.ts'
import { deadLetterTopic, globalTopic, stateTopic } from '../../schemas/topics.ts'

const APP = 'webhooks'

/** Consumer group of the sender. */
export const SENDER_GROUP = 'webhooks.sender'

/** Consumer group that writes messages and attempts to the warehouse. */
export const DELIVERY_LOG_GROUP = 'webhooks.log'

/** Topics of messages and attempts, which that group reads. */
export const DELIVERY_LOG_TOPICS = [
  globalTopic('webhookMessages'),
  globalTopic('webhookAttempts'),
] as const

/** Consumer group of recoveries and replays: the one who has its lane runs them. */
export const TASKS_GROUP = 'webhooks.tasks'

/** Consumer group of a chain's matcher. */
export const matcherGroup = (chain: string): string => `${APP}.matcher.${chain}`

/** State store of a chain's matcher. */
export const matcherStore = (chain: string): string => stateTopic(APP, chain)

/** Topics that webhooks of these chains need beside the documented ones. */
export const webhookTopics = (
  chains: readonly string[],
  { partitions, retention }: Pick<Config, 'partitions' | 'retention'>,
): readonly TopicSpec[] => [
  deadLetterSpec(deadLetterTopic(SENDER_GROUP), retention),
  deadLetterSpec(deadLetterTopic(DELIVERY_LOG_GROUP), retention),
  deadLetterSpec(deadLetterTopic(TASKS_GROUP), retention),
  ...chains.flatMap((chain) => [
    changelogSpec(matcherStore(chain), partitions),
    deadLetterSpec(deadLetterTopic(matcherGroup(chain)), retention),
  ]),
]

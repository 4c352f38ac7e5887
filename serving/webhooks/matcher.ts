import type { Bus, RunningTask } from '../../core/bus/contract.ts'
import { topicName } from '../../schemas/topics.ts'
import { WEBHOOK_TOPICS } from './event-mappers.ts'
import { type CountFilter, type MatcherDeps, MatcherLane } from './matcher-lane.ts'
import { matcherGroup, webhookTopics } from './topics.ts'

/** Events that filters of an endpoint rejected since the start of this process. */
export interface FilterCounts {
  readonly filtered: number
  readonly filterErrors: number
}

/** A running matcher. */
interface Matcher extends RunningTask {
  counts(endpointId: string): FilterCounts
}

/** Input topics of the matcher of a chain. */
export const matcherTopics = (chain: string): readonly string[] =>
  WEBHOOK_TOPICS.map((topic) => topicName(topic, chain))

/** Makes the topics that the matchers need beside those of the table, then runs one per chain. */
export const startMatcher = async (
  deps: MatcherDeps & { readonly bus: Bus },
  chains: readonly string[],
): Promise<Matcher> => {
  const counts = new Map<string, { filtered: number; filterErrors: number }>()
  const count: CountFilter = ({ endpoint_id: id }, outcome) => {
    const entry = counts.get(id) ?? { filtered: 0, filterErrors: 0 }
    if (outcome === 'filtered') entry.filtered += 1
    else entry.filterErrors += 1
    counts.set(id, entry)
  }
  const running: RunningTask[] = []
  for (const chain of chains) {
    const topics = matcherTopics(chain)
    const partitions = await deps.bus.partitions(topics[0] ?? '')
    const { retention } = deps.config
    await deps.bus.createTopics(webhookTopics([chain], { partitions, retention }))
    running.push(
      await deps.bus.subscribe({
        group: matcherGroup(chain),
        topics,
        run: (lane) => new MatcherLane(deps, chain, lane, count).run(),
      }),
    )
  }
  return {
    counts: (endpointId) => counts.get(endpointId) ?? { filtered: 0, filterErrors: 0 },
    stop: async () => {
      await Promise.all(running.map((each) => each.stop()))
    },
  }
}

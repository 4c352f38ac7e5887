import { setImmediate as nextTurn } from 'node:timers/promises'
import type {
  Bus,
  GroupOffset,
  Lane,
  LogRecord,
  ProducerRecord,
  RunningTask,
} from '../../core/bus/contract.ts'
import { deadLetterRecord, tryDecode } from '../../core/bus/dead-letters.ts'
import type { Codec } from '../../core/codec/contract.ts'
import type { Config } from '../../core/config/settings.ts'
import { InvalidInput } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { globalTopic, topicName } from '../../schemas/topics.ts'
import { WEBHOOK_CHANNELS, type WebhookChannel } from '../../schemas/webhooks.ts'
import type { WebhookEndpoint } from '../../schemas/wire.ts'
import { type Deduplicator, loadDeduplicator } from './deduplication.ts'
import type { FindOrg } from './delivery-eligibility.ts'
import type { EndpointStore } from './endpoint-store.ts'
import { createFilterCache } from './filter.ts'
import { matchEndpoint } from './match-endpoint.ts'
import { type WebhookEvent, webhookBody, webhookEvents } from './message.ts'
import { chainChannels, matcherGroup, matcherStore, webhookTopics } from './topics.ts'

/** What a matcher works with. */
export interface MatcherDeps {
  readonly bus: Bus
  readonly codec: Codec
  readonly store: Pick<EndpointStore, 'all'>
  readonly orgOf: FindOrg
  readonly config: Pick<Config, 'webhookMaxEventAgeSeconds' | 'webhookPayload' | 'retention'>
  readonly metrics: Metrics
  readonly log: Logger
  readonly nowMs: () => number
}

/** How often filters of an endpoint did not let an event through, since the start of this process. */
export interface FilterCounts {
  readonly filtered: number
  readonly filterErrors: number
}

/** A running matcher. */
export interface Matcher extends RunningTask {
  counts(endpointId: string): FilterCounts
}

const POLL_OPTIONS = { maxRecords: 500, maxWaitMs: 250 }
/** A commit takes no more events once it has so many records: an event has one for each endpoint that wants it. */
const MAX_COMMIT_RECORDS = 500
/** Filters that are asked before others get a turn; each takes up to a millisecond. */
const FILTERS_PER_YIELD = 20
/** Value of the metrics' label `stage`. */
const METRICS_STAGE = 'webhooks'
const MESSAGES_TOPIC = globalTopic('webhookMessages')
const OUTBOX_TOPIC = globalTopic('webhookOutbox')

/** What the matcher of a chain reads; none where the chain has no webhook channels. */
export const matcherTopics = (chain: string): readonly (readonly string[])[] => {
  const channels = chainChannels(chain)
  if (channels.length === 0) return []
  return [channels.map((name) => topicName(WEBHOOK_CHANNELS[name].topic, chain))]
}

type CountFilter = (endpoint: WebhookEndpoint, outcome: 'filtered' | 'filter-error') => void

class MatcherLane {
  readonly #deps: MatcherDeps
  readonly #lane: Lane
  readonly #channelOf: ReadonlyMap<string, WebhookChannel>
  readonly #chain: string
  readonly #filterOf = createFilterCache()
  readonly #count: CountFilter
  #asked = 0

  constructor(deps: MatcherDeps, chain: string, lane: Lane, count: CountFilter) {
    this.#deps = deps
    this.#chain = chain
    this.#lane = lane
    this.#count = count
    this.#channelOf = new Map(
      chainChannels(chain).map((name) => [topicName(WEBHOOK_CHANNELS[name].topic, chain), name]),
    )
  }

  async run(): Promise<void> {
    const store = matcherStore(this.#chain)
    const seen = loadDeduplicator(await this.#lane.state(store), {
      store,
      partition: this.#lane.partition,
      forEver: this.#deps.config.webhookMaxEventAgeSeconds === 0,
    })
    while (!this.#lane.signal.aborted) {
      const taken = await this.#lane.take(POLL_OPTIONS)
      if (taken.length > 0) await this.#match(taken, seen)
    }
  }

  /**
   * Matches what was taken, in commits of a bounded size. An event is never cut; a record of many events may be: until
   * its last event the offset stays before it, and those that were sent are seen when it comes again.
   */
  async #match(taken: readonly LogRecord[], seen: Deduplicator): Promise<void> {
    const { partition } = this.#lane
    let records: ProducerRecord[] = []
    let next = new Map<string, GroupOffset>()
    for (const record of taken) {
      for await (const outgoing of this.#outgoing(record, seen)) {
        for (const each of outgoing) records.push(each)
        if (records.length < MAX_COMMIT_RECORDS) continue
        await this.#commit(records, seen, [...next.values()])
        await nextTurn()
        records = []
        next = new Map()
      }
      const { topic, offset } = record
      next.set(topic, { topic, partition, offset: offset + 1 })
    }
    await this.#commit(records, seen, [...next.values()])
  }

  async #commit(
    records: readonly ProducerRecord[],
    seen: Deduplicator,
    next: readonly GroupOffset[],
  ): Promise<void> {
    const state = seen.changes(this.#deps.nowMs())
    const offsets = next.length > 0 && { offsets: { group: matcherGroup(this.#chain), next } }
    await this.#lane.writer.commit({ records, state, ...offsets })
  }

  /** Records of one event after another. */
  async *#outgoing(
    record: LogRecord,
    seen: Deduplicator,
  ): AsyncGenerator<readonly ProducerRecord[]> {
    const { codec, metrics, log, nowMs, config } = this.#deps
    const channel = this.#channelOf.get(record.topic)
    const decoded = tryDecode(() => {
      if (record.value === null) throw new InvalidInput('tombstone', 'unexpected tombstone')
      return codec.decode('token.TokenEvents', record.value)
    })
    if (channel === undefined) return
    if (decoded instanceof InvalidInput) {
      metrics.eventsDropped.inc({ stage: METRICS_STAGE, reason: decoded.reason })
      log.error(
        { topic: record.topic, offset: record.offset, err: decoded },
        'undecodable record sent to dead-letter topic',
      )
      yield [deadLetterRecord(matcherGroup(this.#chain), record, decoded)]
      return
    }
    const maxAgeMs = config.webhookMaxEventAgeSeconds * 1_000
    for (const event of webhookEvents(channel, decoded.value)) {
      if (seen.has(event.id)) metrics.webhookDedupeHits.inc()
      else if (maxAgeMs > 0 && event.timeMs < nowMs() - maxAgeMs) {
        metrics.eventsDropped.inc({ stage: METRICS_STAGE, reason: 'stale' })
      } else yield await this.#messages(event, seen.add(event.id, channel, nowMs()))
    }
  }

  /** The message for the log, and one delivery per endpoint that wants it. */
  async #messages(event: WebhookEvent, seq: number): Promise<readonly ProducerRecord[]> {
    const { codec, store, orgOf, config, nowMs } = this.#deps
    const lane = this.#lane.partition
    const body = webhookBody(event, { lane, seq }, config.webhookPayload)
    const atMs = nowMs()
    const { channel, timeMs: event_time, chain, tokenAddress: token_address, tx, slot } = event
    const message = codec.encode('webhook.Message', {
      id: event.id,
      channel,
      body,
      event_time,
      created_at: atMs,
      chain,
      token_address,
      tx,
      slot,
      seq,
      lane,
    })
    const records: ProducerRecord[] = [{ topic: MESSAGES_TOPIC, key: event.id, value: message }]
    for (const endpoint of [...store.all()]) {
      if (endpoint.filter !== null) {
        this.#asked += 1
        if (this.#asked % FILTERS_PER_YIELD === 0) await nextTurn()
      }
      const org = orgOf(endpoint.org_id)
      const match = matchEndpoint(endpoint, event, { org, filterOf: this.#filterOf })
      if (match === 'filtered' || match === 'filter-error') this.#count(endpoint, match)
      if (match !== 'match') continue
      const { endpoint_id, org_id, enabled_at } = endpoint
      const value = codec.encode('webhook.Delivery', {
        message_id: event.id,
        endpoint_id,
        org_id,
        channel,
        body,
        event_time,
        trigger: 'scheduled',
        attempt: 1,
        queued_at: atMs,
        due_at: atMs,
        enabled_at,
      })
      records.push({ topic: OUTBOX_TOPIC, key: endpoint_id, value })
    }
    return records
  }
}

/** Makes the topics that the matchers need beside those of the table, then runs one per chain with webhook channels. */
export const startMatcher = async (
  deps: MatcherDeps,
  chains: readonly string[],
): Promise<Matcher> => {
  const counts = new Map<string, { filtered: number; filterErrors: number }>()
  const count: CountFilter = ({ endpoint_id: id }, outcome) => {
    const known = counts.get(id) ?? { filtered: 0, filterErrors: 0 }
    if (outcome === 'filtered') known.filtered += 1
    else known.filterErrors += 1
    counts.set(id, known)
  }
  const running: RunningTask[] = []
  for (const chain of chains.filter((name) => chainChannels(name).length > 0)) {
    const topics = chainChannels(chain).map((name) =>
      topicName(WEBHOOK_CHANNELS[name].topic, chain),
    )
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

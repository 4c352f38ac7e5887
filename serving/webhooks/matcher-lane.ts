import { setImmediate as nextTurn } from 'node:timers/promises'
import type {
  GroupOffset,
  Lane,
  LogRecord,
  ProducerRecord,
  StateChange,
} from '../../core/bus/contract.ts'
import { deadLetterRecord } from '../../core/bus/dead-letters.ts'
import type { Codec } from '../../core/codec/contract.ts'
import type { Config } from '../../core/config/settings.ts'
import { InvalidInput } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { makeYieldIfDue, type YieldIfDue } from '../../core/runtime/yield-if-due.ts'
import { globalTopic, topicName } from '../../schemas/topics.ts'
import type { WebhookEndpoint } from '../../schemas/wire.ts'
import { type Deduplicator, loadDeduplicator } from './deduplication.ts'
import type { FindOrg } from './delivery-eligibility.ts'
import { priceLevelKey } from './endpoint-index.ts'
import type { EndpointStore } from './endpoint-store.ts'
import {
  isAlwaysKept,
  type ReadContext,
  readWebhookEvents,
  WEBHOOK_TOPICS,
  type WebhookTopic,
} from './event-mappers.ts'
import { createFilterCache } from './filter.ts'
import { matchEndpoint } from './match-endpoint.ts'
import { type WebhookEvent, webhookBody } from './message.ts'
import { loadPriceMemory, type PriceMemory } from './price-memory.ts'
import { matcherGroup, matcherStore } from './topics.ts'

/** Dependencies of a matcher. */
export interface MatcherDeps {
  readonly codec: Codec
  readonly store: Pick<EndpointStore, 'index'>
  readonly orgOf: FindOrg
  readonly config: Pick<Config, 'webhookMaxEventAgeSeconds' | 'webhookPayload' | 'retention'>
  readonly metrics: Metrics
  readonly log: Logger
  readonly nowMs: () => number
}

/** Called where a filter rejected an event. */
export type CountFilter = (endpoint: WebhookEndpoint, outcome: 'filtered' | 'filter-error') => void

const POLL_OPTIONS = { maxRecords: 500, maxWaitMs: 250 }
/** A commit takes no more events once it has this many records: an event has one for each matching endpoint. */
const MAX_COMMIT_RECORDS = 1_000
/** Offsets without a matching event are committed at most this late: a commit costs a disk write, reading again costs little. */
const IDLE_COMMIT_MS = 5_000
/** Filters that are evaluated before the event loop is yielded; each takes up to a millisecond. */
const FILTERS_PER_YIELD = 20
/** Value of the metrics' label `stage`. */
const METRICS_STAGE = 'webhooks'
const MESSAGES_TOPIC = globalTopic('webhookMessages')
const OUTBOX_TOPIC = globalTopic('webhookOutbox')

/** State of a lane. */
interface LaneMemory {
  readonly deduplicator: Deduplicator
  readonly prices: PriceMemory
}

/** Where messages of an event go. */
interface MessageSink {
  readonly deduplicator: Deduplicator
  readonly records: ProducerRecord[]
}

/** One lane of a chain's matcher: events of its topics become messages and deliveries. */
export class MatcherLane {
  readonly #deps: MatcherDeps
  readonly #lane: Lane
  readonly #topicOf: ReadonlyMap<string, WebhookTopic>
  readonly #chain: string
  readonly #filterOf = createFilterCache()
  readonly #countFilter: CountFilter
  /** Offsets that are not committed yet. */
  #next = new Map<string, GroupOffset>()
  #committedAtMs = 0
  #filtersEvaluated = 0
  readonly #yieldIfDue: YieldIfDue = makeYieldIfDue()
  /** Version of the price levels that the remembered prices were pruned by. */
  #prunedVersion: number | undefined

  constructor(deps: MatcherDeps, chain: string, lane: Lane, count: CountFilter) {
    this.#deps = deps
    this.#chain = chain
    this.#lane = lane
    this.#countFilter = count
    this.#topicOf = new Map(WEBHOOK_TOPICS.map((topic) => [topicName(topic, chain), topic]))
  }

  async run(): Promise<void> {
    const store = matcherStore(this.#chain)
    const { partition, signal } = this.#lane
    const state = await this.#lane.state(store)
    const forEver = this.#deps.config.webhookMaxEventAgeSeconds === 0
    const memory = {
      deduplicator: loadDeduplicator(state, { store, partition, forEver }),
      prices: loadPriceMemory(state, { store, partition }),
    }
    this.#committedAtMs = this.#deps.nowMs()
    while (!signal.aborted) {
      const batch = await this.#lane.take(POLL_OPTIONS)
      if (batch.length > 0) await this.#match(batch, memory)
      await this.#commit([], memory)
    }
  }

  /**
   * Matches a batch, in commits of a bounded size. An event is never split over commits; a record of many events may be: its
   * offset is committed with its last event, and after a redelivery the deduplicator drops those that were sent. Its prices
   * are committed with its offset too, so that a redelivery finds the crossings that were not sent. Others get their turn between
   * two events, where nothing is committed by it.
   */
  async #match(batch: readonly LogRecord[], memory: LaneMemory): Promise<void> {
    const { partition } = this.#lane
    let records: ProducerRecord[] = []
    for (const record of batch) {
      this.#prunePrices(memory.prices)
      const events = this.#eventsOf(record, memory)
      if (events instanceof InvalidInput) {
        records.push(deadLetterRecord(matcherGroup(this.#chain), record, events))
      } else {
        for (const event of events) {
          await this.#yieldIfDue()
          if (!this.#isWanted(event, memory.deduplicator)) continue
          const endpoints: WebhookEndpoint[] = []
          for (const endpoint of this.#deps.store.index.candidates(event.channel, event.subjects)) {
            if (this.#isTurnOver(endpoint)) await nextTurn()
            if (this.#isMatch(endpoint, event)) endpoints.push(endpoint)
          }
          this.#addMessages(event, endpoints, { deduplicator: memory.deduplicator, records })
          if (records.length < MAX_COMMIT_RECORDS) continue
          await this.#commit(records, memory)
          await nextTurn()
          records = []
        }
      }
      const { topic, offset } = record
      this.#next.set(topic, { topic, partition, offset: offset + 1 })
      memory.prices.endRecord()
    }
    await this.#commit(records, memory)
  }

  /** Commits the records; offsets alone wait for `IDLE_COMMIT_MS`. */
  async #commit(records: readonly ProducerRecord[], memory: LaneMemory): Promise<void> {
    const nowMs = this.#deps.nowMs()
    const isDue = nowMs - this.#committedAtMs >= IDLE_COMMIT_MS
    const next = [...this.#next.values()]
    if (records.length === 0 && !(isDue && next.length > 0)) return
    const state: readonly StateChange[] = [
      ...memory.deduplicator.changes(nowMs),
      ...memory.prices.changes(),
    ]
    const offsets = next.length > 0 && { offsets: { group: matcherGroup(this.#chain), next } }
    await this.#lane.writer.commit({ records, state, ...offsets })
    this.#next = new Map()
    this.#committedAtMs = nowMs
  }

  #prunePrices(prices: PriceMemory): void {
    const { priceLevels } = this.#deps.store.index
    const version = priceLevels.version()
    if (version === this.#prunedVersion) return
    this.#prunedVersion = version
    prices.prune((token) => priceLevels.has(priceLevelKey(this.#chain, token)))
  }

  #readContext({ prices }: LaneMemory): ReadContext {
    const { index } = this.#deps.store
    return {
      chain: this.#chain,
      isOpen: (channel) => isAlwaysKept(channel) || index.has(channel),
      hasSubject: (channel, subjects) => index.hasSubject(channel, subjects),
      hasPriceLevel: (token) => index.priceLevels.has(priceLevelKey(this.#chain, token)),
      crossedLevels: (token, before, now) =>
        index.priceLevels.crossed(priceLevelKey(this.#chain, token), before, now),
      swapPrice: prices.swap,
    }
  }

  /** Events of a record; what cannot be decoded is logged and counted. */
  #eventsOf(record: LogRecord, memory: LaneMemory): Iterable<WebhookEvent> | InvalidInput {
    const { codec, metrics, log } = this.#deps
    const topic = this.#topicOf.get(record.topic)
    if (topic === undefined) return []
    const events = readWebhookEvents(codec, topic, record.value, this.#readContext(memory))
    if (events instanceof InvalidInput) {
      metrics.eventsDropped.inc({ stage: METRICS_STAGE, reason: events.reason })
      log.error(
        { topic: record.topic, offset: record.offset, err: events },
        'undecodable record sent to dead-letter topic',
      )
    }
    return events
  }

  /** False for an event that was sent before, or that is too old. */
  #isWanted({ id, knownMs }: WebhookEvent, deduplicator: Deduplicator): boolean {
    const { metrics, nowMs, config } = this.#deps
    if (deduplicator.has(id)) {
      metrics.webhookDedupeHits.inc()
      return false
    }
    const maxAgeMs = config.webhookMaxEventAgeSeconds * 1_000
    const isStale = maxAgeMs > 0 && knownMs < nowMs() - maxAgeMs
    if (isStale) metrics.eventsDropped.inc({ stage: METRICS_STAGE, reason: 'stale' })
    return !isStale
  }

  /** Adds the message for the log, and one delivery per matching endpoint; nothing without one, unless the channel is always kept. */
  #addMessages(
    event: WebhookEvent,
    endpoints: readonly WebhookEndpoint[],
    { deduplicator, records }: MessageSink,
  ): void {
    if (endpoints.length === 0 && !isAlwaysKept(event.channel)) return
    const { codec, config, nowMs } = this.#deps
    const lane = this.#lane.partition
    const atMs = nowMs()
    const seq = deduplicator.add(event.id, event.channel)
    const body = webhookBody(event, { lane, seq }, config.webhookPayload)
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
    records.push({ topic: MESSAGES_TOPIC, key: event.id, value: message })
    for (const { endpoint_id, org_id, enabled_at } of endpoints) {
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
  }

  /** True when filters have run for long: others get a turn before the next one. */
  #isTurnOver({ filter }: WebhookEndpoint): boolean {
    if (filter === null) return false
    this.#filtersEvaluated += 1
    return this.#filtersEvaluated % FILTERS_PER_YIELD === 0
  }

  #isMatch(endpoint: WebhookEndpoint, event: WebhookEvent): boolean {
    const org = this.#deps.orgOf(endpoint.org_id)
    const match = matchEndpoint(endpoint, event, { org, filterOf: this.#filterOf })
    if (match === 'filtered' || match === 'filter-error') this.#countFilter(endpoint, match)
    return match === 'match'
  }
}

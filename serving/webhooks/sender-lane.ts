import { once } from 'node:events'
import type { Lane, LaneState, LogRecord, OutRecord, StateChange } from '../../core/bus-contract.ts'
import type { Codec } from '../../core/codec-contract.ts'
import { deadLetter, orPoison } from '../../core/dead-letter.ts'
import { Malformed } from '../../core/fault.ts'
import type { Logger } from '../../core/log.ts'
import type { Metrics } from '../../core/metrics.ts'
import type { Sealer } from '../../core/seal.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type { Attempt, Delivery, WebhookEndpoint } from '../../schemas/wire.ts'
import {
  attemptOf,
  type EndpointFate,
  endOf,
  eventOf,
  fateOf,
  healthAfter,
  postOf,
  type SendStyle,
} from './attempt.ts'
import type { Poster } from './client.ts'
import { dueKey, endStatus, triggerOf, UNSIGNED } from './delivery.ts'
import { disabledAs, liveSecrets } from './endpoint.ts'
import { type EndpointStore, operationRecord } from './endpoints.ts'
import { type GroupCommit, groupCommit, type Part } from './group-commit.ts'
import { EndpointQueue, type Waiting } from './queue.ts'
import { type Outcome, type Verdict, verdictOf } from './schedule.ts'

/** What the lanes of a sender share. */
export interface SenderDeps {
  readonly codec: Codec
  readonly store: EndpointStore
  readonly sealer: Sealer
  readonly poster: Pick<Poster, 'post'>
  readonly style: SendStyle
  /** Pause before each attempt, milliseconds. */
  readonly scheduleMs: readonly number[]
  /** Attempts at the same time per endpoint. */
  readonly inFlight: number
  readonly metrics: Metrics
  readonly log: Logger
  readonly nowMs: () => number
  readonly random: () => number
}

/** Consumer group of the sender. */
export const SENDER_GROUP = 'webhooks.sender'

const DUE = globalTopic('webhookDue')
const ATTEMPTS = globalTopic('webhookAttempts')
const HEALTH = '/health'

const TAKE = { maxRecords: 500, maxWaitMs: 250 }
/** Messages that wait for one endpoint; then the oldest are dropped. */
const MOST_WAITING = 100_000
/** How often endpoints that were turned off are looked for. */
const SWEEP_MS = 2_000
/** Attempts on their way get this long to end when the lane is taken away. */
const LEAVE_MS = 1_000
/** Longest sleep of a queue: timers take no more than 31 bits. */
const LONGEST_SLEEP_MS = 3_600_000

/** Statuses of a gateway whose receiver is overloaded. */
const OVERLOADED = new Set([502, 504])

interface Line {
  readonly queue: EndpointQueue
  timer: NodeJS.Timeout | undefined
}

/**
 * One lane of the sender. Deliveries go from the outbox to the due store in one commit with the offset, so a slow
 * receiver never holds the outbox; what waits is kept per endpoint, and an attempt's record, its next due time and the
 * endpoint's health are one commit again. Killed in between, an attempt is repeated with the same id.
 */
export class SenderLane {
  readonly #deps: SenderDeps
  readonly #lane: Lane
  readonly #commits: GroupCommit
  readonly #lines = new Map<string, Line>()
  readonly #running = new Set<Promise<void>>()
  readonly #failure = new AbortController()
  #state: LaneState | undefined

  constructor(deps: SenderDeps, lane: Lane) {
    this.#deps = deps
    this.#lane = lane
    this.#commits = groupCommit(lane.writer, SENDER_GROUP)
  }

  /** Messages that wait or are on their way. */
  get backlog(): number {
    return [...this.#lines.values()].reduce((sum, { queue }) => sum + queue.size + queue.busy, 0)
  }

  async run(): Promise<void> {
    this.#state = await this.#lane.state(DUE)
    for (const [key, bytes] of this.#state.entries()) {
      if (!key.endsWith(HEALTH)) this.#enqueue(key, this.#decoded(bytes))
    }
    const sweep = setInterval(() => this.#sweep(), SWEEP_MS)
    const failed = once(this.#failure.signal, 'abort').then(() => {
      throw this.#failure.signal.reason
    })
    failed.catch(() => undefined)
    try {
      await Promise.race([this.#takeIn(), failed])
    } finally {
      clearInterval(sweep)
      this.#failure.abort(new Error('the lane ended'))
      for (const { timer } of this.#lines.values()) clearTimeout(timer)
      await this.#settle()
    }
  }

  /** What is on its way may end and be recorded, as long as the writer is ours. */
  async #settle(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const limit = new Promise((resolve) => {
      timer = setTimeout(resolve, LEAVE_MS)
    })
    await Promise.race([Promise.allSettled(this.#running), limit])
    clearTimeout(timer)
  }

  async #takeIn(): Promise<void> {
    const { partition, signal } = this.#lane
    while (!signal.aborted) {
      const taken = await this.#lane.take(TAKE)
      const last = taken.at(-1)
      if (last === undefined) continue
      const arrived = new Map<string, Delivery>()
      const poison: OutRecord[] = []
      const state: StateChange[] = []
      for (const record of taken) {
        const delivery = this.#deliveryOf(record)
        if (delivery instanceof Malformed) {
          poison.push(deadLetter(SENDER_GROUP, record, delivery))
          continue
        }
        const key = dueKey(delivery)
        if (this.#state?.get(key) !== undefined || arrived.has(key)) continue
        arrived.set(key, delivery)
        state.push(this.#change(key, record.value))
      }
      const next = [{ topic: last.topic, partition, offset: last.offset + 1 }]
      await this.#commits.add({ records: poison, state, next })
      for (const [key, delivery] of arrived) this.#enqueue(key, delivery)
      await this.#dropBeyondBound(arrived)
    }
  }

  #deliveryOf(record: LogRecord): Delivery | Malformed {
    const { log, metrics } = this.#deps
    const decoded = orPoison(() => {
      if (record.value === null) throw new Malformed('tombstone', 'a delivery cannot be removed')
      return this.#decoded(record.value)
    })
    if (!(decoded instanceof Malformed)) return decoded.value
    metrics.eventsDropped.inc({ stage: 'webhooks', reason: decoded.reason })
    log.error({ topic: record.topic, offset: record.offset, err: decoded }, 'poison')
    return decoded
  }

  #decoded(bytes: Uint8Array): Delivery {
    return this.#deps.codec.decode('webhook.Delivery', bytes)
  }

  #change(key: string, value: Uint8Array | null): StateChange {
    return { store: DUE, partition: this.#lane.partition, key, value }
  }

  #enqueue(key: string, { endpoint_id: endpointId, due_at: dueAtMs }: Delivery): void {
    const line = this.#lines.get(endpointId) ?? { queue: new EndpointQueue(), timer: undefined }
    this.#lines.set(endpointId, line)
    line.queue.add({ key, dueAtMs })
    this.#pump(endpointId, line)
  }

  /** Starts what is due and allowed, and comes back when the next thing is. */
  #pump(endpointId: string, line: Line): void {
    clearTimeout(line.timer)
    const endpoint = this.#deps.store.get(endpointId)
    const pace = { inFlight: this.#deps.inFlight, perSecond: endpoint?.rate_limit ?? null }
    while (!this.#failure.signal.aborted && !this.#lane.signal.aborted) {
      const nowMs = this.#deps.nowMs()
      const next = line.queue.next(nowMs, pace)
      if (next.kind === 'idle') return
      if (next.kind === 'wait') {
        const sleepMs = Math.min(next.untilMs - nowMs, LONGEST_SLEEP_MS)
        line.timer = setTimeout(() => this.#pump(endpointId, line), sleepMs)
        return
      }
      this.#start(endpointId, line, next.waiting)
    }
  }

  #start(endpointId: string, line: Line, waiting: Waiting): void {
    const again = (): void => this.#pump(endpointId, line)
    const work = this.#attempt(line.queue, waiting)
      .finally(() => {
        line.queue.answered()
        again()
      })
      .then((ended) => this.#conclude(waiting.key, ended))
      .catch((error: unknown) => this.#failure.abort(error))
      .finally(() => {
        this.#running.delete(work)
        line.queue.recorded()
        again()
      })
    this.#running.add(work)
  }

  /** One request, or why there is none; nothing of it is stored yet. */
  async #attempt(queue: EndpointQueue, { key, dueAtMs }: Waiting): Promise<Ended | undefined> {
    const { store, poster, nowMs, metrics, scheduleMs, random, style } = this.#deps
    const bytes = this.#state?.get(key)
    if (bytes === undefined) return undefined
    const delivery = this.#decoded(bytes)
    const endpoint = store.get(delivery.endpoint_id)
    const over = endStatus(delivery, endpoint, nowMs())
    if (over !== null || !endpoint) return { kind: 'over', delivery, status: over ?? 'canceled' }
    const startedMs = nowMs()
    metrics.webhookDueLagSeconds.set(Math.max(0, startedMs - dueAtMs) / 1_000)
    const secrets = this.#secretsOf(endpoint)
    const outcome =
      secrets instanceof Malformed
        ? UNSIGNED
        : await poster.post(
            postOf(endpoint, delivery, { ...secrets.value, nowMs: startedMs, style }),
          )
    if (OVERLOADED.has(outcome.status)) queue.ease(nowMs())
    const trigger = triggerOf(delivery)
    const plan = { attempt: delivery.attempt, trigger, scheduleMs, nowMs: nowMs(), random }
    return { kind: 'sent', delivery, endpoint, outcome, verdict: verdictOf(outcome, plan) }
  }

  async #conclude(key: string, ended: Ended | undefined): Promise<void> {
    if (ended?.kind === 'sent') await this.#record(key, ended)
    else if (ended) {
      await this.#commits.add(this.#ending([{ key, delivery: ended.delivery }], ended.status))
    }
  }

  #secretsOf(endpoint: WebhookEndpoint) {
    const { sealer, nowMs, log } = this.#deps
    const { user_enc: sealed, endpoint_id: about } = endpoint
    const opened = orPoison(() => ({
      user: sealed === '' ? '' : sealer.open(sealed, about),
      secrets: liveSecrets(endpoint, sealer, nowMs()),
    }))
    if (opened instanceof Malformed) log.error({ endpointId: about, err: opened }, 'no signature')
    return opened
  }

  async #record(key: string, { delivery, endpoint, outcome, verdict }: Sent): Promise<void> {
    const { codec, nowMs, metrics } = this.#deps
    const atMs = nowMs()
    const again: Delivery | null =
      verdict.nextAtMs === null
        ? null
        : { ...delivery, attempt: delivery.attempt + 1, due_at: verdict.nextAtMs }
    const { health, state: healthState } = this.#healthAfter(delivery.endpoint_id, verdict, atMs)
    const event = eventOf(delivery, verdict)
    await this.#commits.add({
      records: [
        this.#attemptRecord(attemptOf(delivery, endpoint, { outcome, verdict, nowMs: atMs })),
        ...(event === null ? [] : [this.#operation(event, delivery, atMs)]),
      ],
      state: [this.#change(key, again && codec.encode('webhook.Delivery', again)), ...healthState],
    })
    metrics.webhookAttempts.inc({ result: verdict.status, kind: outcome.errorKind ?? 'none' })
    metrics.webhookSeconds.observe(outcome.durationMs / 1_000)
    if (again) this.#enqueue(key, again)
    await this.#applyFate(delivery.endpoint_id, fateOf(endpoint, verdict, { health, nowMs: atMs }))
  }

  #healthAfter(endpointId: string, verdict: Verdict, atMs: number) {
    const { codec } = this.#deps
    const key = endpointId + HEALTH
    const bytes = this.#state?.get(key)
    const known = bytes && codec.decode('webhook.Health', bytes)
    const health = healthAfter(known, verdict, atMs)
    if (health === known || (known === undefined && health.failed_attempts === 0)) {
      return { health, state: [] }
    }
    const value = health.failed_attempts === 0 ? null : codec.encode('webhook.Health', health)
    return { health, state: [this.#change(key, value)] }
  }

  async #applyFate(endpointId: string, fate: EndpointFate): Promise<void> {
    const { store, nowMs, metrics, log } = this.#deps
    if (fate.kind === 'none') return
    await store.change(endpointId, (known) => {
      if (!known || known.disabled) return undefined
      if (fate.kind === 'disable') {
        const endpoint = disabledAs(known, fate.reason, nowMs())
        return { event: 'endpoint.disabled', endpoint: { ...endpoint, version: known.version + 1 } }
      }
      const sinceMs = fate.kind === 'start-clock' ? nowMs() : 0
      if (sinceMs > 0 === known.first_failure_at > 0) return undefined
      return { event: 'endpoint.updated', endpoint: { ...known, first_failure_at: sinceMs } }
    })
    if (fate.kind !== 'disable') return
    metrics.webhookDisabled.inc({ reason: fate.reason })
    log.info({ endpointId, reason: fate.reason }, 'webhook endpoint turned off')
    await this.#cancel(endpointId)
  }

  /** Cancels what waits for endpoints that are gone or turned off, and forgets queues that have nothing. */
  #sweep(): void {
    this.#deps.metrics.webhookBacklog.set(this.backlog)
    for (const [endpointId, { queue, timer }] of this.#lines) {
      const endpoint = this.#deps.store.get(endpointId)
      if (!endpoint || endpoint.disabled) {
        this.#cancel(endpointId).catch((error: unknown) => this.#failure.abort(error))
      }
      const isIdle = queue.size === 0 && queue.busy === 0
      if (isIdle && !endpoint?.rate_limit) {
        clearTimeout(timer)
        this.#lines.delete(endpointId)
      }
    }
  }

  async #cancel(endpointId: string): Promise<void> {
    const waiting = this.#lines.get(endpointId)?.queue.clear() ?? []
    if (waiting.length > 0) await this.#commits.add(this.#ending(this.#held(waiting), 'canceled'))
  }

  async #dropBeyondBound(arrived: ReadonlyMap<string, Delivery>): Promise<void> {
    const endpointIds = new Set([...arrived.values()].map(({ endpoint_id }) => endpoint_id))
    for (const endpointId of endpointIds) {
      const queue = this.#lines.get(endpointId)?.queue
      const dropped: Waiting[] = []
      while (queue && queue.size > MOST_WAITING) {
        const oldest = queue.dropOldest()
        if (oldest) dropped.push(oldest)
      }
      const held = this.#held(dropped)
      const [first] = held
      if (first === undefined) continue
      const part = this.#ending(held, 'dropped')
      const told = this.#operation('webhook.backlog', first.delivery, this.#deps.nowMs())
      await this.#commits.add({ ...part, records: [...(part.records ?? []), told] })
    }
  }

  #held(waiting: readonly Waiting[]): readonly Held[] {
    return waiting.flatMap(({ key }) => {
      const bytes = this.#state?.get(key)
      return bytes === undefined ? [] : [{ key, delivery: this.#decoded(bytes) }]
    })
  }

  #ending(held: readonly Held[], status: 'canceled' | 'dropped'): Part {
    const nowMs = this.#deps.nowMs()
    this.#deps.metrics.webhookAttempts.inc({ result: status, kind: 'none' }, held.length)
    return {
      records: held.map(({ delivery }) => {
        const endpoint = this.#deps.store.get(delivery.endpoint_id)
        return this.#attemptRecord(endOf(delivery, endpoint, { status, nowMs }))
      }),
      state: held.map(({ key }) => this.#change(key, null)),
    }
  }

  #attemptRecord(attempt: Attempt): OutRecord {
    const value = this.#deps.codec.encode('webhook.Attempt', attempt)
    return { topic: ATTEMPTS, key: attempt.endpoint_id, value }
  }

  #operation(type: string, { org_id, endpoint_id, message_id, attempt }: Delivery, at: number) {
    const detail = { attempt: String(attempt) }
    const operation = { type, org_id, endpoint_id, message_id, at, detail }
    return operationRecord(this.#deps.codec, operation)
  }
}

interface Held {
  readonly key: string
  readonly delivery: Delivery
}

interface Sent {
  readonly kind: 'sent'
  readonly delivery: Delivery
  readonly endpoint: WebhookEndpoint
  readonly outcome: Outcome
  readonly verdict: Verdict
}

type Ended =
  | Sent
  | {
      readonly kind: 'over'
      readonly delivery: Delivery
      readonly status: 'canceled' | 'dropped'
    }

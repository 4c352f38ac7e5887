import { once } from 'node:events'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Lane, LogRecord, ProducerRecord, StateChange } from '../../core/bus/contract.ts'
import { deadLetterRecord, tryDecode } from '../../core/bus/dead-letters.ts'
import { InvalidInput } from '../../core/errors.ts'
import type { Delivery, WebhookEndpoint } from '../../schemas/wire.ts'
import { applyEndpointAction } from './apply-endpoint-action.ts'
import { decideEndpointAction, type EndpointAction } from './attempt.ts'
import type { PendingDelivery } from './attempt-records.ts'
import type { QueueSize } from './backlog-limits.ts'
import { checkEligibility, deliveryKey, isSameEndpointTarget } from './delivery-eligibility.ts'
import { createEndpointHealth, type EndpointHealth, type HealthRow } from './endpoint-health.ts'
import type { DeliveryLimits, EndpointQueue, QueuedDelivery } from './endpoint-queue.ts'
import { createEndpointQueues, type EndpointQueues, type QueueEntry } from './endpoint-queues.ts'
import { createGroupCommit, type GroupCommit } from './group-commit.ts'
import {
  createPendingDeliveries,
  DUE_TOPIC,
  dueStateChange,
  type PendingDeliveries,
} from './pending-deliveries.ts'
import {
  attemptCommitPart,
  type CompletedAttempt,
  type DeliveryOutcome,
  sendDelivery,
  type TerminalStatus,
  terminalCommitPart,
} from './send-delivery.ts'
import { findTarget, type SenderDeps } from './sender-deps.ts'
import { SENDER_GROUP } from './topics.ts'

const POLL_OPTIONS = { maxRecords: 500, maxWaitMs: 250 }
/** Interval of the sweep for disabled and deleted endpoints, and for limits that several endpoints share. */
const SWEEP_INTERVAL_MS = 2_000
/** Messages that are canceled or dropped in one commit. */
const TERMINATED_PER_COMMIT = 1_000
/** Rows of the due store that are loaded before the event loop is yielded. */
const LOADED_PER_YIELD = 1_000
/** Delay before a message for an endpoint that is not known here yet is checked again; jitter up to twice as long. */
const UNKNOWN_ENDPOINT_RETRY_MS = 1_000
/** After a cancellation the sweep skips the remaining messages of the endpoint for this long. */
const SWEEP_SKIP_MS = 60_000
/** Time for attempts in flight to end when the lane is revoked, and as much for their commit. */
const SHUTDOWN_GRACE_MS = 1_000

/** HTTP statuses of a gateway in front of an overloaded receiver. */
const OVERLOADED_STATUSES = new Set([502, 504])

const NO_ROWS: readonly HealthRow[] = []
const NO_ACTION: EndpointAction = { kind: 'none' }

/** A delivery whose attempt has ended, or that was not attempted. */
interface AnsweredDelivery {
  readonly endpointId: string
  readonly entry: QueueEntry
  readonly key: string
  readonly outcome: DeliveryOutcome | undefined
}

/** What is called when an outcome is durable, or when that failed. */
interface RecordCalls {
  readonly recorded: () => void
  readonly onFailed: (error: unknown) => void
}

const endpointIdsOf = (received: ReadonlyMap<string, Delivery>): ReadonlySet<string> =>
  new Set([...received.values()].map(({ endpoint_id }) => endpoint_id))

/** Resolves when the work has ended, at the latest after `SHUTDOWN_GRACE_MS`. */
const withinGrace = async (work: Promise<void>): Promise<void> => {
  const ended = new AbortController()
  const late = sleep(SHUTDOWN_GRACE_MS, undefined, { signal: ended.signal })
  await Promise.race([work, late.catch(() => undefined)])
  ended.abort()
}

/**
 * One lane of the sender. A delivery is queued for its endpoint as soon as it is read from the outbox. An attempt's record, its
 * next due time, the endpoint's health and the offset are one commit; what has not ended by then goes to the due store in the
 * same commit, so a slow receiver never blocks the outbox. After a crash in between, the attempt is repeated with the same id.
 */
export class SenderLane {
  readonly #deps: SenderDeps
  readonly #lane: Lane
  readonly #commits: GroupCommit
  readonly #queues: EndpointQueues
  /** Messages that were started and are not recorded yet. */
  #running = 0
  #whenIdle: (() => void) | undefined
  readonly #failure = new AbortController()
  readonly #fail = (error: unknown): void => this.#failure.abort(error)
  #due: PendingDeliveries | undefined
  #health: EndpointHealth | undefined

  constructor(deps: SenderDeps, lane: Lane) {
    this.#deps = deps
    this.#lane = lane
    this.#commits = createGroupCommit(lane.writer, SENDER_GROUP, {
      part: () => this.#due?.part() ?? {},
      durable: () => this.#due?.durable(),
    })
    this.#queues = createEndpointQueues({
      nowMs: deps.nowMs,
      limitsOf: (endpointId) => this.#limitsOf(endpointId),
      isStopping: () => this.#isStopping(),
      start: (endpointId, entry, delivery) => this.#start(endpointId, entry, delivery),
    })
  }

  /** Messages that are queued or in flight. */
  get backlog(): number {
    return this.#queues.backlog()
  }

  /** Messages that wait, by endpoint. */
  queueSizes(): readonly QueueSize[] {
    return [...this.#queues.all()].map(([, { orgId, queue }]) => ({ orgId, size: queue.size }))
  }

  /** Messages of an endpoint that are in flight. */
  sending(endpointId: string): number {
    return this.#queues.busy(endpointId)
  }

  async run(): Promise<void> {
    await this.#load()
    const sweep = setInterval(() => this.#sweep(), SWEEP_INTERVAL_MS)
    const failed = once(this.#failure.signal, 'abort').then(() => {
      throw this.#failure.signal.reason
    })
    failed.catch(() => undefined)
    try {
      await Promise.race([this.#consume(), failed])
    } finally {
      clearInterval(sweep)
      this.#failure.abort(new Error('the lane was revoked'))
      this.#queues.stop()
      await this.waitForRunning()
      await withinGrace(this.#commits.close())
    }
  }

  /** Loads the pending deliveries, yielding to the event loop; no attempt starts before all are loaded. */
  async #load(): Promise<void> {
    const state = await this.#lane.state(DUE_TOPIC)
    const { codec, nowMs } = this.#deps
    const { partition } = this.#lane
    const health = createEndpointHealth(codec)
    this.#due = createPendingDeliveries({ codec, state, partition, nowMs })
    this.#health = health
    let loaded = 0
    for (const [key, bytes] of state.entries()) {
      loaded += 1
      if (loaded % LOADED_PER_YIELD === 0) await nextTurn()
      if (this.#lane.signal.aborted) return
      if (health.load(key, bytes)) continue
      const delivery = this.#decoded(bytes)
      this.#queues.add(delivery, { key, dueAtMs: delivery.due_at })
    }
    for (const [endpointId, entry] of this.#queues.all()) this.#queues.drain(endpointId, entry)
  }

  /** Lets attempts in flight end and be recorded, as long as this process owns the writer. */
  async waitForRunning(): Promise<void> {
    if (this.#running === 0) return
    await withinGrace(
      new Promise((resolve) => {
        this.#whenIdle = resolve
      }),
    )
  }

  async #consume(): Promise<void> {
    const { signal } = this.#lane
    while (!signal.aborted) {
      await this.#accept(await this.#lane.take(POLL_OPTIONS))
      await this.#makeRoom()
    }
  }

  /** Queues what was read; only records that need no delivery are waited for. */
  async #accept(records: readonly LogRecord[]): Promise<void> {
    const nowMs = this.#deps.nowMs()
    const received = new Map<string, Delivery>()
    const deadLetters: ProducerRecord[] = []
    let isAnyPassed = false
    for (const record of records) {
      const { offset, value } = record
      const delivery = this.#deliveryOf(record)
      const isBad = delivery instanceof InvalidInput
      if (isBad) deadLetters.push(deadLetterRecord(SENDER_GROUP, record, delivery))
      const key = isBad ? '' : deliveryKey(delivery)
      if (isBad || value === null || this.#due?.has(key)) {
        this.#due?.pass(offset)
        isAnyPassed = true
        continue
      }
      this.#due?.add({ key, delivery, bytes: value, offset }, nowMs)
      received.set(key, delivery)
    }
    const passed = isAnyPassed ? this.#commits.add({ records: deadLetters }) : undefined
    passed?.catch(this.#fail)
    this.#cancelOutdated(received)
    for (const [key, delivery] of received) {
      this.#queues.add(delivery, { key, dueAtMs: delivery.due_at })
    }
    for (const endpointId of endpointIdsOf(received)) {
      this.#queues.drain(endpointId, this.#queues.of(endpointId))
      await this.#dropBeyond(this.#deps.backlogLimits.perEndpoint, endpointId)
    }
    await passed
  }

  /** Stores deliveries that have not ended for some time; where too many are in memory only, waits until some have ended or are stored. */
  async #makeRoom(): Promise<void> {
    do {
      const isStoring = this.#due?.storeOld(this.#deps.nowMs()) === true
      const isFull = this.#due?.isFull() === true
      const committed = isStoring || isFull ? this.#commits.add({}) : undefined
      committed?.catch(this.#fail)
      if (!isFull) return
      await committed
    } while (!this.#isStopping())
  }

  #deliveryOf(record: LogRecord): Delivery | InvalidInput {
    const { log, metrics } = this.#deps
    const decoded = tryDecode(() => {
      if (record.value === null) throw new InvalidInput('tombstone', 'unexpected tombstone')
      return this.#decoded(record.value)
    })
    if (!(decoded instanceof InvalidInput)) return decoded.value
    metrics.eventsDropped.inc({ stage: 'webhooks', reason: decoded.reason })
    log.error(
      { topic: record.topic, offset: record.offset, err: decoded },
      'undecodable record sent to dead-letter topic',
    )
    return decoded
  }

  #decoded(bytes: Uint8Array): Delivery {
    return this.#deps.codec.decode('webhook.Delivery', bytes)
  }

  #change(key: string, value: Uint8Array | null): StateChange {
    return dueStateChange(this.#lane.partition, key, value)
  }

  /** null = paused: a suspended organization gets no deliveries. */
  #limitsOf(endpointId: string): DeliveryLimits | null {
    const { endpoint, org } = findTarget(this.#deps, endpointId)
    if (org?.suspended) return null
    return { inFlight: this.#deps.inFlight, perSecond: endpoint?.rate_limit ?? null }
  }

  /** Waits for a slot of the concurrency limit, makes the attempt and records it. */
  #start(endpointId: string, entry: QueueEntry, delivery: QueuedDelivery): void {
    const { queue } = entry
    this.#running += 1
    this.#deps.concurrency
      .run({ endpointId, isSlow: queue.isSlow(this.#deps.nowMs()) }, () =>
        this.#attempt(queue, delivery),
      )
      .then(
        (outcome) => {
          queue.answered()
          this.#queues.drain(endpointId, entry)
          this.#record({ endpointId, entry, key: delivery.key, outcome })
        },
        (error) => {
          queue.answered()
          this.#fail(error)
          this.#recorded(endpointId, entry)
        },
      )
  }

  /** Most attempts are nothing but a record: for those nothing is kept until it is durable. */
  #record({ endpointId, entry, key, outcome }: AnsweredDelivery): void {
    entry.onRecorded ??= () => this.#recorded(endpointId, entry)
    const recorded = entry.onRecorded
    const onFailed = (error: unknown): void => {
      this.#fail(error)
      recorded()
    }
    try {
      const follows = this.#recordOutcome(key, outcome, { recorded, onFailed })
      follows?.then(recorded, onFailed)
    } catch (error) {
      onFailed(error)
    }
  }

  #recorded(endpointId: string, entry: QueueEntry): void {
    entry.queue.recorded()
    this.#queues.drain(endpointId, entry)
    this.#running -= 1
    if (this.#running === 0) this.#whenIdle?.()
  }

  async #attempt(
    queue: EndpointQueue,
    { key, dueAtMs }: QueuedDelivery,
  ): Promise<DeliveryOutcome | undefined> {
    const delivery = this.#isStopping() ? undefined : this.#due?.take(key)
    if (delivery === undefined) return undefined
    const outcome = await sendDelivery(this.#deps, delivery, dueAtMs)
    if (outcome.kind !== 'sent') return outcome
    const { status, errorKind } = outcome.outcome
    if (OVERLOADED_STATUSES.has(status)) queue.reduceRate(this.#deps.nowMs())
    if (errorKind === 'timeout') queue.markSlow(this.#deps.nowMs())
    return outcome
  }

  /** Records an outcome; undefined where `recorded` or `onFailed` is called later, else what has to follow before. */
  #recordOutcome(
    key: string,
    outcome: DeliveryOutcome | undefined,
    calls: RecordCalls,
  ): Promise<void> | undefined {
    if (outcome?.kind === 'sent') return this.#recordAttempt(key, outcome, calls)
    if (outcome?.kind === 'over') {
      return this.#terminate([{ key, delivery: outcome.delivery }], outcome.status)
    }
    if (outcome) {
      const dueAtMs = this.#deps.nowMs() + UNKNOWN_ENDPOINT_RETRY_MS * (1 + this.#deps.random())
      this.#queues.enqueue(outcome.delivery, { key, dueAtMs })
    }
    return Promise.resolve()
  }

  #isStopping(): boolean {
    return this.#failure.signal.aborted || this.#lane.signal.aborted
  }

  #recordAttempt(
    key: string,
    sent: CompletedAttempt,
    { recorded, onFailed }: RecordCalls,
  ): Promise<void> | undefined {
    const { codec, nowMs: clock, metrics, store } = this.#deps
    const { delivery, endpoint, outcome, decision } = sent
    const nowMs = clock()
    const due = this.#due
    if (!due) return Promise.resolve()
    const { partition } = this.#lane
    const isCurrent = isSameEndpointTarget(endpoint, store.get(endpoint.endpoint_id))
    const healthUpdate = isCurrent ? this.#health?.after(endpoint, decision, nowMs) : undefined
    const rows = healthUpdate?.rows ?? NO_ROWS
    const part = attemptCommitPart(codec, sent, { due, key, partition, nowMs, rows })
    metrics.webhookAttempts.inc({ result: decision.status, kind: outcome.errorKind ?? 'none' })
    metrics.webhookSeconds.observe(outcome.durationMs / 1_000)
    const action = healthUpdate
      ? decideEndpointAction(endpoint, decision, { health: healthUpdate.health, nowMs })
      : NO_ACTION
    const dueAtMs = decision.nextAtMs
    if (dueAtMs === null && action.kind === 'none') {
      this.#commits.put(part, recorded, onFailed)
      return undefined
    }
    return this.#commits.add(part).then(() => {
      if (dueAtMs !== null) this.#queues.enqueue(delivery, { key, dueAtMs })
      return this.#applyEndpointAction(endpoint, action)
    })
  }

  async #applyEndpointAction(attempted: WebhookEndpoint, action: EndpointAction): Promise<void> {
    const { store, nowMs, metrics, log } = this.#deps
    const { endpoint_id: endpointId } = attempted
    if (action.kind === 'none') return
    let isDisabled = false
    await store.change(endpointId, (current) => {
      const change = applyEndpointAction(attempted, action, nowMs())(current)
      isDisabled = change?.endpoint?.disabled === true
      return change
    })
    if (action.kind !== 'disable' || !isDisabled) return
    metrics.webhookDisabled.inc({ reason: action.reason })
    log.info({ endpointId, reason: action.reason }, 'webhook endpoint disabled')
    await this.#cancel(endpointId)
  }

  /**
   * Cancels messages queued before their endpoint was deleted, disabled, or disabled and enabled again; drops what is beyond
   * the limits of the organization and the process; removes empty queues.
   */
  #sweep(): void {
    const expired = this.#health?.expired((endpointId) => this.#deps.store.get(endpointId)) ?? []
    if (expired.length > 0) {
      const state = expired.map(({ key, value }) => this.#change(key, value))
      this.#commits.add({ state }).catch(this.#fail)
    }
    const nowMs = this.#deps.nowMs()
    this.#due?.evictExpired(nowMs)
    const limitOf = this.#deps.queueLimits()
    for (const [endpointId, entry] of this.#queues.all()) {
      const { queue, orgId, skipSweepUntilMs } = entry
      const { endpoint, org } = findTarget(this.#deps, endpointId)
      const isGone = !endpoint || !org || endpoint.disabled
      if ((isGone || this.#isOutdated(endpointId, entry)) && skipSweepUntilMs <= nowMs) {
        this.#cancel(endpointId).catch(this.#fail)
      }
      const most = limitOf(orgId)
      if (queue.size > most) this.#dropBeyond(most, endpointId).catch(this.#fail)
      const isIdle = queue.size === 0 && queue.busy === 0
      if (isIdle && !endpoint?.rate_limit) this.#queues.remove(endpointId)
    }
  }

  /** True when a message was queued before the endpoint was last enabled; the sweep may not have seen it disabled. */
  #isOutdated(endpointId: string, { oldestEnabledAtMs }: QueueEntry): boolean {
    const enabledAtMs = this.#deps.store.get(endpointId)?.enabled_at ?? 0
    return enabledAtMs > oldestEnabledAtMs
  }

  /** Cancels what waited before the endpoints of new messages were enabled, so that the new ones end last. */
  #cancelOutdated(received: ReadonlyMap<string, Delivery>): void {
    for (const endpointId of endpointIdsOf(received)) {
      const isOutdated = this.#isOutdated(endpointId, this.#queues.of(endpointId))
      if (isOutdated) this.#cancel(endpointId).catch(this.#fail)
    }
  }

  async #cancel(endpointId: string): Promise<void> {
    const queued = this.#queues.clear(endpointId)
    for (let at = 0; at < queued.length; at += TERMINATED_PER_COMMIT) {
      const pending = this.#takePending(queued.slice(at, at + TERMINATED_PER_COMMIT))
      const target = findTarget(this.#deps, endpointId)
      const nowMs = this.#deps.nowMs()
      const canceled: PendingDelivery[] = []
      for (const { key, delivery } of pending) {
        const eligibility = checkEligibility(delivery, target, nowMs)
        if (eligibility === 'canceled') {
          canceled.push({ key, delivery })
          continue
        }
        if (eligibility === 'later') {
          this.#queues.of(endpointId).skipSweepUntilMs = nowMs + SWEEP_SKIP_MS
        }
        this.#queues.enqueue(delivery, { key, dueAtMs: delivery.due_at })
      }
      if (canceled.length > 0) await this.#terminate(canceled, 'canceled')
      else await nextTurn()
    }
  }

  /** Drops the oldest messages of an endpoint that has more than `most`. */
  async #dropBeyond(most: number, endpointId: string): Promise<void> {
    const { queue } = this.#queues.of(endpointId)
    const dropped: QueuedDelivery[] = []
    while (queue.size > most) {
      const oldest = queue.dropOldest()
      if (oldest) dropped.push(oldest)
    }
    for (let at = 0; at < dropped.length; at += TERMINATED_PER_COMMIT) {
      const pending = this.#takePending(dropped.slice(at, at + TERMINATED_PER_COMMIT))
      await this.#terminate(pending, 'dropped', 'webhook.backlog')
    }
  }

  #takePending(queued: readonly QueuedDelivery[]): readonly PendingDelivery[] {
    return this.#due?.takeAll(queued.map(({ key }) => key)) ?? []
  }

  #terminate(
    pending: readonly PendingDelivery[],
    status: TerminalStatus,
    event?: string,
  ): Promise<void> {
    const due = this.#due
    if (!due) return Promise.resolve()
    const options = { due, status, ...(event !== undefined && { event }) }
    return this.#commits.add(terminalCommitPart(this.#deps, pending, options))
  }
}

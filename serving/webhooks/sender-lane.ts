import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Lane, LogRecord, ProducerRecord, StateChange } from '../../core/bus/contract.ts'
import { deadLetterRecord, tryDecode } from '../../core/bus/dead-letters.ts'
import { InvalidInput } from '../../core/errors.ts'
import type { Delivery, WebhookEndpoint } from '../../schemas/wire.ts'
import { applyEndpointAction } from './apply-endpoint-action.ts'
import { decideEndpointAction, type EndpointAction } from './attempt.ts'
import type { PendingDelivery } from './attempt-records.ts'
import { checkEligibility, deliveryKey, isSameEndpointTarget } from './delivery-eligibility.ts'
import { createEndpointHealth, type EndpointHealth } from './endpoint-health.ts'
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
/** Messages that wait for one endpoint; then the oldest are dropped. */
const MAX_QUEUED = 100_000
/** How often endpoints that were turned off are looked for. */
const SWEEP_INTERVAL_MS = 2_000
/** Messages that are ended in one commit. */
const TERMINATED_PER_COMMIT = 1_000
/** Messages that are read from the due store before others get a turn. */
const LOADED_PER_YIELD = 1_000
/** A message for an endpoint that is not known here yet is looked at again after this, and up to twice as long. */
const UNKNOWN_ENDPOINT_RETRY_MS = 1_000
/** Messages that stayed when an endpoint ended are left alone by the sweep for this long. */
const SWEEP_SKIP_MS = 60_000
/** Attempts on their way get this long to end when the lane is taken away. */
const SHUTDOWN_GRACE_MS = 1_000

/** Statuses of a gateway whose receiver is overloaded. */
const OVERLOADED_STATUSES = new Set([502, 504])

/**
 * One lane of the sender. Deliveries go from the outbox to the due store in one commit with the offset, so a slow
 * receiver never holds the outbox; what waits is kept per endpoint, and an attempt's record, its next due time and the
 * endpoint's health are one commit again. Killed in between, an attempt is repeated with the same id.
 */
export class SenderLane {
  readonly #deps: SenderDeps
  readonly #lane: Lane
  readonly #commits: GroupCommit
  readonly #lines: EndpointQueues
  readonly #running = new Set<Promise<void>>()
  readonly #failure = new AbortController()
  #due: PendingDeliveries | undefined
  #health: EndpointHealth | undefined

  constructor(deps: SenderDeps, lane: Lane) {
    this.#deps = deps
    this.#lane = lane
    this.#commits = createGroupCommit(lane.writer, SENDER_GROUP)
    this.#lines = createEndpointQueues({
      nowMs: deps.nowMs,
      paceOf: (endpointId) => this.#paceOf(endpointId),
      isOver: () => this.#isOver(),
      start: (endpointId, line, waiting) => this.#start(endpointId, line, waiting),
    })
  }

  /** Messages that wait or are on their way. */
  get backlog(): number {
    return this.#lines.backlog()
  }

  /** Messages of an endpoint that are on their way. */
  sending(endpointId: string): number {
    return this.#lines.busy(endpointId)
  }

  async run(): Promise<void> {
    await this.#load()
    const sweep = setInterval(() => this.#sweep(), SWEEP_INTERVAL_MS)
    const failed = once(this.#failure.signal, 'abort').then(() => {
      throw this.#failure.signal.reason
    })
    failed.catch(() => undefined)
    try {
      await Promise.race([this.#takeIn(), failed])
    } finally {
      clearInterval(sweep)
      this.#failure.abort(new Error('the lane ended'))
      this.#lines.stop()
      await this.waitForRunning()
    }
  }

  /** Reads what waits, in turns with whatever else the process does; nothing starts before all of it is there. */
  async #load(): Promise<void> {
    const state = await this.#lane.state(DUE_TOPIC)
    const health = createEndpointHealth(this.#deps.codec)
    this.#due = createPendingDeliveries(this.#deps.codec, state)
    this.#health = health
    let loaded = 0
    for (const [key, bytes] of state.entries()) {
      loaded += 1
      if (loaded % LOADED_PER_YIELD === 0) await nextTurn()
      if (this.#lane.signal.aborted) return
      if (health.load(key, bytes)) continue
      const { endpoint_id: endpointId, due_at: dueAtMs } = this.#decoded(bytes)
      this.#lines.of(endpointId).queue.add({ key, dueAtMs })
    }
    for (const [endpointId, line] of this.#lines.all()) this.#lines.pump(endpointId, line)
  }

  /** What is on its way may end and be recorded, as long as the writer is ours. */
  async waitForRunning(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const limit = new Promise((resolve) => {
      timer = setTimeout(resolve, SHUTDOWN_GRACE_MS)
    })
    await Promise.race([Promise.allSettled(this.#running), limit])
    clearTimeout(timer)
  }

  async #takeIn(): Promise<void> {
    const { partition, signal } = this.#lane
    while (!signal.aborted) {
      const taken = await this.#lane.take(POLL_OPTIONS)
      const last = taken.at(-1)
      if (last === undefined) continue
      const arrived = new Map<string, Delivery>()
      const deadLetters: ProducerRecord[] = []
      const state: StateChange[] = []
      for (const record of taken) {
        const delivery = this.#deliveryOf(record)
        if (delivery instanceof InvalidInput) {
          deadLetters.push(deadLetterRecord(SENDER_GROUP, record, delivery))
          continue
        }
        const key = deliveryKey(delivery)
        if (this.#due?.has(key) || arrived.has(key)) continue
        arrived.set(key, delivery)
        state.push(this.#change(key, record.value))
      }
      const next = [{ topic: last.topic, partition, offset: last.offset + 1 }]
      const isUrgent = this.#isAwaited(arrived)
      await this.#commits.add({ records: deadLetters, state, next, isUrgent })
      const nowMs = this.#deps.nowMs()
      for (const [key, delivery] of arrived) {
        this.#due?.keep({ key, delivery }, nowMs)
        this.#lines.enqueue(delivery.endpoint_id, { key, dueAtMs: delivery.due_at })
      }
      await this.#dropBeyondBound(arrived)
    }
  }

  /** True when an endpoint that has nothing else waiting could be sent to. */
  #isAwaited(arrived: ReadonlyMap<string, Delivery>): boolean {
    for (const { endpoint_id: endpointId } of arrived.values()) {
      if (this.#lines.of(endpointId).queue.size === 0) return true
    }
    return false
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

  /** null = paused: an organization that is suspended gets nothing until it is not. */
  #paceOf(endpointId: string): DeliveryLimits | null {
    const { endpoint, org } = findTarget(this.#deps, endpointId)
    if (org?.suspended) return null
    return { inFlight: this.#deps.inFlight, perSecond: endpoint?.rate_limit ?? null }
  }

  #start(endpointId: string, line: QueueEntry, waiting: QueuedDelivery): void {
    const work = this.#carry(endpointId, line, waiting)
    this.#running.add(work)
    work.then(() => this.#running.delete(work))
  }

  /** From the place that an attempt waits for to its record. */
  async #carry(endpointId: string, line: QueueEntry, waiting: QueuedDelivery): Promise<void> {
    const { queue } = line
    const asker = { endpointId, isSlow: queue.isSlow(this.#deps.nowMs()) }
    try {
      let ended: DeliveryOutcome | undefined
      try {
        ended = await this.#deps.places.run(asker, () => this.#attempt(queue, waiting))
      } finally {
        queue.answered()
        this.#lines.pump(endpointId, line)
      }
      await this.#conclude(waiting.key, ended)
    } catch (error) {
      this.#failure.abort(error)
    }
    queue.recorded()
    this.#lines.pump(endpointId, line)
  }

  async #attempt(
    queue: EndpointQueue,
    { key, dueAtMs }: QueuedDelivery,
  ): Promise<DeliveryOutcome | undefined> {
    const delivery = this.#isOver() ? undefined : this.#due?.take(key)
    if (delivery === undefined) return undefined
    const ended = await sendDelivery(this.#deps, delivery, dueAtMs)
    if (ended.kind !== 'sent') return ended
    const { status, errorKind } = ended.outcome
    if (OVERLOADED_STATUSES.has(status)) queue.ease(this.#deps.nowMs())
    if (errorKind === 'timeout') queue.slow(this.#deps.nowMs())
    return ended
  }

  async #conclude(key: string, ended: DeliveryOutcome | undefined): Promise<void> {
    if (ended?.kind === 'sent') return this.#record(key, ended)
    if (ended?.kind === 'over') {
      return this.#end([{ key, delivery: ended.delivery }], ended.status)
    }
    if (!ended) return
    const dueAtMs = this.#deps.nowMs() + UNKNOWN_ENDPOINT_RETRY_MS * (1 + this.#deps.random())
    this.#lines.enqueue(ended.delivery.endpoint_id, { key, dueAtMs })
  }

  #isOver(): boolean {
    return this.#failure.signal.aborted || this.#lane.signal.aborted
  }

  async #record(key: string, sent: CompletedAttempt): Promise<void> {
    const { codec, nowMs: clock, metrics, store } = this.#deps
    const { delivery, endpoint, outcome, decision } = sent
    const nowMs = clock()
    const { partition } = this.#lane
    const isCurrent = isSameEndpointTarget(endpoint, store.get(endpoint.endpoint_id))
    const checkup = isCurrent ? this.#health?.after(endpoint, decision, nowMs) : undefined
    const rows = checkup?.rows ?? []
    await this.#commits.add(attemptCommitPart(codec, sent, { key, partition, nowMs, rows }))
    metrics.webhookAttempts.inc({ result: decision.status, kind: outcome.errorKind ?? 'none' })
    metrics.webhookSeconds.observe(outcome.durationMs / 1_000)
    if (decision.nextAtMs !== null) {
      this.#lines.enqueue(delivery.endpoint_id, { key, dueAtMs: decision.nextAtMs })
    }
    if (!checkup) return
    await this.#applyFate(
      endpoint,
      decideEndpointAction(endpoint, decision, { health: checkup.health, nowMs }),
    )
  }

  async #applyFate(attempted: WebhookEndpoint, fate: EndpointAction): Promise<void> {
    const { store, nowMs, metrics, log } = this.#deps
    const { endpoint_id: endpointId } = attempted
    if (fate.kind === 'none') return
    let isDisabled = false
    await store.change(endpointId, (known) => {
      const change = applyEndpointAction(attempted, fate, nowMs())(known)
      isDisabled = change?.endpoint?.disabled === true
      return change
    })
    if (fate.kind !== 'disable' || !isDisabled) return
    metrics.webhookDisabled.inc({ reason: fate.reason })
    log.info({ endpointId, reason: fate.reason }, 'webhook endpoint disabled')
    await this.#cancel(endpointId)
  }

  /** Cancels what waits for endpoints that are gone or turned off, and forgets queues that have nothing. */
  #sweep(): void {
    const fail = (error: unknown): void => this.#failure.abort(error)
    const ended = this.#health?.ended((endpointId) => this.#deps.store.get(endpointId)) ?? []
    if (ended.length > 0) {
      const state = ended.map(({ key, value }) => this.#change(key, value))
      this.#commits.add({ state }).catch(fail)
    }
    const nowMs = this.#deps.nowMs()
    this.#due?.sweep(nowMs)
    for (const [endpointId, { queue, sweptUntilMs }] of this.#lines.all()) {
      const { endpoint, org } = findTarget(this.#deps, endpointId)
      const isGone = !endpoint || !org || endpoint.disabled
      if (isGone && sweptUntilMs <= nowMs) this.#cancel(endpointId).catch(fail)
      const isIdle = queue.size === 0 && queue.busy === 0
      if (isIdle && !endpoint?.rate_limit) this.#lines.forget(endpointId)
    }
  }

  async #cancel(endpointId: string): Promise<void> {
    const waiting = this.#lines.clear(endpointId)
    for (let at = 0; at < waiting.length; at += TERMINATED_PER_COMMIT) {
      const held = this.#held(waiting.slice(at, at + TERMINATED_PER_COMMIT))
      const addressee = findTarget(this.#deps, endpointId)
      const nowMs = this.#deps.nowMs()
      const isCanceled = ({ delivery }: PendingDelivery): boolean =>
        checkEligibility(delivery, addressee, nowMs) === 'canceled'
      const canceled = held.filter(isCanceled)
      if (canceled.length > 0) await this.#end(canceled, 'canceled')
      for (const { key, delivery } of held.filter((each) => !isCanceled(each))) {
        this.#lines.of(endpointId).sweptUntilMs = nowMs + SWEEP_SKIP_MS
        this.#lines.enqueue(endpointId, { key, dueAtMs: delivery.due_at })
      }
    }
  }

  async #dropBeyondBound(arrived: ReadonlyMap<string, Delivery>): Promise<void> {
    const endpointIds = new Set([...arrived.values()].map(({ endpoint_id }) => endpoint_id))
    for (const endpointId of endpointIds) {
      const queue = this.#lines.of(endpointId).queue
      const dropped: QueuedDelivery[] = []
      while (queue.size > MAX_QUEUED) {
        const oldest = queue.dropOldest()
        if (oldest) dropped.push(oldest)
      }
      for (let at = 0; at < dropped.length; at += TERMINATED_PER_COMMIT) {
        const held = this.#held(dropped.slice(at, at + TERMINATED_PER_COMMIT))
        await this.#end(held, 'dropped', 'webhook.backlog')
      }
    }
  }

  #held(waiting: readonly QueuedDelivery[]): readonly PendingDelivery[] {
    return this.#due?.takeAll(waiting.map(({ key }) => key)) ?? []
  }

  #end(held: readonly PendingDelivery[], status: TerminalStatus, event?: string): Promise<void> {
    const { partition } = this.#lane
    const place = { status, partition, ...(event !== undefined && { event }) }
    return this.#commits.add(terminalCommitPart(this.#deps, held, place))
  }
}

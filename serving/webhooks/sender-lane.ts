import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Lane, LaneState, LogRecord, OutRecord, StateChange } from '../../core/bus-contract.ts'
import type { Codec } from '../../core/codec-contract.ts'
import { deadLetter, orPoison } from '../../core/dead-letter.ts'
import { Malformed } from '../../core/fault.ts'
import type { Logger } from '../../core/log.ts'
import type { Metrics } from '../../core/metrics.ts'
import type { Sealer } from '../../core/seal.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type { Delivery, WebhookEndpoint } from '../../schemas/wire.ts'
import { attemptOf, type EndpointFate, eventOf, fateOf, postOf, type SendStyle } from './attempt.ts'
import type { Poster } from './client.ts'
import {
  dueKey,
  isSameTarget,
  type OrgOf,
  type Standing,
  standingOf,
  triggerOf,
  UNSIGNED,
} from './delivery.ts'
import { attemptRecord, deliveryOperation, endRecords, type Held } from './ended.ts'
import { credentialsOf } from './endpoint.ts'
import type { EndpointStore } from './endpoints.ts'
import { fateStep } from './fate.ts'
import { type GroupCommit, groupCommit, type Part } from './group-commit.ts'
import { type HealthBook, makeHealthBook } from './health-book.ts'
import { type Line, type Lines, makeLines } from './lines.ts'
import type { Places } from './places.ts'
import type { EndpointQueue, Pace, Waiting } from './queue.ts'
import { type Outcome, type Verdict, verdictOf } from './schedule.ts'

/** What the lanes of a sender share. */
export interface SenderDeps {
  readonly codec: Codec
  readonly store: EndpointStore
  readonly orgOf: OrgOf
  readonly sealer: Sealer
  readonly poster: Pick<Poster, 'post'>
  readonly places: Places
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

const TAKE = { maxRecords: 500, maxWaitMs: 250 }
/** Messages that wait for one endpoint; then the oldest are dropped. */
const MOST_WAITING = 100_000
/** How often endpoints that were turned off are looked for. */
const SWEEP_MS = 2_000
/** Messages that are ended in one commit. */
const MOST_ENDED = 1_000
/** Messages that are read from the due store before others get a turn. */
const LOADED_PER_TURN = 1_000
/** A message for an endpoint that is not known here yet is looked at again after this, and up to twice as long. */
const LATER_MS = 1_000
/** Messages that stayed when an endpoint ended are left alone by the sweep for this long. */
const STAYED_MS = 60_000
/** Attempts on their way get this long to end when the lane is taken away. */
const LEAVE_MS = 1_000

/** Statuses of a gateway whose receiver is overloaded. */
const OVERLOADED = new Set([502, 504])

/**
 * One lane of the sender. Deliveries go from the outbox to the due store in one commit with the offset, so a slow
 * receiver never holds the outbox; what waits is kept per endpoint, and an attempt's record, its next due time and the
 * endpoint's health are one commit again. Killed in between, an attempt is repeated with the same id.
 */
export class SenderLane {
  readonly #deps: SenderDeps
  readonly #lane: Lane
  readonly #commits: GroupCommit
  readonly #lines: Lines
  readonly #running = new Set<Promise<void>>()
  readonly #failure = new AbortController()
  #state: LaneState | undefined
  #health: HealthBook | undefined

  constructor(deps: SenderDeps, lane: Lane) {
    this.#deps = deps
    this.#lane = lane
    this.#commits = groupCommit(lane.writer, SENDER_GROUP)
    this.#lines = makeLines({
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

  async run(): Promise<void> {
    await this.#load()
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
      this.#lines.stop()
      await this.#settle()
    }
  }

  /** Reads what waits, in turns with whatever else the process does; nothing starts before all of it is there. */
  async #load(): Promise<void> {
    const state = await this.#lane.state(DUE)
    const health = makeHealthBook(this.#deps.codec, state)
    this.#state = state
    this.#health = health
    let loaded = 0
    for (const [key, bytes] of state.entries()) {
      loaded += 1
      if (loaded % LOADED_PER_TURN === 0) await nextTurn()
      if (this.#lane.signal.aborted) return
      if (health.load(key, bytes)) continue
      const { endpoint_id: endpointId, due_at: dueAtMs } = this.#decoded(bytes)
      this.#lines.of(endpointId).queue.add({ key, dueAtMs })
    }
    for (const [endpointId, line] of this.#lines.all()) this.#lines.pump(endpointId, line)
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
      for (const [key, { endpoint_id: endpointId, due_at: dueAtMs }] of arrived) {
        this.#lines.enqueue(endpointId, { key, dueAtMs })
      }
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

  /** null = paused: an organization that is suspended gets nothing until it is not. */
  #paceOf(endpointId: string): Pace | null {
    const { endpoint, org } = this.#addressee(endpointId)
    if (org?.suspended) return null
    return { inFlight: this.#deps.inFlight, perSecond: endpoint?.rate_limit ?? null }
  }

  #start(endpointId: string, line: Line, waiting: Waiting): void {
    const again = (): void => this.#lines.pump(endpointId, line)
    const asker = { endpointId, isSlow: line.queue.isSlow(this.#deps.nowMs()) }
    const work = this.#deps.places
      .run(asker, () => this.#attempt(line.queue, waiting))
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
    const { poster, sealer, nowMs, metrics, scheduleMs, random, style, log } = this.#deps
    const bytes = this.#isOver() ? undefined : this.#state?.get(key)
    if (bytes === undefined) return undefined
    const delivery = this.#decoded(bytes)
    const { endpoint, org } = this.#addressee(delivery.endpoint_id)
    const standing = standingOf(delivery, { endpoint, org }, nowMs())
    if (standing === 'later') return { kind: 'later', delivery }
    if (standing !== 'good' || !endpoint) {
      return { kind: 'over', delivery, status: standing === 'good' ? 'canceled' : standing }
    }
    const startedMs = nowMs()
    metrics.webhookDueLagSeconds.set(Math.max(0, startedMs - dueAtMs) / 1_000)
    const opened = orPoison(() => credentialsOf(endpoint, sealer, startedMs))
    if (opened instanceof Malformed) {
      log.error({ endpointId: endpoint.endpoint_id, err: opened }, 'no signature')
    }
    const outcome =
      opened instanceof Malformed
        ? UNSIGNED
        : await poster.post(
            postOf(endpoint, delivery, { ...opened.value, nowMs: startedMs, style }),
          )
    if (OVERLOADED.has(outcome.status)) queue.ease(nowMs())
    if (outcome.errorKind === 'timeout') queue.slow(nowMs())
    const trigger = triggerOf(delivery)
    const plan = { attempt: delivery.attempt, trigger, scheduleMs, nowMs: nowMs(), random }
    return { kind: 'sent', delivery, endpoint, outcome, verdict: verdictOf(outcome, plan) }
  }

  async #conclude(key: string, ended: Ended | undefined): Promise<void> {
    if (ended?.kind === 'sent') return this.#record(key, ended)
    if (ended?.kind === 'over') {
      return this.#commits.add(this.#ending([{ key, delivery: ended.delivery }], ended.status))
    }
    if (!ended) return
    const dueAtMs = this.#deps.nowMs() + LATER_MS * (1 + this.#deps.random())
    this.#lines.enqueue(ended.delivery.endpoint_id, { key, dueAtMs })
  }

  #addressee(endpointId: string) {
    const endpoint = this.#deps.store.get(endpointId)
    return { endpoint, org: endpoint && this.#deps.orgOf(endpoint.org_id) }
  }

  #isOver(): boolean {
    return this.#failure.signal.aborted || this.#lane.signal.aborted
  }

  async #record(key: string, { delivery, endpoint, outcome, verdict }: Sent): Promise<void> {
    const { codec, nowMs, metrics, store } = this.#deps
    const atMs = nowMs()
    const isCurrent = isSameTarget(endpoint, store.get(endpoint.endpoint_id))
    const checkup = isCurrent ? this.#health?.after(endpoint, verdict, atMs) : undefined
    const again: Delivery | null =
      verdict.nextAtMs === null
        ? null
        : { ...delivery, attempt: delivery.attempt + 1, due_at: verdict.nextAtMs }
    const event = eventOf(delivery, verdict)
    await this.#commits.add({
      records: [
        attemptRecord(codec, attemptOf(delivery, endpoint, { outcome, verdict, nowMs: atMs })),
        ...(event === null ? [] : [deliveryOperation(codec, event, delivery, atMs)]),
      ],
      state: [
        this.#change(key, again && codec.encode('webhook.Delivery', again)),
        ...(checkup?.rows.map((row) => this.#change(row.key, row.value)) ?? []),
      ],
    })
    metrics.webhookAttempts.inc({ result: verdict.status, kind: outcome.errorKind ?? 'none' })
    metrics.webhookSeconds.observe(outcome.durationMs / 1_000)
    if (again) this.#lines.enqueue(delivery.endpoint_id, { key, dueAtMs: again.due_at })
    if (!checkup) return
    await this.#applyFate(endpoint, fateOf(endpoint, verdict, { ...checkup, nowMs: atMs }))
  }

  async #applyFate(attempted: WebhookEndpoint, fate: EndpointFate): Promise<void> {
    const { store, nowMs, metrics, log } = this.#deps
    const { endpoint_id: endpointId } = attempted
    if (fate.kind === 'none') return
    let isDisabled = false
    await store.change(endpointId, (known) => {
      const change = fateStep(attempted, fate, nowMs())(known)
      isDisabled = change?.endpoint?.disabled === true
      return change
    })
    if (fate.kind !== 'disable' || !isDisabled) return
    metrics.webhookDisabled.inc({ reason: fate.reason })
    log.info({ endpointId, reason: fate.reason }, 'webhook endpoint turned off')
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
    for (const [endpointId, { queue, sweptUntilMs }] of this.#lines.all()) {
      const { endpoint, org } = this.#addressee(endpointId)
      const isGone = !endpoint || !org || endpoint.disabled
      if (isGone && sweptUntilMs <= nowMs) this.#cancel(endpointId).catch(fail)
      const isIdle = queue.size === 0 && queue.busy === 0
      if (isIdle && !endpoint?.rate_limit) this.#lines.forget(endpointId)
    }
  }

  async #cancel(endpointId: string): Promise<void> {
    const waiting = this.#lines.clear(endpointId)
    for (let at = 0; at < waiting.length; at += MOST_ENDED) {
      const held = this.#held(waiting.slice(at, at + MOST_ENDED))
      const addressee = this.#addressee(endpointId)
      const nowMs = this.#deps.nowMs()
      const isCanceled = ({ delivery }: Held): boolean =>
        standingOf(delivery, addressee, nowMs) === 'canceled'
      const canceled = held.filter(isCanceled)
      if (canceled.length > 0) await this.#commits.add(this.#ending(canceled, 'canceled'))
      for (const { key, delivery } of held.filter((each) => !isCanceled(each))) {
        this.#lines.of(endpointId).sweptUntilMs = nowMs + STAYED_MS
        this.#lines.enqueue(endpointId, { key, dueAtMs: delivery.due_at })
      }
    }
  }

  async #dropBeyondBound(arrived: ReadonlyMap<string, Delivery>): Promise<void> {
    const endpointIds = new Set([...arrived.values()].map(({ endpoint_id }) => endpoint_id))
    for (const endpointId of endpointIds) {
      const queue = this.#lines.of(endpointId).queue
      const dropped: Waiting[] = []
      while (queue.size > MOST_WAITING) {
        const oldest = queue.dropOldest()
        if (oldest) dropped.push(oldest)
      }
      for (let at = 0; at < dropped.length; at += MOST_ENDED) {
        const held = this.#held(dropped.slice(at, at + MOST_ENDED))
        await this.#commits.add(this.#ending(held, 'dropped', 'webhook.backlog'))
      }
    }
  }

  #held(waiting: readonly Waiting[]): readonly Held[] {
    return waiting.flatMap(({ key }) => {
      const bytes = this.#state?.get(key)
      return bytes === undefined ? [] : [{ key, delivery: this.#decoded(bytes) }]
    })
  }

  /** The end of one endpoint's messages, told as an operational event where there is a name for it. */
  #ending(held: readonly Held[], status: EndStatus, event?: string): Part {
    const { codec, metrics, store } = this.#deps
    const [first] = held
    if (first === undefined) return {}
    const nowMs = this.#deps.nowMs()
    const endpoint = store.get(first.delivery.endpoint_id)
    metrics.webhookAttempts.inc({ result: status, kind: 'none' }, held.length)
    return {
      records: [
        ...endRecords(codec, held, { endpoint, status, nowMs }),
        ...(event ? [deliveryOperation(codec, event, first.delivery, nowMs)] : []),
      ],
      state: held.map(({ key }) => this.#change(key, null)),
    }
  }
}

type EndStatus = Extract<Standing, 'canceled' | 'dropped'>

interface Sent {
  readonly kind: 'sent'
  readonly delivery: Delivery
  readonly endpoint: WebhookEndpoint
  readonly outcome: Outcome
  readonly verdict: Verdict
}

type Ended =
  | Sent
  | { readonly kind: 'later'; readonly delivery: Delivery }
  | { readonly kind: 'over'; readonly delivery: Delivery; readonly status: EndStatus }

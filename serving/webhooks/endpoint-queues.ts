import { HOUR_MS } from '../../core/time.ts'
import type { Delivery } from '../../schemas/wire.ts'
import { type DeliveryLimits, EndpointQueue, type QueuedDelivery } from './endpoint-queue.ts'

/** The queue of one endpoint, with the timer of its next drain. */
export interface QueueEntry {
  readonly queue: EndpointQueue
  /** Organization of the messages; empty before the first. */
  orgId: string
  timer: NodeJS.Timeout | undefined
  /** The sweep skips the queue until then, epoch milliseconds. */
  skipSweepUntilMs: number
  /** Oldest enabling of the endpoint that a queued message belongs to, epoch milliseconds; Infinity = none was queued. */
  oldestEnabledAtMs: number
  /** Called when an attempt's record is durable: one function for all attempts of the endpoint. */
  onRecorded: (() => void) | undefined
}

/** The part of a delivery that decides where and whether it is queued. */
export type QueueTarget = Pick<Delivery, 'endpoint_id' | 'org_id' | 'enabled_at' | 'queued_at'>

/** A message to be queued; its age is that of its delivery. */
type DueDelivery = Omit<QueuedDelivery, 'queuedAtMs'>

/** The queues of a lane, one per endpoint with messages queued or in flight. */
export interface EndpointQueues {
  of(endpointId: string): QueueEntry
  all(): Iterable<readonly [string, QueueEntry]>
  /** Adds a message; nothing is started. */
  add(target: QueueTarget, delivery: DueDelivery): void
  /** Adds a message and drains the queue. */
  enqueue(target: QueueTarget, delivery: DueDelivery): void
  /** Starts the messages that are due within the limits, and schedules the next drain. */
  drain(endpointId: string, entry: QueueEntry): void
  /** Removes and returns the queued messages of an endpoint. */
  clear(endpointId: string): readonly QueuedDelivery[]
  remove(endpointId: string): void
  /** Messages of an endpoint that were started and are not recorded yet. */
  busy(endpointId: string): number
  /** Messages that are queued or in flight. */
  backlog(): number
  stop(): void
}

/** What the queues call. */
export interface EndpointQueuesDeps {
  readonly nowMs: () => number
  /** null = the endpoint is paused. */
  readonly limitsOf: (endpointId: string) => DeliveryLimits | null
  readonly isStopping: () => boolean
  /** Must lead to `answered` and `recorded` of the queue. */
  readonly start: (endpointId: string, entry: QueueEntry, delivery: QueuedDelivery) => void
}

/** Longest timer: Node's timers take no more than 31 bits. */
const MAX_TIMER_MS = HOUR_MS
/** Poll interval of a paused endpoint. */
const PAUSED_POLL_MS = 2_000

/** Starts without any queue. */
export const createEndpointQueues = ({
  nowMs,
  limitsOf,
  isStopping,
  start,
}: EndpointQueuesDeps): EndpointQueues => {
  const entries = new Map<string, QueueEntry>()
  const of = (endpointId: string): QueueEntry => {
    const existing = entries.get(endpointId)
    if (existing) return existing
    const entry = {
      queue: new EndpointQueue(),
      orgId: '',
      timer: undefined,
      skipSweepUntilMs: 0,
      oldestEnabledAtMs: Number.POSITIVE_INFINITY,
      onRecorded: undefined,
    }
    entries.set(endpointId, entry)
    return entry
  }
  const add = (target: QueueTarget, { key, dueAtMs }: DueDelivery): QueueEntry => {
    const entry = of(target.endpoint_id)
    entry.orgId = target.org_id
    entry.oldestEnabledAtMs = Math.min(entry.oldestEnabledAtMs, target.enabled_at)
    entry.queue.add({ key, dueAtMs, queuedAtMs: target.queued_at })
    return entry
  }
  /** Starts what is due; returns the time of the next start, undefined where only another event can cause it. */
  const startDue = (
    endpointId: string,
    entry: QueueEntry,
    limits: DeliveryLimits,
  ): number | undefined => {
    while (!isStopping()) {
      const next = entry.queue.next(nowMs(), limits)
      if (next.kind === 'idle') return undefined
      if (next.kind === 'wait') return next.untilMs
      start(endpointId, entry, next.delivery)
    }
    return undefined
  }
  const drainAfter = (endpointId: string, entry: QueueEntry, sleepMs: number): void => {
    entry.timer = setTimeout(() => drain(endpointId, entry), Math.min(sleepMs, MAX_TIMER_MS))
  }
  const drain = (endpointId: string, entry: QueueEntry): void => {
    if (entry.timer !== undefined) clearTimeout(entry.timer)
    entry.timer = undefined
    if (entry.queue.size === 0 || isStopping()) return
    const limits = limitsOf(endpointId)
    if (limits === null) drainAfter(endpointId, entry, PAUSED_POLL_MS)
    else {
      const untilMs = startDue(endpointId, entry, limits)
      if (untilMs !== undefined) drainAfter(endpointId, entry, untilMs - nowMs())
    }
  }
  return {
    of,
    drain,
    all: () => entries,
    add,
    enqueue: (target, delivery) => drain(target.endpoint_id, add(target, delivery)),
    clear: (endpointId) => {
      const entry = entries.get(endpointId)
      if (!entry) return []
      entry.oldestEnabledAtMs = Number.POSITIVE_INFINITY
      return entry.queue.clear()
    },
    remove: (endpointId) => {
      clearTimeout(entries.get(endpointId)?.timer)
      entries.delete(endpointId)
    },
    busy: (endpointId) => entries.get(endpointId)?.queue.busy ?? 0,
    backlog: () =>
      [...entries.values()].reduce((sum, { queue }) => sum + queue.size + queue.busy, 0),
    stop: () => {
      for (const { timer } of entries.values()) clearTimeout(timer)
    },
  }
}

import { HOUR_MS } from '../../core/time.ts'
import { type DeliveryLimits, EndpointQueue, type QueuedDelivery } from './endpoint-queue.ts'

/** What waits for one endpoint, and when it is looked at again. */
export interface QueueEntry {
  readonly queue: EndpointQueue
  timer: NodeJS.Timeout | undefined
  /** The sweep leaves the line alone until then, epoch milliseconds. */
  sweptUntilMs: number
}

/** The lines of a lane, one per endpoint that has something waiting or on its way. */
export interface EndpointQueues {
  of(endpointId: string): QueueEntry
  all(): Iterable<readonly [string, QueueEntry]>
  /** Adds a message and starts what can be started. */
  enqueue(endpointId: string, waiting: QueuedDelivery): void
  /** Starts what is due and allowed, and comes back when the next thing is. */
  pump(endpointId: string, line: QueueEntry): void
  /** Takes everything out that waits for an endpoint. */
  clear(endpointId: string): readonly QueuedDelivery[]
  forget(endpointId: string): void
  /** Messages of an endpoint that were taken out and are not recorded. */
  busy(endpointId: string): number
  /** Messages that wait or are on their way. */
  backlog(): number
  stop(): void
}

/** What lines ask and call. */
export interface EndpointQueuesDeps {
  readonly nowMs: () => number
  /** null = the endpoint is paused. */
  readonly paceOf: (endpointId: string) => DeliveryLimits | null
  readonly isOver: () => boolean
  /** Must lead to `answered` and `recorded` of the queue. */
  readonly start: (endpointId: string, line: QueueEntry, waiting: QueuedDelivery) => void
}

/** Longest sleep of a line: timers take no more than 31 bits. */
const MAX_TIMER_MS = HOUR_MS
/** How often a paused endpoint is looked at. */
const PAUSED_POLL_MS = 2_000

/** Makes them, empty. */
export const createEndpointQueues = ({
  nowMs,
  paceOf,
  isOver,
  start,
}: EndpointQueuesDeps): EndpointQueues => {
  const lines = new Map<string, QueueEntry>()
  const of = (endpointId: string): QueueEntry => {
    const known = lines.get(endpointId)
    if (known) return known
    const line = { queue: new EndpointQueue(), timer: undefined, sweptUntilMs: 0 }
    lines.set(endpointId, line)
    return line
  }
  /** Starts what can be; the time when the next can be, if anybody knows it. */
  const startDue = (
    endpointId: string,
    line: QueueEntry,
    pace: DeliveryLimits,
  ): number | undefined => {
    while (!isOver()) {
      const next = line.queue.next(nowMs(), pace)
      if (next.kind === 'idle') return undefined
      if (next.kind === 'wait') return next.untilMs
      start(endpointId, line, next.waiting)
    }
    return undefined
  }
  const pump = (endpointId: string, line: QueueEntry): void => {
    clearTimeout(line.timer)
    const comeBack = (sleepMs: number): void => {
      const sleep = Math.min(sleepMs, MAX_TIMER_MS)
      line.timer = setTimeout(() => pump(endpointId, line), sleep)
    }
    if (isOver()) return
    const pace = paceOf(endpointId)
    if (pace === null) comeBack(PAUSED_POLL_MS)
    else {
      const untilMs = startDue(endpointId, line, pace)
      if (untilMs !== undefined) comeBack(untilMs - nowMs())
    }
  }
  return {
    of,
    pump,
    all: () => lines,
    enqueue: (endpointId, waiting) => {
      const line = of(endpointId)
      line.queue.add(waiting)
      pump(endpointId, line)
    },
    clear: (endpointId) => lines.get(endpointId)?.queue.clear() ?? [],
    forget: (endpointId) => {
      clearTimeout(lines.get(endpointId)?.timer)
      lines.delete(endpointId)
    },
    busy: (endpointId) => lines.get(endpointId)?.queue.busy ?? 0,
    backlog: () => [...lines.values()].reduce((sum, { queue }) => sum + queue.size + queue.busy, 0),
    stop: () => {
      for (const { timer } of lines.values()) clearTimeout(timer)
    },
  }
}

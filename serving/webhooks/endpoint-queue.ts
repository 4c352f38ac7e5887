import TinyQueue from 'tinyqueue'

/** A queued message. */
export interface QueuedDelivery {
  /** Key in the due store. */
  readonly key: string
  /** Epoch milliseconds. */
  readonly dueAtMs: number
}

/** Concurrency and rate of an endpoint. */
export interface DeliveryLimits {
  readonly inFlight: number
  /** Messages per second; null = no limit. */
  readonly perSecond: number | null
}

/** Next action of a queue: start a message, wait until a time, or idle until something changes. */
export type QueueAction =
  | { readonly kind: 'start'; readonly delivery: QueuedDelivery }
  | { readonly kind: 'wait'; readonly untilMs: number }
  | { readonly kind: 'idle' }

const IDLE: QueueAction = { kind: 'idle' }

/** After a gateway error the endpoint's concurrency is halved for this long. */
const REDUCED_RATE_MS = 300_000
/** After a timeout the endpoint gets one message at a time for this long. */
const SLOW_ENDPOINT_MS = 60_000

/** Completed attempts whose record is not durable yet: at most this many are repeated after a crash. */
const MAX_UNRECORDED = 1_024

interface HeapEntry {
  readonly delivery: QueuedDelivery
  /** Insertion counter: of two messages with one due time the older comes first. */
  readonly rank: number
}

const byDueTime = (one: HeapEntry, other: HeapEntry): number =>
  one.delivery.dueAtMs - other.delivery.dueAtMs || one.rank - other.rank

/** Queued messages of one endpoint by due time, and the number in flight. The caller passes the clock. */
export class EndpointQueue {
  #heap = new TinyQueue<HeapEntry>([], byDueTime)
  #added = 0
  #inFlight = 0
  #unrecorded = 0
  #tokens = Number.POSITIVE_INFINITY
  #filledAtMs = 0
  #reducedUntilMs = 0
  #slowUntilMs = 0

  get size(): number {
    return this.#heap.length
  }

  /** Messages that were started and are not recorded yet. */
  get busy(): number {
    return this.#inFlight + this.#unrecorded
  }

  add(delivery: QueuedDelivery): void {
    this.#added += 1
    this.#heap.push({ delivery, rank: this.#added })
  }

  /** Removes the next message when it is due and within the limits; then `answered` and `recorded` must follow. */
  next(nowMs: number, limits: DeliveryLimits): QueueAction {
    const first = this.#heap.peek()?.delivery
    const isFull =
      this.#inFlight >= this.#limit(nowMs, limits) || this.#unrecorded >= MAX_UNRECORDED
    if (first === undefined || isFull) return IDLE
    if (first.dueAtMs > nowMs) return { kind: 'wait', untilMs: first.dueAtMs }
    const tokenAtMs = this.#takeToken(nowMs, limits.perSecond)
    if (tokenAtMs > nowMs) return { kind: 'wait', untilMs: tokenAtMs }
    this.#heap.pop()
    this.#inFlight += 1
    return { kind: 'start', delivery: first }
  }

  /** The attempt has ended: its slot is free, its record is not durable yet. */
  answered(): void {
    this.#inFlight -= 1
    this.#unrecorded += 1
  }

  recorded(): void {
    this.#unrecorded -= 1
  }

  /** Halves the concurrency for `REDUCED_RATE_MS`. */
  reduceRate(nowMs: number): void {
    this.#reducedUntilMs = nowMs + REDUCED_RATE_MS
  }

  /** Limits the endpoint to one message at a time for `SLOW_ENDPOINT_MS`. */
  markSlow(nowMs: number): void {
    this.#slowUntilMs = nowMs + SLOW_ENDPOINT_MS
  }

  isSlow(nowMs: number): boolean {
    return nowMs < this.#slowUntilMs
  }

  /** Removes and returns all queued messages, in no order. */
  clear(): readonly QueuedDelivery[] {
    const all = this.#heap.data.map(({ delivery }) => delivery)
    this.#heap = new TinyQueue<HeapEntry>([], byDueTime)
    return all
  }

  /** Removes the oldest message. */
  dropOldest(): QueuedDelivery | undefined {
    return this.#heap.pop()?.delivery
  }

  #limit(nowMs: number, { inFlight }: DeliveryLimits): number {
    if (this.isSlow(nowMs)) return 1
    return nowMs < this.#reducedUntilMs ? Math.ceil(inFlight / 2) : inFlight
  }

  /** `nowMs` when a token was taken, else the time of the next token. A clock that goes back fills nothing. */
  #takeToken(nowMs: number, perSecond: number | null): number {
    if (!perSecond) return nowMs
    const capacity = Math.max(1, perSecond)
    const seconds = Math.max(0, nowMs - this.#filledAtMs) / 1_000
    this.#tokens = Math.min(capacity, this.#tokens + seconds * perSecond)
    this.#filledAtMs = nowMs
    if (this.#tokens < 1) return nowMs + Math.ceil(((1 - this.#tokens) / perSecond) * 1_000)
    this.#tokens -= 1
    return nowMs
  }
}

import TinyQueue from 'tinyqueue'

/** A queued message. */
export interface QueuedDelivery {
  /** Key in the due store. */
  readonly key: string
  /** Epoch milliseconds. */
  readonly dueAtMs: number
  /** When the message was queued first, epoch milliseconds: an attempt does not change it. */
  readonly queuedAtMs: number
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
  /** Started or dropped; one of the heaps may still hold it. */
  isGone: boolean
}

const byDueTime = (one: HeapEntry, other: HeapEntry): number =>
  one.delivery.dueAtMs - other.delivery.dueAtMs || one.rank - other.rank

const byAge = (one: HeapEntry, other: HeapEntry): number =>
  one.delivery.queuedAtMs - other.delivery.queuedAtMs || one.rank - other.rank

/** A heap may hold so many entries that are gone beside twice the ones that wait. */
const MIN_GONE = 64

/** The first entry that waits; those before it that are gone are removed. */
const firstWaiting = (heap: TinyQueue<HeapEntry>): HeapEntry | undefined => {
  while (heap.peek()?.isGone) heap.pop()
  return heap.peek()
}

/** Queued messages of one endpoint by due time, and the number in flight. The caller passes the clock. */
export class EndpointQueue {
  #byDueTime = new TinyQueue<HeapEntry>([], byDueTime)
  /** The same messages by age; made when one is dropped, which few queues ever see. */
  #byAge: TinyQueue<HeapEntry> | undefined
  #size = 0
  #added = 0
  #inFlight = 0
  #unrecorded = 0
  #tokens = Number.POSITIVE_INFINITY
  #filledAtMs = 0
  #reducedUntilMs = 0
  #slowUntilMs = 0

  get size(): number {
    return this.#size
  }

  /** Messages that were started and are not recorded yet. */
  get busy(): number {
    return this.#inFlight + this.#unrecorded
  }

  add(delivery: QueuedDelivery): void {
    this.#added += 1
    this.#size += 1
    const entry = { delivery, rank: this.#added, isGone: false }
    this.#byDueTime.push(entry)
    this.#byAge?.push(entry)
  }

  /** Removes the next message when it is due and within the limits; then `answered` and `recorded` must follow. */
  next(nowMs: number, limits: DeliveryLimits): QueueAction {
    const entry = firstWaiting(this.#byDueTime)
    const first = entry?.delivery
    const isFull =
      this.#inFlight >= this.#limit(nowMs, limits) || this.#unrecorded >= MAX_UNRECORDED
    if (entry === undefined || first === undefined || isFull) return IDLE
    if (first.dueAtMs > nowMs) return { kind: 'wait', untilMs: first.dueAtMs }
    const tokenAtMs = this.#takeToken(nowMs, limits.perSecond)
    if (tokenAtMs > nowMs) return { kind: 'wait', untilMs: tokenAtMs }
    this.#remove(entry)
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
    const all = this.#waiting().map(({ delivery }) => delivery)
    this.#byDueTime = new TinyQueue<HeapEntry>([], byDueTime)
    this.#byAge = undefined
    this.#size = 0
    return all
  }

  /** Removes the message that was queued first, whenever it is due. */
  dropOldest(): QueuedDelivery | undefined {
    this.#byAge ??= new TinyQueue([...this.#waiting()], byAge)
    const oldest = firstWaiting(this.#byAge)
    if (oldest) this.#remove(oldest)
    return oldest?.delivery
  }

  #waiting(): readonly HeapEntry[] {
    return this.#byDueTime.data.filter(({ isGone }) => !isGone)
  }

  /** A heap of entries that are mostly gone is made again, or given up, so that memory and time follow what waits. */
  #remove(entry: HeapEntry): void {
    entry.isGone = true
    this.#size -= 1
    const most = 2 * this.#size + MIN_GONE
    firstWaiting(this.#byDueTime)
    if (this.#byDueTime.length > most)
      this.#byDueTime = new TinyQueue([...this.#waiting()], byDueTime)
    if (this.#byAge && this.#byAge.length > most) this.#byAge = undefined
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

import TinyQueue from 'tinyqueue'

/** A message that waits for an endpoint. */
export interface QueuedDelivery {
  /** Key in the due store. */
  readonly key: string
  /** Epoch milliseconds. */
  readonly dueAtMs: number
}

/** What may run at the same time, and how fast. */
export interface DeliveryLimits {
  readonly inFlight: number
  /** Messages per second; null = no limit. */
  readonly perSecond: number | null
}

/** The next thing a queue can do: start a message, wait until a time, or nothing until something changes. */
export type QueueAction =
  | { readonly kind: 'start'; readonly waiting: QueuedDelivery }
  | { readonly kind: 'wait'; readonly untilMs: number }
  | { readonly kind: 'idle' }

/** A receiver behind a broken gateway gets half the messages for this long. */
const REDUCED_RATE_MS = 300_000
/** A receiver that let an attempt run into its limit gets one message at a time for this long. */
const SLOW_ENDPOINT_MS = 60_000

/** Answered attempts whose record is not durable yet: so many may be repeated after a crash. */
const MAX_UNRECORDED = 256

interface HeapEntry {
  readonly waiting: QueuedDelivery
  /** Counts what was added: of two that are due together the older comes first. */
  readonly rank: number
}

const byDueTime = (one: HeapEntry, other: HeapEntry): number =>
  one.waiting.dueAtMs - other.waiting.dueAtMs || one.rank - other.rank

/** What waits for one endpoint, by due time, and what is on its way. The clock is the caller's. */
export class EndpointQueue {
  #heap = new TinyQueue<HeapEntry>([], byDueTime)
  #added = 0
  #inFlight = 0
  #unrecorded = 0
  #tokens = Number.POSITIVE_INFINITY
  #filledAtMs = 0
  #easedUntilMs = 0
  #slowUntilMs = 0

  get size(): number {
    return this.#heap.length
  }

  /** Messages that were taken out and are not recorded. */
  get busy(): number {
    return this.#inFlight + this.#unrecorded
  }

  add(waiting: QueuedDelivery): void {
    this.#added += 1
    this.#heap.push({ waiting, rank: this.#added })
  }

  /** Takes the next message out when it is due and the pace allows; then `answered` and `recorded` must follow. */
  next(nowMs: number, pace: DeliveryLimits): QueueAction {
    const first = this.#heap.peek()?.waiting
    const isFull = this.#inFlight >= this.#limit(nowMs, pace) || this.#unrecorded >= MAX_UNRECORDED
    if (first === undefined || isFull) return { kind: 'idle' }
    if (first.dueAtMs > nowMs) return { kind: 'wait', untilMs: first.dueAtMs }
    const tokenAtMs = this.#takeToken(nowMs, pace.perSecond)
    if (tokenAtMs > nowMs) return { kind: 'wait', untilMs: tokenAtMs }
    this.#heap.pop()
    this.#inFlight += 1
    return { kind: 'start', waiting: first }
  }

  /** The receiver answered: its place is free, the record is on its way. */
  answered(): void {
    this.#inFlight -= 1
    this.#unrecorded += 1
  }

  recorded(): void {
    this.#unrecorded -= 1
  }

  /** The receiver is not well: fewer at the same time for a while. */
  ease(nowMs: number): void {
    this.#easedUntilMs = nowMs + REDUCED_RATE_MS
  }

  /** The receiver did not answer in time: one at a time for a while. */
  slow(nowMs: number): void {
    this.#slowUntilMs = nowMs + SLOW_ENDPOINT_MS
  }

  isSlow(nowMs: number): boolean {
    return nowMs < this.#slowUntilMs
  }

  /** Takes everything out that waits, in no order. */
  clear(): readonly QueuedDelivery[] {
    const all = this.#heap.data.map(({ waiting }) => waiting)
    this.#heap = new TinyQueue<HeapEntry>([], byDueTime)
    return all
  }

  /** Takes the oldest out. */
  dropOldest(): QueuedDelivery | undefined {
    return this.#heap.pop()?.waiting
  }

  #limit(nowMs: number, { inFlight }: DeliveryLimits): number {
    if (this.isSlow(nowMs)) return 1
    return nowMs < this.#easedUntilMs ? Math.ceil(inFlight / 2) : inFlight
  }

  /** Now when a token was there, else the time when one will be. */
  #takeToken(nowMs: number, perSecond: number | null): number {
    if (!perSecond) return nowMs
    const capacity = Math.max(1, perSecond)
    const filled = this.#tokens + ((nowMs - this.#filledAtMs) / 1_000) * perSecond
    this.#tokens = Math.min(capacity, filled)
    this.#filledAtMs = nowMs
    if (this.#tokens < 1) return nowMs + Math.ceil(((1 - this.#tokens) / perSecond) * 1_000)
    this.#tokens -= 1
    return nowMs
  }
}

import type { Delivery } from '../../schemas/wire.ts'

/** A delivery as it was read from the outbox. */
export interface OutboxDelivery {
  readonly key: string
  readonly delivery: Delivery
  /** The encoded delivery. */
  readonly bytes: Uint8Array
  readonly offset: number
}

/** A delivery that a commit moves to the due store. */
export interface StoredDelivery extends OutboxDelivery {
  /** An attempt has begun: the delivery is not needed in memory. */
  readonly isTaken: boolean
}

/** What a commit takes over of the window. */
export interface WindowAdvance {
  /** Next offset of the group; undefined = it stays where it is. */
  readonly next: number | undefined
  /** Deliveries before `next` that have not ended: the same commit stores them. */
  readonly stored: readonly StoredDelivery[]
}

interface WindowEntry {
  readonly offset: number
  readonly readAtMs: number
  isTaken: boolean
  /** Undefined: it has ended. */
  read: OutboxDelivery | undefined
}

/**
 * Deliveries of a lane that were read from the outbox and that the group's offset has not passed: the outbox still holds
 * them, so that one whose attempt ends soon never needs a row of its own. A commit moves the offset behind the last one
 * that has ended; those before it that have not are stored by the same commit.
 */
export class OutboxWindow {
  #entries: WindowEntry[] = []
  readonly #pending = new Map<string, WindowEntry>()
  /** The next commit moves the offset behind this one. */
  #passed = -1

  /** Records that the offset has not passed. */
  get size(): number {
    return this.#entries.length
  }

  /** True when the oldest of them was read before a time, epoch milliseconds, and the next commit would leave some. */
  isOlderThan(atMs: number): boolean {
    const last = this.#entries.at(-1)
    return (
      last !== undefined &&
      last.offset > this.#passed &&
      (this.#entries[0]?.readAtMs ?? Number.POSITIVE_INFINITY) < atMs
    )
  }

  has(key: string): boolean {
    return this.#pending.has(key)
  }

  /** Adds a delivery that is not in the window; offsets must grow. */
  add(read: OutboxDelivery, nowMs: number): void {
    const entry = { offset: read.offset, readAtMs: nowMs, isTaken: false, read }
    this.#entries.push(entry)
    this.#pending.set(read.key, entry)
  }

  /** A record that needs no delivery. */
  pass(offset: number): void {
    this.#passed = Math.max(this.#passed, offset)
  }

  /** The next commit moves the offset behind all that was read. */
  passAll(): void {
    this.pass(this.#entries.at(-1)?.offset ?? -1)
  }

  /** The delivery of a key that has not ended, for an attempt. */
  take(key: string): Delivery | undefined {
    const entry = this.#pending.get(key)
    if (entry) entry.isTaken = true
    return entry?.read?.delivery
  }

  /** True when the window had the delivery: what follows from it goes in the next commit, with the offset. */
  end(key: string): boolean {
    const entry = this.#pending.get(key)
    if (!entry) return false
    entry.read = undefined
    this.#pending.delete(key)
    this.pass(entry.offset)
    return true
  }

  /** For a commit: moves the offset, and takes from the window what is before it. */
  advance(): WindowAdvance {
    if (this.#passed < 0) return { next: undefined, stored: [] }
    const next = this.#passed + 1
    this.#passed = -1
    const at = this.#entries.findIndex(({ offset }) => offset >= next)
    const before = this.#entries.splice(0, at < 0 ? this.#entries.length : at)
    const stored: StoredDelivery[] = []
    for (const { read, isTaken } of before) {
      if (!read) continue
      stored.push({ ...read, isTaken })
      this.#pending.delete(read.key)
    }
    return { next, stored }
  }
}

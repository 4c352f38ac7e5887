import type { Payload } from './payload.ts'

/** A kept publication. */
export interface HistoryEntry {
  readonly offset: number
  readonly payload: Payload
  readonly retraction: boolean
  /** When it was kept, epoch milliseconds of this node. */
  readonly atMs: number
}

/** Limits of the history of one process: of all chains and partitions together, but for the first. */
export interface HistoryLimits {
  /** Publications of one subject. */
  readonly perSubject: number
  readonly maxAgeMs: number
  readonly entries: number
  /** Memory of the entries as `entryBytes` estimates it. */
  readonly bytes: number
  /** Subjects without entries of which the last lost position is remembered. */
  readonly subjects: number
}

/** 300 publications or 5 minutes per channel, as far as the memory of all channels together allows. */
export const HISTORY_LIMITS: HistoryLimits = {
  perSubject: 300,
  maxAgeMs: 300_000,
  entries: 100_000,
  bytes: 128 * 1_024 * 1_024,
  subjects: 100_000,
}

/** How far a process may be behind in one partition while its clients get records of another. */
export const PARTITION_SKEW_MS = 10_000

interface KeptEntry extends HistoryEntry {
  /** Memory of the entry, an estimate. */
  readonly bytes: number
}

interface SubjectHistory {
  readonly subject: string
  readonly owner: PublicationHistory
  readonly entries: KeptEntry[]
  /** Of the entries. */
  bytes: number
  /** Everything up to here may be lost. */
  lostPosition: number
  /**
   * Time up to which publications of its own partition may have been sent, by a process that is ahead of this one there, before one of
   * another partition that has no position.
   */
  foreignUntilMs: number
  queue: SubjectQueue | null
  previous: SubjectHistory | null
  next: SubjectHistory | null
}

/** Subjects in the order in which they came; a subject is in one queue at most. A set would be slow to give its first element. */
class SubjectQueue {
  first: SubjectHistory | null = null
  #last: SubjectHistory | null = null
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Takes the subject out of the queue that it is in. */
  static remove(history: SubjectHistory): void {
    const { queue, previous, next } = history
    if (queue === null) return
    if (previous === null) queue.first = next
    else previous.next = next
    if (next === null) queue.#last = previous
    else next.previous = previous
    history.queue = null
    history.previous = null
    history.next = null
    queue.#size -= 1
  }

  /** Puts the subject last, wherever it was. */
  push(history: SubjectHistory): void {
    SubjectQueue.remove(history)
    history.queue = this
    history.previous = this.#last
    if (this.#last === null) this.first = history
    else this.#last.next = history
    this.#last = history
    this.#size += 1
  }
}

/** What the histories of a process hold together. Beyond the limits it evicts the subjects first that had no publication for longest. */
export class HistoryBudget {
  readonly limits: HistoryLimits
  /** In the order of the last publication. */
  readonly #kept = new SubjectQueue()
  /** Subjects without entries, in the order in which they lost them. */
  readonly #emptied = new SubjectQueue()
  #entryCount = 0
  #bytes = 0

  constructor(limits: HistoryLimits) {
    this.limits = limits
  }

  /** Puts an entry last and evicts what is too much or too old then. */
  append(history: SubjectHistory, entry: HistoryEntry): void {
    const { offset, payload, retraction, atMs } = entry
    const bytes = entryBytes(payload)
    history.entries.push({ offset, payload, retraction, atMs, bytes })
    history.bytes += bytes
    this.#entryCount += 1
    this.#bytes += bytes
    this.#kept.push(history)
    const oldestMs = atMs - this.limits.maxAgeMs
    if (history.entries.length > this.limits.perSubject) this.#dropOldest(history)
    while ((history.entries[0]?.atMs ?? oldestMs) < oldestMs) this.#dropOldest(history)
    this.#evict(oldestMs)
  }

  /** Drops all entries of a subject; its lost position stays known for a while. */
  empty(history: SubjectHistory): void {
    this.#dropAll(history)
    this.#emptied.push(history)
    const oldest = this.#emptied.first
    if (oldest === null || this.#emptied.size <= this.limits.subjects) return
    SubjectQueue.remove(oldest)
    oldest.owner.forget(oldest)
  }

  /** The subject is no longer held at all. */
  remove(history: SubjectHistory): void {
    this.#dropAll(history)
    SubjectQueue.remove(history)
  }

  #dropAll(history: SubjectHistory): void {
    const { entries } = history
    const last = entries.at(-1)
    if (last === undefined) return
    this.#bytes -= history.bytes
    this.#entryCount -= entries.length
    history.bytes = 0
    history.lostPosition = Math.max(history.lostPosition, last.offset)
    history.entries.length = 0
  }

  #dropOldest(history: SubjectHistory): void {
    const dropped = history.entries.shift()
    if (dropped === undefined) return
    history.bytes -= dropped.bytes
    this.#bytes -= dropped.bytes
    this.#entryCount -= 1
    history.lostPosition = Math.max(history.lostPosition, dropped.offset)
  }

  #evict(oldestMs: number): void {
    const { entries, bytes } = this.limits
    for (let history = this.#kept.first; history !== null; history = this.#kept.first) {
      const lastMs = history.entries.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY
      if (lastMs >= oldestMs && this.#entryCount <= entries && this.#bytes <= bytes) break
      this.empty(history)
    }
  }
}

/**
 * Recent publications of one partition by subject, and how far back they are whole. A client at position P has missed
 * nothing outside of the history iff P is not below the subject's lost position.
 */
export class PublicationHistory {
  readonly #budget: HistoryBudget
  readonly #subjects = new Map<string, SubjectHistory>()
  /** Lost position of every other subject. */
  #defaultLostPosition: number
  /** No subject can be recovered from a position below it. */
  #floor = 0
  #top: number

  constructor(budget: HistoryBudget, startOffset: number) {
    this.#budget = budget
    this.#defaultLostPosition = startOffset
    this.#top = startOffset
  }

  /** Position after everything that was dispatched. */
  get top(): number {
    return this.#top
  }

  /** Everything up to `offset` has been dispatched. */
  advance(offset: number): void {
    this.#top = Math.max(this.#top, offset)
  }

  /** Appends a publication of this partition. */
  append(subject: string, entry: HistoryEntry): void {
    const history = this.#historyOf(subject)
    this.#budget.append(history, entry)
    if (entry.atMs <= history.foreignUntilMs)
      history.lostPosition = Math.max(history.lostPosition, entry.offset + 1)
  }

  /**
   * The subject had a publication of another partition, which came at `atMs`, without a position here: what lies before cannot be
   * recovered, nor what comes later and is not much younger: this process may be behind in its own partition.
   */
  invalidate(subject: string, atMs: number): void {
    const history = this.#historyOf(subject)
    history.foreignUntilMs = Math.max(history.foreignUntilMs, atMs + PARTITION_SKEW_MS)
    history.lostPosition = Math.max(history.lostPosition, this.#top + 1)
    this.#budget.empty(history)
  }

  /** Of any subject, publications of other partitions may be missed by whoever is below `position`. */
  refuseBelow(position: number): void {
    this.#floor = Math.max(this.#floor, position)
  }

  /** Something of any subject was lost before `offset`: nothing before it can be recovered whole. */
  invalidateAll(offset: number): void {
    for (const history of this.#subjects.values()) this.#budget.remove(history)
    this.#subjects.clear()
    this.#defaultLostPosition = Math.max(this.#defaultLostPosition, offset)
    this.#top = Math.max(this.#top, offset)
  }

  /** The budget no longer remembers the subject: its lost position is that of all others. */
  forget({ subject, lostPosition }: SubjectHistory): void {
    this.#subjects.delete(subject)
    this.#defaultLostPosition = Math.max(this.#defaultLostPosition, lostPosition)
  }

  /** What a client at `offset` has missed, oldest first; undefined where that is not retained any more. */
  since(subject: string, offset: number): readonly HistoryEntry[] | undefined {
    const history = this.#subjects.get(subject)
    const lostPosition = history?.lostPosition ?? this.#defaultLostPosition
    if (offset < Math.max(this.#floor, lostPosition)) return undefined
    // A client of a process that is ahead of this one, which cannot tell what that client has of other partitions.
    if (offset > this.#top && history !== undefined && Number.isFinite(history.foreignUntilMs))
      return undefined
    return history?.entries.filter((entry) => entry.offset > offset) ?? []
  }

  /** Everything kept of a subject, oldest first. */
  all(subject: string): readonly HistoryEntry[] {
    return this.#subjects.get(subject)?.entries ?? []
  }

  #historyOf(subject: string): SubjectHistory {
    const history = this.#subjects.get(subject) ?? {
      subject,
      owner: this,
      entries: [],
      bytes: 0,
      lostPosition: this.#defaultLostPosition,
      foreignUntilMs: Number.NEGATIVE_INFINITY,
      queue: null,
      previous: null,
      next: null,
    }
    this.#subjects.set(subject, history)
    return history
  }
}

/** Of an entry, its payload and its place in the history, without the texts. */
const ENTRY_OVERHEAD_BYTES = 400
/** Of a value of a payload: its slot and the head of its text. */
const VALUE_OVERHEAD_BYTES = 32

/**
 * Memory of an entry with the payload: an estimate, a little above what is measured. A character counts as a byte: only names of
 * tokens have others.
 */
const entryBytes = (payload: Payload): number => ENTRY_OVERHEAD_BYTES + payloadBytes(payload)

const payloadBytes = (payload: Payload): number => {
  let bytes = 0
  for (const name in payload) {
    const value = payload[name]
    bytes += VALUE_OVERHEAD_BYTES
    if (typeof value === 'string') bytes += value.length
    else if (Array.isArray(value)) for (const one of value) bytes += one.length + 1
    else if (typeof value === 'object') bytes += payloadBytes(value as Payload)
  }
  return bytes
}

/** Publications per record that have a position of their own; later ones share the last. */
const POSITIONS_PER_RECORD = 4_096

/** Position of the event at `index` of the record at `offset` of its partition: stable, above 0, below 2^53. */
export const eventPosition = (offset: number, index: number): number =>
  offset * POSITIONS_PER_RECORD + Math.min(index, POSITIONS_PER_RECORD - 1) + 1

/** Position after everything of the record before `offset`. */
export const recordPosition = (offset: number): number => offset * POSITIONS_PER_RECORD

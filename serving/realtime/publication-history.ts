import type { Payload } from './payload.ts'

/** A kept publication. */
export interface HistoryEntry {
  readonly offset: number
  readonly payload: Payload
  readonly retraction: boolean
  /** When it was kept, epoch milliseconds of this node. */
  readonly atMs: number
}

/** Limits of the history. */
export interface HistoryLimits {
  readonly perSubject: number
  readonly maxAgeMs: number
  /** Publications of all subjects together. */
  readonly entries: number
  /** Subjects of which at least the last lost position is remembered. */
  readonly subjects: number
}

/** 300 publications or 5 minutes per channel; about 60 MB in all at the worst. */
export const HISTORY_LIMITS: HistoryLimits = {
  perSubject: 300,
  maxAgeMs: 300_000,
  entries: 50_000,
  subjects: 100_000,
}

interface SubjectHistory {
  readonly entries: HistoryEntry[]
  /** Everything up to here may be lost. */
  lostPosition: number
}

/**
 * Recent publications of one partition by subject, and how far back they are whole. A client at position P has missed
 * nothing outside of the history iff P is not below the subject's lost position.
 */
export class PublicationHistory {
  readonly #bounds: HistoryLimits
  /** In the order of the last publication, so the first is the least recently used. */
  readonly #subjects = new Map<string, SubjectHistory>()
  /** Lost positions of subjects without entries. */
  readonly #lostPositions = new Map<string, number>()
  #entryCount = 0
  /** Lost position of every other subject. */
  #defaultLostPosition: number
  /** No subject can be recovered from a position below it. */
  #floor = 0
  #top: number

  constructor(bounds: HistoryLimits, startOffset: number) {
    this.#bounds = bounds
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
    history.entries.push(entry)
    this.#entryCount += 1
    if (history.entries.length > this.#bounds.perSubject) this.#dropOldest(history, 1)
    this.#evict(entry.atMs)
  }

  /** The subject had a publication of another partition, without a position here: what lies before cannot be recovered. */
  invalidate(subject: string): void {
    const history = this.#historyOf(subject)
    this.#dropOldest(history, history.entries.length)
    history.lostPosition = Math.max(history.lostPosition, this.#top + 1)
  }

  /** Of any subject, publications of other partitions may be missed by whoever is below `position`. */
  refuseBelow(position: number): void {
    this.#floor = Math.max(this.#floor, position)
  }

  /** Something of any subject was lost before `offset`: nothing before it can be recovered whole. */
  invalidateAll(offset: number): void {
    this.#subjects.clear()
    this.#lostPositions.clear()
    this.#entryCount = 0
    this.#defaultLostPosition = Math.max(this.#defaultLostPosition, offset)
    this.#top = Math.max(this.#top, offset)
  }

  /** What a client at `offset` has missed, oldest first; undefined where that is not retained any more. */
  since(subject: string, offset: number): readonly HistoryEntry[] | undefined {
    const history = this.#subjects.get(subject)
    const lostPosition =
      history?.lostPosition ?? this.#lostPositions.get(subject) ?? this.#defaultLostPosition
    if (offset < Math.max(this.#floor, lostPosition)) return undefined
    return history?.entries.filter((entry) => entry.offset > offset) ?? []
  }

  /** Everything kept of a subject, oldest first. */
  all(subject: string): readonly HistoryEntry[] {
    return this.#subjects.get(subject)?.entries ?? []
  }

  #historyOf(subject: string): SubjectHistory {
    const history = this.#subjects.get(subject) ?? {
      entries: [],
      lostPosition: this.#lostPositions.get(subject) ?? this.#defaultLostPosition,
    }
    this.#lostPositions.delete(subject)
    this.#subjects.delete(subject)
    this.#subjects.set(subject, history)
    return history
  }

  #dropOldest(history: SubjectHistory, count: number): void {
    const dropped = history.entries.splice(0, count)
    this.#entryCount -= dropped.length
    history.lostPosition = Math.max(history.lostPosition, dropped.at(-1)?.offset ?? 0)
  }

  /** Evicts the publications of the least recently used subjects first, then their lost positions. */
  #evict(nowMs: number): void {
    const oldestMs = nowMs - this.#bounds.maxAgeMs
    for (const [subject, history] of this.#subjects) {
      const lastMs = history.entries.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY
      if (lastMs >= oldestMs && this.#entryCount <= this.#bounds.entries) break
      this.#dropOldest(history, history.entries.length)
      this.#subjects.delete(subject)
      this.#lostPositions.set(subject, history.lostPosition)
    }
    for (const [subject, lostPosition] of this.#lostPositions) {
      if (this.#lostPositions.size <= this.#bounds.subjects) break
      this.#lostPositions.delete(subject)
      this.#defaultLostPosition = Math.max(this.#defaultLostPosition, lostPosition)
    }
  }
}

/** Publications per record that have a position of their own; later ones share the last. */
const POSITIONS_PER_RECORD = 4_096

/** Position of the event at `index` of the record at `offset` of its partition: stable, above 0, below 2^53. */
export const eventPosition = (offset: number, index: number): number =>
  offset * POSITIONS_PER_RECORD + Math.min(index, POSITIONS_PER_RECORD - 1) + 1

/** Position after everything of the record before `offset`. */
export const recordPosition = (offset: number): number => offset * POSITIONS_PER_RECORD

import type { Payload } from './payload.ts'

/** A kept publication. */
export interface HistoryEntry {
  readonly offset: number
  readonly payload: Payload
  readonly retraction: boolean
  /** When it was kept, epoch milliseconds of this node. */
  readonly atMs: number
}

/** Bounds of what is kept. */
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
  readonly kept: HistoryEntry[]
  /** Everything up to here may be lost. */
  lostTo: number
}

/**
 * Recent publications of one partition by subject, and how far back they are whole. A client at position P has missed
 * nothing that is not here iff P is not below the subject's lost mark.
 */
export class PublicationHistory {
  readonly #bounds: HistoryLimits
  /** In the order of the last publication, so the first is the coldest. */
  readonly #shelves = new Map<string, SubjectHistory>()
  /** Lost marks of subjects of which nothing is kept any more. */
  readonly #marks = new Map<string, number>()
  #entries = 0
  /** Lost mark of every other subject. */
  #floor: number
  #top: number

  constructor(bounds: HistoryLimits, startOffset: number) {
    this.#bounds = bounds
    this.#floor = startOffset
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

  /** Keeps a publication of this partition. */
  keep(subject: string, entry: HistoryEntry): void {
    const shelf = this.#shelfOf(subject)
    shelf.kept.push(entry)
    this.#entries += 1
    if (shelf.kept.length > this.#bounds.perSubject) this.#forget(shelf, 1)
    this.#shrink(entry.atMs)
  }

  /** The subject was also fed from elsewhere, without a position here: what lies before cannot be recovered whole. */
  breakAt(subject: string): void {
    const shelf = this.#shelfOf(subject)
    this.#forget(shelf, shelf.kept.length)
    shelf.lostTo = Math.max(shelf.lostTo, this.#top + 1)
  }

  /** Something of any subject was lost before `offset`: nothing before it can be recovered whole. */
  breakAll(offset: number): void {
    this.#shelves.clear()
    this.#marks.clear()
    this.#entries = 0
    this.#floor = Math.max(this.#floor, offset)
    this.#top = Math.max(this.#top, offset)
  }

  /** What a client at `offset` has missed, oldest first; undefined where that is not retained any more. */
  since(subject: string, offset: number): readonly HistoryEntry[] | undefined {
    const shelf = this.#shelves.get(subject)
    if (offset < (shelf?.lostTo ?? this.#marks.get(subject) ?? this.#floor)) return undefined
    return shelf?.kept.filter((entry) => entry.offset > offset) ?? []
  }

  /** Everything kept of a subject, oldest first. */
  all(subject: string): readonly HistoryEntry[] {
    return this.#shelves.get(subject)?.kept ?? []
  }

  #shelfOf(subject: string): SubjectHistory {
    const shelf = this.#shelves.get(subject) ?? {
      kept: [],
      lostTo: this.#marks.get(subject) ?? this.#floor,
    }
    this.#marks.delete(subject)
    this.#shelves.delete(subject)
    this.#shelves.set(subject, shelf)
    return shelf
  }

  #forget(shelf: SubjectHistory, count: number): void {
    const gone = shelf.kept.splice(0, count)
    this.#entries -= gone.length
    shelf.lostTo = Math.max(shelf.lostTo, gone.at(-1)?.offset ?? 0)
  }

  /** Cold subjects lose their publications first, then their marks. */
  #shrink(nowMs: number): void {
    const oldestMs = nowMs - this.#bounds.maxAgeMs
    for (const [subject, shelf] of this.#shelves) {
      const lastMs = shelf.kept.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY
      if (lastMs >= oldestMs && this.#entries <= this.#bounds.entries) break
      this.#forget(shelf, shelf.kept.length)
      this.#shelves.delete(subject)
      this.#marks.set(subject, shelf.lostTo)
    }
    for (const [subject, lostTo] of this.#marks) {
      if (this.#marks.size <= this.#bounds.subjects) break
      this.#marks.delete(subject)
      this.#floor = Math.max(this.#floor, lostTo)
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

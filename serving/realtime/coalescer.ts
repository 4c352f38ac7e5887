import type { Publication } from './publication.ts'

/** Shortest time between two publications of one channel of latest values. */
export const COALESCE_INTERVAL_MS = 200

interface SubjectState {
  sentMs: number
  /** Newest state per bucket and facet, so the last state of a bucket that closed is never lost. */
  readonly waiting: Map<string, Publication>
}

/** Rate-limits latest-value channels: sends at once after a pause, else the newest state of each bucket once the interval is over. */
export class Coalescer {
  readonly #subjects = new Map<string, SubjectState>()
  readonly #waiting = new Set<string>()

  /** What may be sent now; empty where it has to wait. */
  offer(publication: Publication, nowMs: number): readonly Publication[] {
    const { subject, bucketMs, facet } = publication
    const state = this.#subjects.get(subject) ?? {
      sentMs: Number.NEGATIVE_INFINITY,
      waiting: new Map(),
    }
    this.#subjects.set(subject, state)
    state.waiting.set(`${bucketMs} ${facet}`, publication)
    if (isDue(state, nowMs)) return this.#take(subject, state, nowMs)
    this.#waiting.add(subject)
    return []
  }

  /** What has waited long enough, oldest bucket first per channel. */
  due(nowMs: number): readonly Publication[] {
    const ready: Publication[] = []
    for (const subject of this.#waiting) {
      const state = this.#subjects.get(subject)
      if (state !== undefined && isDue(state, nowMs)) {
        ready.push(...this.#take(subject, state, nowMs))
      }
    }
    return ready
  }

  /** The subject has no subscriber any more. */
  remove(subject: string): void {
    this.#subjects.delete(subject)
    this.#waiting.delete(subject)
  }

  #take(subject: string, state: SubjectState, nowMs: number): readonly Publication[] {
    const out = [...state.waiting.values()].sort((a, b) => a.bucketMs - b.bucketMs)
    state.waiting.clear()
    state.sentMs = nowMs
    this.#waiting.delete(subject)
    return out
  }
}

/** A clock that was set back counts from its new time. */
const isDue = (state: SubjectState, nowMs: number): boolean => {
  state.sentMs = Math.min(state.sentMs, nowMs)
  return nowMs - state.sentMs >= COALESCE_INTERVAL_MS
}

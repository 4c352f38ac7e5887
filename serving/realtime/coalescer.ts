import type { Publication } from './publication.ts'

/** Shortest time between two publications of one candle channel. */
export const COALESCE_INTERVAL_MS = 200

interface SubjectState {
  sentMs: number
  /** Newest state per bucket and facet, so the last state of a bucket that closed is never lost. */
  readonly waiting: Map<string, Publication>
}

/** Thins latest-value channels: at once when quiet, else the newest state of each bucket when the pause is over. */
export class Coalescer {
  readonly #paces = new Map<string, SubjectState>()
  readonly #waiting = new Set<string>()

  /** What may go out now; nothing where it has to wait. */
  offer(publication: Publication, nowMs: number): readonly Publication[] {
    const { subject, bucketMs, facet } = publication
    const pace = this.#paces.get(subject) ?? {
      sentMs: Number.NEGATIVE_INFINITY,
      waiting: new Map(),
    }
    this.#paces.set(subject, pace)
    pace.waiting.set(`${bucketMs} ${facet}`, publication)
    if (nowMs - pace.sentMs >= COALESCE_INTERVAL_MS) return this.#take(subject, pace, nowMs)
    this.#waiting.add(subject)
    return []
  }

  /** What has waited long enough, oldest bucket first per channel. */
  due(nowMs: number): readonly Publication[] {
    const ready: Publication[] = []
    for (const subject of this.#waiting) {
      const pace = this.#paces.get(subject)
      if (pace !== undefined && nowMs - pace.sentMs >= COALESCE_INTERVAL_MS) {
        ready.push(...this.#take(subject, pace, nowMs))
      }
    }
    return ready
  }

  /** The subject has no subscriber any more. */
  forget(subject: string): void {
    this.#paces.delete(subject)
    this.#waiting.delete(subject)
  }

  #take(subject: string, pace: SubjectState, nowMs: number): readonly Publication[] {
    const out = [...pace.waiting.values()].sort((a, b) => a.bucketMs - b.bucketMs)
    pace.waiting.clear()
    pace.sentMs = nowMs
    this.#waiting.delete(subject)
    return out
  }
}

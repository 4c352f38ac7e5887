import type { ChannelRow } from '../../schemas/channels.ts'
import type { Payload } from './payload.ts'

/** How long an array collects what belongs to it. */
export const BATCH_WINDOW_MS = 1_000
/** Elements after which an array goes out before its time. */
export const MAX_BATCH_ELEMENTS = 500

/** What the elements of an array have in common. */
interface BatchKind {
  readonly row: ChannelRow
  readonly subject: string
  readonly retraction: boolean
}

/** One element on its way to an array channel. */
export interface BatchElement extends BatchKind {
  readonly payload: Payload
}

/** Elements of one channel that go out together. */
export interface Batch extends BatchKind {
  readonly payloads: readonly Payload[]
}

interface ElementRun {
  readonly kind: BatchKind
  readonly payloads: Payload[]
}

interface PendingBatch {
  sinceMs: number
  /** In order; an array holds retractions or none. */
  readonly runs: ElementRun[]
}

/** Collects the elements of array channels for a second; a second without any sends nothing. */
export class ArrayBatcher {
  readonly #waiting = new Map<string, PendingBatch>()

  /** What must go out now because the array is full. */
  offer(element: BatchElement, nowMs: number): readonly Batch[] {
    const { row, subject, payload, retraction } = element
    const waiting = this.#waiting.get(subject) ?? { sinceMs: nowMs, runs: [] }
    this.#waiting.set(subject, waiting)
    let run = waiting.runs.at(-1)
    if (run === undefined || run.kind.retraction !== retraction) {
      run = { kind: { row, subject, retraction }, payloads: [] }
      waiting.runs.push(run)
    }
    run.payloads.push(payload)
    return run.payloads.length < MAX_BATCH_ELEMENTS ? [] : this.#take(subject, waiting)
  }

  /** What has collected long enough. */
  due(nowMs: number): readonly Batch[] {
    return [...this.#waiting].flatMap(([subject, waiting]) =>
      isDue(waiting, nowMs) ? this.#take(subject, waiting) : [],
    )
  }

  /** The subject has no subscriber any more. */
  remove(subject: string): void {
    this.#waiting.delete(subject)
  }

  #take(subject: string, { runs }: PendingBatch): readonly Batch[] {
    this.#waiting.delete(subject)
    return runs.map(({ kind, payloads }) => ({ ...kind, payloads }))
  }
}

/** A clock that was set back counts from its new time. */
const isDue = (waiting: PendingBatch, nowMs: number): boolean => {
  waiting.sinceMs = Math.min(waiting.sinceMs, nowMs)
  return nowMs - waiting.sinceMs >= BATCH_WINDOW_MS
}

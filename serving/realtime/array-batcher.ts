import type { ChannelRow } from '../../schemas/channels.ts'

/** How long an array collects what belongs to it. */
export const BATCH_WINDOW_MS = 1_000
/** Characters after which an array goes out before its time: clients refuse messages above 1 MiB. */
const MAX_BATCH_CHARACTERS = 200_000

/** One element on its way to an array channel. */
export interface BatchElement {
  readonly row: ChannelRow
  readonly subject: string
  /** JSON text. */
  readonly data: string
  readonly retraction: boolean
}

/** Elements of one channel that go out together, JSON text of the array. */
export type Batch = BatchElement

interface ElementRun {
  readonly first: BatchElement
  readonly texts: string[]
  characters: number
}

interface PendingBatch {
  readonly sinceMs: number
  /** In order; an array holds retractions or none. */
  readonly runs: ElementRun[]
}

/** Collects the elements of array channels for a second; a second without any sends nothing. */
export class ArrayBatcher {
  readonly #waiting = new Map<string, PendingBatch>()

  /** What must go out now because the array is full. */
  offer(element: BatchElement, nowMs: number): readonly Batch[] {
    const { subject, data, retraction } = element
    const waiting = this.#waiting.get(subject) ?? { sinceMs: nowMs, runs: [] }
    this.#waiting.set(subject, waiting)
    let run = waiting.runs.at(-1)
    if (run === undefined || run.first.retraction !== retraction) {
      run = { first: element, texts: [], characters: 0 }
      waiting.runs.push(run)
    }
    run.texts.push(data)
    run.characters += data.length
    return run.characters < MAX_BATCH_CHARACTERS ? [] : this.#take(subject, waiting)
  }

  /** What has collected long enough. */
  due(nowMs: number): readonly Batch[] {
    return [...this.#waiting].flatMap(([subject, waiting]) =>
      nowMs - waiting.sinceMs >= BATCH_WINDOW_MS ? this.#take(subject, waiting) : [],
    )
  }

  /** The subject has no subscriber any more. */
  forget(subject: string): void {
    this.#waiting.delete(subject)
  }

  #take(subject: string, { runs }: PendingBatch): readonly Batch[] {
    this.#waiting.delete(subject)
    return runs.map(({ first, texts }) => ({ ...first, data: `[${texts.join(',')}]` }))
  }
}

import { InvalidInput } from '../../core/errors.ts'
import type { BlockEvent } from '../../schemas/wire.ts'

/** A record of an input topic on its way into an operation. */
export interface PendingRecord<Value> {
  readonly topic: string
  readonly offset: number
  /** null: neither body nor headers tell; the record takes the position at which it is read. */
  readonly seq: number | null
  readonly part: number | null
  readonly value: Value
}

/** One block operation with its records of one partition, complete. */
export interface AlignedOperation<Value> {
  readonly block: BlockEvent
  /** In the order of the inputs, then by part. */
  readonly arrivals: readonly PendingRecord<Value>[]
}

/** How far a lane is: part of its state, so it moves with the commit. */
export interface LaneProgress {
  /** Newest operation folded; null before the first. */
  readonly seq: number | null
  /** Next offset of `{c}.blocks`. */
  readonly blocksNext: number
}

/** An input topic, and the topic whose spans count its records (`.processed` topics are one to one with their raw topic). */
export interface AlignedInput {
  readonly topic: string
  readonly spansOf: string
}

/** Puts arrivals back into block operations. Pure but for its own queues. */
export interface BlockAligner<Value> {
  /** False: redelivered, dropped. Throws `InvalidInput` when the order inside a topic is broken. */
  push(arrival: PendingRecord<Value>): boolean
  /** Same for a record of `{c}.blocks`; `gap` is thrown when a seq is missing. */
  pushBlock(offset: number, block: BlockEvent): boolean
  /** The next complete operation; undefined until more has arrived. Throws `InvalidInput` for spans that cannot be. */
  next(): AlignedOperation<Value> | undefined
  /** Next offset per input topic behind the operations handed out, and the progress that goes with them. */
  position(): { readonly offsets: ReadonlyMap<string, number>; readonly progress: LaneProgress }
  /** Topics with more than `limit` waiting records that the next operation does not wait for: they need not be read. */
  ahead(limit: number): ReadonlySet<string>
}

interface InputQueue<Value> {
  readonly input: AlignedInput
  readonly waiting: PendingRecord<Value>[]
  lastSeq: number
  lastPart: number
  nextOffset: number | null
}

const isAfter = (seq: number, part: number, queue: { lastSeq: number; lastPart: number }) =>
  seq > queue.lastSeq || (seq === queue.lastSeq && part > queue.lastPart)

const expectedRecords = (block: BlockEvent, topic: string, partition: number): number => {
  let records = 0
  for (const span of block.spans) {
    if (span.topic === topic && span.partition === partition) records += span.records
  }
  return records
}

const throwInvalidInput = (reason: 'gap' | 'spans', text: string): never => {
  throw new InvalidInput(reason, text)
}

const hasAllRecords = <Value>(queue: InputQueue<Value>, seq: number, wanted: number): boolean => {
  for (let index = 0; index < wanted; index += 1) {
    const arrival = queue.waiting[index]
    if (arrival === undefined) return false
    if (arrival.seq !== null && arrival.seq !== seq) {
      throwInvalidInput(
        'spans',
        `${queue.input.topic}: operation ${seq} should have ${wanted} records, offset ${arrival.offset} belongs to ${arrival.seq}`,
      )
    }
  }
  return true
}

/**
 * Makes the aligner of one lane. A block operation is handed out once every input has as many records of it as the
 * block's spans say for this partition; arrival order between topics does not matter, so every run sees the same.
 */
export const createBlockAligner = <Value>(options: {
  readonly blocksTopic: string
  readonly partition: number
  readonly inputs: readonly AlignedInput[]
  readonly progress: LaneProgress
}): BlockAligner<Value> => {
  const { partition, blocksTopic } = options
  let { seq, blocksNext } = options.progress
  const blocks: { readonly offset: number; readonly block: BlockEvent }[] = []
  let newestBlock = seq
  const queues: readonly InputQueue<Value>[] = options.inputs.map((input) => ({
    input,
    waiting: [],
    lastSeq: seq ?? -1,
    lastPart: Number.MAX_SAFE_INTEGER,
    nextOffset: null,
  }))
  const byTopic = new Map(queues.map((queue) => [queue.input.topic, queue]))
  return {
    push: (arrival) => {
      const queue = byTopic.get(arrival.topic)
      if (queue === undefined)
        return throwInvalidInput('spans', `${arrival.topic} is not an input of this stage`)
      if (arrival.seq !== null && arrival.part !== null) {
        if (!isAfter(arrival.seq, arrival.part, queue)) return false
        queue.lastSeq = arrival.seq
        queue.lastPart = arrival.part
      }
      queue.waiting.push(arrival)
      return true
    },
    pushBlock: (offset, block) => {
      const next = block.meta.seq
      if (newestBlock !== null && next <= newestBlock) return false
      if (newestBlock !== null && next !== newestBlock + 1) {
        throwInvalidInput('gap', `${blocksTopic}: operation ${next} follows ${newestBlock}`)
      }
      newestBlock = next
      blocks.push({ offset, block })
      return true
    },
    next: () => {
      const head = blocks[0]
      if (head === undefined) return undefined
      const wanted = queues.map(({ input }) =>
        expectedRecords(head.block, input.spansOf, partition),
      )
      const current = head.block.meta.seq
      const ready = queues.map((queue, index) => hasAllRecords(queue, current, wanted[index] ?? 0))
      if (ready.includes(false)) return undefined
      const arrivals = queues.flatMap((queue, index) => {
        const taken = queue.waiting.splice(0, wanted[index] ?? 0)
        const last = taken.at(-1)
        if (last !== undefined) queue.nextOffset = last.offset + 1
        return taken
      })
      blocks.shift()
      seq = current
      blocksNext = head.offset + 1
      return { block: head.block, arrivals }
    },
    position: () => ({
      offsets: new Map(
        queues.flatMap(({ input, nextOffset }) =>
          nextOffset === null ? [] : [[input.topic, nextOffset] as const],
        ),
      ),
      progress: { seq, blocksNext },
    }),
    ahead: (limit) => {
      const head = blocks[0]?.block
      const lacking = (queue: InputQueue<Value>): boolean =>
        head !== undefined &&
        queue.waiting.length < expectedRecords(head, queue.input.spansOf, partition)
      const full = queues.filter((queue) => queue.waiting.length >= limit && !lacking(queue))
      const topics = new Set(full.map(({ input }) => input.topic))
      return blocks.length >= limit ? topics.add(blocksTopic) : topics
    },
  }
}

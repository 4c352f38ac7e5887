import type { Bus } from '../core/bus-contract.ts'
import type { Codec } from '../core/codec-contract.ts'
import { topicName } from '../schemas/topics.ts'
import type { BlockEvent } from '../schemas/wire.ts'
import { type Cursor, cursorOf } from './block-record.ts'
import type { BlockRef, Position } from './source.ts'

/** An applied block with what taking it back needs. */
export interface Applied {
  readonly ref: BlockRef
  readonly seq: number
  /** Its `{c}.blocks` record: header and the places of its data records. */
  readonly event: BlockEvent
}

/** Where an ingestor goes on. */
export interface Recovered {
  /** Newest operation; 0 on an empty topic. */
  readonly seq: number
  readonly cursor: Cursor
  /** Applied blocks from the newest final one on, oldest first. */
  readonly stack: readonly Applied[]
}

/** First look back, in records; doubled until it reaches far enough. */
const FIRST_WINDOW = 256

const EMPTY: Recovered = { seq: 0, cursor: { tip: null, final: null, finalSeq: 0 }, stack: [] }

/**
 * Reads `{c}.blocks` back to the newest final block or, where none is final, `reorgWindow` blocks deep (contract R43).
 * Throws `Malformed` for records that are not ours, `Outage` when the bus does not answer.
 */
export const recover = async (
  bus: Bus,
  codec: Codec,
  { chain, reorgWindow }: { readonly chain: string; readonly reorgWindow: number },
): Promise<Recovered> => {
  const topic = topicName('blocks', chain)
  const ends = (await bus.ends(topic)).find(({ partition }) => partition === 0)
  if (ends === undefined || ends.end <= ends.low) return EMPTY
  for (let window = FIRST_WINDOW; ; window *= 2) {
    const from = Math.max(ends.low, ends.end - window)
    const events: BlockEvent[] = []
    for await (const { value } of bus.read(topic, 0, from, ends.end)) {
      if (value !== null) events.push(codec.decode('block.BlockEvent', value))
    }
    if (from === ends.low || reachesBack(events, reorgWindow)) return folded(events, reorgWindow)
  }
}

/** The follower's view of what was recovered. */
export const positionOf = ({ stack, cursor }: Recovered): Position | null =>
  cursor.tip === null ? null : { stack: stack.map(({ ref }) => ref), final: cursor.final }

const reachesBack = (events: readonly BlockEvent[], reorgWindow: number): boolean => {
  const last = events.at(-1)
  if (last === undefined) return false
  const { final, tip } = cursorOf(last)
  const floor = Math.max(final?.height ?? 0, (tip?.height ?? 0) - reorgWindow)
  return events.some(({ meta }) => meta.op === 'OP_APPLY' && meta.height <= floor)
}

const folded = (events: readonly BlockEvent[], reorgWindow: number): Recovered => {
  const last = events.at(-1)
  if (last === undefined) return EMPTY
  const stack: Applied[] = []
  for (const event of events) {
    if (event.meta.op === 'OP_APPLY') stack.push(appliedOf(event))
    else if (event.meta.op === 'OP_REVERT') stack.pop()
  }
  const cursor = cursorOf(last)
  const floor = cursor.final?.height ?? 0
  return {
    seq: last.meta.seq,
    cursor,
    stack: stack.filter(({ ref }) => ref.height >= floor).slice(-reorgWindow),
  }
}

/** An APPLY record as an entry of the stack. */
export const appliedOf = (event: BlockEvent): Applied => ({
  ref: {
    height: event.meta.height,
    hash: event.meta.hash,
    parentHash: event.meta.parent_hash,
    timeMs: event.meta.block_time,
  },
  seq: event.meta.seq,
  event,
})

import type { Bus } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { type ChainRow, maxReorgBlocks } from '../../schemas/chains.ts'
import { topicName } from '../../schemas/topics.ts'
import type { BlockEvent, TopicSpan } from '../../schemas/wire.ts'
import type { BlockRef, Position } from '../follow/contract.ts'
import type { BlockHeader } from '../to-wire/block-header.ts'
import { type Cursor, cursorOf, headerOf } from './block-record.ts'

/** An applied block with what taking it back needs. */
export interface Applied {
  readonly ref: BlockRef
  readonly seq: number
  readonly header: BlockHeader
  /** Where its data records lie; null = they are not committed yet. */
  readonly spans: readonly TopicSpan[] | null
}

/** Where an ingestor continues. */
export interface Recovered {
  /** Newest operation; 0 on an empty topic. */
  readonly seq: number
  readonly cursor: Cursor
  /** Applied blocks from the newest final one on, oldest first. */
  readonly stack: readonly Applied[]
  /** Blocks that are not final lie below the stack. */
  readonly truncated: boolean
}

/** First look back, in records; doubled until it reaches far enough. */
const FIRST_WINDOW = 256

const EMPTY: Recovered = {
  seq: 0,
  cursor: { tip: null, final: null, finalSeq: 0 },
  stack: [],
  truncated: false,
}

/**
 * Reads `{c}.blocks` back to the newest final block or, where that lies deeper, as many blocks as can be taken back.
 * Throws `InvalidInput` for records that are not ours, `Outage` when the bus does not answer.
 */
export const recover = async (
  bus: Bus,
  codec: Codec,
  { id: chain, reorgWindow }: Pick<ChainRow, 'id' | 'reorgWindow'>,
): Promise<Recovered> => {
  const bound = maxReorgBlocks({ reorgWindow })
  const topic = topicName('blocks', chain)
  const ends = (await bus.ends(topic)).find(({ partition }) => partition === 0)
  if (ends === undefined || ends.end <= ends.low) return EMPTY
  for (let window = FIRST_WINDOW; ; window *= 2) {
    const from = Math.max(ends.low, ends.end - window)
    const events: BlockEvent[] = []
    for await (const { value } of bus.read(topic, 0, from, ends.end)) {
      if (value !== null) events.push(codec.decode('block.BlockEvent', value))
    }
    const isWhole = from === ends.low && ends.low === 0
    if (from === ends.low || reachesBack(events, bound)) return folded(events, bound, isWhole)
  }
}

/** The follower's view of what was recovered. */
export const positionOf = ({
  stack,
  cursor: { tip, final },
  truncated,
}: Omit<Recovered, 'seq'>): Position | null => {
  if (tip === null) return null
  return {
    stack: stack.map(({ ref }) => ref),
    final,
    ...(truncated && { truncated }),
    ...(stack.length === 0 && { from: tip.height + 1 }),
  }
}

/** The parent of a reverted block below which nothing of ours is left: the next block must follow it. */
export const parentRef = ({ height, parentHash, timeMs }: BlockRef): BlockRef => ({
  height: height - 1,
  hash: parentHash,
  parentHash: '',
  timeMs,
})

const reachesBack = (events: readonly BlockEvent[], bound: number): boolean => {
  const last = events.at(-1)
  if (last === undefined) return false
  const { final, tip } = cursorOf(last)
  const floor = Math.max(final?.height ?? 0, (tip?.height ?? 0) - bound)
  return events.some(({ meta }) => meta.op === 'OP_APPLY' && meta.height <= floor)
}

const folded = (events: readonly BlockEvent[], bound: number, isWhole: boolean): Recovered => {
  const last = events.at(-1)
  if (last === undefined) return EMPTY
  const applied: Applied[] = []
  for (const event of events) {
    if (event.meta.op === 'OP_APPLY') applied.push(appliedOf(event))
    else if (event.meta.op === 'OP_REVERT') applied.pop()
  }
  const cursor = cursorOf(last)
  const floor = cursor.final?.height ?? 0
  const stack = applied.filter(({ ref }) => ref.height >= floor).slice(-bound)
  const isFinalHeld = cursor.final !== null && (stack[0]?.ref.height ?? 0) <= cursor.final.height
  const isFirstHeld = isWhole && stack.length === applied.length
  return {
    seq: last.meta.seq,
    cursor: { ...cursor, tip: cursor.tip ?? tipAfterRevert(last) },
    stack,
    truncated: !isFinalHeld && !isFirstHeld,
  }
}

/** Logs of older versions name no tip after a revert of all that was held: the block that was taken back tells it. */
const tipAfterRevert = (event: BlockEvent): BlockRef | null =>
  event.meta.op === 'OP_REVERT' ? parentRef(appliedOf(event).ref) : null

/** An APPLY record as an entry of the stack. */
export const appliedOf = (event: BlockEvent): Applied => ({
  ref: {
    height: event.meta.height,
    hash: event.meta.hash,
    parentHash: event.meta.parent_hash,
    timeMs: event.meta.block_time,
  },
  seq: event.meta.seq,
  header: headerOf(event),
  spans: event.spans,
})

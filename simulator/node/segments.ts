import { setImmediate as breathe } from 'node:timers/promises'
import type { BlockHeader, BlockProducer, SimulatedBlock } from './producer.ts'
import type { Snapshot } from './snapshots.ts'
import { State, type StateReader } from './state.ts'

/** Blocks that follow a known state; any state in between is that one plus their writes. */
export interface Segment<Block extends SimulatedBlock> {
  /** Height of the first block. */
  readonly first: number
  readonly start: readonly bigint[]
  readonly blocks: Block[]
}

/** Blocks of one segment: a power of two, about 6,000 swaps, so that making one again takes a second or two. */
export const segmentLength = (swapsPerBlock: number, most: number): number => {
  const wanted = Math.floor(Math.log2(6_000 / Math.max(0.01, swapsPerBlock)))
  return Math.min(most, 2 ** Math.max(2, wanted))
}

/** Reads a state of a segment: the newest write at or below the height, else what was there before. */
export const segmentStateReader =
  ({ first, start, blocks }: Segment<SimulatedBlock>, height: number): StateReader =>
  (place) => {
    for (let at = height - first; at >= 0; at -= 1) {
      const value = blocks[at]?.writes.get(place)
      if (value !== undefined) return value
    }
    return start[place] ?? 0n
  }

/** State after a block of a segment, to continue from. */
export const copySegmentStateAt = (
  { first, start, blocks }: Segment<SimulatedBlock>,
  height: number,
): State => {
  const values = [...start]
  for (const { writes } of blocks.slice(0, height - first + 1))
    for (const [place, value] of writes) values[place] = value
  return new State(values)
}

/** Longest time that making blocks holds the thread. */
const MAX_BLOCKING_MS = 12

/** Runs a block to its end and lets others have the thread in between; `clock.since` is when it was last let go. */
export const runYielding = async <Block>(
  making: Generator<undefined, Block>,
  clock: { since: number },
): Promise<Block> => {
  for (;;) {
    const step = making.next()
    if (step.done === true) return step.value
    if (performance.now() - clock.since < MAX_BLOCKING_MS) continue
    await breathe()
    clock.since = performance.now()
  }
}

/** Makes the hashes of a block's transactions, which are made at the first reading, and lets others have the thread in between. */
export const precomputeHashes = async <Block extends SimulatedBlock>(
  block: Block,
  clock: { since: number },
): Promise<Block> => {
  for (const { hash } of block.transactions) {
    if (hash === '' || performance.now() - clock.since < MAX_BLOCKING_MS) continue
    await breathe()
    clock.since = performance.now()
  }
  return block
}

/** Makes canonical blocks again, from a snapshot up to `last`; the segment starts at `first`. */
export const rebuildSegment = async <Head extends BlockHeader, Block extends Head & SimulatedBlock>(
  producer: BlockProducer<Head, Block>,
  from: Snapshot<Head>,
  { first, last }: { readonly first: number; readonly last: number },
): Promise<Segment<Block>> => {
  const clock = { since: performance.now() }
  const state = new State([...from.values])
  let parent = from.header
  let segment: Segment<Block> = { first, start: from.values, blocks: [] }
  while (parent.height < last) {
    if (parent.height === first - 1) segment = { first, start: [...state.values], blocks: [] }
    const block = await runYielding(producer.next(parent, state, 0), clock)
    if (block.height >= first) segment.blocks.push(block)
    parent = block
  }
  return segment
}

/** Segments in memory, the last used ones. */
export interface SegmentCache<Block extends SimulatedBlock> {
  get(first: number): Segment<Block> | undefined
  put(segment: Segment<Block>): void
}

const transactionCount = ({ blocks }: Segment<SimulatedBlock>): number =>
  blocks.reduce((sum, { transactions }) => sum + transactions.length, 0)

/** A cache of segments with at most so many transactions together; the two last used stay in any case. */
export const createSegmentCache = <Block extends SimulatedBlock>(
  mostTransactions: number,
): SegmentCache<Block> => {
  const held = new Map<number, Segment<Block>>()
  const put = (segment: Segment<Block>): void => {
    held.delete(segment.first)
    held.set(segment.first, segment)
    let weight = [...held.values()].reduce((sum, one) => sum + transactionCount(one), 0)
    for (const [first, old] of held) {
      if (weight <= mostTransactions || held.size <= 2) return
      held.delete(first)
      weight -= transactionCount(old)
    }
  }
  return {
    put,
    get: (first) => {
      const segment = held.get(first)
      if (segment === undefined) return undefined
      held.delete(first)
      held.set(first, segment)
      return segment
    },
  }
}

import type { Hex } from 'viem'
import { type Header, headerOf, type SealedBlock } from './blocks.ts'
import type { Producer } from './producer.ts'
import {
  forkSegment,
  makeSegmentCache,
  produced,
  readSegment,
  remade,
  type Segment,
  segmentBlocks,
} from './segments.ts'
import type { Snapshots } from './snapshots.ts'
import { type Read, State } from './state.ts'

/** Every canonical block made so far: the newest in memory, older ones made again when they are asked for. */
export interface Archive {
  /** Makes blocks up to a height. */
  grow(height: number): Promise<void>
  /** A canonical block that was made; an old one may take a while. */
  block(height: number): Promise<SealedBlock>
  /** State after a canonical block. */
  read(height: number): Promise<Read>
  /** State after a canonical block, to go on from. */
  fork(height: number): Promise<State>
  /** Height of a canonical block by its hash. */
  heightOf(hash: string): number | undefined
  hashAt(height: number): Hex | undefined
}

/** Transactions in memory, in all blocks together. */
const HELD_TRANSACTIONS = 60_000

/** The growing end of the chain, and the hashes of all of it. */
const makeTip = async (producer: Producer, snapshots: Snapshots) => {
  const newest = await snapshots.newest()
  const hashes: Hex[] = [...snapshots.hashes]
  return {
    header: newest.header as Header,
    state: new State([...newest.values]),
    /** Segment in the making. */
    open: { first: newest.header.height + 1, start: newest.values, blocks: [] } as Segment,
    clock: { since: performance.now() },
    hashes,
    heights: new Map<string, number>(hashes.map((hash, height) => [hash, height])),
    producer,
  }
}
type Tip = Awaited<ReturnType<typeof makeTip>>

const addBlock = async (tip: Tip): Promise<void> => {
  const block = await produced(tip.producer.next(tip.header, tip.state, 0), tip.clock)
  tip.header = block
  tip.hashes[block.height] = block.hash
  tip.heights.set(block.hash, block.height)
  tip.open.blocks.push(block)
}

/** Opens the archive of a producer at its newest snapshot. */
export const openArchive = async (producer: Producer, snapshots: Snapshots): Promise<Archive> => {
  const genesis = producer.genesis()
  const size = segmentBlocks(producer.spec.ratePerSecond)
  const tip = await makeTip(producer, snapshots)
  const cache = makeSegmentCache(HELD_TRANSACTIONS)
  const loading = new Map<number, Promise<Segment>>()

  const closeSegment = async (): Promise<void> => {
    const closed = tip.open
    const values = [...tip.state.values]
    cache.put(closed)
    tip.open = { first: tip.header.height + 1, start: values, blocks: [] }
    const hashes = closed.blocks.map(({ hash }) => hash)
    await snapshots.put({ header: headerOf(tip.header), values }, hashes)
  }
  const load = async (first: number): Promise<Segment> => {
    const last = Math.min(first + size - 1, tip.header.height)
    const segment = await remade(producer, await snapshots.before(first - 1), { first, last })
    cache.put(segment)
    return segment
  }
  const segmentOf = (height: number): Segment | Promise<Segment> => {
    if (height >= tip.open.first) return tip.open
    const first = height - ((height - 1) % size)
    const held = cache.get(first) ?? loading.get(first)
    if (held !== undefined) return held
    const started = load(first).finally(() => loading.delete(first))
    loading.set(first, started)
    return started
  }

  return {
    grow: async (height) => {
      while (tip.header.height < height) {
        await addBlock(tip)
        if (tip.header.height % size === 0) await closeSegment()
      }
    },
    block: async (height) => {
      if (height === 0) return genesis.block
      const segment = await segmentOf(height)
      const found = segment.blocks[height - segment.first]
      if (found === undefined) throw new RangeError(`block ${height} was not made`)
      return found
    },
    read: async (height) =>
      height === 0
        ? (place) => genesis.state.get(place)
        : readSegment(await segmentOf(height), height),
    fork: async (height) =>
      height === 0
        ? new State([...genesis.state.values])
        : forkSegment(await segmentOf(height), height),
    heightOf: (hash) => tip.heights.get(hash),
    hashAt: (height) => tip.hashes[height],
  }
}

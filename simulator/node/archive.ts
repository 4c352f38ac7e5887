import type { BlockHeader, BlockProducer, SimulatedBlock } from './producer.ts'
import {
  copySegmentStateAt,
  createSegmentCache,
  rebuildSegment,
  runYielding,
  type Segment,
  segmentStateReader,
} from './segments.ts'
import type { Snapshot, SnapshotStore } from './snapshots.ts'
import { State, type StateReader } from './state.ts'

/** Every canonical block made so far: the newest in memory, older ones made again when they are asked for. */
export interface BlockArchive<Block extends SimulatedBlock> {
  /** Makes blocks up to a height. */
  grow(height: number): Promise<void>
  /** A canonical block that was made; an old one may take a while. */
  block(height: number): Promise<Block>
  /** State after a canonical block. */
  read(height: number): Promise<StateReader>
  /** State after a canonical block, to continue from. */
  copyStateAt(height: number): Promise<State>
  /** Height of a canonical block by its hash. */
  heightOf(hash: string): number | undefined
  hashAt(height: number): string | undefined
}

/** The growing end of a chain, and the hashes of all of it. */
interface ArchiveTip<Head, Block extends SimulatedBlock> {
  header: Head
  readonly state: State
  /** Segment under construction. */
  openSegment: Segment<Block>
  readonly clock: { since: number }
  readonly hashes: string[]
  readonly heights: Map<string, number>
}

const createTip = <Head extends BlockHeader, Block extends SimulatedBlock>(
  { header, values }: Snapshot<Head>,
  hashes: readonly string[],
): ArchiveTip<Head, Block> => ({
  header,
  state: new State([...values]),
  openSegment: { first: header.height + 1, start: values, blocks: [] },
  clock: { since: performance.now() },
  hashes: [...hashes],
  heights: new Map(hashes.map((hash, height) => [hash, height])),
})

const addBlock = async <Head extends BlockHeader, Block extends Head & SimulatedBlock>(
  producer: BlockProducer<Head, Block>,
  tip: ArchiveTip<Head, Block>,
): Promise<void> => {
  const block = await runYielding(producer.next(tip.header, tip.state, 0), tip.clock)
  tip.header = block
  tip.hashes[block.height] = block.hash
  tip.heights.set(block.hash, block.height)
  tip.openSegment.blocks.push(block)
}

/** Opens the archive of a producer at its newest snapshot. */
export const openBlockArchive = async <
  Head extends BlockHeader,
  Block extends Head & SimulatedBlock,
>(
  producer: BlockProducer<Head, Block>,
  snapshots: SnapshotStore<Head>,
): Promise<BlockArchive<Block>> => {
  const genesis = producer.genesis()
  const size = producer.segmentBlocks
  const tip = createTip<Head, Block>(await snapshots.newest(), snapshots.hashes)
  const cache = createSegmentCache<Block>(producer.maxCachedTransactions)
  const loading = new Map<number, Promise<Segment<Block>>>()

  const closeSegment = async (): Promise<void> => {
    const closed = tip.openSegment
    const values = [...tip.state.values]
    cache.put(closed)
    tip.openSegment = { first: tip.header.height + 1, start: values, blocks: [] }
    const hashes = closed.blocks.map(({ hash }) => hash)
    await snapshots.put({ header: producer.headOf(tip.header), values }, hashes)
  }
  const load = async (first: number): Promise<Segment<Block>> => {
    const last = Math.min(first + size - 1, tip.header.height)
    const segment = await rebuildSegment(producer, await snapshots.atOrBelow(first - 1), {
      first,
      last,
    })
    cache.put(segment)
    return segment
  }
  const segmentOf = (height: number): Segment<Block> | Promise<Segment<Block>> => {
    if (height >= tip.openSegment.first) return tip.openSegment
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
        await addBlock(producer, tip)
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
        : segmentStateReader(await segmentOf(height), height),
    copyStateAt: async (height) =>
      height === 0
        ? new State([...genesis.state.values])
        : copySegmentStateAt(await segmentOf(height), height),
    heightOf: (hash) => tip.heights.get(hash),
    hashAt: (height) => tip.hashes[height],
  }
}

import type { BlockArchive } from './archive.ts'
import { createForks, type Fork } from './branches.ts'
import type { BlockHeader, BlockProducer, SimulatedBlock } from './producer.ts'
import { orphanedRangeAt } from './schedule.ts'
import { precomputeHashes } from './segments.ts'
import type { StateReader } from './state.ts'

/** What a node shows: canonical blocks, with a branch in place of the newest while one is due. */
export interface ChainView<Block extends SimulatedBlock> {
  head(): Block
  block(height: number): Promise<Block | undefined>
  byHash(hash: string): Promise<Block | undefined>
  isOnShow(block: Block): boolean
  read(block: Block): Promise<StateReader>
  heightOfTransaction(hash: string): number | undefined
  /** Keeps the transactions of a block findable for good. */
  pin(block: Block): void
  onHead(listener: (block: Block) => void): () => void
  /** Shows everything up to a height at once, without telling anybody. */
  jump(height: number): Promise<void>
  /** Makes the next block ahead of its time. */
  prepare(): Promise<void>
  /** Shows the next block. */
  step(): Promise<void>
  /** Replaces the newest blocks by others. */
  reorg(depth: number): Promise<void>
}

const MAX_INDEXED_TRANSACTIONS = 200_000
/** Transactions below the first head that can be found by hash at once. */
const INDEXED_AT_START = 500
/** Ids of branches on demand; those of scheduled ones are heights. */
const FIRST_REQUESTED_FORK_ID = 2 ** 40

/** Heights of transactions by hash, the newest ones. */
const createTransactionIndex = () => {
  const heights = new Map<string, number>()
  const pinned = new Map<string, number>()
  return {
    heightOf: (hash: string) => heights.get(hash) ?? pinned.get(hash),
    pin: ({ height, transactions }: SimulatedBlock): void => {
      for (const { hash } of transactions) pinned.set(hash, height)
    },
    add: ({ height, transactions }: SimulatedBlock): void => {
      for (const { hash } of transactions) {
        heights.delete(hash)
        heights.set(hash, height)
      }
      for (const hash of heights.keys()) {
        if (heights.size <= MAX_INDEXED_TRANSACTIONS) return
        heights.delete(hash)
      }
    },
  }
}

/** Shows the blocks of an archive; `reorgEvery` 0 = no scheduled reorgs. */
export const createChainView = <Head extends BlockHeader, Block extends Head & SimulatedBlock>(
  archive: BlockArchive<Block>,
  producer: BlockProducer<Head, Block>,
  reorgEvery: number,
): ChainView<Block> => {
  const branches = createForks(archive, producer)
  const index = createTransactionIndex()
  const listeners = new Set<(block: Block) => void>()
  let head: Block = producer.genesis().block
  let branch: Fork<Block> | undefined
  let demands = 0
  const clock = { since: performance.now() }

  const scheduled = async (height: number): Promise<Fork<Block> | undefined> => {
    const due = orphanedRangeAt(producer.spec.seed, reorgEvery, height)
    if (due === undefined) return undefined
    const running = branch?.id === due.from ? branch : undefined
    return branches.extend(running ?? { id: due.from, from: due.from, blocks: [] }, height)
  }
  const blockOn = async (on: Fork<Block> | undefined, height: number): Promise<Block> =>
    on?.blocks[height - on.from] ?? archive.block(height)
  const turn = async (
    next: Fork<Block> | undefined,
    { changed, to }: { readonly changed: number; readonly to: number },
  ): Promise<void> => {
    const blocks: Block[] = []
    for (let at = changed; at <= to; at += 1)
      blocks.push(await precomputeHashes(await blockOn(next, at), clock))
    branch = next
    head = blocks.at(-1) ?? head
    for (const block of blocks) index.add(block)
    for (const block of blocks) for (const listener of listeners) listener(block)
  }

  return {
    head: () => head,
    jump: async (height) => {
      await archive.grow(height)
      branch = await scheduled(height)
      head = await blockOn(branch, height)
      for (let at = height, count = 0; at > 0 && count < INDEXED_AT_START; at -= 1) {
        const block = await precomputeHashes(await blockOn(branch, at), clock)
        index.add(block)
        count += block.transactions.length
      }
    },
    prepare: async () => {
      const next = head.height + 1
      await archive.grow(next)
      await precomputeHashes(await archive.block(next), clock)
    },
    step: async () => {
      const to = head.height + 1
      await archive.grow(to)
      const next = await scheduled(to)
      const forks = next === branch ? [] : [branch?.from ?? to, next?.from ?? to]
      await turn(next, { changed: Math.min(to, ...forks), to })
    },
    reorg: async (depth) => {
      const { height } = head
      const from = Math.max(1, Math.min(height - depth + 1, branch?.from ?? height))
      demands += 1
      const fresh: Fork<Block> = { id: FIRST_REQUESTED_FORK_ID + demands, from, blocks: [] }
      await turn(await branches.extend(fresh, height), { changed: from, to: height })
    },
    block: async (height) =>
      height < 0 || height > head.height ? undefined : blockOn(branch, height),
    byHash: async (hash) => {
      const forked = branches.byHash(hash)
      if (forked !== undefined) return forked
      const height = archive.heightOf(hash)
      return height === undefined || height > head.height ? undefined : archive.block(height)
    },
    isOnShow: ({ hash, height }) => {
      const shown = branch?.blocks[height - branch.from]?.hash ?? archive.hashAt(height)
      return height <= head.height && shown === hash
    },
    read: async (block) => (await branches.read(block)) ?? archive.read(block.height),
    heightOfTransaction: index.heightOf,
    pin: index.pin,
    onHead: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

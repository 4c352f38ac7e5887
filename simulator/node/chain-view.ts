import type { Archive } from './archive.ts'
import { type Branch, makeBranches } from './branches.ts'
import type { BlockHead, MadeBlock, Producer } from './producer.ts'
import { orphanedAt } from './schedule.ts'
import { readied } from './segments.ts'
import type { Read } from './state.ts'

/** What a node shows: canonical blocks, with a branch in place of the newest while one is due. */
export interface Show<Block extends MadeBlock> {
  head(): Block
  block(height: number): Promise<Block | undefined>
  byHash(hash: string): Promise<Block | undefined>
  isOnShow(block: Block): boolean
  read(block: Block): Promise<Read>
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

const TRANSACTIONS_INDEXED = 200_000
/** Transactions below the first head that can be found by hash at once. */
const INDEXED_AT_START = 500
/** Ids of branches on demand; those of scheduled ones are heights. */
const DEMAND_IDS = 2 ** 40

/** Heights of transactions by hash, the newest ones. */
const makeTransactionIndex = () => {
  const heights = new Map<string, number>()
  const pinned = new Map<string, number>()
  return {
    heightOf: (hash: string) => heights.get(hash) ?? pinned.get(hash),
    pin: ({ height, transactions }: MadeBlock): void => {
      for (const { hash } of transactions) pinned.set(hash, height)
    },
    add: ({ height, transactions }: MadeBlock): void => {
      for (const { hash } of transactions) {
        heights.delete(hash)
        heights.set(hash, height)
      }
      for (const hash of heights.keys()) {
        if (heights.size <= TRANSACTIONS_INDEXED) return
        heights.delete(hash)
      }
    },
  }
}

/** Shows the blocks of an archive; `reorgEvery` 0 = no scheduled reorgs. */
export const makeShow = <Head extends BlockHead, Block extends Head & MadeBlock>(
  archive: Archive<Block>,
  producer: Producer<Head, Block>,
  reorgEvery: number,
): Show<Block> => {
  const branches = makeBranches(archive, producer)
  const index = makeTransactionIndex()
  const listeners = new Set<(block: Block) => void>()
  let head: Block = producer.genesis().block
  let branch: Branch<Block> | undefined
  let demands = 0
  const clock = { since: performance.now() }

  const scheduled = async (height: number): Promise<Branch<Block> | undefined> => {
    const due = orphanedAt(producer.spec.seed, reorgEvery, height)
    if (due === undefined) return undefined
    const running = branch?.id === due.from ? branch : undefined
    return branches.extended(running ?? { id: due.from, from: due.from, blocks: [] }, height)
  }
  const blockOn = async (on: Branch<Block> | undefined, height: number): Promise<Block> =>
    on?.blocks[height - on.from] ?? archive.block(height)
  const turn = async (
    next: Branch<Block> | undefined,
    { changed, to }: { readonly changed: number; readonly to: number },
  ): Promise<void> => {
    const blocks: Block[] = []
    for (let at = changed; at <= to; at += 1)
      blocks.push(await readied(await blockOn(next, at), clock))
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
        const block = await readied(await blockOn(branch, at), clock)
        index.add(block)
        count += block.transactions.length
      }
    },
    prepare: async () => {
      const next = head.height + 1
      await archive.grow(next)
      await readied(await archive.block(next), clock)
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
      const fresh: Branch<Block> = { id: DEMAND_IDS + demands, from, blocks: [] }
      await turn(await branches.extended(fresh, height), { changed: from, to: height })
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

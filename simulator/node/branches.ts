import type { BlockArchive } from './archive.ts'
import type { BlockHeader, BlockProducer, SimulatedBlock } from './producer.ts'
import { runYielding } from './segments.ts'
import type { StateReader } from './state.ts'

/** A fork that is, or was, on show instead of canonical blocks. */
export interface Fork<Block extends SimulatedBlock> {
  /** Never 0, which is the canonical chain; another id gives other blocks. */
  readonly id: number
  /** Height of the first block that differs. */
  readonly from: number
  readonly blocks: Block[]
}

/** Forks made so far; those that lost are kept for a while, for those who still ask. */
export interface Forks<Block extends SimulatedBlock> {
  /** Makes the blocks of a branch up to a height. Returns the branch. */
  extend(branch: Fork<Block>, height: number): Promise<Fork<Block>>
  byHash(hash: string): Block | undefined
  /** State after a block of a branch; undefined when the block is of none. */
  read(block: Block): Promise<StateReader | undefined>
}

const MAX_FORK_BLOCKS = 96
const MAX_FORK_TRANSACTIONS = 20_000

/** Makes branches off the canonical blocks of an archive. */
export const createForks = <Head extends BlockHeader, Block extends Head & SimulatedBlock>(
  archive: BlockArchive<Block>,
  producer: BlockProducer<Head, Block>,
): Forks<Block> => {
  const clock = { since: performance.now() }
  const known = new Map<string, { readonly branch: Fork<Block>; readonly block: Block }>()

  const remember = (branch: Fork<Block>, block: Block): void => {
    known.set(block.hash, { branch, block })
    let held = [...known.values()].reduce((sum, one) => sum + one.block.transactions.length, 0)
    for (const [hash, one] of known) {
      if (one.branch === branch) return
      if (known.size <= MAX_FORK_BLOCKS && held <= MAX_FORK_TRANSACTIONS) return
      known.delete(hash)
      held -= one.block.transactions.length
    }
  }
  const extend = async (branch: Fork<Block>): Promise<void> => {
    const parent = branch.blocks.at(-1) ?? (await archive.block(branch.from - 1))
    const state = await archive.copyStateAt(branch.from - 1)
    for (const { writes } of branch.blocks)
      for (const [place, value] of writes) state.values[place] = value
    const block = await runYielding(producer.next(parent, state, branch.id), clock)
    branch.blocks.push(block)
    remember(branch, block)
  }

  return {
    extend: async (branch, height) => {
      while (branch.from + branch.blocks.length <= height) await extend(branch)
      return branch
    },
    byHash: (hash) => known.get(hash)?.block,
    read: async (block) => {
      const branch = known.get(block.hash)?.branch
      if (branch === undefined) return undefined
      const base = await archive.read(branch.from - 1)
      const newestFirst = branch.blocks.slice(0, block.height - branch.from + 1).reverse()
      return (place) =>
        newestFirst.find(({ writes }) => writes.has(place))?.writes.get(place) ?? base(place)
    },
  }
}

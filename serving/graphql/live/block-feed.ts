import { retry } from '../../../core/retry.ts'
import type { StoreProgress } from '../../interfaces.ts'
import type { BlockScope } from '../block-scope.ts'
import type { BlockOperation, BlockReader } from './block-reader.ts'

/** What a feed works with. */
export interface BlockFeedOptions {
  readonly chain: string
  readonly reader: BlockReader
  readonly progress: StoreProgress
  /** Called once per failed reading; the feed continues. */
  readonly onError: (error: unknown) => void
}

/** Blocks of one chain whose rows are all in the store, shared by all of its followers. */
export interface BlockFeed {
  /** Counts a follower; the result is the block operation behind which it begins. Throws what the store throws. */
  join(): Promise<number>
  /** One follower less: without any, nothing is read. */
  leave(): void
  /** What came after a cursor: nothing yet, too much to be handed over, or blocks and the cursor behind them. */
  after(cursor: number): FeedStep | 'lost' | undefined
  /** Resolves when more has come, when the feed is closed, or when the signal aborts. */
  changed(signal: AbortSignal): Promise<void>
  /** The log holds block operations up to this one. */
  announce(seq: number): void
  close(): void
}

/** One step of a subscription. */
export interface FeedStep {
  readonly cursor: number
  readonly scope: BlockScope
}

/** Stored operations that are remembered: a reader that is further behind is ended. As many are read before they are stored. */
const MAX_REMEMBERED = 4_096
/** Blocks of one delivery. */
const MAX_BLOCKS_PER_STEP = 256
/** Time between two looks at a store that has not got everything yet; doubled while nothing comes. */
const FIRST_WAIT_MS = 250
const MAX_WAIT_MS = 4_000

class NotStoredYet extends Error {}

/** Folds operations into the blocks that stand and those that no longer do. A block that came and went in between is in neither. */
const toScope = (chain: string, operations: readonly BlockOperation[]): BlockScope => {
  const added = new Map<string, BlockOperation>()
  const removed: BlockOperation[] = []
  for (const operation of operations) {
    if (!operation.removed) added.set(operation.hash, operation)
    else if (!added.delete(operation.hash)) removed.unshift(operation)
  }
  const ref = ({ slot, height, hash }: BlockOperation) => ({ slot, height, hash })
  return {
    chain,
    added: [...added.values()].map(ref),
    removed: removed.map(ref),
    fromMs: Math.min(...operations.map(({ timeMs }) => timeMs)),
    fromSeq: Math.min(...operations.map(({ seq }) => seq)),
  }
}

/** What was read since the first follower began. */
interface FeedState {
  readonly buffered: BlockOperation[]
  /** Last operation before the remembered ones, the last that was read, and the last whose rows are all stored. */
  droppedSeq: number
  readSeq: number
  stored: number
  newestSlot: number
}

const readBlocks = async (
  state: FeedState,
  { chain, reader }: Pick<BlockFeedOptions, 'chain' | 'reader'>,
): Promise<void> => {
  const operations = await reader.after(chain, {
    afterSeq: state.readSeq,
    fromSlot: state.newestSlot,
  })
  for (const operation of operations) {
    state.buffered.push(operation)
    state.readSeq = operation.seq
    state.newestSlot = Math.max(state.newestSlot, operation.slot)
  }
}

/** Reads once. Throws `NotStoredYet` where nothing is new. */
const readNext = async (
  state: FeedState,
  options: Pick<BlockFeedOptions, 'chain' | 'reader' | 'progress'>,
): Promise<void> => {
  const { chain, progress } = options
  const { buffered } = state
  const remembered = buffered.filter(({ seq }) => seq <= state.stored).length
  if (buffered.length - remembered < MAX_REMEMBERED) await readBlocks(state, options)
  // Asked after the blocks were read: what was stored by then holds all rows of those blocks up to the answer.
  const stored = Math.min(state.readSeq, await progress.storedSeq(chain))
  if (stored <= state.stored) throw new NotStoredYet()
  // Measured from what was stored before: who had read all of that keeps what has been stored meanwhile.
  const dropped = buffered.splice(0, Math.max(0, remembered - MAX_REMEMBERED))
  state.droppedSeq = dropped.at(-1)?.seq ?? state.droppedSeq
  state.stored = stored
}

/** A feed that reads nothing until it has a follower. */
export const createBlockFeed = (options: BlockFeedOptions): BlockFeed => {
  const { chain, reader, progress, onError } = options
  const waiting = new Set<() => void>()
  const closing = new AbortController()
  let state: FeedState = { buffered: [], droppedSeq: 0, readSeq: 0, stored: 0, newestSlot: 0 }
  let followers = 0
  let announced = 0
  let beginning: Promise<void> | undefined
  let following: FeedState | undefined

  const isBehind = (current: FeedState): boolean =>
    state === current && followers > 0 && current.stored < announced && !closing.signal.aborted
  const follow = async (current: FeedState): Promise<void> => {
    while (isBehind(current)) {
      await retry(() => readNext(current, options), {
        firstMs: FIRST_WAIT_MS,
        maxMs: MAX_WAIT_MS,
        tries: Number.POSITIVE_INFINITY,
        signal: closing.signal,
        again: () => isBehind(current),
        onRetry: (error) => {
          if (!(error instanceof NotStoredYet)) onError(error)
        },
      })
      for (const wake of [...waiting]) wake()
    }
  }
  const startReading = (): void => {
    const current = state
    if (following === current || !isBehind(current)) return
    following = current
    const clear = (): void => {
      if (following === current) following = undefined
    }
    // What ends it early are the followers that have left.
    follow(current).then(clear, clear)
  }
  /** Begins at the end of the store. */
  const begin = async (): Promise<void> => {
    const { seq, slot } = await reader.last(chain)
    const stored = Math.min(seq, await progress.storedSeq(chain))
    // Reading goes on behind what is stored, which may be more than a reorg's length before the newest block.
    const newestSlot = stored < seq ? await reader.newestSlot(chain, stored) : slot
    state = { buffered: [], droppedSeq: stored, readSeq: stored, stored, newestSlot }
    announced = Math.max(announced, seq)
  }
  return {
    join: async () => {
      followers += 1
      if (followers === 1) beginning = begin()
      try {
        await beginning
        startReading()
        return state.stored
      } catch (error) {
        followers -= 1
        throw error
      }
    },
    leave: () => {
      followers -= 1
    },
    after: (cursor) => {
      if (cursor < state.droppedSeq) return 'lost'
      const { buffered, stored } = state
      const operations = buffered
        .filter(({ seq }) => seq > cursor && seq <= stored)
        .slice(0, MAX_BLOCKS_PER_STEP)
      const last = operations.at(-1)
      return last && { cursor: last.seq, scope: toScope(chain, operations) }
    },
    changed: (signal) =>
      new Promise((resolve) => {
        if (signal.aborted || closing.signal.aborted) return resolve()
        const done = (): void => {
          waiting.delete(done)
          signal.removeEventListener('abort', done)
          resolve()
        }
        waiting.add(done)
        signal.addEventListener('abort', done, { once: true })
        startReading()
      }),
    announce: (seq) => {
      announced = Math.max(announced, seq)
      startReading()
    },
    close: () => {
      closing.abort()
      for (const wake of [...waiting]) wake()
    },
  }
}

import { retry } from '../../../core/retry.ts'
import { chainRow, maxReorgBlocks } from '../../../schemas/chains.ts'
import type { StoreProgress } from '../../interfaces.ts'
import type { BlockScope } from '../block-scope.ts'
import type { BlockOperation, BlockReader } from './block-reader.ts'
import { type BlockTip, blockTip, EMPTY_TIP } from './resume-cursor.ts'

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
  readonly chain: string
  /** Counts a follower; the result is where it begins. Throws what the store throws. */
  join(): Promise<FeedPosition>
  /** One follower less: without any, nothing is read. */
  leave(): void
  /** What came after an operation: nothing yet, too much to be handed over, or blocks and the position behind them. */
  after(seq: number): FeedStep | 'lost' | undefined
  /** The last operation of which every row is stored, and the newest slot that was read. Of a feed with followers only. */
  stored(): { readonly seq: number; readonly slot: number }
  /** Resolves when more has come, when the feed is closed, or when the signal aborts. */
  changed(signal: AbortSignal): Promise<void>
  /** The log holds block operations up to this one. */
  announce(seq: number): void
  close(): void
}

/** Behind a block operation, and the newest block that stood then. */
export interface FeedPosition {
  readonly seq: number
  readonly tip: BlockTip
}

/** One step of a subscription. */
export interface FeedStep extends FeedPosition {
  readonly scope: BlockScope
}

/** Stored operations that are remembered: a reader that is further behind is ended. As many are read before they are stored. */
const MAX_REMEMBERED = 4_096
/** Blocks of one delivery. */
export const MAX_BLOCKS_PER_STEP = 256
/** Time between two looks at a store that has not got everything yet; doubled while nothing comes. */
const FIRST_WAIT_MS = 250
const MAX_WAIT_MS = 4_000

class NotStoredYet extends Error {}

/** An operation as the followers see it. */
interface FeedOperation extends BlockOperation {
  /** Whether its block stood before it is what it is behind it: the store has the last of a block's operations alone. */
  readonly changesNothing: boolean
  /** Behind it. */
  readonly tip: BlockTip
}

/**
 * Folds operations into the blocks that stand and those that no longer do; of a reorg the newest block is removed first. A block
 * that came and went in between, or went and came back, is in neither.
 */
export const toScope = (
  chain: string,
  operations: readonly (BlockOperation & Partial<Pick<FeedOperation, 'changesNothing'>>)[],
): BlockScope => {
  const added = new Map<string, BlockOperation>()
  const removed = new Map<string, BlockOperation>()
  for (const operation of operations) {
    const { hash } = operation
    if (operation.changesNothing) continue
    const [from, to] = operation.removed ? [added, removed] : [removed, added]
    if (!from.delete(hash)) to.set(hash, operation)
  }
  const ref = ({ slot, height, hash }: BlockOperation) => ({ slot, height, hash })
  return {
    chain,
    added: [...added.values()].map(ref),
    removed: [...removed.values()].map(ref),
    fromMs: Math.min(...operations.map(({ timeMs }) => timeMs)),
    fromSeq: Math.min(...operations.map(({ seq }) => seq)),
  }
}

const tipBehind = (operation: BlockOperation): BlockTip => {
  const { slot, hash, parentSlot, parentHash } = operation
  return blockTip(operation.removed ? { slot: parentSlot, hash: parentHash } : { slot, hash })
}

/** What was read since the first follower began. */
interface FeedState {
  readonly buffered: FeedOperation[]
  /** Blocks that stand behind the last operation that was read and may be removed yet, with their slots. */
  readonly standing: Map<string, number>
  /** Last operation before the remembered ones, the last that was read, and the last whose rows are all stored. */
  droppedSeq: number
  readSeq: number
  stored: number
  newestSlot: number
  /** Of the operation `stored`, and of the last that was read. */
  tip: BlockTip
  readTip: BlockTip
}

const stateAt = (
  { seq, tip }: FeedPosition,
  newestSlot: number,
  standing = new Map<string, number>(),
): FeedState => ({
  buffered: [],
  standing,
  droppedSeq: seq,
  readSeq: seq,
  stored: seq,
  newestSlot,
  tip,
  readTip: tip,
})

const blockKey = ({ slot, hash }: Pick<BlockOperation, 'slot' | 'hash'>): string =>
  `${slot} ${hash}`

/** Most blocks of a chain that a reorg removes. */
export const reorgDepth = (chain: string): number => {
  const row = chainRow(chain)
  if (row === undefined) throw new Error(`not a chain: ${chain}`)
  return maxReorgBlocks(row)
}

/** Blocks that stood behind the operation `stored`, of those with these last operations. One that is later says that its block stood if it removes it. */
const standingBehind = (blocks: readonly BlockOperation[], stored: number): Map<string, number> =>
  new Map(
    blocks
      .filter(({ seq, removed }) => removed === seq > stored)
      .map((block) => [blockKey(block), block.slot]),
  )

/** Takes an operation into the state. */
const takeOperation = (state: FeedState, operation: BlockOperation): void => {
  const { standing } = state
  const key = blockKey(operation)
  const changesNothing = standing.has(key) !== operation.removed
  if (operation.removed) standing.delete(key)
  else standing.set(key, operation.slot)
  // The removal of a block that never stood leaves the newest one as it is.
  if (!operation.removed || !changesNothing) state.readTip = tipBehind(operation)
  state.buffered.push({ ...operation, changesNothing, tip: state.readTip })
  state.readSeq = operation.seq
  state.newestSlot = Math.max(state.newestSlot, operation.slot)
}

const stepAfter = (
  { buffered, stored, droppedSeq }: FeedState,
  chain: string,
  after: number,
): FeedStep | 'lost' | undefined => {
  if (after < droppedSeq) return 'lost'
  const operations = buffered
    .filter(({ seq }) => seq > after && seq <= stored)
    .slice(0, MAX_BLOCKS_PER_STEP)
  const last = operations.at(-1)
  return last && { seq: last.seq, tip: last.tip, scope: toScope(chain, operations) }
}

/** Who waits for a change. */
const createWaiters = (closed: AbortSignal) => {
  const waiting = new Set<() => void>()
  return {
    wait: (signal: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        if (signal.aborted || closed.aborted) return resolve()
        const done = (): void => {
          waiting.delete(done)
          signal.removeEventListener('abort', done)
          resolve()
        }
        waiting.add(done)
        signal.addEventListener('abort', done, { once: true })
      }),
    wake: (): void => {
      for (const wake of [...waiting]) wake()
    },
  }
}

const readBlocks = async (
  state: FeedState,
  { chain, reader }: Pick<BlockFeedOptions, 'chain' | 'reader'>,
): Promise<void> => {
  const operations = await reader.after(chain, {
    afterSeq: state.readSeq,
    fromSlot: state.newestSlot,
  })
  for (const operation of operations) takeOperation(state, operation)
  const lowestSlot = state.newestSlot - reorgDepth(chain)
  for (const [key, slot] of state.standing) if (slot < lowestSlot) state.standing.delete(key)
}

/** The last operation of which every row is stored. Throws where the feed is closed before it is known. */
const readStoredSeq = async (
  { chain, progress }: Pick<BlockFeedOptions, 'chain' | 'progress'>,
  closed: AbortSignal,
): Promise<number> => {
  for (;;) {
    const stored = await progress.storedSeq(chain)
    if (stored !== undefined) return stored
    closed.throwIfAborted()
  }
}

/** Reads once. Throws `NotStoredYet` where nothing is new. */
const readNext = async (
  state: FeedState,
  options: Pick<BlockFeedOptions, 'chain' | 'reader' | 'progress'>,
  closed: AbortSignal,
): Promise<void> => {
  const { buffered } = state
  const remembered = buffered.filter(({ seq }) => seq <= state.stored).length
  if (buffered.length - remembered < MAX_REMEMBERED) await readBlocks(state, options)
  // Asked after the blocks were read: what was stored by then holds all rows of those blocks up to the answer.
  const stored = Math.min(state.readSeq, await readStoredSeq(options, closed))
  if (stored <= state.stored) throw new NotStoredYet()
  // Measured from what was stored before: who had read all of that keeps what has been stored meanwhile.
  const dropped = buffered.splice(0, Math.max(0, remembered - MAX_REMEMBERED))
  state.droppedSeq = dropped.at(-1)?.seq ?? state.droppedSeq
  state.stored = stored
  const last = buffered.findLast(({ seq }) => seq <= stored)
  if (last) state.tip = last.tip
}

/** A feed that reads nothing until it has a follower. */
export const createBlockFeed = (options: BlockFeedOptions): BlockFeed => {
  const { chain, reader, onError } = options
  const closing = new AbortController()
  const waiters = createWaiters(closing.signal)
  let state = stateAt({ seq: 0, tip: EMPTY_TIP }, 0)
  let followers = 0
  let announced = 0
  let beginning: Promise<void> | undefined
  let following: FeedState | undefined

  const isBehind = (current: FeedState): boolean =>
    state === current && followers > 0 && current.stored < announced && !closing.signal.aborted
  const follow = async (current: FeedState): Promise<void> => {
    while (isBehind(current)) {
      await retry(() => readNext(current, options, closing.signal), {
        firstMs: FIRST_WAIT_MS,
        maxMs: MAX_WAIT_MS,
        tries: Number.POSITIVE_INFINITY,
        signal: closing.signal,
        again: () => isBehind(current),
        onRetry: (error) => {
          if (!(error instanceof NotStoredYet)) onError(error)
        },
      })
      waiters.wake()
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
    const stored = Math.min(seq, await readStoredSeq(options, closing.signal))
    const tip = await reader.tipAfter(chain, stored)
    // Reading goes on behind what is stored, which may be more than a reorg's length before the newest block.
    const newestSlot = stored < seq ? tip.slot : slot
    const reach = reorgDepth(chain)
    // Above the newest block that stood may be some that a later operation has removed.
    const toSlot = Math.min(slot, newestSlot + reach)
    const range = { fromSlot: Math.max(0, newestSlot - reach), toSlot }
    const standing = standingBehind(await reader.inSlots(chain, range), stored)
    state = stateAt({ seq: stored, tip }, newestSlot, standing)
    announced = Math.max(announced, seq)
  }
  return {
    chain,
    join: async () => {
      followers += 1
      if (followers === 1) beginning = begin()
      try {
        await beginning
        startReading()
        return { seq: state.stored, tip: state.tip }
      } catch (error) {
        followers -= 1
        throw error
      }
    },
    leave: () => {
      followers -= 1
    },
    after: (after) => stepAfter(state, chain, after),
    stored: () => ({ seq: state.stored, slot: state.newestSlot }),
    changed: (signal) => {
      const change = waiters.wait(signal)
      startReading()
      return change
    },
    announce: (seq) => {
      announced = Math.max(announced, seq)
      startReading()
    },
    close: () => {
      closing.abort()
      waiters.wake()
    },
  }
}

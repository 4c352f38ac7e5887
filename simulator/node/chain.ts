import type { Logger } from '../../core/ops/logger.ts'
import { openBlockArchive } from './archive.ts'
import { type ChainView, createChainView } from './chain-view.ts'
import type { BlockHeader, BlockProducer, SimulatedBlock } from './producer.ts'
import { openSnapshotStore } from './snapshots.ts'

/** The chain as a node shows it at this moment. */
export interface RunningChain<P, Block extends SimulatedBlock>
  extends Pick<
    ChainView<Block>,
    'head' | 'block' | 'byHash' | 'isOnShow' | 'read' | 'heightOfTransaction' | 'pin' | 'onHead'
  > {
  readonly producer: P
  readonly genesisHash: string
  /** Replaces the newest `depth` blocks; the canonical ones return with the next block. Throws RangeError. */
  reorg(depth: number): void
  stop(): Promise<void>
}

/** How a chain runs. */
export interface RunOptions {
  readonly nowMs: () => number
  /** Mean blocks between scheduled reorgs; 0 = none. */
  readonly reorgEvery: number
  readonly checkpointDir: string | undefined
  readonly log: Logger
}

/** How often the clock is looked at. */
const CLOCK_POLL_MS = 50

/** Jobs one after the other; a job that throws ends the queue and is logged. */
const createJobQueue = (log: Logger) => {
  let work: Promise<void> = Promise.resolve()
  let closed = false
  return {
    isClosed: () => closed,
    add: (job: () => Promise<void>): void => {
      work = work
        .then(() => (closed ? undefined : job()))
        .catch((error: unknown) => {
          closed = true
          log.fatal({ err: error }, 'simulated chain crashed')
        })
    },
    close: (): Promise<void> => {
      closed = true
      return work
    },
  }
}

/** Opens a chain; everything up to now is there when it resolves. */
export const runChain = async <
  Head extends BlockHeader,
  Block extends Head & SimulatedBlock,
  P extends BlockProducer<Head, Block>,
>(
  producer: P & BlockProducer<Head, Block>,
  options: RunOptions & { readonly deepestReorg: number },
): Promise<RunningChain<P, Block>> => {
  const { nowMs, log } = options
  const { spec, codec } = producer
  const { block: genesis, state } = producer.genesis()
  const first = { header: producer.headOf(genesis), values: [...state.values] }
  const origin = { spec, codec, genesis: first }
  const snapshots = await openSnapshotStore(origin, { dir: options.checkpointDir, log })
  const archive = await openBlockArchive(producer, snapshots)
  const show = createChainView(archive, producer, options.reorgEvery)
  const heightNow = (): number => Math.max(0, producer.heightAt(nowMs()))
  const isDue = (): boolean => show.head().height < heightNow()
  await show.jump(heightNow())
  log.info({ height: show.head().height, hash: show.head().hash }, 'simulated chain listening')

  const queue = createJobQueue(log)
  let busy = false
  const follow = async (): Promise<void> => {
    while (!queue.isClosed() && isDue()) await show.step()
    if (!queue.isClosed()) await show.prepare()
    busy = false
  }
  const timer = setInterval(() => {
    if (busy || !isDue()) return
    busy = true
    queue.add(follow)
  }, CLOCK_POLL_MS)

  return {
    ...show,
    producer,
    genesisHash: genesis.hash,
    reorg: (depth) => {
      const most = Math.min(options.deepestReorg, show.head().height - 1)
      if (!Number.isInteger(depth) || depth < 1 || depth > most)
        throw new RangeError(`reorg depth must be between 1 and ${most}`)
      queue.add(() => show.reorg(depth))
    },
    stop: () => {
      clearInterval(timer)
      return queue.close()
    },
  }
}

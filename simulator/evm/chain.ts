import type { Hex } from 'viem'
import type { Logger } from '../../core/log.ts'
import { openArchive } from './archive.ts'
import { headerOf } from './blocks.ts'
import { BLOCK_TIME_MS, type ChainSpec, makeProducer, type Producer } from './producer.ts'
import { makeShow, type Show } from './show.ts'
import { openSnapshots } from './snapshots.ts'

/** Blocks below the head that count as final and as safe. */
export const FINAL_DEPTH = 64
export const SAFE_DEPTH = 32

/** Deepest reorg on demand: what is final stays. */
const DEEPEST_REORG = FINAL_DEPTH - 1

/** The chain as a node shows it at this moment. */
export interface Chain
  extends Pick<
    Show,
    'head' | 'block' | 'byHash' | 'isOnShow' | 'read' | 'heightOfTransaction' | 'pin' | 'onHead'
  > {
  readonly producer: Producer
  readonly genesisHash: Hex
  /** Replaces the newest `depth` blocks; the canonical ones return with the next block. Throws RangeError. */
  reorg(depth: number): void
  stop(): Promise<void>
}

/** What a chain needs to run. */
export interface ChainOptions {
  readonly spec: ChainSpec
  readonly nowMs: () => number
  /** Mean blocks between scheduled reorgs; 0 = none. */
  readonly reorgEvery: number
  readonly checkpointDir: string | undefined
  readonly log: Logger
}

/** How often the clock is looked at. */
const TICK_MS = 50

/** Jobs one after the other; a job that throws ends the queue and is logged. */
const makeQueue = (log: Logger) => {
  let work: Promise<void> = Promise.resolve()
  let closed = false
  return {
    isClosed: () => closed,
    add: (job: () => Promise<void>): void => {
      work = work
        .then(() => (closed ? undefined : job()))
        .catch((error: unknown) => {
          closed = true
          log.fatal({ err: error }, 'chain stands still')
        })
    },
    close: (): Promise<void> => {
      closed = true
      return work
    },
  }
}

/** Opens a chain; everything up to now is there when it resolves. */
export const openChain = async (options: ChainOptions): Promise<Chain> => {
  const { spec, nowMs, log } = options
  const producer = makeProducer(spec)
  const { block: genesis, state } = producer.genesis()
  const first = { header: headerOf(genesis), values: [...state.values] }
  const snapshots = await openSnapshots(spec, first, { dir: options.checkpointDir, log })
  const archive = await openArchive(producer, snapshots)
  const show = makeShow(archive, producer, options.reorgEvery)
  const heightNow = (): number =>
    Math.max(0, Math.floor((nowMs() - spec.genesisMs) / BLOCK_TIME_MS))
  const isDue = (): boolean => show.head().height < heightNow()
  await show.jump(heightNow())
  log.info({ height: show.head().height, hash: show.head().hash }, 'chain is open')

  const queue = makeQueue(log)
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
  }, TICK_MS)

  return {
    ...show,
    producer,
    genesisHash: genesis.hash,
    reorg: (depth) => {
      const most = Math.min(DEEPEST_REORG, show.head().height - 1)
      if (!Number.isInteger(depth) || depth < 1 || depth > most)
        throw new RangeError(`depth of a reorg is 1 to ${most}`)
      queue.add(() => show.reorg(depth))
    },
    stop: () => {
      clearInterval(timer)
      return queue.close()
    },
  }
}

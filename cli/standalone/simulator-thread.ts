import { parentPort, workerData } from 'node:worker_threads'
import { rootLogger } from '../../core/ops/logger.ts'
import { type Simulator, startSimulator } from '../../simulator/start.ts'
import { type ChainClockOptions, chainClock } from '../app/chain-clock.ts'

/** A made-up chain as plain data: its clock is made in the thread. */
export interface MadeChain {
  readonly chain: 'eth' | 'sol'
  readonly seed: number
  readonly ratePerSecond: number
  readonly genesisMs: number
  readonly clock: Omit<ChainClockOptions, 'nowMs'>
  readonly checkpointDir: string
}

/** What the thread is started with. */
export interface ThreadOrder {
  readonly chains: readonly MadeChain[]
  readonly logLevel: string
}

/** Where a made-up chain's node is, and what its ingestor must be told. */
export type MadeNode = Pick<Simulator, 'wsUrl' | 'extra' | 'examples'>

/** What the thread tells, once: nodes in the order of the chains. */
export type ThreadWord =
  | { readonly kind: 'open'; readonly nodes: readonly MadeNode[] }
  | { readonly kind: 'failed'; readonly reason: string }

/** What a worker thread of `bin.js` runs: chains and their nodes until the process says something, whatever it is. */
export const serveChains = async (): Promise<void> => {
  const port = parentPort
  if (port === null) throw new Error('made-up chains are served from a thread')
  const { chains, logLevel } = workerData as ThreadOrder
  const log = rootLogger(logLevel)
  const open: Simulator[] = []
  const stopAll = async (): Promise<void> => {
    await Promise.all(open.map((simulator) => simulator.stop()))
    port.close()
  }
  const tell = (word: ThreadWord): void => port.postMessage(word)
  try {
    for (const { clock, ...chain } of chains) {
      const nowMs = chainClock({ ...clock, nowMs: Date.now })
      open.push(await startSimulator({ ...chain, nowMs, log }))
    }
  } catch (error) {
    tell({ kind: 'failed', reason: error instanceof Error ? error.message : String(error) })
    return stopAll()
  }
  port.once('message', stopAll)
  tell({
    kind: 'open',
    nodes: open.map(({ wsUrl, extra, examples }) => ({ wsUrl, extra, examples })),
  })
}

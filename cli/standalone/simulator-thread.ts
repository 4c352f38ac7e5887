import { parentPort, workerData } from 'node:worker_threads'
import { makeRootLogger } from '../../core/ops/logger.ts'
import type { SimulatedChainId } from '../../schemas/chains.ts'
import { type Simulator, startSimulator } from '../../simulator/start.ts'
import { type SimulationClockOptions, simulationClock } from './simulation-clock.ts'

/** A simulated chain as plain data: its clock is made in the thread. */
export interface SimulatedChainPlan {
  readonly chain: SimulatedChainId
  readonly seed: number
  readonly ratePerSecond: number
  readonly genesisMs: number
  readonly clock: Omit<SimulationClockOptions, 'nowMs'>
  readonly checkpointDir: string
}

/** What the thread is started with. */
export interface SimulatorThreadData {
  readonly chains: readonly SimulatedChainPlan[]
  readonly logLevel: string
}

/** Where a simulated chain's node is, and the settings of its ingestor. */
export type SimulatedNode = Pick<Simulator, 'wsUrl' | 'extra' | 'examples'>

/** What the thread tells, once: nodes in the order of the chains. */
export type ThreadMessage =
  | { readonly kind: 'open'; readonly nodes: readonly SimulatedNode[] }
  | { readonly kind: 'failed'; readonly reason: string }

/** What a worker thread of `bin.js` runs: chains and their nodes until the process says something, whatever it is. */
export const serveChains = async (): Promise<void> => {
  const port = parentPort
  if (port === null) throw new Error('simulated chains are served from a thread')
  const { chains, logLevel } = workerData as SimulatorThreadData
  const log = makeRootLogger(logLevel)
  const open: Simulator[] = []
  const stopAll = async (): Promise<void> => {
    await Promise.all(open.map((simulator) => simulator.stop()))
    port.close()
  }
  const tell = (word: ThreadMessage): void => port.postMessage(word)
  try {
    for (const { clock, ...chain } of chains) {
      const nowMs = simulationClock({ ...clock, nowMs: Date.now })
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

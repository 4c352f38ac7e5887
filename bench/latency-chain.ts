import { parentPort, workerData } from 'node:worker_threads'
import { makeSilentLogger } from '../core/ops/logger.ts'
import { type Simulator, startSimulator } from '../simulator/start.ts'

/** What the thread of the chain begins with. */
export interface LatencyChainData {
  /** Trades of a block, about. */
  readonly blockTrades: number
  /** Chain time that passes in a second. */
  readonly pace: number
  /** Time between the blocks, by the chain's own clock. */
  readonly blockTimeMs: number
}

/** Where the chain's node is, and the settings of its ingestor. */
export type LatencyChainNode = Pick<Simulator, 'wsUrl' | 'extra'>

const GENESIS_MS = Date.UTC(2026, 0, 1)
/** Age of the chain when it begins. */
const PAST_MS = 1_200_000

const port = parentPort
if (port === null) throw new Error('this module is the beginning of a thread')
const { blockTrades, pace, blockTimeMs }: LatencyChainData = workerData
const startedMs = performance.now()
const simulator = await startSimulator({
  chain: 'eth',
  seed: 7,
  ratePerSecond: (blockTrades * 1_000) / blockTimeMs,
  genesisMs: GENESIS_MS,
  log: makeSilentLogger(),
  nowMs: () => GENESIS_MS + PAST_MS + (performance.now() - startedMs) * pace,
})
port.once('message', async () => {
  await simulator.stop()
  port.close()
})
port.postMessage({
  wsUrl: simulator.wsUrl,
  extra: simulator.extra,
} satisfies LatencyChainNode)

import { join } from 'node:path'
import type { ChainExtra } from '../core/config/settings.ts'
import type { Logger } from '../core/ops/logger.ts'
import type { SimulatedChainId } from '../schemas/chains.ts'
import { openEvm } from './evm/open.ts'
import { startJsonRpcServer } from './node/server.ts'
import type { ChainHead, ExampleEntities } from './node/simulated.ts'
import { openSvm } from './svm/open.ts'

/** How to run a simulated chain. Same seed, rate and genesis: the same chain, byte for byte. */
export interface SimulatorOptions {
  readonly chain: SimulatedChainId
  readonly host?: string
  /** 0, the default, takes a free one. */
  readonly port?: number
  readonly seed: number
  /** Pool swaps per second of chain time, on average. */
  readonly ratePerSecond: number
  /** Time of block 0; cut to whole seconds. */
  readonly genesisMs: number
  readonly nowMs?: () => number
  /** `live`: a block is there once its time has come. `fast`: the chain's clock starts at genesis and runs 120 times as fast. */
  readonly pace?: 'live' | 'fast'
  /** Mean blocks between scheduled reorgs, 0 (the default) = none. */
  readonly reorgEvery?: number
  /** Folder of checkpoints, Solana's are in `sol` below it; without one a restart makes the whole chain again. */
  readonly checkpointDir?: string
  readonly log: Logger
}

/** A running chain and its node. */
export interface Simulator {
  readonly httpUrl: string
  readonly wsUrl: string
  readonly genesisHash: string
  /** Settings of an ingestor for this chain: factories, quotes and reference pools that no table lists. */
  readonly extra: ChainExtra
  readonly examples: ExampleEntities
  head(): ChainHead
  /** Replaces the newest blocks at once, `depth` counts blocks; the canonical ones come back with the next block. Throws RangeError. */
  reorg(depth: number): void
  stop(): Promise<void>
}

/** How a chain is made, and the folder of its checkpoints below that of all. */
const SIMULATIONS: Readonly<
  Record<SimulatedChainId, { readonly open: typeof openEvm; readonly folder: string }>
> = {
  sol: { open: openSvm, folder: 'sol' },
  eth: { open: openEvm, folder: '.' },
}

/** How much faster than the clock the chain of pace `fast` goes. */
const FAST_PACE_FACTOR = 120

const chainClock = ({ pace, nowMs = Date.now }: SimulatorOptions, genesisMs: number) => {
  if (pace !== 'fast') return nowMs
  const startedMs = nowMs()
  return (): number => genesisMs + (nowMs() - startedMs) * FAST_PACE_FACTOR
}

/** Starts a chain and its JSON-RPC node; everything up to now is there when it resolves. */
export const startSimulator = async (options: SimulatorOptions): Promise<Simulator> => {
  const { seed, ratePerSecond, host = '127.0.0.1', port = 0, reorgEvery = 0 } = options
  const genesisMs = Math.floor(options.genesisMs / 1_000) * 1_000
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new RangeError('seed must be a non-negative integer')
  if (!(ratePerSecond > 0 && ratePerSecond <= 5_000))
    throw new RangeError('ratePerSecond must be above 0 and at most 5,000')
  if (!Number.isSafeInteger(reorgEvery) || reorgEvery < 0)
    throw new RangeError('reorgEvery must be a non-negative integer')
  const log = options.log.child({ role: 'simulator', chain: options.chain })
  const { chain, checkpointDir } = options
  const { open, folder } = SIMULATIONS[chain]
  const simulated = await open({
    spec: { seed, ratePerSecond, genesisMs },
    nowMs: chainClock(options, genesisMs),
    reorgEvery,
    checkpointDir: checkpointDir === undefined ? undefined : join(checkpointDir, folder),
    log,
  })
  const server = await startJsonRpcServer(simulated.endpoint, { host, port, log })
  return {
    httpUrl: `http://${host}:${server.port}`,
    wsUrl: `ws://${host}:${server.port}`,
    genesisHash: simulated.chain.genesisHash,
    extra: simulated.extra,
    examples: simulated.examples,
    head: simulated.head,
    reorg: simulated.chain.reorg,
    stop: async () => {
      await server.stop()
      await simulated.chain.stop()
    },
  }
}

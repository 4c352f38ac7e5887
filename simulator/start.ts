import { toEventSelector } from 'viem'
import type { ChainExtra } from '../core/config.ts'
import type { Logger } from '../core/log.ts'
import { type Chain, openChain } from './evm/chain.ts'
import { evmEndpoint } from './evm/server.ts'
import type { World } from './evm/world.ts'
import { produced } from './segments.ts'
import { serveEndpoint } from './server.ts'

/** How to run a made-up chain. Same seed, rate and genesis: the same chain, byte for byte. */
export interface SimulatorOptions {
  readonly chain: 'eth'
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
  /** Folder of checkpoints; without one a restart makes the whole chain again. */
  readonly checkpointDir?: string
  readonly log: Logger
}

/** Things that exist and have trades, for a first look. */
interface Examples {
  readonly chain: 'ethereum'
  readonly token: string
  readonly pool: string
  readonly wallet: string
  readonly txHash: string
}

/** A running chain and its node. */
export interface Simulator {
  readonly httpUrl: string
  readonly wsUrl: string
  readonly genesisHash: string
  /** What an ingestor must be told about this chain: its factories, quotes and reference pools. */
  readonly extra: ChainExtra
  readonly examples: Examples
  head(): { readonly height: number; readonly hash: string; readonly timeMs: number }
  /** Replaces the newest blocks at once; the canonical ones come back with the next block. Throws RangeError. */
  reorg(depth: number): void
  stop(): Promise<void>
}

/** How much faster than the clock the chain of pace `fast` goes. */
const FAST_FACTOR = 120

const extraOf = (world: World): ChainExtra => ({
  replace: true,
  factories: Object.values(world.venues).flatMap(({ id, listed, factory }) =>
    listed ? [{ protocol: id, factory: factory.address }] : [],
  ),
  quotes: world.tokens.flatMap(({ address, symbol, decimals, kind }) =>
    kind === undefined ? [] : [{ address, symbol, decimals, kind }],
  ),
  referencePools: world.pools.flatMap(({ reference, address, baseToken, quoteToken, venue }) =>
    reference
      ? [{ pool: address, token: baseToken.address, quote: quoteToken.address, protocol: venue }]
      : [],
  ),
})

const EXAMPLE_TOKEN = 'FROGO'
const EXAMPLE_SWAP = toEventSelector('Swap(address,uint256,uint256,uint256,uint256,address)')
/** Blocks from the first on that are searched for an example. */
const EXAMPLE_BLOCKS = 24

const examplesOf = async (chain: Chain): Promise<Examples> => {
  const { producer } = chain
  const { world } = producer
  const pool = world.pools.find(({ base }) => base === EXAMPLE_TOKEN)
  if (pool === undefined) throw new RangeError('no pool for the examples')
  const { block: genesis, state } = producer.genesis()
  const clock = { since: performance.now() }
  let block = genesis
  while (block.height < EXAMPLE_BLOCKS) {
    block = await produced(producer.next(block, state, 0), clock)
    const found = block.transactions.find(({ logs }) =>
      logs.some(({ address, topics }) => address === pool.address && topics[0] === EXAMPLE_SWAP),
    )
    if (found === undefined) continue
    chain.pin(block)
    return {
      chain: 'ethereum',
      token: pool.baseToken.address,
      pool: pool.address,
      wallet: found.from,
      txHash: found.hash,
    }
  }
  return {
    chain: 'ethereum',
    token: pool.baseToken.address,
    pool: pool.address,
    wallet: world.byRole.retail[0]?.address ?? '',
    txHash: chain.genesisHash,
  }
}

const clockOf = ({ pace, nowMs = Date.now }: SimulatorOptions, genesisMs: number) => {
  if (pace !== 'fast') return nowMs
  const startedMs = nowMs()
  return (): number => genesisMs + (nowMs() - startedMs) * FAST_FACTOR
}

/** Starts a chain and its JSON-RPC node; everything up to now is there when it resolves. */
export const startSimulator = async (options: SimulatorOptions): Promise<Simulator> => {
  const { seed, ratePerSecond, host = '127.0.0.1', port = 0, reorgEvery = 0 } = options
  const genesisMs = Math.floor(options.genesisMs / 1_000) * 1_000
  if (!Number.isSafeInteger(seed) || seed < 0) throw new RangeError('seed is a natural number')
  if (!(ratePerSecond > 0 && ratePerSecond <= 5_000))
    throw new RangeError('rate is above 0 and at most 5,000 per second')
  if (!Number.isSafeInteger(reorgEvery) || reorgEvery < 0)
    throw new RangeError('reorgEvery is a natural number')
  const log = options.log.child({ role: 'simulator', chain: options.chain })
  const chain = await openChain({
    spec: { seed, ratePerSecond, genesisMs },
    nowMs: clockOf(options, genesisMs),
    reorgEvery,
    checkpointDir: options.checkpointDir,
    log,
  })
  const examples = await examplesOf(chain)
  const server = await serveEndpoint(evmEndpoint(chain), { host, port, log })
  return {
    httpUrl: `http://${host}:${server.port}`,
    wsUrl: `ws://${host}:${server.port}`,
    genesisHash: chain.genesisHash,
    extra: extraOf(chain.producer.world),
    examples,
    head: () => {
      const { height, hash, timeMs } = chain.head()
      return { height, hash, timeMs }
    },
    reorg: chain.reorg,
    stop: async () => {
      await server.stop()
      await chain.stop()
    },
  }
}

import { toEventSelector } from 'viem'
import type { ChainExtra } from '../../core/config/settings.ts'
import type { RunOptions } from '../node/chain.ts'
import type { ChainSpec } from '../node/producer.ts'
import { runYielding } from '../node/segments.ts'
import type { ExampleEntities, SimulatedChain } from '../node/simulated.ts'
import { type EvmChain, openChain } from './chain.ts'
import { evmEndpoint } from './node-endpoint.ts'
import type { Scenario } from './scenario.ts'

const chainExtraOf = (scenario: Scenario): ChainExtra => ({
  replace: true,
  factories: Object.values(scenario.venues).flatMap(({ id, listed, factory }) =>
    listed ? [{ protocol: id, factory: factory.address }] : [],
  ),
  quotes: scenario.tokens.flatMap(({ address, symbol, decimals, kind }) =>
    kind === undefined ? [] : [{ address, symbol, decimals, kind }],
  ),
  referencePools: scenario.pools.flatMap(({ reference, address, baseToken, quoteToken, venue }) =>
    reference
      ? [{ pool: address, token: baseToken.address, quote: quoteToken.address, protocol: venue }]
      : [],
  ),
})

const EXAMPLE_TOKEN = 'FROGO'
const EXAMPLE_SWAP = toEventSelector('Swap(address,uint256,uint256,uint256,uint256,address)')
/** Blocks from the first on that are searched for an example. */
const EXAMPLE_BLOCKS = 24

const findExamples = async (chain: EvmChain): Promise<ExampleEntities> => {
  const { producer } = chain
  const { scenario } = producer
  const pool = scenario.pools.find(({ base }) => base === EXAMPLE_TOKEN)
  if (pool === undefined) throw new RangeError('no pool for the examples')
  const { block: genesis, state } = producer.genesis()
  const clock = { since: performance.now() }
  let block = genesis
  while (block.height < EXAMPLE_BLOCKS) {
    block = await runYielding(producer.next(block, state, 0), clock)
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
    wallet: scenario.byRole.retail[0]?.address ?? '',
    txHash: chain.genesisHash,
  }
}

/** Opens an EVM chain and what belongs to it. */
export const openEvm = async (
  options: RunOptions & { readonly spec: ChainSpec },
): Promise<SimulatedChain> => {
  const chain = await openChain(options)
  return {
    chain,
    endpoint: evmEndpoint(chain),
    extra: chainExtraOf(chain.producer.scenario),
    examples: await findExamples(chain),
    head: () => {
      const { height, hash, timeMs } = chain.head()
      return { height, hash, timeMs }
    },
  }
}

import type { ChainExtra } from '../../core/config/settings.ts'
import type { RunOptions } from '../node/chain.ts'
import type { ChainSpec } from '../node/producer.ts'
import { runYielding } from '../node/segments.ts'
import type { ExampleEntities, SimulatedChain } from '../node/simulated.ts'
import { openChain, type SolanaChain } from './chain.ts'
import { svmEndpoint } from './node-endpoint.ts'
import type { Scenario } from './scenario.ts'

/** Programs and quotes are those of mainnet; only the reference pool is simulated. */
const chainExtraOf = ({ pools }: Scenario): ChainExtra => ({
  replace: false,
  factories: [],
  quotes: [],
  referencePools: pools.flatMap(({ reference, account, coin, pc }) =>
    reference
      ? [
          {
            pool: account.address,
            token: coin.account.address,
            quote: pc.account.address,
            protocol: 'raydium_amm_v4',
          },
        ]
      : [],
  ),
})

/** Blocks from the first on that are searched for an example. */
const EXAMPLE_BLOCKS = 600
/** The example is of a token that people trade: so many trades of it come before the one that is named. */
const TRADES_BEFORE_EXAMPLE = 3

const findExamples = async ({
  producer,
  pin,
  genesisHash,
}: SolanaChain): Promise<ExampleEntities> => {
  const { scenario } = producer
  const { block: genesis, state } = producer.genesis()
  const clock = { since: performance.now() }
  const counts = new Map<string, number>()
  let block = genesis
  while (block.height < EXAMPLE_BLOCKS) {
    block = await runYielding(producer.next(block, state, 0), clock)
    for (const { about, failure, hash } of block.transactions) {
      if (about === undefined || failure !== undefined) continue
      const count = (counts.get(about.token) ?? 0) + 1
      counts.set(about.token, count)
      if (count < TRADES_BEFORE_EXAMPLE) continue
      pin(block)
      return { chain: 'sol', ...about, txHash: hash }
    }
  }
  const [pool] = scenario.pools
  return {
    chain: 'sol',
    token: scenario.sol.account.address,
    pool: pool?.account.address ?? '',
    wallet: scenario.wallets[0]?.account.address ?? '',
    txHash: genesisHash,
  }
}

/** Opens a Solana chain and what belongs to it. */
export const openSvm = async (
  options: RunOptions & { readonly spec: ChainSpec },
): Promise<SimulatedChain> => {
  const chain = await openChain(options)
  return {
    chain,
    endpoint: svmEndpoint(chain),
    extra: chainExtraOf(chain.producer.scenario),
    examples: await findExamples(chain),
    head: () => {
      const { slot, hash, timeMs } = chain.head()
      return { height: slot, hash, timeMs }
    },
  }
}

import { addressIn, topicAddress } from '../abi/words.ts'
import { factoryVerification } from '../verify/by-factory.ts'
import type { DecodedPoolCreated, EvmFamily } from './types.ts'
import { pairChange, pairReserves, pairSwap } from './uniswap-v2.ts'

const defaultProtocol = 'velodrome_v2'

/** A pair's two pools, stable and volatile, are distinguished by an argument that the tokens' topics precede. */
const made = (topics: readonly string[], factory: string, pool: string): DecodedPoolCreated => ({
  kind: 'pool',
  pool,
  factory,
  tokens: [topicAddress(topics[1]), topicAddress(topics[2])],
  feePips: null,
  opens: true,
})

/**
 * Pools that are constant product or stable, with the events of Velodrome V2. Source: velodrome-finance/contracts,
 * aerodrome-finance/contracts contracts/interfaces/IPool.sol. `Mint` is that of Uniswap V2; so are `Swap` and
 * `Burn` of Velodrome V1. The fee leaves the pool with an event of its own; the amounts of `Swap` include it.
 */
export const solidly: EvmFamily = {
  family: 'solidly',
  verification: factoryVerification('pool_stable'),
  events: {
    '0xb3e2773606abfd36b5bd91394b3a54d1398336c65005baf7bf7a05efeffaf75b': {
      signature:
        'Swap(address indexed sender, address indexed to, uint256 amount0In, uint256 amount1In, uint256 amount0Out, uint256 amount1Out)',
      by: 'pool',
      topics: 3,
      words: 4,
      read: pairSwap(defaultProtocol),
    },
    '0xcf2aa50876cdfbb541206f89af0ee78d44a2abf8d328e37fa4917f982149848a': {
      signature: 'Sync(uint256 reserve0, uint256 reserve1)',
      by: 'pool',
      topics: 1,
      words: 2,
      read: pairReserves,
    },
    '0x5d624aa9c148153ab3446c1b154f660ee7701e549fe9b62dab7171b1c80e6fa2': {
      signature:
        'Burn(address indexed sender, address indexed to, uint256 amount0, uint256 amount1)',
      by: 'pool',
      topics: 3,
      words: 2,
      read: pairChange(defaultProtocol, 'decrease'),
    },
    '0x2128d88d14c80cb081c1252a5acff7a264671bf199ce226b53788fb26065005e': {
      signature:
        'PoolCreated(address indexed token0, address indexed token1, bool indexed stable, address pool, uint256 count)',
      by: 'factory',
      topics: 4,
      words: 2,
      read: ({ address, topics, data }) => made(topics, address, addressIn(data, 0)),
    },
    '0xc4805696c66d7cf352fc1d6bb633ad5ee82f6cb577c453024b6e0eb8306c6fc9': {
      signature:
        'PairCreated(address indexed token0, address indexed token1, bool stable, address pair, uint256 count)',
      by: 'factory',
      topics: 3,
      words: 3,
      read: ({ address, topics, data }) => made(topics, address, addressIn(data, 1)),
    },
  },
}

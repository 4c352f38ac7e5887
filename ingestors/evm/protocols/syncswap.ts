import { addressIn, topicAddress, topicNumber, wordAt, wordCount } from '../abi/words.ts'
import { factoryVerification } from '../verify/by-factory.ts'
import type { EvmFamily } from './types.ts'
import { pairChange } from './uniswap-v2.ts'

const defaultProtocol = 'syncswap'

/** Pool types whose data are their two tokens: classic and stable. */
const PAIR_TYPES: readonly bigint[] = [1n, 2n]
/** The data as they lie: where they begin and how long they are, then the tokens. */
const DATA_START = 32n
const DATA_LENGTH = 64n

/**
 * SyncSwap. Source: syncswap/core-contracts contracts/master/SyncSwapPoolMaster.sol, contracts/pool. `Swap`
 * is that of Uniswap V2, `Sync` that of Solidly: it comes after the `Swap` and before the `Mint` or `Burn` that left these
 * reserves. Factories register their pools with a master, which says whether a pool is one; the tokens of all pools lie in one
 * vault.
 */
export const syncswap: EvmFamily = {
  family: 'syncswap',
  verification: factoryVerification('is_pool'),
  events: {
    '0xa8137fff86647d8a402117b9c5dbda627f721d3773338fb9678c83e54ed39080': {
      signature:
        'Mint(address indexed sender, address indexed to, uint256 amount0, uint256 amount1, uint256 liquidity)',
      by: 'pool',
      topics: 3,
      words: 3,
      read: pairChange(defaultProtocol, 'increase'),
    },
    '0xd175a80c109434bb89948928ab2475a6647c94244cb70002197896423c883363': {
      signature:
        'Burn(address indexed sender, address indexed to, uint256 amount0, uint256 amount1, uint256 liquidity)',
      by: 'pool',
      topics: 3,
      words: 3,
      read: pairChange(defaultProtocol, 'decrease'),
    },
    '0x4318beca5ca4f759b99c1f5f581fa8255b077a82e4c07f17213c471af5a0f56a': {
      signature:
        'RegisterPool(address indexed factory, address indexed pool, uint16 indexed poolType, bytes data)',
      by: 'factory',
      topics: 4,
      words: 1,
      read: ({ address: factory, topics, data }) => {
        if (!PAIR_TYPES.includes(topicNumber(topics[3]))) return undefined
        if (wordCount(data) < 4) return { kind: 'invalid', reason: 'truncated-data' }
        if (wordAt(data, 0) !== DATA_START || wordAt(data, 1) !== DATA_LENGTH) return undefined
        return {
          kind: 'pool',
          pool: topicAddress(topics[2]),
          factory,
          tokens: [addressIn(data, 2), addressIn(data, 3)],
          feePips: null,
          opens: true,
        }
      },
    },
  },
}

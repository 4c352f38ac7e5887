import type { Log } from '../../../schemas/events.ts'
import { signedAt, topicAddress, wordAt } from '../abi/words.ts'
import { keyFee, poolKeyVerification } from '../verify/by-pool-key.ts'
import { decodedPositionChange, MODIFY_LIQUIDITY } from './position-change.ts'
import { type DecodedEvent, type EvmFamily, invalidAmounts } from './types.ts'

const defaultProtocol = 'uniswap_v4'

/** The pool's key, hashed: pools are entries of one contract. */
const poolId = ({ topics }: Log): string => topics[1] ?? ''

/** The sign is the swapper's view, the other way round than in Uniswap V3: below zero was paid in. */
const swap = (log: Log): DecodedEvent => {
  const { address: vault, data } = log
  const amount0 = signedAt(data, 0)
  const amount1 = signedAt(data, 1)
  const tokenIn = amount0 < 0n || amount1 > 0n ? 0 : 1
  const amountInRaw = tokenIn === 0 ? -amount0 : -amount1
  const amountOutRaw = tokenIn === 0 ? amount1 : amount0
  return (
    invalidAmounts(amountInRaw, amountOutRaw) ?? {
      kind: 'swap',
      pool: poolId(log),
      vault,
      defaultProtocol,
      tokenIn,
      tokenOut: tokenIn === 0 ? 1 : 0,
      amountInRaw,
      amountOutRaw,
      sqrtPriceX96: wordAt(data, 2),
      liquidityRaw: wordAt(data, 3),
    }
  )
}

/**
 * Pools of Uniswap V4, all kept by one contract, the PoolManager. Source: Uniswap/v4-core src/interfaces/IPoolManager.sol.
 * `ModifyLiquidity` states no amounts: they follow from the pool's price at that moment.
 */
export const uniswapV4: EvmFamily = {
  family: 'uniswap_v4',
  verification: poolKeyVerification,
  events: {
    '0x40e9cecb9f5f1f1c5b9c97dec2917b7ee92e57ba5563708daca94dd84ad7112f': {
      signature:
        'Swap(bytes32 indexed id, address indexed sender, int128 amount0, int128 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick, uint24 fee)',
      by: 'singleton',
      topics: 3,
      words: 6,
      pool: poolId,
      price: 'emitted',
      read: swap,
    },
    '0xf208f4912782fd25c7f114ca3723a2d5dd6f3bcc3ac8db5af63baa85f711d5ec': {
      signature: MODIFY_LIQUIDITY,
      by: 'singleton',
      topics: 3,
      words: 4,
      pool: poolId,
      price: 'requested',
      read: (log) => decodedPositionChange(log, { vault: log.address, defaultProtocol }),
    },
    '0xdd466e674ea557f56295e2d0218a125ea4b4f0f6f3307b95f85e6110838d6438': {
      signature:
        'Initialize(bytes32 indexed id, address indexed currency0, address indexed currency1, uint24 fee, int24 tickSpacing, address hooks, uint160 sqrtPriceX96, int24 tick)',
      by: 'factory',
      topics: 4,
      words: 5,
      read: (log) => ({
        kind: 'pool',
        pool: poolId(log),
        factory: log.address,
        vault: log.address,
        tokens: [topicAddress(log.topics[2]), topicAddress(log.topics[3])],
        feePips: keyFee(wordAt(log.data, 0)),
        opens: true,
        sqrtPriceX96: wordAt(log.data, 3),
      }),
    },
  },
}

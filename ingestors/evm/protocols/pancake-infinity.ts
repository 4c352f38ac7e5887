import type { Log } from '../../../schemas/events.ts'
import { packedTotal } from '../abi/packed.ts'
import { decodeAddress, decodeUint } from '../abi/result.ts'
import { addressIn, signedAt, topicAddress, wordAt } from '../abi/words.ts'
import type { PoolVerification } from '../verify/contract.ts'
import { decodedPositionChange, MODIFY_LIQUIDITY } from './position-change.ts'
import {
  type DecodedEvent,
  type DecodedPoolCreated,
  type EvmFamily,
  invalidAmounts,
} from './types.ts'

/** Holds the tokens of all pools; the same address on every chain. Source: pancakeswap/infinity-core script/config. */
const VAULT = '0x238a358808379702088667322f80ac48bad5e6c4'

const BIN = 'pancakeswap_infinity_bin'
const CL = 'pancakeswap_infinity_cl'

/** A fee from here on is a flag: hooks set it trade by trade. Source: pancakeswap/infinity-core src/libraries/LPFeeLibrary.sol. */
const DYNAMIC_FEE = 0x800000n

/** The pool's key, hashed: pools are entries of their manager. */
const poolId = ({ topics }: Log): string => topics[1] ?? ''

const feeOf = (fee: bigint | null): number | null =>
  fee !== null && fee < DYNAMIC_FEE ? Number(fee) : null

/** The sign is the swapper's view: below zero was paid in. */
const swap =
  (defaultProtocol: string, priced: boolean) =>
  (log: Log): DecodedEvent => {
    const { data } = log
    const amount0 = signedAt(data, 0)
    const amount1 = signedAt(data, 1)
    const tokenIn = amount0 < 0n || amount1 > 0n ? 0 : 1
    const amountInRaw = tokenIn === 0 ? -amount0 : -amount1
    const amountOutRaw = tokenIn === 0 ? amount1 : amount0
    return (
      invalidAmounts(amountInRaw, amountOutRaw) ?? {
        kind: 'swap',
        pool: poolId(log),
        vault: VAULT,
        defaultProtocol,
        tokenIn,
        tokenOut: tokenIn === 0 ? 1 : 0,
        amountInRaw,
        amountOutRaw,
        ...(priced && { sqrtPriceX96: wordAt(data, 2), liquidityRaw: wordAt(data, 3) }),
      }
    )
  }

/** Hooks and fee are the first two words, then what differs by kind of pool. */
const opened = (log: Log): DecodedPoolCreated => ({
  kind: 'pool',
  pool: poolId(log),
  factory: log.address,
  vault: VAULT,
  tokens: [topicAddress(log.topics[2]), topicAddress(log.topics[3])],
  feePips: feeOf(wordAt(log.data, 1)),
  opens: true,
})

/** The bins' packed amounts, summed; what was paid for unequal shares is not in them. */
const binChange =
  (change: 'increase' | 'decrease') =>
  (log: Log): DecodedEvent => {
    const amountsRaw = packedTotal(log.data, 2)
    if (amountsRaw === undefined) return { kind: 'invalid', reason: 'bad-array' }
    const pool = poolId(log)
    return { kind: 'change', pool, vault: VAULT, defaultProtocol: BIN, change, amountsRaw }
  }

/** The managers keep the key of each pool: tokens, hooks, manager, fee, parameters. What no manager knows is not a pool. */
const poolKeyVerification: PoolVerification = {
  // poolIdToPoolKey(bytes32)
  ask: (pool, listed) =>
    listed.map(({ factory }) => ({ to: factory, data: `0x0e2d484a${pool.slice(2)}` })),
  conclude: ({ pool, listed, results: given }) => {
    const at = listed.findIndex(({ factory }, index) => decodeAddress(given[index], 3) === factory)
    const [found, key] = [listed[at], given[at]]
    const tokenB = decodeAddress(key, 1)
    if (found === undefined || key === undefined || tokenB === null) return undefined
    return {
      address: pool,
      tokenA: addressIn(key, 0),
      tokenB,
      protocol: found.row.id,
      factory: found.factory,
      feePips: feeOf(decodeUint(key, DYNAMIC_FEE, 4)),
      verified: true,
    }
  },
}

/**
 * Pools of PancakeSwap Infinity, kept by one manager for concentrated liquidity and one for bins. Source:
 * pancakeswap/infinity-core src/pool-cl/interfaces/ICLPoolManager.sol, src/pool-bin/interfaces/IBinPoolManager.sol.
 * `ModifyLiquidity` states no amounts: they follow from the pool's price at that moment.
 */
export const pancakeInfinity: EvmFamily = {
  family: 'pancake_infinity',
  verification: poolKeyVerification,
  events: {
    '0x04206ad2b7c0f463bff3dd4f33c5735b0f2957a351e4f79763a4fa9e775dd237': {
      signature:
        'Swap(bytes32 indexed id, address indexed sender, int128 amount0, int128 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick, uint24 fee, uint16 protocolFee)',
      by: 'singleton',
      topics: 3,
      words: 7,
      pool: poolId,
      price: 'emitted',
      read: swap(CL, true),
    },
    '0x3e8aae37f890eb1f9d63dd4d2062f3f0be757848a0f0760e4f3e53dad556e861': {
      signature:
        'Swap(bytes32 indexed id, address indexed sender, int128 amount0, int128 amount1, uint24 activeId, uint24 fee, uint16 protocolFee)',
      by: 'singleton',
      topics: 3,
      words: 5,
      pool: poolId,
      read: swap(BIN, false),
    },
    '0xf208f4912782fd25c7f114ca3723a2d5dd6f3bcc3ac8db5af63baa85f711d5ec': {
      signature: MODIFY_LIQUIDITY,
      by: 'singleton',
      topics: 3,
      words: 4,
      pool: poolId,
      price: 'requested',
      read: (log) => decodedPositionChange(log, { vault: VAULT, defaultProtocol: CL }),
    },
    '0x7b6bc49b385af8644341f07a67cd976bf9daf2bdd5d71668e651a3a792e318e1': {
      signature:
        'Mint(bytes32 indexed id, address indexed sender, uint256[] ids, bytes32 salt, bytes32[] amounts, bytes32 compositionFeeAmount, bytes32 feeAmountToProtocol)',
      by: 'singleton',
      topics: 3,
      words: 5,
      pool: poolId,
      read: binChange('increase'),
    },
    '0x16d40aa4e497175b58e47cbf101544758de8c01d92a760c738943044c758df8a': {
      signature:
        'Burn(bytes32 indexed id, address indexed sender, uint256[] ids, bytes32 salt, bytes32[] amounts)',
      by: 'singleton',
      topics: 3,
      words: 3,
      pool: poolId,
      read: binChange('decrease'),
    },
    '0x426cc62fe6a33a40ba2788c2c87a9c34ee4582b95bc9fa5a7bb7ae70b750b99c': {
      signature:
        'Initialize(bytes32 indexed id, address indexed currency0, address indexed currency1, address hooks, uint24 fee, bytes32 parameters, uint160 sqrtPriceX96, int24 tick)',
      by: 'factory',
      topics: 4,
      words: 5,
      read: (log) => ({ ...opened(log), sqrtPriceX96: wordAt(log.data, 3) }),
    },
    '0xddfde5903015c0eb1671976c6c8f760f1328bec57f15286b6bdab2f955cab9c9': {
      signature:
        'Initialize(bytes32 indexed id, address indexed currency0, address indexed currency1, address hooks, uint24 fee, bytes32 parameters, uint24 activeId)',
      by: 'factory',
      topics: 4,
      words: 4,
      read: opened,
    },
  },
}

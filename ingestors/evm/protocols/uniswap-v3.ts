import type { Log } from '../../../schemas/events.ts'
import {
  addressIn,
  signed,
  signedAt,
  topicAddress,
  topicNumber,
  wordAt,
  wordsOf,
} from '../abi/words.ts'
import { factoryVerification } from '../verify/by-factory.ts'
import { type DecodedEvent, type EvmEvent, type EvmFamily, invalidAmounts } from './types.ts'

/** The sign is the pool's view: above zero came in. */
const swap =
  (defaultProtocol: string) =>
  ({ address: pool, data }: Log): DecodedEvent => {
    const [word0 = 0n, word1 = 0n, sqrtPriceX96 = 0n, liquidityRaw = 0n] = wordsOf(data, 4)
    const amount0 = signed(word0)
    const amount1 = signed(word1)
    const tokenIn = amount0 > 0n || amount1 < 0n ? 0 : 1
    const amountInRaw = tokenIn === 0 ? amount0 : amount1
    const amountOutRaw = tokenIn === 0 ? -amount1 : -amount0
    return (
      invalidAmounts(amountInRaw, amountOutRaw) ?? {
        kind: 'swap',
        pool,
        defaultProtocol,
        tokenIn,
        tokenOut: tokenIn === 0 ? 1 : 0,
        amountInRaw,
        amountOutRaw,
        sqrtPriceX96,
        liquidityRaw,
        tick: Number(signedAt(data, 4)),
      }
    )
  }

const topicTick = (topic: string | undefined): number => Number(signed(topicNumber(topic)))

/**
 * Liquidity of a position that came or left; its amounts stand behind it. One that moved neither liquidity nor tokens (a poke before
 * fees are collected) is not a change; dust that left may have been worth nothing.
 */
const positionMove =
  (kind: 'increase' | 'decrease', liquidityWord: number) =>
  ({ address: pool, topics, data }: Log): DecodedEvent | undefined => {
    const liquidityRaw = wordAt(data, liquidityWord)
    const amountsRaw = [wordAt(data, liquidityWord + 1), wordAt(data, liquidityWord + 2)] as const
    if (liquidityRaw === 0n && amountsRaw[0] === 0n && amountsRaw[1] === 0n) return undefined
    const [tickLower, tickUpper] = [topicTick(topics[2]), topicTick(topics[3])]
    const position = { tickLower, tickUpper, liquidityRaw }
    const move = { kind: 'change', pool, defaultProtocol: 'uniswap_v3', change: kind } as const
    return { ...move, amountsRaw, position }
  }

const collect = ({ address: pool, data }: Log): DecodedEvent | undefined => {
  const amountsRaw = [wordAt(data, 1), wordAt(data, 2)] as const
  if (amountsRaw[0] === 0n && amountsRaw[1] === 0n) return undefined
  return { kind: 'change', pool, defaultProtocol: 'uniswap_v3', change: 'collect', amountsRaw }
}

/** A factory's pool whose fee is not told, or not fixed. */
const made =
  (firstToken: 1 | 2) =>
  ({ address: factory, topics, data }: Log): DecodedEvent => ({
    kind: 'pool',
    pool: addressIn(data, 0),
    factory,
    tokens: [topicAddress(topics[firstToken]), topicAddress(topics[firstToken + 1])],
    feePips: null,
    opens: false,
  })

const swapEvent = (defaultProtocol: string, words: number): Omit<EvmEvent, 'signature'> => ({
  by: 'pool',
  topics: 3,
  words,
  read: swap(defaultProtocol),
})

/**
 * Concentrated liquidity with the events of Uniswap V3. Source: Uniswap/v3-core contracts/interfaces/pool/IUniswapV3PoolEvents.sol,
 * pancakeswap/pancake-v3-contracts, cryptoalgebra/Algebra src/core/contracts/interfaces/pool/IAlgebraPoolEvents.sol,
 * velodrome-finance/slipstream, PharaohExchange/pharaoh-contracts (Ramses V3, whose `Mint` also tells which of its owner's
 * positions it is). `Burn` says what a position is owed, `Collect` what left the pool.
 */
export const uniswapV3: EvmFamily = {
  family: 'uniswap_v3',
  verification: factoryVerification('pool_fee'),
  events: {
    '0xc42079f94a6350d7e6235f29174924f928cc2ac818eb64fed8004e115fbcca67': {
      signature:
        'Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)',
      ...swapEvent('uniswap_v3', 5),
    },
    '0x19b47279256b2a23a1665c810c8d55a1758940ee09377d4f8d26497a3577dc83': {
      signature:
        'Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick, uint128 protocolFeesToken0, uint128 protocolFeesToken1)',
      ...swapEvent('pancakeswap_v3', 7),
    },
    '0x121cb44ee54098b1a04743c487e7460d8dd429b27f88b1f4d4767396e1a59f79': {
      signature:
        'Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 price, uint128 liquidity, int24 tick, uint24 overrideFee, uint24 pluginFee)',
      ...swapEvent('quickswap_v4', 7),
    },
    '0x98636036cb66a9c19a37435efc1e90142190214e8abeb821bdba3f2990dd4c95': {
      signature: 'Initialize(uint160 sqrtPriceX96, int24 tick)',
      by: 'pool',
      topics: 1,
      words: 2,
      read: ({ address: pool, data }) => ({
        kind: 'change',
        pool,
        defaultProtocol: 'uniswap_v3',
        change: 'initialize',
        amountsRaw: [0n, 0n],
        opensAt: { sqrtPriceX96: wordAt(data, 0), tick: Number(signedAt(data, 1)) },
      }),
    },
    '0x7a53080ba414158be7ec69b987b5fb7d07dee101fe85488f0853ae16239d0bde': {
      signature:
        'Mint(address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, address sender, uint128 amount, uint256 amount0, uint256 amount1)',
      by: 'pool',
      topics: 4,
      words: 4,
      read: positionMove('increase', 1),
    },
    '0xd78218c0d304e8893cb3200abe394bbc8d5b7804d9c51f236df9fdcf481d02d3': {
      signature:
        'Mint(address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, address sender, uint256 index, uint128 amount, uint256 amount0, uint256 amount1)',
      by: 'pool',
      topics: 4,
      words: 5,
      read: positionMove('increase', 2),
    },
    '0x0c396cd989a39f4459b5fa1aed6a9a8dcdbc45908acfd67e028cd568da98982c': {
      signature:
        'Burn(address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, uint256 amount0, uint256 amount1)',
      by: 'pool',
      topics: 4,
      words: 3,
      read: positionMove('decrease', 0),
    },
    '0x932214d4a69c27c086643126ed97c32681da179064c678836c173f99bd13ca01': {
      signature:
        'Burn(address indexed owner, int24 indexed bottomTick, int24 indexed topTick, uint128 liquidityAmount, uint256 amount0, uint256 amount1, uint24 pluginFee)',
      by: 'pool',
      topics: 4,
      words: 4,
      read: positionMove('decrease', 0),
    },
    '0x70935338e69775456a85ddef226c395fb668b63fa0115f5f20610b388e6ca9c0': {
      signature:
        'Collect(address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, address recipient, uint128 amount0, uint128 amount1)',
      by: 'pool',
      topics: 4,
      words: 3,
      read: collect,
    },
    '0x783cca1c0412dd0d695e784568c96da2e9c22ff989357a2e8b1d9b2b4e6b7118': {
      signature:
        'PoolCreated(address indexed token0, address indexed token1, uint24 indexed fee, int24 tickSpacing, address pool)',
      by: 'factory',
      topics: 4,
      words: 2,
      read: ({ address: factory, topics, data }) => ({
        kind: 'pool',
        pool: addressIn(data, 1),
        factory,
        tokens: [topicAddress(topics[1]), topicAddress(topics[2])],
        feePips: Number(topicNumber(topics[3]) & 0xffffffn),
        opens: false,
      }),
    },
    '0x91ccaa7a278130b65168c3a0c8d3bcae84cf5e43704342bd3ec0b59e59c036db': {
      signature: 'Pool(address indexed token0, address indexed token1, address pool)',
      by: 'factory',
      topics: 3,
      words: 1,
      read: made(1),
    },
    '0x8a5f030f5fc13b04a1e4ef7c47177e3d76b0e80e1d9be9843db37caa5b7b9b8f': {
      signature:
        'CustomPool(address indexed deployer, address indexed token0, address indexed token1, address pool)',
      by: 'factory',
      topics: 4,
      words: 1,
      read: made(2),
    },
    '0xab0d57f0df537bb25e80245ef7748fa62353808c54d6e528a9dd20887aed9ac2': {
      signature:
        'PoolCreated(address indexed token0, address indexed token1, int24 indexed tickSpacing, address pool)',
      by: 'factory',
      topics: 4,
      words: 1,
      read: made(1),
    },
  },
}

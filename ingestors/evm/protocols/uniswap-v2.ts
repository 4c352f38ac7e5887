import type { Log } from '../../../schemas/events.ts'
import { addressIn, topicAddress, wordAt, wordsOf } from '../abi/words.ts'
import { factoryVerification } from '../verify/by-factory.ts'
import { type DecodedEvent, type EvmFamily, invalidAmounts } from './types.ts'

/**
 * A swap that states amount0In, amount1In, amount0Out, amount1Out. What came back is not paid: each side is netted, then one side
 * came in and the other went out.
 */
export const pairSwap =
  (defaultProtocol: string) =>
  ({ address: pool, data }: Log): DecodedEvent => {
    const [in0 = 0n, in1 = 0n, out0 = 0n, out1 = 0n] = wordsOf(data, 4)
    const tokenIn = in0 > out0 || out1 > in1 ? 0 : 1
    const amountInRaw = tokenIn === 0 ? in0 - out0 : in1 - out1
    const amountOutRaw = tokenIn === 0 ? out1 - in1 : out0 - in0
    return (
      invalidAmounts(amountInRaw, amountOutRaw) ?? {
        kind: 'swap',
        pool,
        defaultProtocol,
        tokenIn,
        tokenOut: tokenIn === 0 ? 1 : 0,
        amountInRaw,
        amountOutRaw,
      }
    )
  }

/** Liquidity that came or went, as its first two words state it. */
export const pairChange =
  (defaultProtocol: string, kind: 'increase' | 'decrease') =>
  ({ address: pool, data }: Log): DecodedEvent => ({
    kind: 'change',
    pool,
    defaultProtocol,
    change: kind,
    amountsRaw: [wordAt(data, 0), wordAt(data, 1)],
  })

/** Reserves that a pair states, mostly before the event that changed them. */
export const pairReserves = ({ address: pool, data }: Log): DecodedEvent => {
  const [reserve0 = 0n, reserve1 = 0n] = wordsOf(data, 2)
  return { kind: 'reserves', pool, reserves: [reserve0, reserve1] }
}

/** Constant-product AMMs with the events of Uniswap V2. Source: Uniswap/v2-core contracts/interfaces. */
export const uniswapV2: EvmFamily = {
  family: 'uniswap_v2',
  verification: factoryVerification('pair'),
  events: {
    '0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822': {
      signature:
        'Swap(address indexed sender, address indexed to, uint amount0In, uint amount1In, uint amount0Out, uint amount1Out)',
      by: 'pool',
      topics: 3,
      words: 4,
      read: pairSwap('uniswap_v2'),
    },
    '0x1c411e9a96e071241c2f21f7726b17ae89e3cab4c78be50e062b03a9fffbbad1': {
      signature: 'Sync(uint112 reserve0, uint112 reserve1)',
      by: 'pool',
      topics: 1,
      words: 2,
      read: pairReserves,
    },
    '0x4c209b5fc8ad50758f13e2e1088ba56a560dff690a1c6fef26394f4c03821c4f': {
      signature: 'Mint(address indexed sender, uint amount0, uint amount1)',
      by: 'pool',
      topics: 2,
      words: 2,
      read: pairChange('uniswap_v2', 'increase'),
    },
    '0xdccd412f0b1252819cb1fd330b93224ca42612892bb3f4f789976e6d81936496': {
      signature: 'Burn(address indexed sender, address indexed to, uint amount0, uint amount1)',
      by: 'pool',
      topics: 3,
      words: 2,
      read: pairChange('uniswap_v2', 'decrease'),
    },
    '0x0d3648bd0f6ba80134a33ba9275ac585d9d315f0ad8355cddefde31afa28d0e9': {
      signature:
        'PairCreated(address indexed token0, address indexed token1, address pair, uint count)',
      by: 'factory',
      topics: 3,
      words: 1,
      read: ({ address: factory, topics, data }) => ({
        kind: 'pool',
        pool: addressIn(data, 0),
        factory,
        tokens: [topicAddress(topics[1]), topicAddress(topics[2])],
        feePips: null,
        opens: true,
      }),
    },
  },
}

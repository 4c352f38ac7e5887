import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import {
  addressTopic,
  buildDecodeContext,
  buildPoolMetadata,
  POOL,
  ROUTER,
  TOKEN_A,
  TOKEN_B,
  TOPIC,
  transferLog,
  USER,
  v3SwapLog,
} from '../support/builders/dex-logs.ts'
import { buildLog, buildSingleTransactionBlock, hexWord } from '../support/recordings/ethereum.ts'

const PRICE = 79228162514264337593543950336n
const tokens = [addressTopic(TOKEN_A), addressTopic(TOKEN_B)]
const decoded = (
  logs: Parameters<typeof buildSingleTransactionBlock>[0],
  books: ReturnType<typeof buildDecodeContext>,
) => decodeBlock(buildSingleTransactionBlock(logs), books)

const MADE: readonly (readonly [string, string, string, string, readonly string[]])[] = [
  [
    'QuickSwap V3 on polygon',
    'quickswap_v3',
    'polygon',
    '0x411b0facc3489691f28ad58c47006af5e3ab3a28',
    [TOPIC.algebraPool, ...tokens],
  ],
  [
    'Camelot V3 on arbitrum',
    'camelot_v3',
    'arbitrum',
    '0x1a3c9b1d2f0529d97f2afc5136cc23e58f1fd35b',
    [TOPIC.algebraPool, ...tokens],
  ],
  [
    'a custom pool of QuickSwap V4 on base',
    'quickswap_v4',
    'base',
    '0xc5396866754799b9720125b104ae01d935ab9c7b',
    [TOPIC.algebraCustomPool, addressTopic(ROUTER), ...tokens],
  ],
  [
    'Slipstream on base',
    'aerodrome_cl',
    'base',
    '0xade65c38cd4849adba595a4323a8c7ddfe89716a',
    [TOPIC.slipstreamPool, ...tokens, `0x${hexWord(100n)}`],
  ],
  [
    'Slipstream on optimism',
    'velodrome_cl',
    'optimism',
    '0xcc0bddb707055e04e497ab22a59c2af4391cd12f',
    [TOPIC.slipstreamPool, ...tokens, `0x${hexWord(-1n)}`],
  ],
  [
    'the first Slipstream on optimism',
    'velodrome_cl',
    'optimism',
    '0x548118c7e0b865c2cfa94d15ec86b666468ac758',
    [TOPIC.slipstreamPool, ...tokens, `0x${hexWord(100n)}`],
  ],
  [
    'Slipstream with gauges of the second version on optimism',
    'velodrome_cl',
    'optimism',
    '0xe13dd1fba721aa81a1826d9523ac9bc7d260c879',
    [TOPIC.slipstreamPool, ...tokens, `0x${hexWord(100n)}`],
  ],
  [
    'THENA Integral on bsc',
    'thena_integral',
    'bsc',
    '0x30055f87716d3dfd0e5198c27024481099fb4a98',
    [TOPIC.algebraPool, ...tokens],
  ],
  [
    'Blackhole on avalanche',
    'blackhole_cl',
    'avalanche',
    '0x512eb749541b7cf294be882d636218c84a5e9e5f',
    [TOPIC.algebraPool, ...tokens],
  ],
  [
    'Topaz on bsc',
    'topaz_cl',
    'bsc',
    '0x73dc984d9490286e735548f61dfccec67af82ed9',
    [TOPIC.slipstreamPool, ...tokens, `0x${hexWord(50n)}`],
  ],
  [
    'QuickSwap V4 on polygon',
    'quickswap_v4',
    'polygon',
    '0x96117a894c2c99aafeeacb972c3310e6ac83e810',
    [TOPIC.algebraPool, ...tokens],
  ],
  [
    'SyncSwap Range on zksync',
    'syncswap_range',
    'zksync',
    '0x9d63d318143cf14ff05f8aaa7491904a494e6f13',
    [TOPIC.slipstreamPool, ...tokens, `0x${hexWord(50n)}`],
  ],
]

for (const [what, protocol, chain, factory, topics] of MADE) {
  test(`${what}: a pool of the listed factory swaps with the event of Uniswap V3`, () => {
    const logs = [buildLog(factory, topics, [POOL]), v3SwapLog([10n, -7n, PRICE, 5n, 0n])]
    const { pools, swaps, poolChanges } = decoded(logs, buildDecodeContext('facts', [], chain))
    assert.deepEqual(pools, [{ ...buildPoolMetadata(protocol), factory, feePips: null }])
    assert.deepEqual(
      swaps.map((taken) => [taken.protocol, taken.tokenIn, taken.amountOutRaw]),
      [[protocol, TOKEN_A, 7n]],
    )
    assert.deepEqual(poolChanges, [], 'its Initialize opens it')
    assert.deepEqual(
      decoded(logs, buildDecodeContext('facts')).pools,
      [],
      'on another chain it is nobody',
    )
  })
}

test('Algebra Integral swaps and burns are read in their longer layout', () => {
  const people = [addressTopic(ROUTER), addressTopic(USER)]
  const position = [addressTopic(USER), `0x${hexWord(-1n)}`, `0x${hexWord(0n)}`]
  const swap = (words: readonly bigint[]) => buildLog(POOL, [TOPIC.algebraSwap, ...people], words)
  const { swaps, poolChanges, dropped } = decoded(
    [
      swap([-7n, 10n, PRICE, 5n, 1n, 0n, 0n]),
      buildLog(POOL, [TOPIC.algebraBurn, ...position], [99n, 3n, 4n, 0n]),
      swap([-7n, 10n, PRICE, 5n, 1n, 0n]),
      swap([7n, 10n, PRICE, 5n, 1n, 0n, 0n]),
      swap([1n, -(2n ** 255n), PRICE, 5n, 1n, 0n, 0n]),
      buildLog(POOL, [TOPIC.algebraBurn, ...position], [99n, 3n, 4n]),
    ],
    buildDecodeContext('facts', [buildPoolMetadata('quickswap_v4')], 'base'),
  )
  assert.deepEqual(
    swaps.map(({ protocol, tokenIn, amountInRaw, amountOutRaw, sqrtPriceX96 }) => ({
      protocol,
      tokenIn,
      amountInRaw,
      amountOutRaw,
      sqrtPriceX96,
    })),
    [
      {
        protocol: 'quickswap_v4',
        tokenIn: TOKEN_B,
        amountInRaw: 10n,
        amountOutRaw: 7n,
        sqrtPriceX96: PRICE,
      },
    ],
  )
  assert.deepEqual(
    poolChanges.map(({ kind, amountARaw, amountBRaw }) => [kind, amountARaw, amountBRaw]),
    [['decrease', 3n, 4n]],
  )
  assert.deepEqual(
    dropped.map(({ reason, logIndex }) => [reason, logIndex]),
    [
      ['truncated-data', 2],
      ['zero-amount', 3],
      ['impossible-amount', 4],
      ['truncated-data', 5],
    ],
  )
})

test('Pharaoh V3: a pool creation has its fee, and a mint its position', () => {
  const factory = '0xae6e5c62328ade73ceefd42228528b70c8157d0d'
  const position = [addressTopic(USER), `0x${hexWord(-1n)}`, `0x${hexWord(0n)}`]
  const mint = (amounts: readonly bigint[], liquidity = 99n) =>
    buildLog(POOL, [TOPIC.ramsesMint, ...position], [ROUTER, 8n, liquidity, ...amounts])
  const { pools, swaps, poolChanges, dropped } = decoded(
    [
      buildLog(factory, [TOPIC.poolCreated, ...tokens, `0x${hexWord(500n)}`], [10n, POOL]),
      mint([3n, 4n]),
      v3SwapLog([10n, -7n, PRICE, 5n, 0n]),
      mint([0n, 0n], 0n),
      mint([3n]),
    ],
    buildDecodeContext('facts', [], 'avalanche'),
  )
  assert.deepEqual(pools, [{ ...buildPoolMetadata('pharaoh_v3'), factory, feePips: 500 }])
  assert.deepEqual(
    swaps.map(({ protocol, amountOutRaw }) => [protocol, amountOutRaw]),
    [['pharaoh_v3', 7n]],
  )
  assert.deepEqual(
    poolChanges.map(({ kind, amountARaw, amountBRaw }) => [kind, amountARaw, amountBRaw]),
    [['increase', 3n, 4n]],
  )
  const range = { tickLower: -1, tickUpper: 0, liquidityRaw: 99n }
  assert.deepEqual(poolChanges[0]?.position, range)
  assert.deepEqual(
    dropped.map(({ reason, logIndex }) => [reason, logIndex]),
    [['truncated-data', 4]],
  )
})

test('without a node, Algebra Integral swaps get the usual protocol for their event', () => {
  const { swaps } = decoded(
    [
      transferLog(TOKEN_A, USER, POOL, 10n),
      transferLog(TOKEN_B, POOL, USER, 7n),
      buildLog(
        POOL,
        [TOPIC.algebraSwap, addressTopic(ROUTER), addressTopic(USER)],
        [10n, -7n, PRICE, 5n, 1n, 0n, 0n],
      ),
    ],
    buildDecodeContext('evidence', [], 'base'),
  )
  assert.deepEqual(
    swaps.map(({ protocol, tokenIn }) => [protocol, tokenIn]),
    [['quickswap_v4', TOKEN_A]],
  )
})

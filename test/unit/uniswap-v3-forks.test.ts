import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeBlock } from '../../ingestors/decode.ts'
import {
  booksOf,
  POOL,
  poolFact,
  ROUTER,
  TOKEN_A,
  TOKEN_B,
  TOPIC,
  topicOf,
  transfer,
  USER,
  v3Swap,
} from '../support/made-up-chain.ts'
import { blockOf, logOf, word } from '../support/recordings.ts'

const PRICE = 79228162514264337593543950336n
const tokens = [topicOf(TOKEN_A), topicOf(TOKEN_B)]
const decoded = (logs: Parameters<typeof blockOf>[0], books: ReturnType<typeof booksOf>) =>
  decodeBlock(blockOf(logs), books)

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
    [TOPIC.algebraCustomPool, topicOf(ROUTER), ...tokens],
  ],
  [
    'Slipstream on base',
    'aerodrome_cl',
    'base',
    '0xade65c38cd4849adba595a4323a8c7ddfe89716a',
    [TOPIC.slipstreamPool, ...tokens, `0x${word(100n)}`],
  ],
  [
    'Slipstream on optimism',
    'velodrome_cl',
    'optimism',
    '0xcc0bddb707055e04e497ab22a59c2af4391cd12f',
    [TOPIC.slipstreamPool, ...tokens, `0x${word(-1n)}`],
  ],
]

for (const [what, protocol, chain, factory, topics] of MADE) {
  test(`${what}: a pool of the listed factory swaps with the event of Uniswap V3`, () => {
    const logs = [logOf(factory, topics, [POOL]), v3Swap([10n, -7n, PRICE, 5n, 0n])]
    const { pools, swaps, poolChanges } = decoded(logs, booksOf('facts', [], chain))
    assert.deepEqual(pools, [{ ...poolFact(protocol), factory, feePips: null }])
    assert.deepEqual(
      swaps.map((taken) => [taken.protocol, taken.tokenIn, taken.amountOutRaw]),
      [[protocol, TOKEN_A, 7n]],
    )
    assert.deepEqual(poolChanges, [], 'its Initialize opens it')
    assert.deepEqual(decoded(logs, booksOf('facts')).pools, [], 'on another chain it is nobody')
  })
}

test('the longer swap and burn of Algebra Integral', () => {
  const people = [topicOf(ROUTER), topicOf(USER)]
  const position = [topicOf(USER), `0x${word(-1n)}`, `0x${word(0n)}`]
  const swap = (words: readonly bigint[]) => logOf(POOL, [TOPIC.algebraSwap, ...people], words)
  const { swaps, poolChanges, dropped } = decoded(
    [
      swap([-7n, 10n, PRICE, 5n, 1n, 0n, 0n]),
      logOf(POOL, [TOPIC.algebraBurn, ...position], [99n, 3n, 4n, 0n]),
      swap([-7n, 10n, PRICE, 5n, 1n, 0n]),
      swap([7n, 10n, PRICE, 5n, 1n, 0n, 0n]),
      swap([1n, -(2n ** 255n), PRICE, 5n, 1n, 0n, 0n]),
      logOf(POOL, [TOPIC.algebraBurn, ...position], [99n, 3n, 4n]),
    ],
    booksOf('facts', [poolFact('quickswap_v4')], 'base'),
  )
  assert.deepEqual(
    swaps.map(({ protocol, tokenIn, amountInRaw, amountOutRaw, sqrtPriceX96 }) => ({
      ...{ protocol, tokenIn, amountInRaw, amountOutRaw, sqrtPriceX96 },
    })),
    [
      {
        ...{ protocol: 'quickswap_v4', tokenIn: TOKEN_B, amountInRaw: 10n, amountOutRaw: 7n },
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
      ['short-data', 2],
      ['zero-amount', 3],
      ['impossible-amount', 4],
      ['short-data', 5],
    ],
  )
})

test('without a node, Integral swaps are named after the protocol that is usual for them', () => {
  const { swaps } = decoded(
    [
      transfer(TOKEN_A, USER, POOL, 10n),
      transfer(TOKEN_B, POOL, USER, 7n),
      logOf(
        POOL,
        [TOPIC.algebraSwap, topicOf(ROUTER), topicOf(USER)],
        [10n, -7n, PRICE, 5n, 1n, 0n, 0n],
      ),
    ],
    booksOf('evidence', [], 'base'),
  )
  assert.deepEqual(
    swaps.map(({ protocol, tokenIn }) => [protocol, tokenIn]),
    [['quickswap_v4', TOKEN_A]],
  )
})

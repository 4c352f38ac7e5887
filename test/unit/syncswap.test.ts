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
  USER,
  v2Swap,
} from '../support/made-up-chain.ts'
import { blockOf, logOf, word } from '../support/recordings.ts'

const MASTER = '0xbb05918e9b4ba9fe2c8384d223f0844867909ffb'
const people = [topicOf(ROUTER), topicOf(USER)]
const decoded = (logs: Parameters<typeof blockOf>[0], books = booksOf('facts', [], 'zksync')) =>
  decodeBlock(blockOf(logs), books)
const DATA = [32n, 64n, TOKEN_A, TOKEN_B]
const registered = (master = MASTER, type = 1n, words: readonly (bigint | string)[] = DATA) =>
  logOf(master, [TOPIC.syncPool, topicOf(ROUTER), topicOf(POOL), `0x${word(type)}`], words)

test('a pool that the master registers swaps with the event of Uniswap V2', () => {
  const logs = [
    registered(),
    logOf(POOL, [TOPIC.solidlySync], [11n, 12n]),
    v2Swap([10n, 0n, 0n, 7n]),
  ]
  const { pools, swaps, poolChanges } = decoded(logs)
  assert.deepEqual(pools, [{ ...poolFact('syncswap'), factory: MASTER, feePips: null }])
  assert.deepEqual(
    swaps.map(({ protocol, tokenIn, amountInRaw, amountOutRaw, reserves }) => ({
      ...{ protocol, tokenIn, amountInRaw, amountOutRaw, reserves },
    })),
    [
      {
        ...{ protocol: 'syncswap', tokenIn: TOKEN_A, amountInRaw: 10n, amountOutRaw: 7n },
        reserves: [11n, 12n],
      },
    ],
  )
  assert.deepEqual(
    poolChanges.map(({ kind }) => kind),
    ['initialize'],
  )
})

test('liquidity comes and goes with events of its own', () => {
  const { poolChanges } = decoded(
    [
      logOf(POOL, [TOPIC.syncMint, ...people], [1n, 2n, 99n]),
      logOf(POOL, [TOPIC.syncBurn, ...people], [3n, 4n, 99n]),
    ],
    booksOf('facts', [poolFact('syncswap')], 'zksync'),
  )
  assert.deepEqual(
    poolChanges.map(({ kind, amountARaw, amountBRaw }) => [kind, amountARaw, amountBRaw]),
    [
      ['increase', 1n, 2n],
      ['decrease', 3n, 4n],
    ],
  )
})

const NO_POOLS: readonly (readonly [string, ReturnType<typeof registered>])[] = [
  ['another contract registers', registered(ROUTER)],
  ['is of a type with other data', registered(MASTER, 3n)],
  ['has data that begin elsewhere', registered(MASTER, 1n, [64n, 64n, TOKEN_A, TOKEN_B])],
  ['has data of another length', registered(MASTER, 1n, [32n, 2n ** 255n, TOKEN_A, TOKEN_B])],
]

for (const [what, log] of NO_POOLS) {
  test(`a pool that ${what} is none`, () => {
    assert.deepEqual(decoded([log]).pools, [])
    assert.deepEqual(decoded([log]).dropped, [])
  })
}

test('a registration without its tokens is dropped', () => {
  const { pools, dropped } = decoded([registered(MASTER, 1n, [32n, 64n, TOKEN_A])])
  assert.deepEqual(pools, [])
  assert.deepEqual(
    dropped.map(({ reason, protocol }) => [reason, protocol]),
    [['short-data', 'syncswap']],
  )
})

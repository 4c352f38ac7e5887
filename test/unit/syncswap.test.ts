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
  USER,
  v2SwapLog,
  v2SyncLog,
} from '../support/builders/dex-logs.ts'
import { buildLog, buildSingleTransactionBlock, hexWord } from '../support/recordings/ethereum.ts'

const MASTER = '0xbb05918e9b4ba9fe2c8384d223f0844867909ffb'
const SECOND_MASTER = '0xfdfe03bae6b8113ee1002d2be453fb71ca5783d3'
const people = [addressTopic(ROUTER), addressTopic(USER)]
const decoded = (
  logs: Parameters<typeof buildSingleTransactionBlock>[0],
  books = buildDecodeContext('facts', [], 'zksync'),
) => decodeBlock(buildSingleTransactionBlock(logs), books)
const DATA = [32n, 64n, TOKEN_A, TOKEN_B]
const registered = (master = MASTER, type = 1n, words: readonly (bigint | string)[] = DATA) =>
  buildLog(
    master,
    [TOPIC.syncPool, addressTopic(ROUTER), addressTopic(POOL), `0x${hexWord(type)}`],
    words,
  )

const known = buildDecodeContext('facts', [buildPoolMetadata('syncswap')], 'zksync')
const sync = (reserves: readonly [bigint, bigint], pool = POOL) =>
  buildLog(pool, [TOPIC.solidlySync], reserves)
const swap = (pool = POOL) => v2SwapLog([10n, 0n, 0n, 7n], pool)
const reservesOf = (logs: Parameters<typeof buildSingleTransactionBlock>[0], books = known) =>
  decoded(logs, books).swaps.map(({ reserves }) => reserves)

test('a SyncSwap pool that the master registers swaps with the event of Uniswap V2', () => {
  const { pools, swaps, poolChanges } = decoded([registered(), swap(), sync([11n, 12n])])
  assert.deepEqual(pools, [{ ...buildPoolMetadata('syncswap'), factory: MASTER, feePips: null }])
  assert.deepEqual(
    swaps.map(({ protocol, tokenIn, amountInRaw, amountOutRaw, reserves }) => ({
      protocol,
      tokenIn,
      amountInRaw,
      amountOutRaw,
      reserves,
    })),
    [
      {
        protocol: 'syncswap',
        tokenIn: TOKEN_A,
        amountInRaw: 10n,
        amountOutRaw: 7n,
        reserves: [11n, 12n],
      },
    ],
  )
  assert.deepEqual(
    poolChanges.map(({ kind }) => kind),
    ['initialize'],
  )
})

test('the second SyncSwap master registers pools too', () => {
  assert.deepEqual(decoded([registered(SECOND_MASTER)]).pools, [
    { ...buildPoolMetadata('syncswap'), factory: SECOND_MASTER, feePips: null },
  ])
})

test('the reserves of a SyncSwap swap come from the Sync event after it, never from the one before', () => {
  assert.deepEqual(reservesOf([sync([1n, 1n]), swap(), sync([2n, 2n]), swap(), sync([3n, 3n])]), [
    [2n, 2n],
    [3n, 3n],
  ])
  assert.deepEqual(reservesOf([sync([1n, 1n]), swap()]), [undefined])
  assert.deepEqual(reservesOf([swap(), swap(), sync([2n, 2n])]), [undefined, [2n, 2n]])
  assert.deepEqual(reservesOf([swap(), sync([2n, 2n]), sync([9n, 9n])]), [[2n, 2n]])
  assert.deepEqual(reservesOf([swap(), buildLog(POOL, [TOPIC.solidlySync], [2n])]), [undefined])
})

test('nested SyncSwap swaps take the reserves of their own pools', () => {
  const books = buildDecodeContext(
    'facts',
    [buildPoolMetadata('syncswap'), { ...buildPoolMetadata('syncswap'), address: ROUTER }],
    'zksync',
  )
  const logs = [swap(), swap(ROUTER), sync([5n, 5n], ROUTER), sync([2n, 2n])]
  assert.deepEqual(reservesOf(logs, books), [
    [2n, 2n],
    [5n, 5n],
  ])
})

test('a Sync event before a SyncSwap liquidity event belongs to the liquidity event, also after a swap', () => {
  const mint = buildLog(POOL, [TOPIC.syncMint, ...people], [1n, 2n, 99n])
  const burn = buildLog(POOL, [TOPIC.syncBurn, ...people], [3n, 4n, 99n])
  const { swaps, poolChanges } = decoded(
    [swap(), sync([2n, 2n]), sync([3n, 3n]), mint, sync([4n, 4n]), burn],
    known,
  )
  assert.deepEqual(
    [...swaps, ...poolChanges].map(({ reserves }) => reserves),
    [
      [2n, 2n],
      [3n, 3n],
      [4n, 4n],
    ],
  )
  assert.deepEqual(
    reservesOf([swap(), mint, sync([2n, 2n])]),
    [undefined],
    'not beyond another event',
  )
})

test('on zkSync, pairs that log Sync before the swap keep these reserves', () => {
  const books = buildDecodeContext('facts', [buildPoolMetadata('pancakeswap_v2')], 'zksync')
  const logs = [v2SyncLog([1n, 1n]), swap(), v2SyncLog([2n, 2n])]
  assert.deepEqual(reservesOf(logs, books), [[1n, 1n]])
})

test('SyncSwap liquidity changes have events of their own', () => {
  const { poolChanges } = decoded(
    [
      buildLog(POOL, [TOPIC.syncMint, ...people], [1n, 2n, 99n]),
      buildLog(POOL, [TOPIC.syncBurn, ...people], [3n, 4n, 99n]),
    ],
    known,
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
  test(`a SyncSwap pool that ${what} is not accepted`, () => {
    assert.deepEqual(decoded([log]).pools, [])
    assert.deepEqual(decoded([log]).dropped, [])
  })
}

test('a SyncSwap registration without its tokens is dropped as truncated', () => {
  const { pools, dropped } = decoded([registered(MASTER, 1n, [32n, 64n, TOKEN_A])])
  assert.deepEqual(pools, [])
  assert.deepEqual(
    dropped.map(({ reason, protocol }) => [reason, protocol]),
    [['truncated-data', 'syncswap']],
  )
})

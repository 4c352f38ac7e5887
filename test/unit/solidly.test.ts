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
  v2SwapLog,
} from '../support/builders/dex-logs.ts'
import { buildLog, buildSingleTransactionBlock, hexWord } from '../support/recordings/ethereum.ts'
import { type SwapCase, testSwaps } from '../support/swap-cases.ts'

const AERODROME = '0x420dd381b31aef6683db6b902084cb0ffece40da'
const VELODROME_V1 = '0x25cbddb98b35ab1ff77413456b31ec81a6b6b746'
const MAX = 2n ** 256n - 1n
type Words = readonly (bigint | string)[]
const swap = (amounts: Words) =>
  buildLog(POOL, [TOPIC.solidlySwap, addressTopic(ROUTER), addressTopic(USER)], amounts)
const sync = (reserves: Words) => buildLog(POOL, [TOPIC.solidlySync], reserves)
const known = buildDecodeContext('facts', [buildPoolMetadata('aerodrome')], 'base')
const evidence = buildDecodeContext('evidence', [], 'base')
const decoded = (logs: Parameters<typeof buildSingleTransactionBlock>[0], books = known) =>
  decodeBlock(buildSingleTransactionBlock(logs), books)

const CASES: readonly SwapCase<Words>[] = [
  ['token0 sold', [10n, 0n, 0n, 7n], [0, 10n, 7n]],
  ['token1 sold', [0n, 10n, 7n, 0n], [1, 10n, 7n]],
  ['a part came back', [10n, 1n, 2n, 7n], [0, 8n, 6n]],
  ['nothing', [0n, 0n, 0n, 0n], 'zero-amount'],
  ['nothing came out', [10n, 0n, 0n, 0n], [0, 10n, 0n]],
  ['more than any token has', [MAX, 0n, 0n, 7n], 'impossible-amount'],
  ['more out than any token has', [1n, 0n, 0n, MAX], 'impossible-amount'],
  ['a word missing', [10n, 0n, 0n], 'truncated-data'],
]

testSwaps('Solidly', CASES, {
  decode: (amounts) => decoded([sync([1n, 2n]), swap(amounts)]),
  decoder: 'solidly',
  trade: { logIndex: 1, pool: POOL, protocol: 'aerodrome', reserves: [1n, 2n] },
})

test('without a node, transfers of the transaction or a Sync of the pool confirm a swap', () => {
  const kept = (logs: Parameters<typeof buildSingleTransactionBlock>[0]) =>
    decoded(logs, evidence).swaps.map(({ tokenIn, protocol }) => [tokenIn, protocol])
  const said = swap([10n, 0n, 0n, 7n])
  assert.deepEqual(kept([said]), [])
  assert.deepEqual(kept([sync([1n, 2n]), said]), [[null, 'velodrome_v2']])
  const paid = [transferLog(TOKEN_A, USER, POOL, 10n), transferLog(TOKEN_B, POOL, USER, 7n)]
  assert.deepEqual(kept([...paid, said]), [[TOKEN_A, 'velodrome_v2']])
})

test('Solidly liquidity: deposits have the event of Uniswap V2, withdrawals one of their own', () => {
  const { poolChanges } = decoded([
    buildLog(POOL, [TOPIC.v2Mint, addressTopic(ROUTER)], [3n, 4n]),
    buildLog(POOL, [TOPIC.solidlyBurn, addressTopic(ROUTER), addressTopic(USER)], [1n, 2n]),
  ])
  assert.deepEqual(
    poolChanges.map(({ kind, amountARaw, amountBRaw, protocol }) => ({
      kind,
      amountARaw,
      amountBRaw,
      protocol,
    })),
    [
      { kind: 'increase', amountARaw: 3n, amountBRaw: 4n, protocol: 'aerodrome' },
      { kind: 'decrease', amountARaw: 1n, amountBRaw: 2n, protocol: 'aerodrome' },
    ],
  )
})

test('a pool of a listed factory is verified; one of another chain or family is not', () => {
  const made = (factory: string) =>
    buildLog(
      factory,
      [TOPIC.solidlyPool, addressTopic(TOKEN_A), addressTopic(TOKEN_B), `0x${hexWord(1n)}`],
      [POOL, 5n],
    )
  const { pools, swaps, poolChanges } = decoded(
    [made(AERODROME), swap([10n, 0n, 0n, 7n])],
    buildDecodeContext('facts', [], 'base'),
  )
  assert.deepEqual(pools, [
    { ...buildPoolMetadata('aerodrome'), factory: AERODROME, feePips: null },
  ])
  assert.equal(swaps.length, 1)
  assert.deepEqual(
    poolChanges.map(({ kind }) => kind),
    ['initialize'],
  )
  assert.deepEqual(
    decoded([made(AERODROME)], buildDecodeContext('facts', [], 'optimism')).pools,
    [],
  )
  const uniswap = '0x8909dc15e40173ff4699343b6eb8132c65e18ec6'
  assert.deepEqual(decoded([made(uniswap)], buildDecodeContext('facts', [], 'base')).pools, [])
})

test('pairs of Velodrome V1 swap with the event of Uniswap V2', () => {
  const made = buildLog(
    VELODROME_V1,
    [TOPIC.solidlyPair, addressTopic(TOKEN_A), addressTopic(TOKEN_B)],
    [0n, POOL, 5n],
  )
  const logs = [made, sync([1n, 2n]), v2SwapLog([10n, 0n, 0n, 7n])]
  const { pools, swaps } = decoded(logs, buildDecodeContext('facts', [], 'optimism'))
  assert.deepEqual(
    pools.map(({ address, protocol }) => [address, protocol]),
    [[POOL, 'velodrome_v1']],
  )
  assert.deepEqual(
    swaps.map(({ protocol, reserves }) => [protocol, reserves]),
    [['velodrome_v1', [1n, 2n]]],
  )
})

test('a verified pool of Uniswap V2 has no Solidly swaps', () => {
  const books = buildDecodeContext('facts', [buildPoolMetadata('uniswap_v2')], 'base')
  const { swaps, dropped } = decoded([swap([10n, 0n, 0n, 7n])], books)
  assert.deepEqual(swaps, [])
  assert.deepEqual(
    dropped.map(({ reason }) => reason),
    ['unlisted-contract'],
  )
})

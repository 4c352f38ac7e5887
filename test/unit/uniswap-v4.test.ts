import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toEventSelector } from 'viem'
import { decodeBlock, subjectsOf } from '../../ingestors/decode.ts'
import type { Log, PoolFact } from '../../schemas/events.ts'
import {
  booksOf,
  poolFact,
  ROUTER,
  TOKEN_A,
  TOKEN_B,
  topicOf,
  transfer,
  USER,
} from '../support/made-up-chain.ts'
import { blockOf, logOf } from '../support/recordings.ts'

const MANAGER = '0x000000000004444c5dc75cb358380d2e3de08a90'
const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
const ZERO = `0x${'00'.repeat(20)}`
const ID = `0x${'4d'.repeat(32)}`
const PRICE = 79228162514264337593543950336n
const MIN = -(1n << 127n)
const SWAP = toEventSelector('Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)')
const INITIALIZE = toEventSelector(
  'Initialize(bytes32,address,address,uint24,int24,address,uint160,int24)',
)

const swap = (amounts: readonly bigint[], manager = MANAGER): Omit<Log, 'index'> =>
  logOf(manager, [SWAP, ID, topicOf(ROUTER)], [...amounts, PRICE, 5n, -1n, 3000n])
const fact = (more: Partial<PoolFact> = {}): PoolFact => ({
  ...poolFact('uniswap_v4'),
  address: ID,
  ...more,
})
const known = booksOf('facts', [fact()])
const evidence = booksOf('evidence')

const CASES: readonly (readonly [
  string,
  bigint,
  bigint,
  readonly [0 | 1, bigint, bigint] | string,
])[] = [
  ['token0 was paid in', -10n, 7n, [0, 10n, 7n]],
  ['token1 was paid in', 7n, -10n, [1, 10n, 7n]],
  ['the largest numbers', MIN, -MIN - 1n, [0, -MIN, -MIN - 1n]],
  ['nothing came out', -1n, 0n, [0, 1n, 0n]],
  ['nothing came in', 0n, 1n, [0, 0n, 1n]],
  ['both were paid in', -1n, -1n, 'zero-amount'],
  ['both came out', 1n, 1n, 'zero-amount'],
  ['nothing', 0n, 0n, 'zero-amount'],
  ['a number without an opposite', -(1n << 255n), 1n, 'impossible-amount'],
]

for (const [what, amount0, amount1, expected] of CASES) {
  test(`V4 swap, ${what}: the sign is the swapper's`, () => {
    const { swaps, dropped } = decodeBlock(blockOf([swap([amount0, amount1])]), known)
    if (typeof expected === 'string') {
      assert.deepEqual(swaps, [])
      assert.deepEqual(
        dropped.map(({ reason }) => reason),
        [expected],
      )
      return
    }
    const [side, amountInRaw, amountOutRaw] = expected
    assert.deepEqual(swaps, [
      {
        kind: 'swap',
        txIndex: 0,
        logIndex: 0,
        pool: ID,
        vault: MANAGER,
        protocol: 'uniswap_v4',
        trader: `0x${'f0'.repeat(20)}`,
        tokenIn: side === 0 ? TOKEN_A : TOKEN_B,
        tokenOut: side === 0 ? TOKEN_B : TOKEN_A,
        amountInRaw,
        amountOutRaw,
        sqrtPriceX96: PRICE,
        liquidityRaw: 5n,
      },
    ])
  })
}

test('only the listed PoolManager speaks for pools; cut data and other topics are no swap', () => {
  const reasons = (log: Omit<Log, 'index'>, books = known) =>
    decodeBlock(blockOf([log]), books).dropped.map(({ reason }) => reason)
  assert.deepEqual(reasons(swap([-10n, 7n], ROUTER)), ['foreign-event'])
  assert.deepEqual(reasons(swap([-10n, 7n], ROUTER), evidence), ['foreign-event'])
  const log = swap([-10n, 7n])
  assert.deepEqual(reasons({ ...log, data: log.data.slice(0, -2) }), ['short-data'])
  const { swaps, dropped } = decodeBlock(
    blockOf([{ ...log, topics: log.topics.slice(0, 2) }]),
    known,
  )
  assert.deepEqual([swaps, dropped], [[], []])
  assert.deepEqual(decodeBlock(blockOf([log], { success: false }), known).swaps, [])
  assert.deepEqual(reasons(log, booksOf('facts')), ['unknown-pool'])
  assert.deepEqual(reasons(log, booksOf('facts', [fact({ proven: false })])), ['unproven-pool'])
})

test("the chain's coin is named as its wrapped token; a pool of both trades nothing", () => {
  const coin = booksOf('facts', [fact({ tokenA: ZERO })])
  const { swaps } = decodeBlock(blockOf([swap([-10n, 7n])]), coin)
  assert.deepEqual(
    swaps.map(({ tokenIn, tokenOut }) => [tokenIn, tokenOut]),
    [[WETH, TOKEN_B]],
  )
  const both = booksOf('facts', [fact({ tokenA: ZERO, tokenB: WETH })])
  assert.deepEqual(
    decodeBlock(blockOf([swap([-10n, 7n])]), both).dropped.map(({ reason }) => reason),
    ['same-token'],
  )
})

const named = (logs: readonly Omit<Log, 'index'>[]) =>
  decodeBlock(blockOf(logs), evidence).swaps.map(({ tokenIn, tokenOut }) => [tokenIn, tokenOut])

test('without a node, the PoolManager is believed, and only transfers of the very amounts name tokens', () => {
  const log = swap([-10n, 7n])
  const into = transfer(TOKEN_A, USER, MANAGER, 10n)
  const out = transfer(TOKEN_B, MANAGER, USER, 7n)
  assert.deepEqual(named([into, out, log]), [[TOKEN_A, TOKEN_B]])
  assert.deepEqual(named([log]), [[null, null]])
  assert.deepEqual(named([out, log]), [[null, TOKEN_B]], 'the coin was paid')
  assert.deepEqual(named([into, log]), [[TOKEN_A, null]], 'the coin came out')
  assert.deepEqual(
    named([transfer(TOKEN_A, USER, MANAGER, 11n), transfer(TOKEN_B, MANAGER, USER, 8n), log]),
    [[null, null]],
    'what else the contract moved',
  )
  assert.deepEqual(
    named([transfer(TOKEN_B, USER, MANAGER, 10n), transfer(TOKEN_A, MANAGER, USER, 7n), log]),
    [[null, null]],
    'against the order of tokens',
  )
})

const initialize = (fee: bigint, manager = MANAGER): Omit<Log, 'index'> =>
  logOf(manager, [INITIALIZE, ID, topicOf(ZERO), topicOf(TOKEN_B)], [fee, 60n, ROUTER, PRICE, 0n])

test('a pool is proven by its Initialize and trades from then on; a flag is no fee', () => {
  const made = decodeBlock(blockOf([initialize(3000n), swap([-10n, 7n])]), booksOf('facts'))
  assert.deepEqual(made.pools, [
    fact({ tokenA: WETH, tokenB: TOKEN_B, factory: MANAGER, feePips: 3000 }),
  ])
  assert.deepEqual(
    made.poolChanges.map(({ kind, pool, vault, logIndex }) => [kind, pool, vault, logIndex]),
    [['initialize', ID, MANAGER, 0]],
  )
  assert.deepEqual(
    made.swaps.map(({ tokenIn }) => tokenIn),
    [WETH],
  )
  const hooked = decodeBlock(blockOf([initialize(0x800000n)]), booksOf('facts'))
  assert.deepEqual(
    hooked.pools.map(({ feePips }) => feePips),
    [null],
  )
  assert.deepEqual(decodeBlock(blockOf([initialize(3000n, ROUTER)]), known).pools, [])
})

test('a position that changed states no amounts and is not read', () => {
  const log = logOf(
    MANAGER,
    [
      toEventSelector('ModifyLiquidity(bytes32,address,int24,int24,int256,bytes32)'),
      ID,
      topicOf(USER),
    ],
    [-60n, 60n, 10n, ID],
  )
  const { poolChanges, dropped } = decodeBlock(blockOf([log]), known)
  assert.deepEqual([poolChanges, dropped], [[], []])
})

test('a pool is asked about by its id, when the PoolManager named it', () => {
  const subjects = (log: Omit<Log, 'index'>) => subjectsOf(blockOf([log]), known.protocols).pools
  assert.deepEqual(subjects(swap([-1n, 1n])), [{ address: ID, family: 'uniswap_v4' }])
  assert.deepEqual(subjects(swap([-1n, 1n], ROUTER)), [])
})

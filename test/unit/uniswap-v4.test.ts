import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toEventSelector } from 'viem'
import type { DecodeContext } from '../../ingestors/decode/contract.ts'
import { wordOf } from '../../ingestors/evm/abi/words.ts'
import { priceCall, priceIn } from '../../ingestors/evm/decode/positions.ts'
import { decodeBlock, requiredLookups } from '../../ingestors/vm/decode-block.ts'
import type { Log, PoolMetadata } from '../../schemas/events.ts'
import {
  addressTopic,
  buildDecodeContext,
  buildPoolMetadata,
  ROUTER,
  TOKEN_A,
  TOKEN_B,
  transferLog,
  USER,
} from '../support/builders/dex-logs.ts'
import { buildLog, buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'
import { type SwapCase, testSwaps } from '../support/swap-cases.ts'

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
  buildLog(manager, [SWAP, ID, addressTopic(ROUTER)], [...amounts, PRICE, 5n, -1n, 3000n])
const fact = (more: Partial<PoolMetadata> = {}): PoolMetadata => ({
  ...buildPoolMetadata('uniswap_v4'),
  address: ID,
  ...more,
})
const known = buildDecodeContext('facts', [fact()])
const evidence = buildDecodeContext('evidence')

/** The sign is the swapper's. */
const CASES: readonly SwapCase<readonly bigint[]>[] = [
  ['token0 was paid in', [-10n, 7n], [0, 10n, 7n]],
  ['token1 was paid in', [7n, -10n], [1, 10n, 7n]],
  ['the largest numbers', [MIN, -MIN - 1n], [0, -MIN, -MIN - 1n]],
  ['nothing came out', [-1n, 0n], [0, 1n, 0n]],
  ['nothing came in', [0n, 1n], [0, 0n, 1n]],
  ['both were paid in', [-1n, -1n], 'zero-amount'],
  ['both came out', [1n, 1n], 'zero-amount'],
  ['nothing', [0n, 0n], 'zero-amount'],
  ['a number without an opposite', [-(1n << 255n), 1n], 'impossible-amount'],
]

testSwaps('V4', CASES, {
  decode: (amounts) => decodeBlock(buildSingleTransactionBlock([swap(amounts)]), known),
  decoder: 'uniswap_v4',
  trade: {
    pool: ID,
    vault: MANAGER,
    protocol: 'uniswap_v4',
    sqrtPriceX96: PRICE,
    liquidityRaw: 5n,
  },
})

test('only the listed PoolManager logs V4 swaps; cut data and other topics are not swaps', () => {
  const reasons = (log: Omit<Log, 'index'>, books = known) =>
    decodeBlock(buildSingleTransactionBlock([log]), books).dropped.map(({ reason }) => reason)
  assert.deepEqual(reasons(swap([-10n, 7n], ROUTER)), ['unlisted-contract'])
  assert.deepEqual(reasons(swap([-10n, 7n], ROUTER), evidence), ['unlisted-contract'])
  const log = swap([-10n, 7n])
  assert.deepEqual(reasons({ ...log, data: log.data.slice(0, -2) }), ['truncated-data'])
  const { swaps, dropped } = decodeBlock(
    buildSingleTransactionBlock([{ ...log, topics: log.topics.slice(0, 2) }]),
    known,
  )
  assert.deepEqual([swaps, dropped], [[], []])
  assert.deepEqual(
    decodeBlock(buildSingleTransactionBlock([log], { success: false }), known).swaps,
    [],
  )
  assert.deepEqual(reasons(log, buildDecodeContext('facts')), ['unknown-pool'])
  assert.deepEqual(reasons(log, buildDecodeContext('facts', [fact({ verified: false })])), [
    'unverified-pool',
  ])
})

test('Uniswap V4: the native coin is named as its wrapped token, and a pool of both gives no trade', () => {
  const coin = buildDecodeContext('facts', [fact({ tokenA: ZERO })])
  const { swaps } = decodeBlock(buildSingleTransactionBlock([swap([-10n, 7n])]), coin)
  assert.deepEqual(
    swaps.map(({ tokenIn, tokenOut }) => [tokenIn, tokenOut]),
    [[WETH, TOKEN_B]],
  )
  const both = buildDecodeContext('facts', [fact({ tokenA: ZERO, tokenB: WETH })])
  assert.deepEqual(
    decodeBlock(buildSingleTransactionBlock([swap([-10n, 7n])]), both).dropped.map(
      ({ reason }) => reason,
    ),
    ['same-token'],
  )
})

const named = (logs: readonly Omit<Log, 'index'>[]) =>
  decodeBlock(buildSingleTransactionBlock(logs), evidence).swaps.map(({ tokenIn, tokenOut }) => [
    tokenIn,
    tokenOut,
  ])

test('without a node, the PoolManager is trusted, and only transfers of the exact amounts name tokens', () => {
  const log = swap([-10n, 7n])
  const into = transferLog(TOKEN_A, USER, MANAGER, 10n)
  const out = transferLog(TOKEN_B, MANAGER, USER, 7n)
  assert.deepEqual(named([into, out, log]), [[TOKEN_A, TOKEN_B]])
  assert.deepEqual(named([log]), [[null, null]])
  assert.deepEqual(named([out, log]), [[null, TOKEN_B]], 'the coin was paid')
  assert.deepEqual(named([into, log]), [[TOKEN_A, null]], 'the coin came out')
  assert.deepEqual(
    named([transferLog(TOKEN_A, USER, MANAGER, 11n), transferLog(TOKEN_B, MANAGER, USER, 8n), log]),
    [[null, null]],
    'what else the contract moved',
  )
  assert.deepEqual(
    named([transferLog(TOKEN_B, USER, MANAGER, 10n), transferLog(TOKEN_A, MANAGER, USER, 7n), log]),
    [[null, null]],
    'against the order of tokens',
  )
})

const initialize = (fee: bigint, manager = MANAGER): Omit<Log, 'index'> =>
  buildLog(
    manager,
    [INITIALIZE, ID, addressTopic(ZERO), addressTopic(TOKEN_B)],
    [fee, 60n, ROUTER, PRICE, 0n],
  )

test('Uniswap V4: a pool is proven by its Initialize event and trades from then on; the dynamic fee flag is not a fee', () => {
  const made = decodeBlock(
    buildSingleTransactionBlock([initialize(3000n), swap([-10n, 7n])]),
    buildDecodeContext('facts'),
  )
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
  const hooked = decodeBlock(
    buildSingleTransactionBlock([initialize(0x800000n)]),
    buildDecodeContext('facts'),
  )
  assert.deepEqual(
    hooked.pools.map(({ feePips }) => feePips),
    [null],
  )
  assert.deepEqual(
    decodeBlock(buildSingleTransactionBlock([initialize(3000n, ROUTER)]), known).pools,
    [],
  )
})

const MODIFY = toEventSelector('ModifyLiquidity(bytes32,address,int24,int24,int256,bytes32)')
const modify = (
  [lower, upper, liquidity]: readonly [bigint, bigint, bigint],
  manager = MANAGER,
): Omit<Log, 'index'> =>
  buildLog(manager, [MODIFY, ID, addressTopic(USER)], [lower, upper, liquidity, ID])
const LIQUIDITY = 10n ** 18n
/** sqrt(1.0001^±60) - 1, of both tokens of a range of 60 ticks around a price of one. */
const SHARE = 0.0029955

const changesOf = (logs: readonly Omit<Log, 'index'>[], books: DecodeContext) => {
  const { poolChanges, dropped } = decodeBlock(buildSingleTransactionBlock(logs), books)
  return [
    ...poolChanges.map(({ kind, amountARaw, amountBRaw }) => [kind, amountARaw, amountBRaw]),
    ...dropped.map(({ reason }) => reason),
  ]
}

test('Uniswap V4: the amounts of a position follow from the price before the block or of an event in it', () => {
  const at = (price: bigint | undefined): DecodeContext => ({ ...known, price: () => price })
  const [[kind, first, second] = []] = changesOf([modify([-60n, 60n, LIQUIDITY])], at(PRICE))
  assert.equal(kind, 'increase')
  for (const amount of [first, second]) {
    assert.ok(Math.abs(Number(amount) / Number(LIQUIDITY) - SHARE) < 1e-6, String(amount))
  }
  const out = changesOf([modify([-60n, 60n, -LIQUIDITY])], at(PRICE))
  const [[, outFirst, outSecond] = []] = out
  assert.deepEqual(
    [
      BigInt(String(first)) - BigInt(String(outFirst)),
      BigInt(String(second)) - BigInt(String(outSecond)),
    ],
    [1n, 1n],
    'rounded down',
  )
  const above = changesOf([modify([60n, 120n, LIQUIDITY])], at(PRICE))
  assert.deepEqual(
    above.map(([, , other]) => other),
    [0n],
    'above the price: only the first token',
  )
  const below = changesOf([modify([-120n, -60n, LIQUIDITY])], at(PRICE))
  assert.deepEqual(
    below.map(([, one]) => one),
    [0n],
    'below the price: only the second token',
  )
  const moved = [swap([-10n, 7n]), modify([-60n, 60n, LIQUIDITY])]
  assert.deepEqual(changesOf(moved, at(PRICE * 2n)), [['increase', first, second]])
  const made = [initialize(3000n), modify([-60n, 60n, LIQUIDITY])]
  assert.deepEqual(changesOf(made, buildDecodeContext('facts')).slice(1), [
    ['increase', first, second],
  ])
  assert.deepEqual(changesOf([modify([-60n, 60n, LIQUIDITY])], at(undefined)), ['unknown-price'])
})

test('Uniswap V4: an impossible position is refused, and collecting only fees is not a change', () => {
  const books: DecodeContext = { ...known, price: () => PRICE }
  assert.deepEqual(changesOf([modify([-60n, 60n, 0n])], books), [])
  assert.deepEqual(changesOf([modify([-60n, 60n, LIQUIDITY], ROUTER)], books), [
    'unlisted-contract',
  ])
  for (const range of [
    [60n, 60n, 1n],
    [60n, -60n, 1n],
    [-900_000n, 60n, 1n],
    [-60n, 900_000n, 1n],
    [-60n, 60n, 1n << 128n],
    [-60n, 60n, -(1n << 255n)],
  ] as const) {
    assert.deepEqual(changesOf([modify(range)], books), ['impossible-amount'], String(range))
  }
})

test('the price is looked up at the PoolManager where no earlier swap of the block has it', () => {
  const asked = (logs: readonly Omit<Log, 'index'>[]) =>
    requiredLookups(buildSingleTransactionBlock(logs), known.protocols).prices
  const position = modify([-60n, 60n, LIQUIDITY])
  const subject = { pool: ID, manager: MANAGER, family: 'uniswap_v4' }
  assert.deepEqual(asked([position, swap([-1n, 1n])]), [subject])
  assert.equal(asked([swap([-1n, 1n]), position]), undefined)
  assert.equal(asked([modify([-60n, 60n, LIQUIDITY], ROUTER)]), undefined)
  assert.deepEqual(priceCall(subject).to, MANAGER)
  assert.equal(priceIn({ kind: 'value', data: `0x${wordOf((7n << 160n) | PRICE)}` }), PRICE)
  for (const answer of [
    undefined,
    { kind: 'reverted' },
    { kind: 'no-state' },
    { kind: 'value', data: '0x' },
    { kind: 'value', data: `0x${wordOf(7n << 160n)}` },
  ] as const) {
    assert.equal(priceIn(answer), undefined)
  }
})

test('a V4 pool is looked up by its id, when the PoolManager logged it', () => {
  const subjects = (log: Omit<Log, 'index'>) =>
    requiredLookups(buildSingleTransactionBlock([log]), known.protocols).pools
  assert.deepEqual(subjects(swap([-1n, 1n])), [{ address: ID, family: 'uniswap_v4' }])
  assert.deepEqual(subjects(swap([-1n, 1n], ROUTER)), [])
})

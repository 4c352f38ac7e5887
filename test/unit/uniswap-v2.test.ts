import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeBlock, requiredLookups } from '../../ingestors/vm/decode-block.ts'
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
  v2SyncLog,
  v3SwapLog,
} from '../support/builders/dex-logs.ts'
import { buildLog, buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'
import { type SwapCase, testSwaps } from '../support/swap-cases.ts'

const FACTORY = '0x5c69bee701ef814a2b6a3edd4b1652cb9cc5aa6f'
const known = buildDecodeContext('facts', [buildPoolMetadata('uniswap_v2')])
const evidence = buildDecodeContext('evidence')
const HUGE = 1n << 255n

const CASES: readonly SwapCase<readonly bigint[]>[] = [
  ['token0 sold', [10n, 0n, 0n, 7n], [0, 10n, 7n]],
  ['token1 sold', [0n, 10n, 7n, 0n], [1, 10n, 7n]],
  ['dust of the bought token came in too', [10n, 1n, 0n, 7n], [0, 10n, 6n]],
  ['part of the sold token went back', [10n, 0n, 4n, 7n], [0, 6n, 7n]],
  ['both sides in and out', [10n, 20n, 3n, 50n], [0, 7n, 30n]],
  ['flash swap paid in the other token', [0n, 12n, 5n, 0n], [1, 12n, 5n]],
  ['flash loan paid back with its fee', [1003n, 0n, 1000n, 0n], [0, 3n, 0n]],
  ['flash loan of both tokens', [1003n, 1003n, 1000n, 1000n], 'zero-amount'],
  ['paid in only', [10n, 0n, 0n, 0n], [0, 10n, 0n]],
  ['paid out only, token1', [0n, 0n, 0n, 7n], [0, 0n, 7n]],
  ['paid out only, token0', [0n, 0n, 7n, 0n], [1, 0n, 7n]],
  ['both sides out', [0n, 0n, 7n, 7n], 'zero-amount'],
  ['nothing', [0n, 0n, 0n, 0n], 'zero-amount'],
  ['as much back as in', [5n, 0n, 5n, 0n], 'zero-amount'],
  ['the most that may be', [HUGE - 1n, 0n, 0n, 1n], [0, HUGE - 1n, 1n]],
  ['more than may be in', [HUGE, 0n, 0n, 1n], 'impossible-amount'],
  ['a negative number', [1n, 0n, 0n, -1n], 'impossible-amount'],
]

testSwaps('V2', CASES, {
  decode: (amounts) => decodeBlock(buildSingleTransactionBlock([v2SwapLog(amounts)]), known),
  decoder: 'uniswap_v2',
  trade: { pool: POOL, protocol: 'uniswap_v2' },
})

test('Uniswap V2: truncated data is dropped, longer data is read, another number of topics is another event', () => {
  const swap = v2SwapLog([10n, 0n, 0n, 7n])
  const { swaps, dropped } = decodeBlock(
    buildSingleTransactionBlock([
      { ...swap, data: swap.data.slice(0, -2) },
      { ...swap, data: '0x' },
      { ...swap, data: `${swap.data}ff` },
      { ...swap, topics: swap.topics.slice(0, 1) },
      { ...swap, topics: [] },
    ]),
    known,
  )
  assert.deepEqual(
    dropped.map(({ reason, logIndex }) => [reason, logIndex]),
    [
      ['truncated-data', 0],
      ['truncated-data', 1],
    ],
  )
  assert.deepEqual(
    swaps.map(({ logIndex }) => logIndex),
    [2],
  )
})

test('Uniswap V2: with pool facts, a swap counts only in a proven pool of its own family', () => {
  const reason = (books: typeof known, log = v2SwapLog([10n, 0n, 0n, 7n])) => {
    const { swaps, dropped } = decodeBlock(
      buildSingleTransactionBlock([v2SyncLog([9n, 9n]), log]),
      books,
    )
    assert.deepEqual(swaps, [])
    return dropped.map((each) => each.reason)
  }
  assert.deepEqual(reason(buildDecodeContext('facts')), ['unknown-pool'])
  assert.deepEqual(reason(buildDecodeContext('facts', [buildPoolMetadata('uniswap_v2', false)])), [
    'unverified-pool',
  ])
  assert.deepEqual(reason(buildDecodeContext('facts', [buildPoolMetadata('uniswap_v3')])), [
    'unlisted-contract',
  ])
  assert.deepEqual(reason(known, v3SwapLog([10n, -7n, 1n, 1n, 0n])), ['unlisted-contract'])
})

test('Uniswap V2: reserves come from the Sync event just before, and each Sync serves one event', () => {
  const { swaps } = decodeBlock(
    buildSingleTransactionBlock([
      v2SyncLog([1n, 2n]),
      v2SyncLog([100n, 200n]),
      v2SwapLog([10n, 0n, 0n, 7n]),
      v2SwapLog([10n, 0n, 0n, 7n]),
      v2SyncLog([5n, 5n], ROUTER),
      v2SwapLog([10n, 0n, 0n, 7n]),
    ]),
    known,
  )
  assert.deepEqual(
    swaps.map(({ reserves }) => reserves),
    [[100n, 200n], undefined, undefined],
  )
})

test('Uniswap V2: without a node, a Sync event of the pool proves a swap but names no token', () => {
  const { swaps, dropped } = decodeBlock(
    buildSingleTransactionBlock([
      v2SwapLog([10n, 0n, 0n, 7n]),
      v2SyncLog([100n, 200n]),
      v2SwapLog([10n, 0n, 0n, 7n]),
    ]),
    evidence,
  )
  assert.deepEqual(
    dropped.map(({ reason, logIndex }) => [reason, logIndex]),
    [['no-matching-transfers', 0]],
  )
  assert.deepEqual(
    swaps.map(({ tokenIn, tokenOut, protocol, logIndex }) => [
      tokenIn,
      tokenOut,
      protocol,
      logIndex,
    ]),
    [[null, null, 'uniswap_v2', 2]],
  )
})

test('Uniswap V2: without a node, transfers in and out name the tokens, also with a fee on transfer', () => {
  const named = (logs: Parameters<typeof buildSingleTransactionBlock>[0]) =>
    decodeBlock(buildSingleTransactionBlock(logs), evidence).swaps.map(({ tokenIn, tokenOut }) => [
      tokenIn,
      tokenOut,
    ])
  const into = transferLog(TOKEN_A, USER, POOL, 10n)
  const out = transferLog(TOKEN_B, POOL, USER, 7n)
  const swap = v2SwapLog([10n, 0n, 0n, 7n])
  assert.deepEqual(named([into, out, swap]), [[TOKEN_A, TOKEN_B]])
  assert.deepEqual(
    named([
      into,
      transferLog(TOKEN_B, POOL, USER, 6n),
      transferLog(TOKEN_B, POOL, ROUTER, 1n),
      swap,
    ]),
    [[TOKEN_A, TOKEN_B]],
  )
  const other = '0x0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c'
  assert.deepEqual(named([into, transferLog(other, POOL, USER, 6n), out, swap]), [
    [TOKEN_A, TOKEN_B],
  ])
  assert.deepEqual(
    named([into, transferLog(other, POOL, USER, 6n), transferLog(TOKEN_B, POOL, USER, 6n), swap]),
    [[TOKEN_A, null]],
    'two candidates: none is named',
  )
})

test('Uniswap V2: without a node, a swap with one zero amount is proven by the other side; further transfers of the pool name the second token', () => {
  const sides = (logs: Parameters<typeof buildSingleTransactionBlock>[0]) =>
    decodeBlock(buildSingleTransactionBlock(logs), evidence).swaps.map(({ tokenIn, tokenOut }) => [
      tokenIn,
      tokenOut,
    ])
  const [paidA, gotB] = [v2SwapLog([10n, 0n, 0n, 0n]), v2SwapLog([0n, 0n, 0n, 7n])]
  const into = transferLog(TOKEN_A, USER, POOL, 10n)
  const out = transferLog(TOKEN_B, POOL, USER, 7n)
  assert.deepEqual(sides([into, paidA]), [[TOKEN_A, null]])
  assert.deepEqual(sides([into, out, paidA]), [[TOKEN_A, TOKEN_B]])
  assert.deepEqual(sides([out, gotB]), [[null, TOKEN_B]])
  assert.deepEqual(sides([transferLog(TOKEN_A, USER, POOL, 9n), paidA]), [[TOKEN_A, null]], 'a fee')
  const loan = [transferLog(TOKEN_A, POOL, USER, 1000n), transferLog(TOKEN_A, USER, POOL, 1003n)]
  assert.deepEqual(sides([...loan, v2SwapLog([1003n, 0n, 1000n, 0n])]), [[TOKEN_A, null]])
  assert.deepEqual(sides([paidA]), [], 'nothing moved')
  assert.deepEqual(sides([out, paidA]), [], 'the wrong way')
  const wrong = transferLog(TOKEN_B, USER, POOL, 10n)
  const other = transferLog(TOKEN_A, POOL, USER, 7n)
  assert.deepEqual(sides([wrong, other, paidA]), [], 'against the order of tokens')
})

test('Uniswap V2: without a node, logs that any contract can write about itself are not evidence', () => {
  const kept = (logs: Parameters<typeof buildSingleTransactionBlock>[0]) =>
    decodeBlock(buildSingleTransactionBlock(logs), evidence).swaps.length
  const swap = v2SwapLog([10n, 0n, 0n, 7n])
  const into = transferLog(TOKEN_A, USER, POOL, 10n)
  assert.equal(kept([swap]), 0)
  assert.equal(kept([into, swap]), 0, 'nothing left the pool')
  assert.equal(kept([into, transferLog(POOL, POOL, USER, 7n), swap]), 0, "the pool's own token")
  assert.equal(kept([into, transferLog(TOKEN_A, POOL, USER, 7n), swap]), 0, 'one token both ways')
  assert.equal(
    kept([transferLog(TOKEN_B, USER, POOL, 10n), transferLog(TOKEN_A, POOL, USER, 7n), swap]),
    0,
    'against the order of tokens',
  )
  assert.equal(kept([into, transferLog(TOKEN_B, POOL, USER, 0n), swap]), 0, 'nothing moved')
  assert.equal(kept([v2SyncLog([1n, 1n], ROUTER), swap]), 0, "another pool's Sync")
})

test('Uniswap V2: a pair of a listed factory is proven from its creation on, a pair of another factory is not', () => {
  const created = (factory: string) =>
    buildLog(factory, [TOPIC.pairCreated, addressTopic(TOKEN_A), addressTopic(TOKEN_B)], [POOL, 1n])
  const logs = [
    v2SyncLog([10n, 20n]),
    buildLog(POOL, [TOPIC.v2Mint, addressTopic(ROUTER)], [10n, 20n]),
    v2SwapLog([10n, 0n, 0n, 7n]),
  ]
  const real = decodeBlock(
    buildSingleTransactionBlock([created(FACTORY), ...logs]),
    buildDecodeContext('facts'),
  )
  assert.deepEqual(real.pools, [{ ...buildPoolMetadata('uniswap_v2'), factory: FACTORY }])
  assert.deepEqual(
    real.poolChanges.map(({ kind, tokenA, amountARaw, amountBRaw, reserves }) => [
      kind,
      tokenA,
      amountARaw,
      amountBRaw,
      reserves,
    ]),
    [
      ['initialize', TOKEN_A, 0n, 0n, undefined],
      ['increase', TOKEN_A, 10n, 20n, [10n, 20n]],
    ],
  )
  assert.equal(real.swaps.length, 1)
  const forged = decodeBlock(
    buildSingleTransactionBlock([created(USER), ...logs]),
    buildDecodeContext('facts'),
  )
  assert.deepEqual([forged.pools, forged.poolChanges, forged.swaps], [[], [], []])
  assert.deepEqual(
    forged.dropped.map(({ reason }) => reason),
    ['unknown-pool', 'unknown-pool'],
  )
})

test('Uniswap V2: a Burn event is a decrease of liquidity', () => {
  const burn = buildLog(POOL, [TOPIC.v2Burn, addressTopic(ROUTER), addressTopic(USER)], [3n, 4n])
  const { poolChanges } = decodeBlock(
    buildSingleTransactionBlock([v2SyncLog([1n, 2n]), burn]),
    known,
  )
  assert.deepEqual(
    poolChanges.map(({ kind, amountARaw, amountBRaw, reserves }) => [
      kind,
      amountARaw,
      amountBRaw,
      reserves,
    ]),
    [['decrease', 3n, 4n, [1n, 2n]]],
  )
})

test('Uniswap V2: a failed transaction gives no swaps and no look-ups', () => {
  const block = buildSingleTransactionBlock([v2SyncLog([1n, 1n]), v2SwapLog([10n, 0n, 0n, 7n])], {
    success: false,
  })
  const { swaps, dropped } = decodeBlock(block, evidence)
  assert.deepEqual([swaps, dropped], [[], []])
  assert.deepEqual(requiredLookups(block, known.protocols), { pools: [], tokens: [] })
})

test('the trader of an EVM swap is the signer, or the account of its ERC-4337 operation', () => {
  const [first, second] = [`0x${'51'.repeat(20)}`, `0x${'52'.repeat(20)}`]
  const operation = (sender: string, entryPoint = '0x0000000071727de22e5e9d8baf0edac6f37da032') =>
    buildLog(
      entryPoint,
      [TOPIC.userOperation, `0x${'00'.repeat(32)}`, addressTopic(sender), addressTopic(ROUTER)],
      [1n, 1n, 1n, 1n],
    )
  const swap = v2SwapLog([10n, 0n, 0n, 7n])
  const block = buildSingleTransactionBlock(
    [swap, operation(USER, ROUTER), swap, operation(first), operation(second), swap],
    { from: ROUTER },
  )
  const traders = decodeBlock(block, known).swaps.map(({ trader }) => trader)
  assert.deepEqual(traders, [first, first, ROUTER])
})

test('the look-ups of an EVM block are the pools and tokens that its events name, each once', () => {
  const swap = v2SwapLog([10n, 0n, 0n, 7n])
  const pay = transferLog(TOKEN_A, USER, POOL, 1n)
  assert.deepEqual(
    requiredLookups(
      buildSingleTransactionBlock([swap, swap, pay, pay, v3SwapLog([1n, -1n, 1n, 1n, 0n], ROUTER)]),
      known.protocols,
    ),
    {
      pools: [
        { address: POOL, family: 'uniswap_v2' },
        { address: ROUTER, family: 'uniswap_v3' },
      ],
      tokens: [TOKEN_A],
    },
  )
})

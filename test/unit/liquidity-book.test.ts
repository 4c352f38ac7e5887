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
} from '../support/builders/dex-logs.ts'
import { buildLog, buildSingleTransactionBlock, hexWord } from '../support/recordings/ethereum.ts'
import { type SwapCase, testSwaps } from '../support/swap-cases.ts'

const FACTORY = '0x8e42f2f4101563bf679975178e880fd87d3efd4e'
type Words = readonly (bigint | string)[]
const HALF = 2n ** 128n
const packed = (x: bigint, y: bigint): bigint => y * HALF + x
/** The pool's own order is not that of addresses. */
const fact = { ...buildPoolMetadata('lfj_v2_1'), tokenA: TOKEN_B, tokenB: TOKEN_A }
const known = buildDecodeContext('facts', [fact], 'avalanche')
const decoded = (logs: Parameters<typeof buildSingleTransactionBlock>[0], books = known) =>
  decodeBlock(buildSingleTransactionBlock(logs), books)
const people = [addressTopic(ROUTER), addressTopic(USER)]
const swap = (ins: bigint, outs: bigint) =>
  buildLog(POOL, [TOPIC.binSwap, ...people], [8_375_111n, ins, outs, 0n, 0n, 0n])
const plain = (words: Words) =>
  buildLog(POOL, [TOPIC.binSwapV20, ...people, `0x${hexWord(8_375_111n)}`], words)

const CASES: readonly SwapCase<ReturnType<typeof buildLog>>[] = [
  ['X sold', swap(packed(10n, 0n), packed(0n, 7n)), [1, 10n, 7n]],
  ['Y sold', swap(packed(0n, 10n), packed(7n, 0n)), [0, 10n, 7n]],
  [
    'the largest amounts',
    swap(packed(HALF - 1n, 0n), packed(0n, HALF - 1n)),
    [1, HALF - 1n, HALF - 1n],
  ],
  ['part of what came in went back', swap(packed(10n, 0n), packed(7n, 0n)), [1, 3n, 0n]],
  ['nothing', swap(0n, 0n), 'zero-amount'],
  ['a word missing', { ...swap(1n, 1n), data: swap(1n, 1n).data.slice(0, -64) }, 'truncated-data'],
  ['V2.0, X sold, fee beside', plain([1n, 9n, 7n, 0n, 1n]), [1, 10n, 7n]],
  ['V2.0, Y sold, fee beside', plain([0n, 9n, 7n, 0n, 1n]), [0, 10n, 7n]],
  ['V2.0, nothing out', plain([0n, 9n, 0n, 0n, 1n]), [0, 10n, 0n]],
  ['V2.0, a fee beyond any token', plain([0n, 9n, 7n, 0n, 2n ** 256n - 1n]), 'impossible-amount'],
  ['V2.0, a word missing', plain([0n, 9n, 7n, 0n]), 'truncated-data'],
]

testSwaps('Liquidity Book', CASES, {
  // What they did to the bins is tested below.
  decode: (log) => {
    const block = decoded([log])
    return { ...block, swaps: block.swaps.map(({ bins: _bins, ...swap }) => swap) }
  },
  decoder: 'liquidity_book',
  trade: { pool: POOL, protocol: 'lfj_v2_1' },
})

test('what a swap tells of the bins: what its bin got and gave, and the volatility; the trader also paid the part of the protocol', () => {
  const { swaps } = decoded([
    buildLog(
      POOL,
      [TOPIC.binSwap, ...people],
      [8_375_111n, packed(10n, 0n), packed(0n, 7n), 20_000n, packed(3n, 0n), packed(2n, 0n)],
    ),
  ])
  assert.deepEqual(
    swaps.map(({ amountInRaw, amountOutRaw, bins }) => [amountInRaw, amountOutRaw, bins]),
    [
      [
        12n,
        7n,
        {
          moves: [{ bin: 8_375_111, xRaw: 10n, yRaw: -7n }],
          activeBin: 8_375_111,
          volatility: 20_000,
        },
      ],
    ],
  )
})

test('a swap gives one trade for each bin that it passes', () => {
  const { swaps } = decoded([
    swap(packed(10n, 0n), packed(0n, 7n)),
    swap(packed(3n, 0n), packed(0n, 2n)),
  ])
  assert.deepEqual(
    swaps.map(({ logIndex, amountInRaw, amountOutRaw }) => [logIndex, amountInRaw, amountOutRaw]),
    [
      [0, 10n, 7n],
      [1, 3n, 2n],
    ],
  )
})

test('without a node, transfers in any order name the tokens', () => {
  const books = buildDecodeContext('evidence', [], 'arbitrum')
  const { swaps } = decoded(
    [
      transferLog(TOKEN_B, USER, POOL, 10n),
      transferLog(TOKEN_A, POOL, USER, 7n),
      swap(packed(10n, 0n), packed(0n, 7n)),
    ],
    books,
  )
  assert.deepEqual(
    swaps.map(({ tokenIn, tokenOut, protocol }) => [tokenIn, tokenOut, protocol]),
    [[TOKEN_B, TOKEN_A, 'lfj_v2_1']],
  )
  const alone = decoded([swap(packed(10n, 0n), packed(0n, 7n))], books)
  assert.deepEqual(
    alone.dropped.map(({ reason }) => reason),
    ['no-matching-transfers'],
  )
})

test('without a node, amounts of a deposit are matched to tokens by transfers, never by address order', () => {
  const books = buildDecodeContext('evidence', [], 'arbitrum')
  const into = [transferLog(TOKEN_B, USER, POOL, 100n), transferLog(TOKEN_A, USER, POOL, 5n)]
  const log = buildLog(POOL, [TOPIC.binDeposit, ...people, `0x${hexWord(1n)}`], [100n, 5n])
  assert.deepEqual(
    decoded([...into, log], books).poolChanges.map((change) => [
      change.tokenA,
      change.amountARaw,
      change.tokenB,
      change.amountBRaw,
    ]),
    [[TOKEN_B, 100n, TOKEN_A, 5n]],
  )
  const part = transferLog(TOKEN_B, USER, POOL, 130n)
  assert.deepEqual(
    decoded([part, ...into.slice(1), log], books).dropped.map(({ reason }) => reason),
    ['unknown-token'],
  )
})

test('without a node, one transfer per side confirms a swap through several bins', () => {
  const books = buildDecodeContext('evidence', [], 'arbitrum')
  const { swaps } = decoded(
    [
      transferLog(TOKEN_B, USER, POOL, 13n),
      swap(packed(10n, 0n), packed(0n, 7n)),
      swap(packed(3n, 0n), packed(0n, 2n)),
      transferLog(TOKEN_A, POOL, USER, 9n),
    ],
    books,
  )
  assert.deepEqual(
    swaps.map(({ tokenIn, tokenOut, amountInRaw }) => [tokenIn, tokenOut, amountInRaw]),
    [
      [TOKEN_B, TOKEN_A, 10n],
      [TOKEN_B, TOKEN_A, 3n],
    ],
  )
})

const bins = (topic: string, words: Words) => buildLog(POOL, [topic, ...people], words)

test('a liquidity change is the sum over its bins', () => {
  const lists = [
    64n,
    160n,
    ...[2n, 8_375_111n, 8_375_112n],
    ...[2n, packed(1n, 2n), packed(HALF - 1n, 4n)],
  ]
  const { poolChanges } = decoded([
    bins(TOPIC.binsDeposit, lists),
    bins(TOPIC.binsWithdraw, lists),
    buildLog(POOL, [TOPIC.binDeposit, ...people, `0x${hexWord(1n)}`], [5n, 6n]),
    buildLog(POOL, [TOPIC.binWithdraw, ...people, `0x${hexWord(1n)}`], [7n, 8n]),
    bins(TOPIC.binsDeposit, [64n, 96n, 0n, 0n]),
  ])
  assert.deepEqual(
    poolChanges.map(({ kind, tokenA, amountARaw, amountBRaw }) => [
      ...[kind, tokenA],
      ...[amountARaw, amountBRaw],
    ]),
    [
      ['increase', TOKEN_B, HALF, 6n],
      ['decrease', TOKEN_B, HALF, 6n],
      ['increase', TOKEN_B, 5n, 6n],
      ['decrease', TOKEN_B, 7n, 8n],
      ['increase', TOKEN_B, 0n, 0n],
    ],
  )
})

const BROKEN: readonly (readonly [string, Words])[] = [
  ['lists without an offset', [64n]],
  ['an offset beyond the data', [64n, 2n ** 255n, 0n, 0n]],
  ['an offset just beyond the data', [64n, 128n, 0n, 0n]],
  ['an offset between words', [64n, 97n, 0n, 0n]],
  ['a length of 2^255', [64n, 96n, 0n, 2n ** 255n]],
  ['a length one too many', [64n, 96n, 0n, 1n]],
]

for (const [what, words] of BROKEN) {
  test(`deposits with ${what} are dropped`, () => {
    const { poolChanges, dropped } = decoded([bins(TOPIC.binsDeposit, words)])
    assert.deepEqual(poolChanges, [])
    assert.deepEqual(
      dropped.map(({ reason }) => reason),
      ['truncated-data'],
    )
  })
}

test('a pair of a listed factory keeps its own token order', () => {
  const made = (factory: string) =>
    buildLog(
      factory,
      [TOPIC.binPair, addressTopic(TOKEN_B), addressTopic(TOKEN_A), `0x${hexWord(20n)}`],
      [POOL, 5n],
    )
  const books = buildDecodeContext('facts', [], 'avalanche')
  const { pools, swaps } = decoded([made(FACTORY), swap(packed(10n, 0n), packed(0n, 7n))], books)
  assert.deepEqual(pools, [{ ...fact, factory: FACTORY, feePips: null }])
  assert.equal(swaps[0]?.tokenIn, TOKEN_B)
  assert.deepEqual(decoded([made(ROUTER)], books).pools, [])
})

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
import { buildLog, buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'
import { type SwapCase, testSwaps } from '../support/swap-cases.ts'

const FACTORY = '0x1f98431c8ad98523631ae4a59f267346ea31f984'
const known = buildDecodeContext('facts', [buildPoolMetadata('uniswap_v3')])
const evidence = buildDecodeContext('evidence')
const PRICE = 79228162514264337593543950336n
const MIN = -(1n << 255n)

const CASES: readonly SwapCase<readonly bigint[]>[] = [
  ['token0 sold', [10n, -7n], [0, 10n, 7n]],
  ['token1 sold', [-7n, 10n], [1, 10n, 7n]],
  ['the largest numbers', [-MIN - 1n, MIN + 1n], [0, -MIN - 1n, -MIN - 1n]],
  ['nothing came out', [1n, 0n], [0, 1n, 0n]],
  ['nothing came in', [0n, -1n], [0, 0n, 1n]],
  ['both came in', [1n, 1n], 'zero-amount'],
  ['both went out', [-1n, -1n], 'zero-amount'],
  ['nothing', [0n, 0n], 'zero-amount'],
  ['the number without an opposite', [1n, MIN], 'impossible-amount'],
]

testSwaps('V3', CASES, {
  decode: (amounts) =>
    decodeBlock(
      buildSingleTransactionBlock([v3SwapLog([...amounts, PRICE, 5n, -887_272n])]),
      known,
    ),
  decoder: 'uniswap_v3',
  trade: {
    pool: POOL,
    protocol: 'uniswap_v3',
    sqrtPriceX96: PRICE,
    liquidityRaw: 5n,
    tick: -887_272,
  },
})

test('the longer swap event of PancakeSwap V3 has its own topic and its own protocol', () => {
  const topics = [TOPIC.pancakeV3Swap, addressTopic(ROUTER), addressTopic(USER)]
  const logs = [
    transferLog(TOKEN_A, USER, POOL, 10n),
    transferLog(TOKEN_B, POOL, USER, 7n),
    buildLog(POOL, topics, [10n, -7n, PRICE, 5n, 1n, 0n, 0n]),
    buildLog(POOL, topics, [10n, -7n, PRICE, 5n, 1n]),
  ]
  const { swaps, dropped } = decodeBlock(buildSingleTransactionBlock(logs), evidence)
  assert.deepEqual(
    swaps.map(({ protocol, logIndex }) => [protocol, logIndex]),
    [['pancakeswap_v3', 2]],
  )
  assert.deepEqual(
    dropped.map(({ reason }) => reason),
    ['truncated-data'],
  )
})

test('Uniswap V3: without a node, a swap needs transfers as evidence', () => {
  const swap = v3SwapLog([-7n, 10n, PRICE, 5n, 0n])
  const kept = (logs: Parameters<typeof buildSingleTransactionBlock>[0]) =>
    decodeBlock(buildSingleTransactionBlock(logs), evidence).swaps.map(({ tokenIn, tokenOut }) => [
      tokenIn,
      tokenOut,
    ])
  assert.deepEqual(kept([swap]), [])
  assert.deepEqual(kept([transferLog(TOKEN_B, USER, POOL, 10n), swap]), [])
  assert.deepEqual(
    kept([transferLog(TOKEN_A, POOL, USER, 7n), transferLog(TOKEN_B, USER, POOL, 10n), swap]),
    [[TOKEN_B, TOKEN_A]],
  )
})

test('Uniswap V3: positions are increased, decreased and paid out; an event without amounts is not a change', () => {
  const position = [addressTopic(USER), `0x${'ff'.repeat(32)}`, `0x${'00'.repeat(32)}`]
  const { poolChanges } = decodeBlock(
    buildSingleTransactionBlock([
      buildLog(POOL, [TOPIC.v3Initialize], [PRICE, 0n]),
      buildLog(POOL, [TOPIC.v3Mint, ...position], [ROUTER, 99n, 10n, 20n]),
      buildLog(POOL, [TOPIC.v3Burn, ...position], [0n, 0n, 0n]),
      buildLog(POOL, [TOPIC.v3Burn, ...position], [99n, 9n, 19n]),
      buildLog(POOL, [TOPIC.v3Collect, ...position], [USER, 11n, 21n]),
    ]),
    known,
  )
  assert.deepEqual(
    poolChanges.map(({ kind, amountARaw, amountBRaw, logIndex }) => [
      kind,
      amountARaw,
      amountBRaw,
      logIndex,
    ]),
    [
      ['initialize', 0n, 0n, 0],
      ['increase', 10n, 20n, 1],
      ['decrease', 9n, 19n, 3],
      ['collect', 11n, 21n, 4],
    ],
  )
})

test('Uniswap V3: a pool of the listed factory is proven with its fee; a V3 event of a V2 factory proves nothing', () => {
  const created = (factory: string) =>
    buildLog(
      factory,
      [
        TOPIC.poolCreated,
        addressTopic(TOKEN_A),
        addressTopic(TOKEN_B),
        `0x${500n.toString(16).padStart(64, '0')}`,
      ],
      [10n, POOL],
    )
  const swap = v3SwapLog([10n, -7n, PRICE, 5n, 0n])
  const { pools, poolChanges, swaps } = decodeBlock(
    buildSingleTransactionBlock([created(FACTORY), swap]),
    buildDecodeContext('facts'),
  )
  assert.deepEqual(pools, [{ ...buildPoolMetadata('uniswap_v3'), factory: FACTORY, feePips: 500 }])
  assert.deepEqual(poolChanges, [], 'the pool opens with its Initialize')
  assert.equal(swaps.length, 1)
  const v2Factory = '0x5c69bee701ef814a2b6a3edd4b1652cb9cc5aa6f'
  assert.deepEqual(
    decodeBlock(
      buildSingleTransactionBlock([created(v2Factory), swap]),
      buildDecodeContext('facts'),
    ).pools,
    [],
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DecodeContext } from '../../ingestors/decode/contract.ts'
import type { PoolMetadata } from '../../schemas/events.ts'
import {
  buildMoveEvent,
  buildMoveTransaction,
  decodeMoveTransactions,
  encodeBcs,
  objectIdFor,
  SUI,
  TEST_COIN,
  typeNameOf,
  USDC,
} from '../support/builders/move-block.ts'
import { suiDecodeContext } from '../support/recordings/sui.ts'

const POOL = objectIdFor('pool')
const owner = objectIdFor('owner')

type Said = Readonly<Record<string, unknown>> | Buffer
/** An event's name with what it says. */
type Event = readonly [name: string, said: Said]

const FACT: PoolMetadata = {
  address: POOL,
  tokenA: SUI,
  tokenB: USDC,
  protocol: 'aftermath',
  factory: null,
  feePips: null,
  verified: true,
}
const KNOWN = suiDecodeContext([FACT])

/** What such events of one transaction come to: the changes, and the reasons of those that were dropped. */
const taken = (events: readonly Event[], books: DecodeContext = suiDecodeContext()) => {
  const { poolChanges, dropped } = decodeMoveTransactions(
    [
      buildMoveTransaction(
        events.map(([name, said]) => buildMoveEvent('aftermath', `events::${name}`, said)),
      ),
    ],
    books,
  )
  return [
    poolChanges.map((change) => [
      ...[change.kind, change.tokenA, change.amountARaw, change.tokenB, change.amountBRaw],
    ]),
    dropped.map(({ reason }) => reason),
  ]
}

/** Bytes of the first version; `held` makes them the second's. */
const moved = (coins: readonly string[], amounts: readonly bigint[], held?: readonly bigint[]) =>
  encodeBcs(
    POOL,
    owner,
    null,
    coins.map(typeNameOf),
    amounts,
    ...(held === undefined ? [] : [held]),
    7n,
  )

const created = (coins: readonly string[]): Event => [
  'CreatedPoolEvent',
  encodeBcs(POOL, 'name', owner, 'x::y::Z', coins.map(typeNameOf), [1n, 1n]),
]
const OPENED = ['initialize', SUI, 0n, USDC, 0n]

test('a deposit of one coin, or of both the other way round, is read by the coins of the pool', () => {
  for (const [name, held] of [
    ['DepositEvent', undefined],
    ['DepositEventV2', [1_000n, 400n]],
  ] as const) {
    for (const [coins, amounts, expected] of [
      [[SUI], [100n], ['increase', SUI, 100n, USDC, 0n]],
      [[USDC], [40n], ['increase', SUI, 0n, USDC, 40n]],
      [
        [USDC, SUI],
        [40n, 100n],
        ['increase', SUI, 100n, USDC, 40n],
      ],
    ] as const) {
      const said: Event = [name, moved(coins, amounts, held)]
      assert.deepEqual(taken([created([SUI, USDC]), said]), [[OPENED, expected], []], 'just opened')
      assert.deepEqual(taken([said], KNOWN), [[expected], []], 'by a fact')
    }
  }
})

test('a withdrawal by name, of both versions', () => {
  const said = {
    pool_id: POOL,
    issuer: owner,
    referrer: null,
    types: [typeNameOf(USDC)],
    withdrawn: ['40'],
  }
  const expected = [[['decrease', SUI, 0n, USDC, 40n]], []]
  assert.deepEqual(taken([['WithdrawEvent', { ...said, lp_coins_burned: '7' }]], KNOWN), expected)
  const held = { ...said, reserves: ['1000', '360'], lp_coins_burned: '7' }
  assert.deepEqual(taken([['WithdrawEventV2', held]], KNOWN), expected)
})

test('an Aftermath pool is known from an event that names two coins where the pool holds two', () => {
  const one: Event = ['DepositEventV2', moved([TEST_COIN], [5n], [100n, 200n])]
  assert.deepEqual(taken([one]), [[], ['unknown-pool']])
  const two: Event = ['DepositEventV2', moved([TEST_COIN, SUI], [5n, 6n], [100n, 200n])]
  assert.deepEqual(taken([two, one]), [
    [
      ['increase', SUI, 6n, TEST_COIN, 5n],
      ['increase', SUI, 0n, TEST_COIN, 5n],
    ],
    [],
  ])
  const swapped: Event = [
    'SwapEventV2',
    encodeBcs(
      POOL,
      owner,
      null,
      [typeNameOf(TEST_COIN)],
      [9n],
      [typeNameOf(SUI)],
      [8n],
      [100n, 200n],
    ),
  ]
  assert.deepEqual(taken([swapped, one]), [[['increase', SUI, 0n, TEST_COIN, 5n]], []])
})

test('an Aftermath pool lists its coins by their full addresses', () => {
  const early = '0x1abc::coin::COIN'
  const said = buildMoveEvent(
    'aftermath',
    'events::SwapEventV2',
    encodeBcs(POOL, owner, null, [typeNameOf(early)], [9n], [typeNameOf(SUI)], [8n], [100n, 200n]),
  )
  const { pools } = decodeMoveTransactions([buildMoveTransaction([said, said])])
  assert.deepEqual(
    pools.map(({ address, tokenA, tokenB, protocol, verified }) => [
      ...[address, tokenA, tokenB, protocol, verified],
    ]),
    [[POOL, SUI, early, 'aftermath', true]],
  )
})

test('an Aftermath pool of three coins is not supported, however many an event names', () => {
  const held = [1n, 2n, 3n]
  for (const coins of [[SUI], [SUI, USDC], [SUI, USDC, TEST_COIN]]) {
    const amounts = coins.map(() => 5n)
    const said: Event = ['DepositEventV2', moved(coins, amounts, held)]
    assert.deepEqual(taken([said]), [[], ['unsupported-coin-count']])
  }
  const three = moved([SUI, USDC, TEST_COIN], [1n, 2n, 3n])
  assert.deepEqual(taken([['WithdrawEvent', three]]), [[], ['unsupported-coin-count']])
  const opened = created([SUI, USDC, TEST_COIN])
  const after: Event = ['DepositEvent', moved([SUI, USDC], [1n, 2n])]
  assert.deepEqual(taken([opened, after]), [[], ['unsupported-coin-count', 'unknown-pool']])
  const swapped: Event = [
    'SwapEventV2',
    encodeBcs(POOL, owner, null, [typeNameOf(SUI)], [9n], [typeNameOf(USDC)], [8n], held),
  ]
  assert.deepEqual(taken([swapped, after]), [[], ['unknown-pool']])
})

test('without its pool a deposit event of the first version is dropped as unknown-pool, calls included', () => {
  const said = buildMoveEvent('aftermath', 'events::DepositEvent', moved([SUI, USDC], [1n, 2n]))
  const calls = [{ typeArguments: [`${objectIdFor('lp')}::lp::LP`, SUI, USDC], objects: [POOL] }]
  const { poolChanges, dropped } = decodeMoveTransactions([buildMoveTransaction([said], { calls })])
  assert.deepEqual([poolChanges, dropped[0]?.reason], [[], 'unknown-pool'])
})

test('an Aftermath event that does not fit its pool, or itself, is dropped', () => {
  const reasonOf = (said: Said, name = 'DepositEvent') => taken([[name, said]], KNOWN)
  assert.deepEqual(reasonOf(moved([TEST_COIN], [1n])), [[], ['unknown-token']])
  assert.deepEqual(reasonOf(moved([SUI, USDC], [1n])), [[], ['bad-field']])
  assert.deepEqual(reasonOf(moved([SUI, SUI], [1n, 2n])), [[], ['bad-field']])
  assert.deepEqual(reasonOf(moved([SUI], [1n]).subarray(0, 70)), [[], ['truncated-data']])
  assert.deepEqual(reasonOf({ pool_id: POOL, types: [typeNameOf(SUI)] }), [[], ['missing-field']])
  assert.deepEqual(reasonOf(moved([SUI], [0n], [1n, 2n]), 'WithdrawEventV2'), [[], []])
})

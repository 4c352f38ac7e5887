import assert from 'node:assert/strict'
import { test } from 'node:test'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { requiredLookups } from '../../ingestors/vm/decode-block.ts'
import {
  buildMoveBlock,
  buildMoveEvent,
  buildMoveTransaction,
  buildPoolObject,
  decodeMoveTransactions,
  encodeBcs,
  objectIdFor,
  SUI,
  TEST_COIN,
  typeNameOf,
  USDC,
  u8,
  u128,
} from '../support/builders/move-block.ts'

const POOL = objectIdFor('pool')
const POSITION = objectIdFor('position')

type Said = Readonly<Record<string, unknown>>
type Case = readonly [protocol: string, name: string, said: Said | Buffer, expected: unknown]

const changesOf = (protocol: string, name: string, said: Said | Buffer) => {
  const objects = [buildPoolObject(protocol, POOL, [SUI, USDC])]
  const { poolChanges, dropped } = decodeMoveTransactions([
    buildMoveTransaction([buildMoveEvent(protocol, name, said)], { objects }),
  ])
  assert.deepEqual(dropped, [])
  return poolChanges.map((change) => [
    ...[change.kind, change.pool, change.owner, change.tokenA, change.tokenB],
    ...[change.amountARaw, change.amountBRaw, change.reserves],
  ])
}

const sender = objectIdFor('sender')
const owner = objectIdFor('owner')
const amounts = { amount_a: '100', amount_b: '40' }
const CETUS_V1 = encodeBcs(POOL, POSITION, -5, 5, u128(9n), u128(9n), 100n, 40n)
const CETUS_V2 = encodeBcs(POOL, POSITION, -5, 5, u128(9n), u128(9n), u128(8n), 100n, 40n)
const TURBOS = encodeBcs(POOL, owner, -5, 5, 100n, 40n, u128(9n))
const MOMENTUM = encodeBcs(owner, POOL, POSITION, u128(9n), 100n, 40n, 5, -5, 1n, 2n)
const BLUEFIN = Buffer.concat([
  encodeBcs(POOL, POSITION, 100n, 40n, 1_000n, 400n, u128(9n), u128(0n), u128(9n), u128(8n)),
  encodeBcs(1, -5, 5, u128(3n)),
])
const AFTERMATH = encodeBcs(
  POOL,
  owner,
  null,
  [typeNameOf(SUI), typeNameOf(USDC)],
  [100n, 40n],
  [1_000n, 400n],
  7n,
)
const SIDES = [SUI, USDC, 100n, 40n]
const REST = [...SIDES, undefined]

const LIQUIDITY: readonly Case[] = [
  ['cetus', 'pool::AddLiquidityEvent', CETUS_V1, ['increase', POOL, sender, ...REST]],
  ['cetus', 'pool::RemoveLiquidityEvent', CETUS_V1, ['decrease', POOL, sender, ...REST]],
  [
    'cetus',
    'pool::AddLiquidityEvent',
    { pool: POOL, ...amounts, tick_lower: { bits: 4_294_967_290 } },
    ['increase', POOL, sender, ...REST],
  ],
  ['turbos', 'pool::MintEvent', { pool: POOL, ...amounts }, ['increase', POOL, sender, ...REST]],
  ['turbos', 'pool::BurnEvent', { pool: POOL, ...amounts }, ['decrease', POOL, sender, ...REST]],
  ['turbos', 'pool::MintEvent', TURBOS, ['increase', POOL, sender, ...REST]],
  ['turbos', 'pool::BurnEvent', TURBOS, ['decrease', POOL, sender, ...REST]],
  ['momentum', 'liquidity::AddLiquidityEvent', MOMENTUM, ['increase', POOL, owner, ...REST]],
  ['momentum', 'liquidity::RemoveLiquidityEvent', MOMENTUM, ['decrease', POOL, owner, ...REST]],
  [
    'bluefin',
    'events::LiquidityProvided',
    BLUEFIN,
    ['increase', POOL, sender, ...SIDES, [1_000n, 400n]],
  ],
  [
    'bluefin',
    'events::LiquidityRemoved',
    BLUEFIN,
    ['decrease', POOL, sender, ...SIDES, [1_000n, 400n]],
  ],
  ['aftermath', 'events::DepositEventV2', AFTERMATH, ['increase', POOL, owner, ...REST]],
  ['aftermath', 'events::WithdrawEventV2', AFTERMATH, ['decrease', POOL, owner, ...REST]],
]

for (const [protocol, name, said, expected] of LIQUIDITY) {
  test(`${protocol} ${name} moves liquidity${Buffer.isBuffer(said) ? '' : ', fields by name'}`, () => {
    assert.deepEqual(changesOf(protocol, name, said), [expected])
  })
}

test('liquidity events of Cetus since its upgrade come from another package than its pools', () => {
  const upgraded = '0xdb5cd62a06c79695bfc9982eb08534706d3752fe123b48e0144f480209b3117f'
  const told = { pool: POOL, ...amounts, current_sqrt_price: '8' }
  const events = [
    buildMoveEvent('cetus', 'pool::AddLiquidityV2Event', CETUS_V2),
    buildMoveEvent('cetus', 'pool::RemoveLiquidityV2Event', CETUS_V2),
    buildMoveEvent('cetus', 'pool::AddLiquidityV2Event', told),
  ].map((each) => ({ ...each, package: upgraded }))
  const pool = buildPoolObject('cetus', POOL, [SUI, USDC])
  const { poolChanges, pools, dropped } = decodeMoveTransactions([
    buildMoveTransaction(events, { objects: [pool] }),
  ])
  assert.deepEqual(dropped, [])
  assert.deepEqual(
    poolChanges.map(({ kind, amountARaw, amountBRaw }) => [kind, amountARaw, amountBRaw]),
    [
      ['increase', 100n, 40n],
      ['decrease', 100n, 40n],
      ['increase', 100n, 40n],
    ],
  )
  const made = pool.type.split('::')[0]
  assert.deepEqual(
    pools.map(({ address, factory }) => [address, factory]),
    [[POOL, made]],
  )
  assert.notEqual(made, upgraded)
})

test('a liquidity event of an unknown pool is dropped', () => {
  const { poolChanges, dropped } = decodeMoveTransactions([
    buildMoveTransaction([buildMoveEvent('cetus', 'pool::AddLiquidityEvent', CETUS_V1)]),
  ])
  assert.deepEqual([poolChanges, dropped[0]?.reason], [[], 'unknown-pool'])
})

const text = (value: string): Buffer => encodeBcs(value)
const BLUEFIN_POOL = Buffer.concat([
  ...[
    encodeBcs(POOL, typeNameOf(SUI)),
    text('SUI'),
    u8(9),
    text(''),
    encodeBcs(typeNameOf(USDC)),
    text('USDC'),
    u8(6),
  ],
  ...[text('https://x'), u128(8n), encodeBcs(-3, 60, 2_500n, 10n)],
])

const CETUS_POOL = encodeBcs(POOL, typeNameOf(SUI), typeNameOf(USDC), 60)
const MOMENTUM_POOL = encodeBcs(owner, POOL, typeNameOf(SUI), typeNameOf(USDC), 2_000n, 60)
const AFTERMATH_POOL = encodeBcs(
  POOL,
  'name',
  owner,
  'x::y::Z',
  [typeNameOf(SUI), typeNameOf(USDC)],
  [1n, 1n],
)
const CETUS_TOLD = { pool_id: POOL, coin_type_a: typeNameOf(SUI), coin_type_b: typeNameOf(USDC) }
const MOMENTUM_TOLD = {
  sender: owner,
  pool_id: POOL,
  type_x: { name: typeNameOf(SUI) },
  type_y: { name: typeNameOf(USDC) },
}

const OPENED: readonly (readonly [string, string, Said | Buffer, string, number | null])[] = [
  ['cetus', 'factory::CreatePoolEvent', CETUS_POOL, sender, null],
  ['cetus', 'factory::CreatePoolEvent', CETUS_TOLD, sender, null],
  ['momentum', 'create_pool::PoolCreatedEvent', MOMENTUM_POOL, owner, 2_000],
  ['momentum', 'create_pool::PoolCreatedEvent', MOMENTUM_TOLD, owner, null],
  ['bluefin', 'events::PoolCreated', BLUEFIN_POOL, sender, 2_500],
  ['aftermath', 'events::CreatedPoolEvent', AFTERMATH_POOL, owner, null],
]

test('on Sui, a pool event that names the coins opens the pool and proves it', () => {
  for (const [protocol, name, said, by, feePips] of OPENED) {
    const { poolChanges, pools, dropped } = decodeMoveTransactions([
      buildMoveTransaction([buildMoveEvent(protocol, name, said)]),
    ])
    assert.deepEqual(dropped, [])
    assert.deepEqual(
      poolChanges.map((change) => [change.kind, change.owner, change.amountARaw, change.tokenB]),
      [['initialize', by, 0n, USDC]],
      name,
    )
    assert.deepEqual(
      pools.map((fact) => [fact.address, fact.tokenA, fact.tokenB, fact.feePips, fact.verified]),
      [[POOL, SUI, USDC, feePips, true]],
    )
  }
})

test('a Turbos position event without amounts is not a liquidity change and is not reported as dropped', () => {
  const zeros = { amount_a: '0', amount_b: '0' }
  for (const said of [encodeBcs(POOL, owner, -5, 5, 0n, 0n, u128(0n)), { pool: POOL, ...zeros }]) {
    assert.deepEqual(changesOf('turbos', 'pool::BurnEvent', said), [])
    const { dropped } = decodeMoveTransactions([
      buildMoveTransaction([buildMoveEvent('turbos', 'pool::BurnEvent', said)]),
    ])
    assert.deepEqual(dropped, [])
  }
  const oneSide = changesOf('turbos', 'pool::BurnEvent', encodeBcs(POOL, owner, -5, 5, 0n, 3n))
  assert.deepEqual(oneSide, [['decrease', POOL, sender, SUI, USDC, 0n, 3n, undefined]])
})

test('an invalid Turbos liquidity event is dropped with its reason', () => {
  const reasonOf = (said: Said | Buffer) => {
    const objects = [buildPoolObject('turbos', POOL, [SUI, USDC])]
    const { poolChanges, dropped } = decodeMoveTransactions([
      buildMoveTransaction([buildMoveEvent('turbos', 'pool::MintEvent', said)], { objects }),
    ])
    assert.deepEqual(poolChanges, [])
    return dropped[0]?.reason
  }
  assert.equal(reasonOf(TURBOS.subarray(0, 80)), 'truncated-data')
  assert.equal(reasonOf({ pool: POOL, amount_a: '100' }), 'missing-field')
  assert.equal(reasonOf({ pool: POOL, ...amounts, tick_lower_index: 5 }), 'bad-field')
})

test('a Turbos pool is opened with its fee; an impossible fee is stored as unknown', () => {
  const objects = [
    buildPoolObject('turbos', POOL, [SUI, USDC, `${objectIdFor('fee')}::fee3000bps::FEE3000BPS`]),
  ]
  const bytesOf = (fee: number): Buffer => encodeBcs(owner, POOL, fee, 60, 0, u128(9n))
  for (const [said, feePips] of [
    [bytesOf(3_000), 3_000],
    [{ account: owner, pool: POOL, fee: 3_000, tick_spacing: 60 }, 3_000],
    [{ pool: POOL }, null],
    [bytesOf(0), null],
    [bytesOf(1_000_001), null],
  ] as const) {
    const opened = buildMoveEvent('turbos', 'pool_factory::PoolCreatedEvent', said)
    const minted = buildMoveEvent('turbos', 'pool::MintEvent', TURBOS)
    const { pools, poolChanges, dropped } = decodeMoveTransactions([
      buildMoveTransaction([opened, minted], { objects }),
    ])
    assert.deepEqual(dropped, [])
    assert.deepEqual(
      poolChanges.map(({ kind, tokenA, tokenB }) => [kind, tokenA, tokenB]),
      [
        ['initialize', SUI, USDC],
        ['increase', SUI, USDC],
      ],
    )
    assert.deepEqual(
      pools.map(({ tokenA, tokenB, feePips, verified }) => [tokenA, tokenB, feePips, verified]),
      [[SUI, USDC, feePips, true]],
    )
  }
  const unseen = buildMoveEvent('turbos', 'pool_factory::PoolCreatedEvent', bytesOf(3_000))
  assert.equal(
    decodeMoveTransactions([buildMoveTransaction([unseen])]).dropped[0]?.reason,
    'unknown-pool',
  )
  const short = buildMoveEvent('turbos', 'pool_factory::PoolCreatedEvent', encodeBcs(owner))
  assert.equal(
    decodeMoveTransactions([buildMoveTransaction([short])]).dropped[0]?.reason,
    'truncated-data',
  )
})

test('a DeepBook pool is opened by an event whose type names its coins', () => {
  const said = { pool_id: POOL, taker_fee: '1' }
  const opened = buildMoveEvent('deepbook', 'pool::PoolCreated', said, [TEST_COIN, USDC])
  const { pools, poolChanges } = decodeMoveTransactions([buildMoveTransaction([opened])])
  assert.deepEqual([pools[0]?.tokenA, pools[0]?.tokenB], [TEST_COIN, USDC])
  assert.deepEqual([poolChanges[0]?.kind, poolChanges[0]?.tokenA], ['initialize', TEST_COIN])
  const bareEvent = decodeMoveTransactions([
    buildMoveTransaction([buildMoveEvent('deepbook', 'pool::PoolCreated', said)]),
  ])
  assert.deepEqual([bareEvent.pools.length, bareEvent.dropped[0]?.reason], [0, 'unknown-pool'])
})

test('a Sui pool opened in a checkpoint is known to later swaps of the same checkpoint', () => {
  const created = buildMoveEvent(
    'cetus',
    'factory::CreatePoolEvent',
    encodeBcs(POOL, typeNameOf(TEST_COIN), typeNameOf(SUI), 60),
  )
  const swap = buildMoveEvent('cetus', 'pool::SwapEvent', {
    atob: false,
    pool: POOL,
    amount_in: '5',
    amount_out: '7',
  })
  const { swaps } = decodeMoveTransactions([
    buildMoveTransaction([created]),
    buildMoveTransaction([swap]),
  ])
  assert.deepEqual([swaps[0]?.tokenIn, swaps[0]?.tokenOut], [SUI, TEST_COIN])
})

test('node lookups cover pools without an object in the block, and coins that changed hands', () => {
  const swap = (pool: string) =>
    buildMoveEvent('cetus', 'pool::SwapEvent', {
      atob: true,
      pool,
      amount_in: '5',
      amount_out: '7',
    })
  const shown = buildMoveTransaction(
    [swap(POOL), swap(objectIdFor('hidden')), swap(objectIdFor('hidden'))],
    {
      objects: [buildPoolObject('cetus', POOL, [SUI, USDC])],
      deltas: [{ owner: sender, coin: TEST_COIN, deltaRaw: 5n }],
    },
  )
  const created = buildMoveEvent(
    'cetus',
    'factory::CreatePoolEvent',
    encodeBcs(objectIdFor('new'), typeNameOf(TEST_COIN), typeNameOf(SUI)),
  )
  const failed = { ...buildMoveTransaction([swap(objectIdFor('failed'))]), success: false }
  const block = buildMoveBlock([shown, buildMoveTransaction([created]), failed])
  assert.deepEqual(requiredLookups(block, protocolRegistry('sui')), {
    pools: [{ address: objectIdFor('hidden'), family: 'cetus' }],
    tokens: [TEST_COIN],
  })
})

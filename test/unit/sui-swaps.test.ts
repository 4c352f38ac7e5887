import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PoolMetadata } from '../../schemas/events.ts'
import {
  buildMoveEvent,
  buildMoveTransaction,
  buildPoolObject,
  decodeMoveTransactions,
  encodeBcs,
  objectIdFor,
  protocolPackage,
  SUI,
  TEST_COIN,
  typeNameOf,
  USDC,
  u128,
} from '../support/builders/move-block.ts'
import { suiDecodeContext } from '../support/recordings/sui.ts'

const POOL = objectIdFor('pool')
const NOBODY = `0x${'0'.repeat(64)}`
const SQRT = 3n << 64n

type Said = Readonly<Record<string, unknown>>
const CETUS: Said = { atob: true, pool: POOL, amount_in: '100', amount_out: '40' }

/** Every kind of swap by name and as bytes, with what both must become. */
const SWAPS = [
  {
    protocol: 'cetus',
    name: 'pool::SwapEvent',
    fields: {
      ...CETUS,
      partner: NOBODY,
      ref_amount: '1',
      fee_amount: '2',
      steps: '1',
      vault_a_amount: '1000',
      vault_b_amount: '500',
      before_sqrt_price: '5',
      after_sqrt_price: SQRT.toString(),
    },
    bytes: encodeBcs(true, POOL, NOBODY, 100n, 40n, 1n, 2n, 1000n, 500n, u128(5n), u128(SQRT), 1n),
    expected: { reserves: [1_100n, 460n], sqrtPriceX96: 3n << 96n },
  },
  {
    protocol: 'turbos',
    name: 'pool::SwapEvent',
    fields: {
      pool: POOL,
      recipient: objectIdFor('other'),
      amount_a: '100',
      amount_b: '40',
      a_to_b: true,
      liquidity: '77',
      sqrt_price: SQRT.toString(),
      is_exact_in: true,
      tick_current_index: { bits: 4_294_967_295 },
      tick_pre_index: { bits: 0 },
      protocol_fee: '1',
      fee_amount: '2',
    },
    bytes: encodeBcs(
      ...[POOL, objectIdFor('other'), 100n, 40n, u128(77n), -1, 0, u128(SQRT), 1n, 2n, true, true],
    ),
    expected: { liquidityRaw: 77n, sqrtPriceX96: 3n << 96n },
  },
  {
    protocol: 'momentum',
    name: 'trade::SwapEvent',
    fields: {
      sender: objectIdFor('trader'),
      pool_id: POOL,
      x_for_y: true,
      amount_x: '100',
      amount_y: '40',
      sqrt_price_before: '5',
      sqrt_price_after: SQRT.toString(),
      liquidity: '77',
      tick_index: { bits: 3 },
      fee_amount: '1',
      protocol_fee: '1',
      reserve_x: '8',
      reserve_y: '9',
    },
    bytes: encodeBcs(
      ...[
        objectIdFor('trader'),
        POOL,
        true,
        100n,
        40n,
        u128(5n),
        u128(SQRT),
        u128(77n),
        3,
        1n,
        1n,
        8n,
        9n,
      ],
    ),
    expected: { trader: objectIdFor('trader'), liquidityRaw: 77n, sqrtPriceX96: 3n << 96n },
  },
  {
    protocol: 'bluefin',
    name: 'events::AssetSwap',
    fields: {
      pool_id: POOL,
      a2b: true,
      amount_in: '100',
      amount_out: '40',
      fee: '1',
      pool_coin_a_amount: '1100',
      pool_coin_b_amount: '460',
      before_liquidity: '70',
      after_liquidity: '77',
      sequence_number: '4',
      before_sqrt_price: '5',
      after_sqrt_price: SQRT.toString(),
      current_tick: { bits: 3 },
      exceeded: false,
    },
    bytes: encodeBcs(
      ...[POOL, true, 100n, 40n, 1_100n, 460n, 1n, u128(70n), u128(77n), u128(5n), u128(SQRT)],
      ...[3, false, u128(4n)],
    ),
    expected: { reserves: [1_100n, 460n], liquidityRaw: 77n, sqrtPriceX96: 3n << 96n },
  },
  {
    protocol: 'bluefin',
    name: 'events::FlashSwap',
    fields: {
      pool_id: POOL,
      a2b: true,
      amount_in: '100',
      amount_out: '40',
      fee: '1',
      before_liquidity: '70',
      after_liquidity: '77',
      sequence_number: '4',
      before_sqrt_price: '5',
      after_sqrt_price: SQRT.toString(),
      current_tick: { bits: 3 },
      exceeded: false,
    },
    bytes: encodeBcs(
      ...[POOL, true, 100n, 40n, 1n, u128(70n), u128(77n), u128(5n), u128(SQRT)],
      ...[3, false, u128(4n)],
    ),
    expected: { liquidityRaw: 77n, sqrtPriceX96: 3n << 96n },
  },
  {
    protocol: 'deepbook',
    name: 'order_info::OrderFilled',
    fields: {
      pool_id: POOL,
      taker_is_bid: false,
      base_quantity: '100',
      quote_quantity: '40',
      price: '400000000',
      maker_order_id: '1',
      taker_order_id: '2',
      timestamp: '9',
    },
    bytes: encodeBcs(
      ...[POOL, u128(1n), u128(2n), 1n, 2n, 400_000_000n, false, 1n, true, 1n, false, 100n, 40n],
      ...[objectIdFor('maker'), objectIdFor('taker'), 9n],
    ),
    expected: {},
  },
] as const

for (const { protocol, name, fields, bytes, expected } of SWAPS) {
  test(`${protocol} ${name}: JSON fields and BCS bytes give the same swap, with the coins of the pool's type`, () => {
    const swapOf = (said: Said | Buffer) => {
      const objects = [buildPoolObject(protocol, POOL, [SUI, USDC])]
      const found = decodeMoveTransactions([
        buildMoveTransaction([buildMoveEvent(protocol, name, said)], { objects }),
      ])
      assert.deepEqual(found.dropped, [])
      return found
    }
    const named = swapOf(fields)
    assert.deepEqual(named.swaps, [
      {
        kind: 'swap',
        txIndex: 0,
        logIndex: 0,
        pool: POOL,
        protocol,
        trader: objectIdFor('sender'),
        tokenIn: SUI,
        tokenOut: USDC,
        amountInRaw: 100n,
        amountOutRaw: 40n,
        ...expected,
      },
    ])
    assert.deepEqual(swapOf(bytes).swaps, named.swaps)
    assert.deepEqual(
      swapOf(Buffer.concat([bytes, encodeBcs(5n)])).swaps,
      named.swaps,
      'a newer tail',
    )
    assert.deepEqual(named.pools, [
      {
        address: POOL,
        tokenA: SUI,
        tokenB: USDC,
        protocol,
        factory: protocolPackage(protocol),
        feePips: null,
        verified: true,
      },
    ])
  })
}

test('an Aftermath event names its coins and its trader', () => {
  const fields = {
    pool_id: POOL,
    issuer: objectIdFor('trader'),
    referrer: null,
    types_in: [typeNameOf(SUI)],
    amounts_in: ['100'],
    types_out: [typeNameOf(USDC)],
    amounts_out: ['40'],
  }
  const bytes = encodeBcs(
    POOL,
    objectIdFor('trader'),
    null,
    [typeNameOf(SUI)],
    [100n],
    [typeNameOf(USDC)],
    [40n],
  )
  const referred = encodeBcs(
    POOL,
    objectIdFor('trader'),
    true,
    objectIdFor('friend'),
    [typeNameOf(SUI)],
    [100n],
  )
  const tail = encodeBcs([typeNameOf(USDC)], [40n], [7n, 8n])
  for (const [name, said] of [
    ['events::SwapEvent', fields],
    ['events::SwapEvent', bytes],
    ['events::SwapEventV2', Buffer.concat([referred, tail])],
  ] as const) {
    const { swaps, dropped } = decodeMoveTransactions([
      buildMoveTransaction([buildMoveEvent('aftermath', name, said)]),
    ])
    assert.deepEqual(dropped, [])
    assert.deepEqual(
      swaps.map(({ trader, tokenIn, tokenOut, amountInRaw, amountOutRaw }) => [
        ...[trader, tokenIn, tokenOut, amountInRaw, amountOutRaw],
      ]),
      [[objectIdFor('trader'), SUI, USDC, 100n, 40n]],
    )
  }
})

const other = (protocol: string, name: string, fields: Said) => {
  const objects = [buildPoolObject(protocol, POOL, [SUI, USDC])]
  const { swaps } = decodeMoveTransactions([
    buildMoveTransaction([buildMoveEvent(protocol, name, fields)], { objects }),
  ])
  return swaps.map(({ tokenIn, amountInRaw, tokenOut, amountOutRaw }) => [
    ...[tokenIn, amountInRaw, tokenOut, amountOutRaw],
  ])
}

test('Sui swaps in the opposite direction take the second coin as input', () => {
  const [cetus, turbos, momentum, bluefin, , deepbook] = SWAPS
  const amounts = { amount_in: '40', amount_out: '100' }
  for (const [{ protocol, name, fields }, change] of [
    [cetus, { atob: false, ...amounts }],
    [turbos, { a_to_b: false }],
    [momentum, { x_for_y: false }],
    [bluefin, { a2b: false, ...amounts }],
    [deepbook, { taker_is_bid: true }],
  ] as const) {
    const said = { ...fields, ...change }
    assert.deepEqual(other(protocol, name, said), [[USDC, 40n, SUI, 100n]], protocol)
  }
})

test("a partner's share of the fee is not in the vaults of a Cetus pool; impossible vault amounts are unknown", () => {
  const reservesOf = (change: Said) =>
    decodeMoveTransactions([
      buildMoveTransaction([
        buildMoveEvent('cetus', 'pool::SwapEvent', { ...SWAPS[0].fields, ...change }),
      ]),
    ]).swaps[0]?.reserves
  assert.deepEqual(reservesOf({ partner: objectIdFor('partner') }), [1_099n, 460n])
  assert.deepEqual(reservesOf({ atob: false }), [960n, 600n])
  assert.equal(reservesOf({ vault_b_amount: '39' }), undefined)
})

test('the coins of a Sui pool come from the object, from metadata or from agreeing calls; otherwise they are unknown', () => {
  const tokens = (
    more: Parameters<typeof buildMoveTransaction>[1],
    books = suiDecodeContext(),
  ): readonly unknown[] => {
    const { swaps, pools } = decodeMoveTransactions(
      [buildMoveTransaction([buildMoveEvent('cetus', 'pool::SwapEvent', CETUS)], more)],
      books,
    )
    return [swaps[0]?.tokenIn, swaps[0]?.tokenOut, pools.length]
  }
  const fact: PoolMetadata = {
    address: POOL,
    tokenA: TEST_COIN,
    tokenB: SUI,
    protocol: 'cetus',
    factory: null,
    feePips: null,
    verified: true,
  }
  const call = (...typeArguments: string[]) => ({
    typeArguments,
    objects: [objectIdFor('clock'), POOL],
  })
  const object = buildPoolObject('cetus', POOL, [SUI, USDC])
  const nothing = [null, null, 0]
  assert.deepEqual(tokens({}), nothing)
  assert.deepEqual(tokens({}, suiDecodeContext([fact])), [TEST_COIN, SUI, 0])
  assert.deepEqual(tokens({}, suiDecodeContext([{ ...fact, verified: false }])), nothing)
  assert.deepEqual(
    tokens({ objects: [object] }, suiDecodeContext([fact])),
    [SUI, USDC, 1],
    'object first',
  )
  assert.deepEqual(tokens({ calls: [call(SUI, USDC)] }), [SUI, USDC, 0])
  assert.deepEqual(tokens({ calls: [call(SUI, USDC), call(SUI, USDC)] }), [SUI, USDC, 0])
  assert.deepEqual(tokens({ calls: [call(SUI, USDC), call(USDC, SUI)] }), nothing)
  assert.deepEqual(tokens({ calls: [call(SUI, USDC, TEST_COIN, SUI)] }), nothing, 'a route')
  assert.deepEqual(tokens({ calls: [call(SUI)] }), nothing)
  assert.deepEqual(tokens({ calls: [{ typeArguments: [SUI, USDC], objects: [] }] }), nothing)
  const withNode = suiDecodeContext([], 'facts')
  assert.deepEqual(tokens({ calls: [call(SUI, USDC)] }, withNode), nothing, 'a node is asked')
})

test("the type of a Sui pool object proves the pool only in a package of the event's protocol", () => {
  for (const type of [
    `${objectIdFor('forger')}::pool::Pool<${SUI}, ${USDC}>`,
    `${protocolPackage('turbos')}::pool::Pool<${SUI}, ${USDC}>`,
    `${protocolPackage('cetus')}::pool::Position<${SUI}, ${USDC}>`,
    `${protocolPackage('cetus')}::pool::Pool<${SUI}>`,
    'no type at all',
  ]) {
    const objects = [{ id: POOL, type, change: 'changed', fields: null }] as const
    const { swaps, pools } = decodeMoveTransactions([
      buildMoveTransaction([buildMoveEvent('cetus', 'pool::SwapEvent', CETUS)], { objects }),
    ])
    assert.deepEqual([swaps[0]?.tokenIn, pools], [null, []], type)
  }
})

test('a Sui event counts by the listed package in its type, not by the calling package', () => {
  const forged = {
    ...buildMoveEvent('cetus', 'pool::SwapEvent', CETUS),
    package: objectIdFor('forger'),
  }
  const unknown = buildMoveEvent('cetus', 'pool::OtherEvent', CETUS)
  const inherited = buildMoveEvent('cetus', 'toString', CETUS)
  const { swaps, dropped } = decodeMoveTransactions([
    buildMoveTransaction([forged, unknown, inherited]),
  ])
  assert.deepEqual([swaps, dropped], [[], []])
})

test('a failed Sui transaction gives no trade', () => {
  const swap = buildMoveTransaction([buildMoveEvent('cetus', 'pool::SwapEvent', CETUS)])
  assert.equal(decodeMoveTransactions([swap]).swaps.length, 1)
  assert.equal(decodeMoveTransactions([{ ...swap, success: false }]).swaps.length, 0)
})

test('a Sui pool is reported once per checkpoint, and swaps are indexed within their transaction', () => {
  const objects = [buildPoolObject('cetus', POOL, [SUI, USDC])]
  const swap = buildMoveEvent('cetus', 'pool::SwapEvent', CETUS)
  const { swaps, pools } = decodeMoveTransactions([
    buildMoveTransaction([swap, swap], { objects }),
    buildMoveTransaction([swap]),
  ])
  assert.deepEqual(
    swaps.map(({ txIndex, logIndex, tokenIn }) => [txIndex, logIndex, tokenIn]),
    [
      [0, 0, SUI],
      [0, 1, SUI],
      [1, 0, SUI],
    ],
  )
  assert.equal(pools.length, 1)
})

test('an invalid Sui swap event is dropped with its reason', () => {
  const reasonOf = (protocol: string, name: string, said: Said | Buffer): string | undefined => {
    const { swaps, dropped } = decodeMoveTransactions([
      buildMoveTransaction([buildMoveEvent(protocol, name, said)]),
    ])
    assert.deepEqual(swaps, [])
    assert.equal(dropped[0]?.protocol, protocol)
    return dropped[0]?.reason
  }
  const cetus = (said: Said | Buffer) => reasonOf('cetus', 'pool::SwapEvent', said)
  const { bytes } = SWAPS[0]
  assert.equal(cetus({ ...CETUS, amount_in: '0', amount_out: '0' }), 'zero-amount')
  assert.equal(cetus({ ...CETUS, amount_in: undefined }), 'missing-field')
  for (const bad of [-1, 1.5, '-1', 'x', null, {}, (2n ** 64n).toString()]) {
    assert.equal(cetus({ ...CETUS, amount_in: bad }), 'bad-field')
  }
  assert.equal(cetus({ ...CETUS, pool: '0xg' }), 'bad-field')
  assert.equal(cetus({ ...CETUS, atob: 1 }), 'bad-field')
  assert.equal(cetus(bytes.subarray(0, 80)), 'truncated-data')
  assert.equal(cetus(Buffer.concat([Buffer.from([2]), bytes.subarray(1)])), 'bad-field')
  const none = { ...buildMoveEvent('cetus', 'pool::SwapEvent', {}), fields: null }
  assert.equal(
    decodeMoveTransactions([buildMoveTransaction([none])]).dropped[0]?.reason,
    'missing-event-data',
  )
  assert.equal(reasonOf('turbos', 'pool::MintEvent', encodeBcs(POOL)), 'truncated-data')
  const aftermath = (typesIn: readonly string[], amountsIn: readonly string[]) =>
    reasonOf('aftermath', 'events::SwapEvent', {
      pool_id: POOL,
      types_in: typesIn,
      amounts_in: amountsIn,
      types_out: [SUI],
      amounts_out: ['1'],
    })
  assert.equal(aftermath([SUI, USDC], ['1', '2']), 'unsupported-coin-count')
  assert.equal(aftermath([], []), 'zero-amount')
  assert.equal(aftermath(['what'], ['1']), 'bad-field')
  assert.equal(aftermath(Array(65).fill(SUI), ['1']), 'bad-field')
})

test('a BCS list with a false length is rejected', () => {
  const long = Buffer.from([0xff, 0xff, 0xff, 0x7f])
  const endless = Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff])
  const head = encodeBcs(POOL, objectIdFor('trader'), null)
  for (const [list, reason] of [
    [long, 'bad-field'],
    [endless, 'bad-field'],
    [Buffer.from([2]), 'truncated-data'],
    [Buffer.from([1, 3, 0xff, 0xfe, 0xfd]), 'bad-field'],
  ] as const) {
    const said = buildMoveEvent('aftermath', 'events::SwapEvent', Buffer.concat([head, list]))
    assert.equal(decodeMoveTransactions([buildMoveTransaction([said])]).dropped[0]?.reason, reason)
  }
})

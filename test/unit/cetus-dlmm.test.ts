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
  protocolPackage,
  SUI,
  TEST_COIN,
  typeNameOf,
  USDC,
  u128,
} from '../support/builders/move-block.ts'

const POOL = objectIdFor('pool')
const POSITION = objectIdFor('position')
const NOBODY = `0x${'0'.repeat(64)}`

type Said = Readonly<Record<string, unknown>> | Buffer

const objects = [buildPoolObject('cetus_dlmm', POOL, [SUI, USDC])]
const decoded = (name: string, said: Said, shown = objects) =>
  decodeMoveTransactions([
    buildMoveTransaction([buildMoveEvent('cetus_dlmm', name, said)], { objects: shown }),
  ])

/** One bin that the swap went through: id, amounts in and out, fee, variable fee rate. */
const BIN_SWAP = encodeBcs(-3, 100n, 40n, 2n, 0n)
const bytesOf = (from: string, target: string, refFee = 0n, partner = NOBODY): Buffer =>
  Buffer.concat([
    encodeBcs(
      POOL,
      typeNameOf(from),
      typeNameOf(target),
      partner,
      100n,
      40n,
      5n,
      2n,
      refFee,
      1_000n,
      460n,
    ),
    encodeBcs([BIN_SWAP]),
  ])
const FIELDS = {
  pool: POOL,
  from: { name: typeNameOf(SUI) },
  target: { name: typeNameOf(USDC) },
  partner: NOBODY,
  amount_in: '100',
  amount_out: '40',
  fee: '5',
  protocol_fee: '2',
  ref_fee: '0',
  vault_a: '1000',
  vault_b: '460',
  bin_swaps: [],
}
const SWAPPED = {
  kind: 'swap',
  txIndex: 0,
  logIndex: 0,
  pool: POOL,
  protocol: 'cetus_dlmm',
  trader: objectIdFor('sender'),
  tokenIn: SUI,
  tokenOut: USDC,
  amountInRaw: 100n,
  amountOutRaw: 40n,
}

test('cetus_dlmm swap by fields and as bytes: the output leaves the reserves, the input is added', () => {
  for (const said of [FIELDS, { ...FIELDS, from: typeNameOf(SUI) }, bytesOf(SUI, USDC)]) {
    const { swaps, pools, dropped } = decoded('pool::SwapEvent', said)
    assert.deepEqual(dropped, [])
    assert.deepEqual(swaps, [{ ...SWAPPED, reserves: [1_100n, 460n] }])
    assert.deepEqual(pools, [
      {
        address: POOL,
        tokenA: SUI,
        tokenB: USDC,
        protocol: 'cetus_dlmm',
        factory: protocolPackage('cetus_dlmm'),
        feePips: null,
        verified: true,
      },
    ])
  }
  const { swaps } = decoded('pool::SwapEvent', bytesOf(USDC, SUI))
  assert.deepEqual(swaps, [{ ...SWAPPED, tokenIn: USDC, tokenOut: SUI, reserves: [1_000n, 560n] }])
})

test('cetus_dlmm: the fee share of a partner is left out of the reserves; reserves without a coin order are unknown', () => {
  const reservesOf = (said: Said, shown = objects) => decoded('pool::SwapEvent', said, shown).swaps
  const partner = objectIdFor('partner')
  assert.deepEqual(reservesOf(bytesOf(SUI, USDC, 1n, partner))[0]?.reserves, [1_099n, 460n])
  assert.deepEqual(reservesOf(bytesOf(USDC, SUI, 1n, partner))[0]?.reserves, [1_000n, 559n])
  assert.deepEqual(reservesOf(bytesOf(SUI, USDC), []), [SWAPPED])
  assert.deepEqual(reservesOf(bytesOf(SUI, USDC, 101n)), [SWAPPED])
  assert.deepEqual(reservesOf({ ...FIELDS, vault_a: undefined }), [SWAPPED])
  assert.deepEqual(reservesOf(bytesOf(SUI, TEST_COIN)), [{ ...SWAPPED, tokenOut: TEST_COIN }])
})

const HEAD = encodeBcs(POOL, POSITION, -7, 100n, 40n)
/** One bin whose share changed: id, share, amounts. */
const DELTA = Buffer.concat([encodeBcs(-7), u128(9n), encodeBcs(100n, 40n)])
const TOLD = {
  pool: POOL,
  position_id: POSITION,
  active_id: { bits: 4_294_967_289 },
  total_amount_a: '100',
  total_amount_b: '40',
  liquidity_deltas: [],
}
const FEES = { fee_a: '3', fee_b: '4' }

test('cetus_dlmm: added liquidity includes its fees, removed liquidity does not, by fields and as bytes', () => {
  for (const [name, kind, said] of [
    ['AddLiquidityEvent', 'increase', Buffer.concat([HEAD, encodeBcs(3n, 4n, [DELTA])])],
    ['AddLiquidityEvent', 'increase', { ...TOLD, ...FEES }],
    ['RemoveLiquidityEvent', 'decrease', Buffer.concat([HEAD, encodeBcs([DELTA])])],
    ['RemoveLiquidityEvent', 'decrease', TOLD],
    ['ClosePositionEvent', 'decrease', Buffer.concat([HEAD, encodeBcs(3n, 4n, [8n], [DELTA])])],
    ['ClosePositionEvent', 'decrease', { ...TOLD, ...FEES, rewards: ['8'] }],
  ] as const) {
    const { poolChanges, dropped } = decoded(`pool::${name}`, said)
    assert.deepEqual(dropped, [])
    assert.deepEqual(poolChanges, [
      {
        kind,
        txIndex: 0,
        logIndex: 0,
        pool: POOL,
        protocol: 'cetus_dlmm',
        owner: objectIdFor('sender'),
        tokenA: SUI,
        tokenB: USDC,
        amountARaw: 100n,
        amountBRaw: 40n,
      },
    ])
  }
  const emptied = decoded('pool::ClosePositionEvent', encodeBcs(POOL, POSITION, -7, 0n, 0n, 3n, 4n))
  assert.deepEqual([emptied.poolChanges, emptied.dropped], [[], []])
})

test('cetus_dlmm: a pool creation event names its coins and verifies the pool', () => {
  // Two numbers of 16 bits follow: 20 and 10,000.
  const bytes = Buffer.concat([
    encodeBcs(POOL, typeNameOf(SUI), typeNameOf(USDC)),
    Buffer.from([20, 0, 16, 39]),
  ])
  const fields = {
    pool_id: POOL,
    coin_type_a: typeNameOf(SUI),
    coin_type_b: typeNameOf(USDC),
    bin_step: 20,
    base_factor: 10_000,
  }
  for (const said of [bytes, fields]) {
    const { poolChanges, pools, dropped } = decoded('registry::CreatePoolEvent', said, [])
    assert.deepEqual(dropped, [])
    assert.deepEqual(
      poolChanges.map(({ kind, tokenA, tokenB, amountARaw }) => [kind, tokenA, tokenB, amountARaw]),
      [['initialize', SUI, USDC, 0n]],
    )
    assert.deepEqual(
      pools.map(({ tokenA, tokenB, feePips, verified }) => [tokenA, tokenB, feePips, verified]),
      [[SUI, USDC, null, true]],
    )
  }
})

test('cetus_dlmm: an invalid event is dropped with its reason', () => {
  const reasonOf = (name: string, said: Said, shown = objects) => {
    const { swaps, poolChanges, dropped } = decoded(name, said, shown)
    assert.deepEqual([swaps, poolChanges], [[], []])
    return dropped[0]?.reason
  }
  assert.equal(reasonOf('pool::SwapEvent', bytesOf(SUI, USDC).subarray(0, 200)), 'truncated-data')
  assert.equal(reasonOf('pool::SwapEvent', { ...FIELDS, from: 'what' }), 'bad-field')
  assert.equal(reasonOf('pool::SwapEvent', { ...FIELDS, target: undefined }), 'missing-field')
  const nothing = { ...FIELDS, amount_in: '0', amount_out: '0' }
  assert.equal(reasonOf('pool::SwapEvent', nothing), 'zero-amount')
  assert.equal(reasonOf('pool::AddLiquidityEvent', HEAD.subarray(0, 80)), 'truncated-data')
  assert.equal(reasonOf('pool::AddLiquidityEvent', HEAD, []), 'unknown-pool')
  assert.equal(
    reasonOf('registry::CreatePoolEvent', encodeBcs(POOL, 'x', typeNameOf(USDC))),
    'bad-field',
  )
})

test('cetus_dlmm: a pool without an object in the block is looked up at the node', () => {
  const said = buildMoveEvent('cetus_dlmm', 'pool::SwapEvent', bytesOf(SUI, USDC))
  assert.deepEqual(
    requiredLookups(buildMoveBlock([buildMoveTransaction([said])]), protocolRegistry('sui')),
    {
      pools: [{ address: POOL, family: 'cetus_dlmm' }],
      tokens: [],
    },
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROGRAM_IDS } from '../../ingestors/svm/programs/programs.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { Swap } from '../../schemas/events.ts'
import {
  addressFor,
  borshFields,
  buildTokenBalance,
  decodeInstructions,
  eventCpi,
  type InstructionInput,
} from '../support/builders/svm-block.ts'
import {
  recordedSolanaBlock,
  solanaDecodeContext,
  solanaRecordingJson,
} from '../support/recordings/solana.ts'

const SWAP = PROGRAM_IDS.pumpSwap
const WSOL = CHAINS.sol.wrappedNative
const SELL = '33e685a4017f83ad'
const SELL_EVENT = '3e2f370aa503dc2a'

const accounts = (places: Readonly<Record<number, string>>): readonly string[] =>
  Array.from({ length: 19 }, (_, index) => places[index] ?? addressFor(`account ${index}`))

const TRADE = accounts({
  0: addressFor('pool'),
  1: addressFor('user'),
  3: addressFor('base'),
  4: WSOL,
})
const LIQUIDITY = accounts({
  0: addressFor('pool'),
  2: addressFor('user'),
  3: addressFor('base'),
  4: WSOL,
})

const told = (
  form: string,
  list: readonly string[],
  tag: string,
  event: Buffer,
): InstructionInput => ({
  program: SWAP,
  accounts: list,
  data: form,
  calls: [eventCpi(SWAP, tag, event)],
})

test('pumpswap: reserves after a sale equal those before the next purchase', () => {
  const { tokenBalances } = recordedSolanaBlock('swap_pumpswap_1.json').transactions[0] ?? {}
  const { swaps } = decodeBlock(recordedSolanaBlock('swap_pumpswap_1.json'), solanaDecodeContext())
  const [sale, purchase] = swaps
  assert.ok(sale && purchase && tokenBalances)
  assert.equal(sale.tokenIn, WSOL, 'the pool calls the wrapped coin its base')
  assert.deepEqual(sale.reservesInOut, [1_422_506_798_604n, 454_160_223_975_773n])
  const found = (account: string | undefined) =>
    tokenBalances.find((balance) => balance.account === account)
  const vault = (account: string | undefined) => found(account)?.postRaw
  assert.deepEqual(sale.reservesBeforeInOut, [
    found(sale.accounts?.vaultIn)?.preRaw,
    found(sale.accounts?.vaultOut)?.preRaw,
  ])
  assert.deepEqual(purchase.reservesBeforeInOut, sale.reservesInOut?.toReversed())
  assert.deepEqual(purchase.reservesInOut, [
    vault(purchase.accounts?.vaultIn),
    vault(purchase.accounts?.vaultOut),
  ])
})

test('pumpswap: the layout of March 2025 has net proceeds and reserves', () => {
  const recorded = Buffer.from(
    String(solanaRecordingJson('pumpswap_sell_event_2025_03.json').programDataBase64),
    'base64',
  )
  const event = told(SELL, TRADE, recorded.subarray(0, 8).toString('hex'), recorded.subarray(8))
  const { swaps, pools, dropped } = decodeInstructions([event])
  const [swap] = swaps
  assert.deepEqual(dropped, [])
  assert.deepEqual([swap?.amountInRaw, swap?.amountOutRaw], [24_280_378_766n, 8_614_749n])
  assert.deepEqual(swap?.reservesInOut, [
    222_398_710_005_666n + 24_280_378_766n,
    79_114_125_035n - 8_619_068n,
  ])
  assert.deepEqual(
    [pools[0]?.tokenA, pools[0]?.tokenB, pools[0]?.verified],
    [addressFor('base'), WSOL, true],
  )
})

test('pumpswap: a purchase of an exact amount includes all fees in its input', () => {
  const block = recordedSolanaBlock('swap_bloom_1.json')
  const { swaps, dropped } = decodeBlock(block, solanaDecodeContext())
  assert.deepEqual(dropped, [])
  const [swap] = swaps
  assert.ok(swap)
  const [toPool, toProtocol, toCreator] = [495_548_961n, 247_280n, 4_203_759n]
  assert.equal(swap.amountInRaw, toPool + toProtocol + toCreator)
  const vault = block.transactions[0]?.tokenBalances.find(
    ({ account }) => account === swap.accounts?.vaultIn,
  )
  assert.ok(vault && vault.preRaw !== null && vault.postRaw !== null)
  assert.equal(vault.postRaw - vault.preRaw, toPool)
  assert.deepEqual(
    [swap.reservesBeforeInOut?.[0], swap.reservesInOut?.[0]],
    [vault.preRaw, vault.postRaw],
  )
})

const vaultsOf = (block: ReturnType<typeof recordedSolanaBlock>, swap: Swap) => {
  const balance = (account: string | undefined) =>
    block.transactions[0]?.tokenBalances.find((each) => each.account === account)
  const [into, out] = [balance(swap.accounts?.vaultIn), balance(swap.accounts?.vaultOut)]
  return { before: [into?.preRaw, out?.preRaw], after: [into?.postRaw, out?.postRaw] }
}

test('pumpswap: fees without a recipient stay in the vault, and virtual reserves are added to the real ones', () => {
  const block = recordedSolanaBlock('pumpswap_sell_v2_AcrDzvio.json')
  const { swaps, dropped } = decodeBlock(block, solanaDecodeContext())
  assert.deepEqual(dropped, [])
  const [sale] = swaps
  assert.ok(sale)
  assert.deepEqual([sale.amountInRaw, sale.amountOutRaw], [3_143_049_857n, 9_867_576n])
  const { before, after } = vaultsOf(block, sale)
  assert.deepEqual(sale.reservesBeforeInOut, before)
  assert.deepEqual(sale.reservesInOut, after)
  const virtualBefore = 17_584_418_739n
  const movedRaw = 9_957_373n
  assert.deepEqual(sale.curve, {
    virtualQuoteRaw: 218_834_620_214n + virtualBefore - movedRaw,
    virtualTokenRaw: 74_476_535_292_699n,
    realQuoteRaw: 218_824_750_144n,
    realTokenRaw: 74_476_535_292_699n,
  })
})

test('pumpswap: a buyback of the pool with its reserved funds is a trade', () => {
  const block = recordedSolanaBlock('pumpswap_boost_LK86c649.json')
  const { swaps, dropped } = decodeBlock(block, solanaDecodeContext())
  assert.deepEqual(dropped, [])
  const [bought] = swaps
  assert.ok(bought)
  assert.deepEqual([bought.amountInRaw, bought.amountOutRaw], [527_535_158n, 166_548_315_802n])
  assert.equal(bought.trader, 'AMfCBXvGgqscaLe6hyQMWEb8mKNURSWDT2jXyJcuJUKz')
  const { before, after } = vaultsOf(block, bought)
  assert.deepEqual(bought.reservesBeforeInOut, before)
  assert.deepEqual(bought.reservesInOut, after)
})

const OPENED = Buffer.concat([
  borshFields(1n),
  Buffer.from([0, 0]),
  borshFields(addressFor('user'), addressFor('base'), WSOL),
  Buffer.from([6, 9]),
  borshFields(500n, 700n, 500n, 700n),
])
const OPENING = told('e992d18ecf6840bc', LIQUIDITY, 'b1310cd2a076a774', OPENED)
const i128le = (value: bigint): Buffer => borshFields(value & ((1n << 64n) - 1n), value >> 64n)
const boosted = (pool: string, leftRaw: bigint): InstructionInput =>
  told(
    '8ce9215e845ac28f',
    [],
    'ae7c4af90451f611',
    Buffer.concat([
      borshFields(1n, addressFor('base'), addressFor('curve'), pool),
      i128le(60n),
      borshFields(leftRaw),
    ]),
  )

test('pumpswap: funds that a new pool reserves reduce its reserves, not its price', () => {
  const { poolChanges, dropped } = decodeInstructions([OPENING, boosted(addressFor('pool'), 640n)])
  assert.deepEqual(dropped, [])
  const [, aside] = poolChanges
  assert.ok(aside)
  assert.deepEqual(
    [aside.kind, aside.pool, aside.owner, aside.amountARaw, aside.amountBRaw, aside.reserves],
    ['decrease', addressFor('pool'), addressFor('user'), 0n, 60n, [500n, 640n]],
  )
  assert.deepEqual(aside.curve, {
    virtualQuoteRaw: 700n,
    virtualTokenRaw: 500n,
    realQuoteRaw: 640n,
    realTokenRaw: 500n,
  })
  const reasons = (calls: readonly InstructionInput[]) =>
    decodeInstructions(calls).dropped.map(({ reason }) => reason)
  assert.deepEqual(reasons([boosted(addressFor('pool'), 640n)]), ['unknown-reserves'])
  assert.deepEqual(reasons([OPENING, boosted(addressFor('pool'), 701n)]), ['impossible-amount'])
})

const hopEvent = (pool: string): Buffer =>
  Buffer.concat([
    borshFields(1n, 40n, 0n, 0n, 0n, 1_000n, 2_000n, 80n, 0n, 0n, 0n, 0n, 81n, 83n),
    borshFields(
      pool,
      addressFor('user'),
      addressFor('own base'),
      addressFor('own quote'),
      addressFor('fees'),
      addressFor('fee account'),
    ),
  ])
const hops = accounts({}).slice(0, 16)
const [USER, OWN_BASE] = [hops[0] ?? '', hops[2] ?? '']
const route = (event: Buffer): InstructionInput =>
  told(
    '2b644913e9f66f94',
    [
      ...hops,
      ...[
        addressFor('base'),
        WSOL,
        addressFor('pool'),
        addressFor('base vault'),
        addressFor('quote vault'),
      ],
      ...[
        addressFor('other'),
        WSOL,
        addressFor('pool 2'),
        addressFor('vault 3'),
        addressFor('vault 4'),
      ],
    ],
    '67f4521f2cf57777',
    event,
  )
const HELD = [
  buildTokenBalance(addressFor('base vault'), addressFor('pool'), addressFor('base')),
  buildTokenBalance(addressFor('quote vault'), addressFor('pool'), WSOL),
  buildTokenBalance(OWN_BASE, USER, addressFor('base')),
]

test('pumpswap: each hop of a route is a trade of its pool, at the position of its event', () => {
  const { swaps, dropped } = decodeInstructions([route(hopEvent(addressFor('pool')))], {
    tokenBalances: HELD,
  })
  assert.deepEqual(dropped, [])
  const [hop] = swaps
  assert.ok(hop)
  assert.deepEqual([hop.logIndex, hop.path], [1, { outer: 0, inner: 0 }])
  assert.deepEqual(
    [hop.pool, hop.trader, hop.tokenIn, hop.amountInRaw, hop.tokenOut, hop.amountOutRaw],
    [addressFor('pool'), USER, WSOL, 83n, addressFor('base'), 40n],
  )
  assert.deepEqual(hop.accounts, {
    userIn: USER,
    userOut: OWN_BASE,
    vaultIn: addressFor('quote vault'),
    vaultOut: addressFor('base vault'),
  })
})

test('pumpswap: a hop with missing or foreign accounts is dropped with its reason', () => {
  const reasons = (pool: string, tokenBalances = HELD) =>
    decodeInstructions([route(hopEvent(pool))], { tokenBalances }).dropped.map(
      ({ reason }) => reason,
    )
  assert.deepEqual(reasons(addressFor('nowhere')), ['missing-account'])
  assert.deepEqual(reasons(addressFor('pool 2')), ['unknown-account'])
  assert.deepEqual(reasons(addressFor('pool'), HELD.slice(1)), ['unknown-account'])
})

test('pumpswap: pool creation, deposit and withdrawal are decoded', () => {
  const moved = borshFields(1n, 10n, 0n, 0n, 0n, 0n, 1_000n, 2_000n, 30n, 60n, 9n)
  const { poolChanges, dropped } = decodeInstructions([
    OPENING,
    told('f223c68952e1f2b6', LIQUIDITY, '78f83d531f8e6b90', moved),
    told('b712469c946da122', LIQUIDITY, '1609851aa02c47c0', moved),
  ])
  assert.deepEqual(dropped, [])
  assert.deepEqual(
    poolChanges.map(({ kind, owner, amountARaw, amountBRaw, reserves }) => [
      kind,
      owner,
      amountARaw,
      amountBRaw,
      reserves,
    ]),
    [
      ['initialize', addressFor('user'), 500n, 700n, [500n, 700n]],
      ['increase', addressFor('user'), 30n, 60n, [1_030n, 2_060n]],
      ['decrease', addressFor('user'), 30n, 60n, [970n, 1_940n]],
    ],
  )
  assert.deepEqual(
    poolChanges.map(({ path }) => path?.outer),
    [0, 1, 2],
  )
})

test('pumpswap: an invalid trade is dropped with its reason', () => {
  const event = borshFields(...Array.from({ length: 14 }, () => 5n), ...TRADE.slice(0, 6))
  const reasonOf = (call: InstructionInput): string | undefined => {
    const { swaps, dropped } = decodeInstructions([call])
    assert.deepEqual(swaps, [])
    return dropped[0]?.reason
  }
  assert.equal(decodeInstructions([told(SELL, TRADE, SELL_EVENT, event)]).swaps.length, 1)
  assert.equal(reasonOf(told(SELL, TRADE, SELL_EVENT, event.subarray(1))), 'truncated-data')
  assert.equal(reasonOf(told(SELL, TRADE.slice(0, 8), SELL_EVENT, event)), 'missing-account')
  assert.equal(reasonOf(told('00'.repeat(8), TRADE, SELL_EVENT, event)), 'unknown-instruction')
  assert.equal(reasonOf(told('f223c68952e1f2b6', TRADE, SELL_EVENT, event)), 'unknown-instruction')
  assert.equal(reasonOf(eventCpi(SWAP, SELL_EVENT, event)), 'unexpected-caller')
  assert.equal(reasonOf(told(SELL, TRADE, SELL_EVENT, Buffer.alloc(304))), 'zero-amount')
})

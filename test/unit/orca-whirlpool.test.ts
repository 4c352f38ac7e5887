import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sortPubkeys } from '../../ingestors/svm/layout/borsh-layout.ts'
import { PROGRAM_IDS } from '../../ingestors/svm/programs/programs.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import type { SvmTokenBalance } from '../../schemas/events.ts'
import {
  addressFor,
  borshFields,
  buildAccountList,
  buildTokenBalance,
  decodeInstructions,
  eventLogLine,
  type InstructionInput,
  tokenTransferInstruction,
  u64le,
  u128le,
} from '../support/builders/svm-block.ts'
import { recordedSolanaBlock, solanaDecodeContext } from '../support/recordings/solana.ts'

const ORCA = PROGRAM_IDS.orcaWhirlpool
const USER = addressFor('user')
const [POOL, POOL_2] = [addressFor('pool'), addressFor('pool 2')]
const [MINT_A, MINT_B, MINT_C] = [addressFor('mint a'), addressFor('mint b'), addressFor('mint c')]
const [VAULT_A, VAULT_B] = [addressFor('vault a'), addressFor('vault b')]
/** Of the second pool: token B and token C. */
const [VAULT_B2, VAULT_C] = [addressFor('vault b 2'), addressFor('vault c')]
const [USER_A, USER_B, USER_C] = [addressFor('user a'), addressFor('user b'), addressFor('user c')]
const TRADED = 'e1ca49af932ba096'

const BALANCES: readonly SvmTokenBalance[] = [
  buildTokenBalance(VAULT_A, POOL, MINT_A),
  buildTokenBalance(VAULT_B, POOL, MINT_B),
  buildTokenBalance(VAULT_B2, POOL_2, MINT_B),
  buildTokenBalance(VAULT_C, POOL_2, MINT_C),
]

const decoded = (...calls: readonly InstructionInput[]) =>
  decodeInstructions(calls, { tokenBalances: BALANCES })

const traded = (pool: string, sqrtPriceX64: bigint): string =>
  eventLogLine(
    TRADED,
    Buffer.concat([
      borshFields(pool, true),
      u128le(1n),
      u128le(sqrtPriceX64),
      borshFields(300n, 40n),
    ]),
  )

const paid = tokenTransferInstruction([USER_A, VAULT_A, USER], 300n)
const got = tokenTransferInstruction([VAULT_B, USER_B, POOL], 40n)
const SWAP = buildAccountList(11, { 1: USER, 2: POOL, 4: VAULT_A, 6: VAULT_B })

const swapOf = (more: Partial<InstructionInput> = {}): InstructionInput => ({
  program: ORCA,
  accounts: SWAP,
  data: 'f8c69e91e17587c8',
  calls: [paid, got],
  logs: [traded(POOL, 7n << 64n)],
  ...more,
})

const swapV2Of = (more: Partial<InstructionInput> = {}): InstructionInput =>
  swapOf({
    data: '2b04ed0b1ac91e62',
    accounts: buildAccountList(15, { 3: USER, 4: POOL, 8: VAULT_A, 10: VAULT_B }),
    ...more,
  })

test('orca_whirlpool: both forms of a swap are decoded, in both directions', () => {
  const back = {
    calls: [
      tokenTransferInstruction([USER_B, VAULT_B, USER], 50n),
      tokenTransferInstruction([VAULT_A, USER_A, POOL], 350n),
    ],
  }
  for (const form of [swapOf, swapV2Of]) {
    const { swaps, pools, dropped } = decoded(form(), form(back))
    assert.deepEqual(dropped, [])
    assert.deepEqual(swaps, [
      {
        kind: 'swap',
        txIndex: 0,
        logIndex: 0,
        path: { outer: 0, inner: null },
        pool: POOL,
        protocol: 'orca_whirlpool',
        trader: USER,
        tokenIn: MINT_A,
        tokenOut: MINT_B,
        amountInRaw: 300n,
        amountOutRaw: 40n,
        sqrtPriceX96: 7n << 96n,
        accounts: { userIn: USER_A, userOut: USER_B, vaultIn: VAULT_A, vaultOut: VAULT_B },
      },
      {
        kind: 'swap',
        txIndex: 0,
        logIndex: 3,
        path: { outer: 1, inner: null },
        pool: POOL,
        protocol: 'orca_whirlpool',
        trader: USER,
        tokenIn: MINT_B,
        tokenOut: MINT_A,
        amountInRaw: 50n,
        amountOutRaw: 350n,
        sqrtPriceX96: 7n << 96n,
        accounts: { userIn: USER_B, userOut: USER_A, vaultIn: VAULT_B, vaultOut: VAULT_A },
      },
    ])
    assert.deepEqual(
      pools.map(({ tokenA, tokenB }) => [tokenA, tokenB]),
      [sortPubkeys(MINT_A, MINT_B)],
    )
  }
})

/** A checked transfer of a token with a fee: 10 of what left arrives nowhere. */
const withFee = (
  [from, to, authority]: readonly [string, string, string],
  mint: string,
  amount: bigint,
): InstructionInput => ({
  program: PROGRAM_IDS.token2022,
  accounts: [from, mint, to, authority],
  data: Buffer.concat([Buffer.from([26, 1]), u64le(amount), Buffer.from([6]), u64le(10)]),
})

test('orca_whirlpool: amounts are those that left the sender, transfer fees included, without known accounts', () => {
  const calls = [
    withFee([USER_A, VAULT_A, USER], MINT_A, 310n),
    withFee([VAULT_B, USER_B, POOL], MINT_B, 50n),
  ]
  const [swap] = decodeInstructions([swapV2Of({ calls })]).swaps
  assert.deepEqual(
    [swap?.tokenIn, swap?.amountInRaw, swap?.tokenOut, swap?.amountOutRaw],
    [MINT_A, 310n, MINT_B, 50n],
  )
})

test('orca_whirlpool: two hops are two trades, each with its own pool and price', () => {
  const logs = [traded(POOL, 1n << 64n), traded(POOL_2, 2n << 64n)]
  const first: InstructionInput = {
    program: ORCA,
    accounts: buildAccountList(20, {
      1: USER,
      2: POOL,
      3: POOL_2,
      5: VAULT_A,
      7: VAULT_B,
      9: VAULT_C,
      11: VAULT_B2,
    }),
    data: 'c360ed6c44a2dbe6',
    calls: [
      paid,
      got,
      tokenTransferInstruction([USER_B, VAULT_B2, USER], 40n),
      tokenTransferInstruction([VAULT_C, USER_C, POOL_2], 9n),
    ],
    logs,
  }
  const second: InstructionInput = {
    program: ORCA,
    accounts: buildAccountList(24, {
      0: POOL,
      1: POOL_2,
      9: VAULT_A,
      10: VAULT_B,
      11: VAULT_B2,
      12: VAULT_C,
      14: USER,
    }),
    data: 'ba8fd11dfe02c275',
    calls: [
      paid,
      tokenTransferInstruction([VAULT_B, VAULT_B2, POOL], 40n),
      tokenTransferInstruction([VAULT_C, USER_C, POOL_2], 9n),
    ],
    logs,
  }
  for (const call of [first, second]) {
    const { swaps, pools, dropped } = decoded(call)
    assert.deepEqual(dropped, [])
    assert.deepEqual(
      swaps.map(({ pool, trader, tokenIn, tokenOut, amountInRaw, amountOutRaw, sqrtPriceX96 }) => [
        ...[pool, trader, tokenIn, tokenOut, amountInRaw, amountOutRaw, sqrtPriceX96],
      ]),
      [
        [POOL, USER, MINT_A, MINT_B, 300n, 40n, 1n << 96n],
        [POOL_2, USER, MINT_B, MINT_C, 40n, 9n, 2n << 96n],
      ],
    )
    assert.deepEqual(
      pools.map(({ address }) => address),
      [POOL, POOL_2],
    )
    const cut = decoded({ ...call, logs: logs.slice(0, 1) }).swaps
    assert.deepEqual(
      cut.map(({ amountOutRaw, sqrtPriceX96 }) => [amountOutRaw, sqrtPriceX96]),
      [
        [40n, 1n << 96n],
        [9n, undefined],
      ],
    )
  }
})

test('orca_whirlpool: an invalid swap is dropped with its reason', () => {
  const reasonOf = (call: InstructionInput): string | undefined => {
    const { swaps, poolChanges, dropped } = decoded(call)
    assert.deepEqual([swaps, poolChanges], [[], []])
    return dropped.find(({ protocol }) => protocol === 'orca_whirlpool')?.reason
  }
  assert.equal(reasonOf(swapOf({ accounts: SWAP.slice(0, 6) })), 'missing-account')
  assert.equal(reasonOf(swapOf({ calls: [] })), 'no-transfers')
  assert.equal(reasonOf(swapOf({ calls: [got, got] })), 'unexpected-vault')
  const nothing = tokenTransferInstruction([VAULT_B, USER_B, POOL], 0n)
  const none = tokenTransferInstruction([USER_A, VAULT_A, USER], 0n)
  assert.equal(reasonOf(swapOf({ calls: [none, nothing] })), 'zero-amount')
  assert.equal(decoded(swapOf({ calls: [paid, nothing] })).swaps[0]?.amountOutRaw, 0n)
  assert.equal(decodeInstructions([swapOf()]).dropped[0]?.reason, 'unknown-token')
  for (const data of ['2e9cf3760dcdfbb2', '5fb40aac54aee828', 'bfa9e00b83139efd']) {
    assert.equal(reasonOf(swapOf({ data, accounts: [] })), 'missing-account', data)
  }
  const empty = decodeInstructions([growth('2e9cf3760dcdfbb2', LIQUIDITY, [paid])])
  assert.equal(empty.dropped[0]?.reason, 'unknown-token')
  assert.equal(reasonOf(growth('2e9cf3760dcdfbb2', LIQUIDITY, [])), 'no-transfers')
})

const LIQUIDITY = { 0: POOL, 2: USER, 7: VAULT_A, 8: VAULT_B }
const LIQUIDITY_V2 = { 0: POOL, 4: USER, 11: VAULT_A, 12: VAULT_B }

const growth = (
  data: string,
  places: Readonly<Record<number, string>>,
  calls: readonly InstructionInput[],
): InstructionInput => ({ program: ORCA, accounts: buildAccountList(15, places), data, calls })

test('orca_whirlpool: liquidity changes in every form are decoded; those of zero are skipped', () => {
  const added = [paid, tokenTransferInstruction([USER_B, VAULT_B, USER], 70n)]
  const taken = [tokenTransferInstruction([VAULT_A, USER_A, POOL], 20n), got]
  const nothing = [tokenTransferInstruction([VAULT_A, USER_A, POOL], 0n)]
  const { poolChanges, pools, dropped } = decoded(
    growth('2e9cf3760dcdfbb2', LIQUIDITY, added),
    growth('851d59df45eeb00a', LIQUIDITY_V2, added),
    growth('effb097cd2c6352b', LIQUIDITY_V2, added.slice(0, 1)),
    growth('a026d06f685b2c01', LIQUIDITY, taken),
    growth('3a7fbc3e4f52c460', LIQUIDITY_V2, taken.slice(1)),
    growth('3a7fbc3e4f52c460', LIQUIDITY_V2, nothing),
  )
  assert.deepEqual(dropped, [])
  assert.deepEqual(
    poolChanges.map(({ kind, owner, tokenA, tokenB, amountARaw, amountBRaw }) => {
      assert.deepEqual([owner, tokenA, tokenB], [USER, MINT_A, MINT_B])
      return [kind, amountARaw, amountBRaw]
    }),
    [
      ['increase', 300n, 70n],
      ['increase', 300n, 70n],
      ['increase', 300n, 0n],
      ['decrease', 20n, 40n],
      ['decrease', 0n, 40n],
    ],
  )
  assert.equal(pools.length, 1)
})

test('orca_whirlpool: a position moved to another range is a decrease and an increase', () => {
  const moved = (
    pool: string,
    ...amounts: readonly [bigint, bigint, bigint, bigint]
  ): InstructionInput => ({
    program: ORCA,
    accounts: buildAccountList(19, { 0: POOL, 4: USER, 8: MINT_A, 9: MINT_B }),
    data: 'bfa9e00b83139efd',
    logs: [
      eventLogLine(
        '5f82b584fb32c326',
        Buffer.concat([
          borshFields(pool, addressFor('position')),
          Buffer.alloc(48, 1),
          borshFields(...amounts),
        ]),
      ),
    ],
  })
  const { poolChanges, dropped } = decodeInstructions([
    moved(POOL, 10n, 20n, 30n, 0n),
    moved(POOL, 0n, 0n, 5n, 6n),
    moved(addressFor('other'), 10n, 20n, 30n, 0n),
  ])
  assert.deepEqual(
    poolChanges.map(({ kind, path, tokenA, tokenB, amountARaw, amountBRaw }) => {
      assert.deepEqual([tokenA, tokenB], [MINT_A, MINT_B])
      return [path?.outer, kind, amountARaw, amountBRaw]
    }),
    [
      [0, 'decrease', 10n, 20n],
      [0, 'increase', 30n, 0n],
      [1, 'increase', 5n, 6n],
    ],
  )
  assert.deepEqual(
    dropped.map(({ reason, logIndex }) => [reason, logIndex]),
    [['no-event', 2]],
  )
})

test('orca_whirlpool: pools are created empty, in every form', () => {
  const create = (data: string, places: Readonly<Record<number, string>>): InstructionInput => ({
    program: ORCA,
    accounts: buildAccountList(16, { 1: MINT_A, 2: MINT_B, ...places }),
    data,
  })
  const { poolChanges, pools, dropped } = decodeInstructions([
    create('5fb40aac54aee828', { 3: USER, 4: POOL }),
    create('cf2d57f21b3fcc43', { 5: USER, 6: POOL }),
    create('8f5e604cac7c77c7', { 5: USER, 7: POOL }),
  ])
  assert.deepEqual(dropped, [])
  assert.deepEqual(
    poolChanges.map(({ kind, pool, owner, tokenA, tokenB, amountARaw, amountBRaw }) => [
      ...[kind, pool, owner, tokenA, tokenB, amountARaw, amountBRaw],
    ]),
    poolChanges.map(() => ['initialize', POOL, USER, MINT_A, MINT_B, 0n, 0n]),
  )
  assert.deepEqual([poolChanges.length, pools.length], [3, 1])
})

test('orca_whirlpool: the price after a recorded swap is near its trade price', () => {
  let compared = 0
  for (const name of [
    'swap_orca_whirlpool_1.json',
    'rotki_5yFvtkWX3G.json',
    'burn_spl_token_1.json',
  ]) {
    const { swaps, pools } = decodeBlock(recordedSolanaBlock(name), solanaDecodeContext())
    for (const swap of swaps.filter(({ protocol }) => protocol === 'orca_whirlpool')) {
      assert.ok(swap.sqrtPriceX96)
      const price = (Number(swap.sqrtPriceX96) / 2 ** 96) ** 2
      const paidPrice = Number(swap.amountOutRaw) / Number(swap.amountInRaw)
      const pool = pools.find(({ address }) => address === swap.pool)
      const off = paidPrice / (swap.tokenIn === pool?.tokenA ? price : 1 / price)
      assert.ok(off > 0.95 && off < 1.05, `${name} ${off}`)
      compared += 1
    }
  }
  assert.equal(compared, 4)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROGRAM_IDS } from '../../ingestors/svm/programs/programs.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import type { DecodedBlock, SvmTokenBalance } from '../../schemas/events.ts'
import {
  addressFor,
  borshFields,
  buildTokenBalance,
  decodeInstructions,
  type InstructionInput,
  tokenTransferInstruction,
  u64le,
} from '../support/builders/svm-block.ts'
import {
  recordedSolanaBlock,
  recordedSolanaTransaction,
  solanaDecodeContext,
} from '../support/recordings/solana.ts'

const AMM = PROGRAM_IDS.raydiumV4
const POOL = addressFor('pool')
const USER = addressFor('user')
const [COIN, PC] = [addressFor('coin'), addressFor('pc')]
const [COIN_VAULT, PC_VAULT] = [addressFor('coin vault'), addressFor('pc vault')]
const [USER_COIN, USER_PC] = [addressFor('user coin'), addressFor('user pc')]
const AUTHORITY = addressFor('authority')

const BALANCES: readonly SvmTokenBalance[] = [
  buildTokenBalance(COIN_VAULT, AUTHORITY, COIN),
  buildTokenBalance(PC_VAULT, AUTHORITY, PC),
  buildTokenBalance(USER_COIN, USER, COIN),
  buildTokenBalance(USER_PC, USER, PC),
]

const decoded = (call: InstructionInput): DecodedBlock =>
  decodeInstructions([call], { tokenBalances: BALANCES })

const rayLog = (type: number, ...values: readonly bigint[]): string =>
  `Program log: ray_log: ${Buffer.concat([Buffer.from([type]), borshFields(...values)]).toString('base64')}`

const paid = tokenTransferInstruction([USER_PC, PC_VAULT, USER], 300n)
const got = tokenTransferInstruction([COIN_VAULT, USER_COIN, AUTHORITY], 40n)

const listOf = (size: number, places: Readonly<Record<number, string>>): readonly string[] =>
  Array.from({ length: size }, (_, index) => places[index] ?? addressFor(`account ${index}`))

const SHORT = listOf(8, { 1: POOL, 3: COIN_VAULT, 4: PC_VAULT, 7: USER })
const swapOf = (more: Partial<InstructionInput> = {}): InstructionInput => ({
  program: AMM,
  accounts: SHORT,
  data: Buffer.concat([Buffer.from([16]), u64le(300), u64le(0)]),
  calls: [paid, got],
  logs: [rayLog(3, 300n, 0n, 1n, 9_000n, 5_000n, 70_000n, 40n)],
  ...more,
})

test('raydium_amm_v4: reserves after recorded swaps match the vault balances', () => {
  for (const name of ['swap_raydium_v4_1.json', 'swap_nova_1.json']) {
    const { swaps } = decodeBlock(recordedSolanaBlock(name), solanaDecodeContext())
    const { tokenBalances } = recordedSolanaTransaction(name)
    assert.ok(swaps.length > 0)
    for (const { accounts, reservesInOut } of swaps) {
      const held = [accounts?.vaultIn, accounts?.vaultOut].map(
        (vault) => tokenBalances.find(({ account }) => account === vault)?.postRaw,
      )
      // The log leaves out what the pool owes to its owner: at most a thousandth here.
      held.forEach((raw, side) => {
        const off = Number(raw) / Number(reservesInOut?.[side])
        assert.ok(off >= 1 && off < 1.001, `${name} ${off}`)
      })
    }
  }
})

test('raydium_amm_v4: every form of a swap is decoded', () => {
  const forms: readonly (readonly [number, readonly string[]])[] = [
    [9, listOf(18, { 1: POOL, 5: COIN_VAULT, 6: PC_VAULT, 17: USER })],
    [11, listOf(17, { 1: POOL, 4: COIN_VAULT, 5: PC_VAULT, 16: USER })],
    [16, SHORT],
    [17, SHORT],
  ]
  for (const [tag, accounts] of forms) {
    const data = Buffer.concat([Buffer.from([tag]), u64le(300), u64le(0)])
    const { swaps, pools, dropped } = decoded(swapOf({ accounts, data }))
    assert.deepEqual(dropped, [])
    assert.deepEqual(swaps, [
      {
        kind: 'swap',
        txIndex: 0,
        logIndex: 0,
        path: { outer: 0, inner: null },
        pool: POOL,
        protocol: 'raydium_amm_v4',
        trader: USER,
        tokenIn: PC,
        tokenOut: COIN,
        amountInRaw: 300n,
        amountOutRaw: 40n,
        reservesInOut: [70_300n, 4_960n],
        accounts: { userIn: USER_PC, userOut: USER_COIN, vaultIn: PC_VAULT, vaultOut: COIN_VAULT },
      },
    ])
    assert.deepEqual([pools[0]?.tokenA, pools[0]?.tokenB], [COIN, PC])
  }
})

test('raydium_amm_v4: a swap in the other direction, and one without its log', () => {
  const calls = [
    tokenTransferInstruction([USER_COIN, COIN_VAULT, USER], 50n),
    tokenTransferInstruction([PC_VAULT, USER_PC, AUTHORITY], 90n),
  ]
  const logs = [rayLog(4, 60n, 90n, 2n, 9_000n, 5_000n, 70_000n, 50n)]
  const [sale] = decoded(swapOf({ calls, logs })).swaps
  assert.deepEqual([sale?.tokenIn, sale?.reservesInOut], [COIN, [5_050n, 69_910n]])
  const [silent] = decoded(swapOf({ calls, logs: [] })).swaps
  assert.deepEqual([silent?.tokenIn, silent?.reservesInOut], [COIN, undefined])
  const noise = ['Program log: ray_log: AA==', 'Program log: hello', rayLog(1, 1n), 'ray_log: !!']
  assert.equal(decoded(swapOf({ calls, logs: noise })).swaps[0]?.reservesInOut, undefined)
})

test('raydium_amm_v4: an invalid swap is dropped with its reason', () => {
  const reasonOf = (call: InstructionInput): string | undefined => {
    const { swaps, dropped } = decoded(call)
    assert.deepEqual(swaps, [])
    return dropped[0]?.reason
  }
  assert.equal(reasonOf(swapOf({ calls: [paid] })), 'no-transfers')
  assert.equal(reasonOf(swapOf({ calls: [{ ...paid, calls: [got] }] })), 'no-transfers')
  assert.equal(reasonOf(swapOf({ accounts: SHORT.slice(0, 7) })), 'missing-account')
  assert.equal(reasonOf(swapOf({ calls: [got, paid] })), 'unexpected-vault')
  const elsewhere = tokenTransferInstruction([USER_PC, addressFor('other'), USER], 300n)
  assert.equal(reasonOf(swapOf({ calls: [elsewhere, got] })), 'unexpected-vault')
  const nothing = tokenTransferInstruction([USER_PC, PC_VAULT, USER], 0n)
  const none = tokenTransferInstruction([COIN_VAULT, USER_COIN, AUTHORITY], 0n)
  assert.equal(reasonOf(swapOf({ calls: [nothing, none] })), 'zero-amount')
  assert.equal(decoded(swapOf({ calls: [paid, none] })).swaps[0]?.amountOutRaw, 0n)
  const { dropped } = decodeInstructions([swapOf()])
  assert.deepEqual(
    dropped.map(({ reason, protocol }) => `${protocol} ${reason}`),
    ['raydium_amm_v4 unknown-token', 'spl_token unknown-token', 'spl_token unknown-token'],
  )
})

test('raydium_amm_v4: pool creation, deposit and withdrawal are decoded', () => {
  const opened: InstructionInput = {
    program: AMM,
    accounts: listOf(21, { 4: POOL, 8: COIN, 9: PC, 17: USER }),
    data: Buffer.concat([Buffer.from([1, 254]), u64le(0), u64le(700), u64le(500)]),
  }
  const places = listOf(14, { 1: POOL, 6: COIN_VAULT, 7: PC_VAULT })
  const filled: InstructionInput = {
    program: AMM,
    accounts: places,
    data: Buffer.concat([Buffer.from([3]), Buffer.alloc(24)]),
    calls: [
      tokenTransferInstruction([USER_COIN, COIN_VAULT, USER], 30n),
      tokenTransferInstruction([USER_PC, PC_VAULT, USER], 60n),
    ],
    logs: [rayLog(1, 30n, 60n, 0n, 1_000n, 2_000n, 1n, 0n, 0n, 0n, 0n, 30n, 60n, 5n)],
  }
  const burn: InstructionInput = {
    program: PROGRAM_IDS.token,
    accounts: [addressFor('user lp'), addressFor('lp'), USER],
    data: Buffer.concat([Buffer.from([8]), u64le(5)]),
  }
  const emptied: InstructionInput = {
    program: AMM,
    accounts: places,
    data: Buffer.concat([Buffer.from([4]), u64le(5)]),
    calls: [
      tokenTransferInstruction([COIN_VAULT, USER_COIN, AUTHORITY], 10n),
      tokenTransferInstruction([PC_VAULT, USER_PC, AUTHORITY], 20n),
      burn,
    ],
    logs: [rayLog(2, 5n, 5n, 1_030n, 2_060n, 9n, 0n, 0n, 0n, 0n, 10n, 20n)],
  }
  const found = decodeInstructions([opened, filled, emptied], { tokenBalances: BALANCES })
  assert.deepEqual(found.dropped, [])
  assert.deepEqual(
    found.poolChanges.map(({ kind, owner, tokenA, amountARaw, amountBRaw, reserves }) => [
      kind,
      owner,
      tokenA,
      amountARaw,
      amountBRaw,
      reserves,
    ]),
    [
      ['initialize', USER, COIN, 500n, 700n, [500n, 700n]],
      ['increase', USER, COIN, 30n, 60n, [1_030n, 2_060n]],
      ['decrease', USER, COIN, 10n, 20n, [1_020n, 2_040n]],
    ],
  )
  assert.equal(found.pools.length, 1)
})

test('raydium_amm_v4: pool metadata with reversed tokens is corrected by the program', () => {
  const block = recordedSolanaBlock('swap_nova_1.json')
  const [shown] = decodeBlock(block, solanaDecodeContext()).pools
  assert.ok(shown)
  const turned = { ...shown, tokenA: shown.tokenB, tokenB: shown.tokenA }
  assert.deepEqual(decodeBlock(block, solanaDecodeContext([turned])).pools, [shown])
  assert.deepEqual(decodeBlock(block, solanaDecodeContext([shown])).pools, [])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sortPubkeys } from '../../ingestors/svm/layout/borsh-layout.ts'
import { PROGRAM_IDS } from '../../ingestors/svm/programs/programs.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import type { DecodedBlock } from '../../schemas/events.ts'
import {
  addressFor,
  borshFields,
  buildAccountList,
  buildSvmBlock,
  buildSvmTransaction,
  buildTokenBalance,
  decodeInstructions,
  eventLogLine,
  type InstructionInput,
  tokenTransferInstruction,
} from '../support/builders/svm-block.ts'
import {
  recordedSolanaBlock,
  recordedSolanaTransaction,
  solanaDecodeContext,
} from '../support/recordings/solana.ts'

const CPMM = PROGRAM_IDS.raydiumCpmm
const POOL = addressFor('pool')
const USER = addressFor('user')
const [MINT_IN, MINT_OUT] = [addressFor('mint in'), addressFor('mint out')]
const [VAULT_IN, VAULT_OUT] = [addressFor('vault in'), addressFor('vault out')]
const [USER_IN, USER_OUT] = [addressFor('user in'), addressFor('user out')]
const AUTHORITY = addressFor('authority')
const SWAP_EVENT = '40c6cde8260871e2'
const CHANGE_EVENT = '79a3cdc939da753c'

const SWAP = buildAccountList(13, {
  0: USER,
  3: POOL,
  6: VAULT_IN,
  7: VAULT_OUT,
  10: MINT_IN,
  11: MINT_OUT,
})

const paid = tokenTransferInstruction([USER_IN, VAULT_IN, USER], 310n)
const got = tokenTransferInstruction([VAULT_OUT, USER_OUT, AUTHORITY], 40n)
/** Ten of what was paid stayed behind as the token's own fee. */
const told = borshFields(POOL, 5_000n, 900n, 300n, 40n, 10n, 0n, true)

const swapOf = (more: Partial<InstructionInput> = {}): InstructionInput => ({
  program: CPMM,
  accounts: SWAP,
  data: '8fbe5adac41e33de',
  calls: [paid, got],
  logs: [eventLogLine(SWAP_EVENT, told)],
  ...more,
})

const onlySwap = ({ swaps, dropped }: DecodedBlock) => {
  assert.deepEqual(
    dropped.filter(({ protocol }) => protocol === 'raydium_cpmm'),
    [],
  )
  assert.equal(swaps.length, 1)
  return swaps[0]
}

test('raydium_cpmm: both forms of a swap have the sent and received amounts, transfer fees included', () => {
  for (const data of ['8fbe5adac41e33de', '37d96256a34ab4ad']) {
    const decoded = decodeInstructions([swapOf({ data })])
    assert.deepEqual(onlySwap(decoded), {
      kind: 'swap',
      txIndex: 0,
      logIndex: 0,
      path: { outer: 0, inner: null },
      pool: POOL,
      protocol: 'raydium_cpmm',
      trader: USER,
      tokenIn: MINT_IN,
      tokenOut: MINT_OUT,
      amountInRaw: 310n,
      amountOutRaw: 40n,
      reservesInOut: [5_300n, 860n],
      accounts: { userIn: USER_IN, userOut: USER_OUT, vaultIn: VAULT_IN, vaultOut: VAULT_OUT },
    })
    const [shown] = decoded.pools
    assert.deepEqual([shown?.tokenA, shown?.tokenB], sortPubkeys(MINT_IN, MINT_OUT))
    assert.deepEqual([shown?.verified, shown?.factory], [true, CPMM])
  }
})

test('raydium_cpmm: a swap has no reserves without its own log or with a log of another program', () => {
  const reserves = (calls: readonly InstructionInput[]) =>
    onlySwap(decodeInstructions(calls))?.reservesInOut
  const silent = swapOf({ logs: [] })
  const line = eventLogLine(SWAP_EVENT, told)
  assert.equal(reserves([silent]), undefined)
  assert.equal(
    reserves([{ program: addressFor('router'), data: '00', logs: [line], calls: [silent] }]),
    undefined,
  )
  assert.equal(reserves([swapOf({ logs: [], calls: [{ ...paid, logs: [line] }, got] })]), undefined)
  const other = borshFields(addressFor('other pool'), 1n, 1n, 1n, 1n)
  assert.equal(reserves([swapOf({ logs: [eventLogLine(SWAP_EVENT, other)] })]), undefined)
  assert.equal(
    reserves([swapOf({ logs: [eventLogLine(SWAP_EVENT, told.subarray(0, 63))] })]),
    undefined,
  )
  const first = eventLogLine(SWAP_EVENT, told.subarray(0, 64))
  assert.deepEqual(reserves([swapOf({ logs: [first] })]), [5_300n, 860n], 'fields that are needed')
})

test('raydium_cpmm: an invalid swap is dropped with its reason', () => {
  const reasonOf = (call: InstructionInput): string | undefined => {
    const { swaps, poolChanges, dropped } = decodeInstructions([call])
    assert.deepEqual([swaps, poolChanges], [[], []])
    return dropped.find(({ protocol }) => protocol === 'raydium_cpmm')?.reason
  }
  assert.equal(reasonOf(swapOf({ accounts: SWAP.slice(0, 11) })), 'missing-account')
  assert.equal(reasonOf(swapOf({ calls: [] })), 'no-transfers')
  assert.equal(reasonOf(swapOf({ calls: [{ ...paid, calls: [got] }] })), 'no-transfers')
  const elsewhere = tokenTransferInstruction([USER_IN, addressFor('other'), USER], 310n)
  assert.equal(reasonOf(swapOf({ calls: [elsewhere, got] })), 'unexpected-vault')
  const given = tokenTransferInstruction([addressFor('other'), USER_OUT, AUTHORITY], 40n)
  assert.equal(reasonOf(swapOf({ calls: [paid, given] })), 'unexpected-vault')
  const nothing = tokenTransferInstruction([USER_IN, VAULT_IN, USER], 0n)
  const none = tokenTransferInstruction([VAULT_OUT, USER_OUT, AUTHORITY], 0n)
  assert.equal(reasonOf(swapOf({ calls: [nothing, none] })), 'zero-amount')
  const deposit = { ...swapOf(), data: 'f223c68952e1f2b6' }
  assert.equal(reasonOf({ ...deposit, accounts: SWAP.slice(0, 9) }), 'missing-account')
  assert.equal(reasonOf({ ...deposit, calls: [] }), 'no-transfers')
  assert.equal(reasonOf(swapOf({ data: '00'.repeat(8) })), undefined, 'another instruction')
  assert.equal(reasonOf(swapOf({ data: '8fbe5adac41e33' })), undefined, 'no instruction at all')
})

test('raydium_cpmm: a failed transaction gives no trade', () => {
  const failed = buildSvmTransaction([swapOf()], { success: false })
  assert.deepEqual(decodeBlock(buildSvmBlock([failed]), solanaDecodeContext()).swaps, [])
})

test('raydium_cpmm: pool creation, deposit and withdrawal are decoded', () => {
  const opened = (data: string, at: number): InstructionInput => ({
    program: CPMM,
    accounts: buildAccountList(20, {
      [at]: USER,
      [at + 3]: POOL,
      [at + 4]: MINT_IN,
      [at + 5]: MINT_OUT,
      [at + 10]: VAULT_IN,
      [at + 11]: VAULT_OUT,
    }),
    data,
    calls: [
      tokenTransferInstruction([USER_IN, VAULT_IN, USER], 500n),
      tokenTransferInstruction([USER_OUT, VAULT_OUT, USER], 700n),
    ],
  })
  const moved = (data: string, more: Partial<InstructionInput>): InstructionInput => ({
    program: CPMM,
    accounts: buildAccountList(13, {
      0: USER,
      2: POOL,
      6: VAULT_IN,
      7: VAULT_OUT,
      10: MINT_IN,
      11: MINT_OUT,
    }),
    data,
    ...more,
  })
  const event = (type: number, amounts: readonly bigint[]) => [
    eventLogLine(
      CHANGE_EVENT,
      borshFields(POOL, 9n, 1_000n, 2_000n, ...amounts, Buffer.from([type])),
    ),
  ]
  const filled = moved('f223c68952e1f2b6', {
    calls: [
      tokenTransferInstruction([USER_IN, VAULT_IN, USER], 33n),
      tokenTransferInstruction([USER_OUT, VAULT_OUT, USER], 60n),
    ],
    logs: event(0, [30n, 60n, 3n, 0n]),
  })
  const emptied = moved('b712469c946da122', {
    calls: [
      tokenTransferInstruction([VAULT_IN, USER_IN, AUTHORITY], 10n),
      tokenTransferInstruction([VAULT_OUT, USER_OUT, AUTHORITY], 20n),
    ],
    logs: event(1, [9n, 20n, 1n, 0n]),
  })
  const { poolChanges, dropped, pools } = decodeInstructions([
    opened('afaf6d1f0d989bed', 0),
    opened('3f37fe4131b25979', 1),
    filled,
    emptied,
    { ...filled, logs: [] },
  ])
  assert.deepEqual(
    dropped.filter(({ protocol }) => protocol === 'raydium_cpmm'),
    [],
  )
  assert.deepEqual(
    poolChanges.map(({ kind, owner, tokenA, tokenB, amountARaw, amountBRaw, reserves }) => {
      assert.deepEqual([owner, tokenA, tokenB], [USER, MINT_IN, MINT_OUT])
      return [kind, amountARaw, amountBRaw, reserves]
    }),
    [
      ['initialize', 500n, 700n, [500n, 700n]],
      ['initialize', 500n, 700n, [500n, 700n]],
      ['increase', 30n, 60n, [1_030n, 2_060n]],
      ['decrease', 10n, 20n, [990n, 1_980n]],
      ['increase', 33n, 60n, undefined],
    ],
  )
  assert.equal(pools.length, 1)
})

test('raydium_cpmm: a new pool of a token with transfer fees has the amounts that its vaults received', () => {
  const create: InstructionInput = {
    program: CPMM,
    accounts: buildAccountList(13, {
      0: USER,
      3: POOL,
      4: MINT_IN,
      5: MINT_OUT,
      10: VAULT_IN,
      11: VAULT_OUT,
    }),
    data: 'afaf6d1f0d989bed',
    calls: [
      tokenTransferInstruction([USER_IN, VAULT_IN, USER], 1_000n),
      tokenTransferInstruction([USER_OUT, VAULT_OUT, USER], 700n),
    ],
  }
  const tokenBalances = [
    buildTokenBalance(VAULT_IN, AUTHORITY, MINT_IN, { preRaw: null, postRaw: 900n }),
    buildTokenBalance(VAULT_OUT, AUTHORITY, MINT_OUT, { preRaw: null, postRaw: 700n }),
  ]
  const openings = ({ poolChanges }: ReturnType<typeof decodeInstructions>) =>
    poolChanges.map(({ amountARaw, amountBRaw, reserves }) => [amountARaw, amountBRaw, reserves])
  assert.deepEqual(openings(decodeInstructions([create], { tokenBalances })), [
    [900n, 700n, [900n, 700n]],
  ])
  const more = tokenTransferInstruction([USER_IN, VAULT_IN, USER], 5n)
  assert.deepEqual(openings(decodeInstructions([create, more], { tokenBalances })), [
    [1_000n, 700n, [1_000n, 700n]],
  ])
})

test('raydium_cpmm: reserves after a recorded swap match the vault balances, less the fees kept for others', () => {
  for (const name of ['swap_raydium_cpmm_1.json', 'swap_exa6gyh_1.json']) {
    const { swaps } = decodeBlock(recordedSolanaBlock(name), solanaDecodeContext())
    const { tokenBalances } = recordedSolanaTransaction(name)
    assert.equal(swaps.length, 1)
    for (const { accounts, reservesInOut } of swaps) {
      const held = [accounts?.vaultIn, accounts?.vaultOut].map(
        (vault) => tokenBalances.find(({ account }) => account === vault)?.postRaw,
      )
      held.forEach((raw, side) => {
        const off = Number(raw) / Number(reservesInOut?.[side])
        assert.ok(off >= 1 && off < 1.03, `${name} ${off}`)
      })
    }
  }
})

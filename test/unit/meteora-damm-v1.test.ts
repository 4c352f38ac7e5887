import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROGRAM_IDS } from '../../ingestors/svm/programs/programs.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import type { DecodedBlock, SvmTokenBalance } from '../../schemas/events.ts'
import {
  addressFor,
  borshFields,
  buildSvmBlock,
  buildTokenBalance,
  decodeInstructions,
  type InstructionInput,
  tokenTransferInstruction,
} from '../support/builders/svm-block.ts'
import {
  recordedSolanaBlock,
  recordedSolanaTransaction,
  solanaDecodeContext,
} from '../support/recordings/solana.ts'

const AMM = PROGRAM_IDS.meteoraDammV1
const VAULTS = addressFor('vault program')
const RECORDED = 'swap_meteora_damm_1.json'
const [POOL, USER] = [addressFor('pool'), addressFor('user')]
const [A, B] = [addressFor('token a'), addressFor('token b')]
const [VAULT_A, VAULT_B] = [addressFor('vault a'), addressFor('vault b')]
const [USER_A, USER_B] = [addressFor('user a'), addressFor('user b')]
const AUTHORITY = addressFor('authority')

const tokenBalances: readonly SvmTokenBalance[] = [
  buildTokenBalance(VAULT_A, AUTHORITY, A),
  buildTokenBalance(VAULT_B, AUTHORITY, B),
]

const decoded = (call: InstructionInput): DecodedBlock =>
  decodeInstructions([call], { tokenBalances })

const listOf = (size: number, places: Readonly<Record<number, string>>): readonly string[] =>
  Array.from({ length: size }, (_, index) => places[index] ?? addressFor(`account ${index}`))

const logLine = (tag: string, event: Buffer): string =>
  `Program data: ${Buffer.concat([Buffer.from(tag, 'hex'), event]).toString('base64')}`

const swapped = (inRaw: bigint, outRaw: bigint): string =>
  logLine('516ce3becdd00ac4', borshFields(inRaw, outRaw, 1n, 2n, 0n))

const LIST = listOf(15, { 0: POOL, 1: USER_A, 2: USER_B, 5: VAULT_A, 6: VAULT_B, 12: USER })

/** The vault program moves the tokens. */
const inVaults = (...calls: readonly InstructionInput[]): InstructionInput => ({
  program: VAULTS,
  data: '00',
  calls,
})

const MOVES: readonly InstructionInput[] = [
  tokenTransferInstruction([USER_A, addressFor('fees'), USER], 3n),
  inVaults(tokenTransferInstruction([USER_A, VAULT_A, USER], 299n)),
  inVaults(tokenTransferInstruction([VAULT_B, USER_B, AUTHORITY], 39n)),
]

const swapOf = (more: Partial<InstructionInput> = {}): InstructionInput => ({
  program: AMM,
  accounts: LIST,
  data: 'f8c69e91e17587c8',
  calls: MOVES,
  logs: [swapped(300n, 40n)],
  ...more,
})

test('damm_v1: a swap has the amounts of its log', () => {
  const { swaps, pools, dropped } = decoded(swapOf())
  assert.deepEqual(
    dropped.filter(({ protocol }) => protocol === 'meteora_damm_v1'),
    [],
  )
  assert.deepEqual(swaps, [
    {
      kind: 'swap',
      txIndex: 0,
      logIndex: 0,
      path: { outer: 0, inner: null },
      pool: POOL,
      protocol: 'meteora_damm_v1',
      trader: USER,
      tokenIn: A,
      tokenOut: B,
      amountInRaw: 300n,
      amountOutRaw: 40n,
      accounts: { userIn: USER_A, userOut: USER_B, vaultIn: VAULT_A, vaultOut: VAULT_B },
    },
  ])
  assert.deepEqual([pools[0]?.tokenA, pools[0]?.tokenB], [A, B])
})

test('damm_v1: a swap in the other direction', () => {
  const accounts = listOf(15, {
    0: POOL,
    1: USER_B,
    2: USER_A,
    5: VAULT_A,
    6: VAULT_B,
    12: USER,
  })
  const calls = [
    inVaults(tokenTransferInstruction([USER_B, VAULT_B, USER], 40n)),
    inVaults(tokenTransferInstruction([VAULT_A, USER_A, AUTHORITY], 290n)),
  ]
  const [swap] = decoded(swapOf({ accounts, calls, logs: [swapped(40n, 290n)] })).swaps
  assert.deepEqual([swap?.tokenIn, swap?.tokenOut], [B, A])
  assert.deepEqual([swap?.accounts?.vaultIn, swap?.accounts?.vaultOut], [VAULT_B, VAULT_A])
})

test('damm_v1: a recorded swap without its log has the amounts of its inner transfers', () => {
  const [told] = decodeBlock(recordedSolanaBlock(RECORDED), solanaDecodeContext()).swaps
  assert.deepEqual([told?.amountInRaw, told?.amountOutRaw], [61_124_952_059n, 23_958_329n])
  const tx = recordedSolanaTransaction(RECORDED)
  const instructions = tx.instructions.map((each) => ({ ...each, logs: [] }))
  const { swaps, dropped } = decodeBlock(
    buildSvmBlock([{ ...tx, instructions }]),
    solanaDecodeContext(),
  )
  assert.deepEqual(dropped, [])
  assert.deepEqual([swaps[0]?.amountInRaw, swaps[0]?.amountOutRaw], [61_124_953_617n, 23_958_328n])
})

test('damm_v1: only log lines of the program itself are decoded', () => {
  const forged = { program: addressFor('forger'), data: '00', logs: [swapped(9_999n, 9_999n)] }
  const [swap] = decoded(swapOf({ calls: [...MOVES, forged], logs: [] })).swaps
  assert.deepEqual([swap?.amountInRaw, swap?.amountOutRaw], [302n, 39n])
  const noise = ['Program data: !!', 'Program log: x', 'Program data: AAAA', swapped(300n, 40n)]
  assert.equal(decoded(swapOf({ logs: noise })).swaps[0]?.amountInRaw, 300n)
})

test('damm_v1: an invalid instruction is dropped with its reason', () => {
  const reason = (call: InstructionInput, balances = tokenBalances): string | undefined => {
    const { swaps, poolChanges, dropped } = decodeInstructions([call], { tokenBalances: balances })
    assert.deepEqual([...swaps, ...poolChanges], [])
    return dropped[0]?.reason
  }
  const line = logLine('516ce3becdd00ac4', borshFields(300n))
  assert.equal(reason(swapOf({ logs: [line] })), 'truncated-data')
  assert.equal(reason(swapOf({ accounts: LIST.slice(0, 12) })), 'missing-account')
  assert.equal(reason(swapOf(), []), 'unknown-token')
  assert.equal(reason(swapOf({ calls: MOVES.slice(0, 2) })), 'no-transfers')
  const elsewhere = inVaults(
    tokenTransferInstruction([addressFor('other'), USER_B, AUTHORITY], 39n),
  )
  assert.equal(reason(swapOf({ calls: [elsewhere] })), 'unexpected-vault')
  assert.equal(reason(swapOf({ logs: [swapped(0n, 0n)] })), 'zero-amount')
  assert.equal(reason(swapOf({ data: 'a8e3323ebdab54b0' })), 'unknown-instruction')
})

const LIQUIDITY = listOf(16, { 0: POOL, 9: VAULT_A, 10: VAULT_B, 12: USER, 13: USER })

test('damm_v1: liquidity in every form has the amounts transferred into or out of the vaults', () => {
  const into = [
    inVaults(tokenTransferInstruction([USER_A, VAULT_A, USER], 30n)),
    inVaults(tokenTransferInstruction([USER_B, VAULT_B, USER], 60n)),
  ]
  const out = [
    inVaults(tokenTransferInstruction([VAULT_A, USER_A, AUTHORITY], 10n)),
    inVaults(tokenTransferInstruction([VAULT_B, USER_B, AUTHORITY], 20n)),
  ]
  const forms = [
    ['a8e3323ebdab54b0', 'increase', into, 30n, 60n],
    ['4f237a54ad0f5dbf', 'increase', into, 30n, 60n],
    ['04e4d747e1fd77ce', 'increase', into, 30n, 60n],
    ['856d2cb338ee7221', 'decrease', out, 10n, 20n],
    ['5454b142feb90afb', 'decrease', out.slice(1), 0n, 20n],
  ] as const
  for (const [data, kind, calls, aRaw, bRaw] of forms) {
    const { poolChanges, pools } = decoded({ program: AMM, accounts: LIQUIDITY, data, calls })
    assert.deepEqual(
      poolChanges.map((change) => [
        ...[change.kind, change.pool, change.owner, change.tokenA, change.tokenB],
        ...[change.amountARaw, change.amountBRaw, change.reserves],
      ]),
      [[kind, POOL, USER, A, B, aRaw, bRaw, undefined]],
    )
    assert.equal(pools[0]?.address, POOL)
  }
  const reason = (more: Partial<InstructionInput>) =>
    decoded({ program: AMM, accounts: LIQUIDITY, data: 'a8e3323ebdab54b0', calls: into, ...more })
      .dropped[0]?.reason
  assert.equal(reason({ calls: out }), 'no-transfers')
  assert.equal(reason({ accounts: LIQUIDITY.slice(0, 13) }), 'missing-account')
  const unknown = listOf(16, { 0: POOL, 13: USER })
  assert.equal(reason({ accounts: unknown }), 'unknown-token')
})

test('damm_v1: a new pool has the transferred amounts, or none', () => {
  const calls = [
    inVaults(tokenTransferInstruction([USER_A, VAULT_A, USER], 500n)),
    inVaults(tokenTransferInstruction([USER_B, VAULT_B, USER], 700n)),
  ]
  const plain = listOf(26, { 0: POOL, 2: A, 3: B, 6: VAULT_A, 7: VAULT_B, 17: USER })
  const config = listOf(26, { 0: POOL, 3: A, 4: B, 7: VAULT_A, 8: VAULT_B, 18: USER })
  const empty = listOf(24, { 0: POOL, 2: A, 3: B, 15: USER })
  const forms = [
    ['76ad299dad486167', plain, 500n, 700n],
    ['06874493e552a971', plain, 500n, 700n],
    ['9118acc2db7d03be', plain, 500n, 700n],
    ['07a68aabceabecf4', config, 500n, 700n],
    ['3095dc823d0b09b2', config, 500n, 700n],
    ['4d55b29d3230d47e', empty, 0n, 0n],
  ] as const
  for (const [data, accounts, aRaw, bRaw] of forms) {
    const { poolChanges } = decodeInstructions([{ program: AMM, accounts, data, calls }])
    assert.deepEqual(
      poolChanges.map((change) => [
        ...[change.kind, change.pool, change.owner, change.tokenA, change.tokenB],
        change.reserves,
      ]),
      [['initialize', POOL, USER, A, B, [aRaw, bRaw]]],
    )
  }
})

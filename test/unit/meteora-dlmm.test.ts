import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROGRAM_IDS } from '../../ingestors/svm/programs/programs.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import type { DecodedBlock, PoolMetadata, SvmTokenBalance } from '../../schemas/events.ts'
import {
  addressFor,
  borshFields,
  buildSvmBlock,
  buildSvmTransaction,
  buildTokenBalance,
  decodeInstructions,
  eventCpi,
  type InstructionInput,
  tokenTransferInstruction,
} from '../support/builders/svm-block.ts'
import {
  recordedSolanaBlock,
  recordedSolanaTransaction,
  solanaDecodeContext,
} from '../support/recordings/solana.ts'

const DLMM = PROGRAM_IDS.meteoraDlmm
const [POOL, USER] = [addressFor('pool'), addressFor('user')]
const [X, Y] = [addressFor('token x'), addressFor('token y')]
const [VAULT_X, VAULT_Y] = [addressFor('vault x'), addressFor('vault y')]
const [USER_IN, USER_OUT] = [addressFor('user in'), addressFor('user out')]

const SWAP = 'f8c69e91e17587c8'
const SWAPPED = '516ce3becdd00ac4'
const SWAPPED_2 = '2e7452d7941b544d'

const listOf = (size: number, places: Readonly<Record<number, string>>): readonly string[] =>
  Array.from({ length: size }, (_, index) => places[index] ?? addressFor(`account ${index}`))

const SWAP_LIST = listOf(15, {
  0: POOL,
  2: VAULT_X,
  3: VAULT_Y,
  4: USER_IN,
  5: USER_OUT,
  6: X,
  7: Y,
  10: USER,
})

const BINS = Buffer.alloc(8, 1)

/** A Swap event; without transfers beside it its amounts count. */
const swapped = (inRaw: bigint, outRaw: bigint, paysX: boolean): InstructionInput =>
  eventCpi(DLMM, SWAPPED, borshFields(POOL, USER, BINS, inRaw, outRaw, paysX, 1n, 0n, 5n, 0n, 0n))

const swapped2 = (inRaw: bigint, outRaw: bigint, paysX: boolean): InstructionInput =>
  eventCpi(
    DLMM,
    SWAPPED_2,
    borshFields(POOL, USER, BINS, paysX, 5n, 0n, inRaw, 0n, outRaw, 0n, 0n, 0n, 0n, true, false),
  )

const swapOf = (
  calls: readonly InstructionInput[],
  more: Partial<InstructionInput> = {},
): InstructionInput => ({
  program: DLMM,
  accounts: SWAP_LIST,
  data: SWAP,
  calls,
  ...more,
})

const reasonsOf = ({ swaps, poolChanges, dropped }: DecodedBlock): readonly string[] => {
  assert.deepEqual([...swaps, ...poolChanges], [])
  return dropped.map(({ reason }) => reason)
}

test('dlmm: reserves after recorded swaps equal the vault balances', () => {
  for (const name of ['rotki_58F9fNP78F.json', 'swap_goosefx_gamma_1.json']) {
    const { swaps } = decodeBlock(recordedSolanaBlock(name), solanaDecodeContext())
    const { tokenBalances } = recordedSolanaTransaction(name)
    const held = (account = '') =>
      tokenBalances.find((balance) => balance.account === account)?.postRaw
    const [swap] = swaps.filter(({ protocol }) => protocol === 'meteora_dlmm')
    assert.ok(swap)
    assert.deepEqual(swap.reservesInOut, [
      held(swap.accounts?.vaultIn),
      held(swap.accounts?.vaultOut),
    ])
  }
})

test('dlmm: every form of a swap is decoded, in both directions', () => {
  const tags = [
    ...[SWAP, '414b3f4ceb5b5b88', 'fa49652126cf4bb8', '2bd7f784893cf351'],
    ...['38ade6d0ade49ccd', '4a62c0d6b1334b33'],
  ]
  for (const data of tags) {
    const { swaps, pools, dropped } = decodeInstructions([
      swapOf([swapped(300n, 40n, true)], { data }),
    ])
    assert.deepEqual(dropped, [])
    assert.deepEqual(swaps, [
      {
        kind: 'swap',
        txIndex: 0,
        logIndex: 0,
        path: { outer: 0, inner: null },
        pool: POOL,
        protocol: 'meteora_dlmm',
        trader: USER,
        tokenIn: X,
        tokenOut: Y,
        amountInRaw: 300n,
        amountOutRaw: 40n,
        accounts: { userIn: USER_IN, userOut: USER_OUT, vaultIn: VAULT_X, vaultOut: VAULT_Y },
      },
    ])
    assert.deepEqual([pools[0]?.tokenA, pools[0]?.tokenB, pools[0]?.verified], [X, Y, true])
  }
  const [back] = decodeInstructions([swapOf([swapped(40n, 300n, false)])]).swaps
  assert.deepEqual([back?.tokenIn, back?.tokenOut, back?.accounts?.vaultIn], [Y, X, VAULT_Y])
})

test('dlmm: swap amounts are the transferred ones, transfer fees included', () => {
  const moves = [
    tokenTransferInstruction([USER_IN, VAULT_X, USER], 310n),
    tokenTransferInstruction([VAULT_Y, USER_OUT, POOL], 40n),
  ]
  const [swap] = decodeInstructions([swapOf([...moves, swapped(300n, 40n, true)])]).swaps
  assert.deepEqual([swap?.amountInRaw, swap?.amountOutRaw], [310n, 40n])
  const elsewhere = [
    tokenTransferInstruction([USER_IN, addressFor('other'), USER], 310n),
    tokenTransferInstruction([VAULT_Y, USER_OUT, POOL], 41n),
  ]
  const [told] = decodeInstructions([swapOf([...elsewhere, swapped(300n, 40n, true)])]).swaps
  assert.deepEqual([told?.amountInRaw, told?.amountOutRaw], [300n, 40n])
})

test('dlmm: of several swaps of a pool only the last one has reserves', () => {
  const tokenBalances: readonly SvmTokenBalance[] = [
    buildTokenBalance(VAULT_X, POOL, X, { postRaw: 900n }),
    buildTokenBalance(VAULT_Y, POOL, Y, { postRaw: 80n }),
  ]
  const swap = swapOf([
    tokenTransferInstruction([USER_IN, VAULT_X, USER], 300n),
    tokenTransferInstruction([VAULT_Y, USER_OUT, POOL], 40n),
    swapped(300n, 40n, true),
  ])
  const { swaps } = decodeInstructions([swap, swap], { tokenBalances })
  assert.deepEqual(
    swaps.map(({ reservesInOut }) => reservesInOut),
    [undefined, [900n, 80n]],
  )
})

test('dlmm: two layouts of one event are one swap, and either alone is one', () => {
  const both = swapOf([swapped(300n, 40n, true), swapped2(300n, 40n, true)])
  for (const call of [both, swapOf([swapped2(300n, 40n, true)])]) {
    const { swaps, dropped } = decodeInstructions([call])
    assert.deepEqual(dropped, [])
    assert.deepEqual(
      swaps.map(({ amountInRaw, amountOutRaw, tokenIn }) => [amountInRaw, amountOutRaw, tokenIn]),
      [[300n, 40n, X]],
    )
  }
  const apart = decodeInstructions([
    swapOf([swapped(300n, 40n, true)]),
    swapOf([swapped2(300n, 40n, true)]),
  ])
  assert.equal(apart.swaps.length, 2)
})

test('dlmm: a failed transaction gives no trade', () => {
  const failed = recordedSolanaTransaction('swap_meteora_dlmm_1.json')
  assert.equal(failed.success, false)
  assert.deepEqual(decodeBlock(buildSvmBlock([failed]), solanaDecodeContext()).swaps, [])
  const hand = buildSvmTransaction([swapOf([swapped(300n, 40n, true)])], { success: false })
  assert.deepEqual(decodeBlock(buildSvmBlock([hand]), solanaDecodeContext()).swaps, [])
})

test('dlmm: an invalid event is dropped with its reason', () => {
  const event = swapped(300n, 40n, true)
  const reason = (call: InstructionInput) => reasonsOf(decodeInstructions([call]))
  const data = Buffer.from(event.data)
  assert.deepEqual(reason(swapOf([{ ...event, data: data.subarray(0, 16 + 88) }])), [
    'truncated-data',
  ])
  assert.deepEqual(reason(event), ['unexpected-caller'])
  assert.deepEqual(reason(swapOf([event], { program: addressFor('forger') })), [
    'unexpected-caller',
  ])
  assert.deepEqual(reason(swapOf([event], { data: '00'.repeat(8) })), ['unknown-instruction'])
  assert.deepEqual(reason(swapOf([event], { accounts: SWAP_LIST.slice(0, 10) })), [
    'missing-account',
  ])
  assert.deepEqual(reason(swapOf([swapped(0n, 0n, true)])), ['zero-amount'])
  const whole = swapOf([{ ...event, data: data.subarray(0, 16 + 89) }])
  assert.equal(decodeInstructions([whole]).swaps.length, 1)
  const grown = swapOf([{ ...event, data: Buffer.concat([data, Buffer.alloc(90, 7)]) }])
  assert.equal(decodeInstructions([grown]).swaps.length, 1)
})

const LIQUIDITY = listOf(16, { 1: POOL, 5: VAULT_X, 6: VAULT_Y, 7: X, 8: Y, 9: USER, 11: USER })
const ADDED = '1f5e7d5ae3343dba'
const REMOVED = '74f461e8671f983a'

const moved = (tag: string, xRaw: bigint, yRaw: bigint): InstructionInput =>
  eventCpi(DLMM, tag, borshFields(POOL, USER, addressFor('position'), xRaw, yRaw, Buffer.alloc(4)))

const changesOf = ({ poolChanges, dropped }: DecodedBlock) => {
  assert.deepEqual(dropped, [])
  return poolChanges.map(({ kind, owner, tokenA, amountARaw, amountBRaw }) => [
    kind,
    owner,
    tokenA,
    amountARaw,
    amountBRaw,
  ])
}

test('dlmm: liquidity in every two-sided form is decoded', () => {
  const forms: readonly (readonly [string, string, string])[] = [
    ...[
      'b59d59438fb63448',
      '0703967f94283dc8',
      '1c8cee63e7a21595',
      'e4a24e1c46db7473',
      '03dd95da6f8d76d5',
      'd13b3f5b6fc899e4',
    ].map((tag) => [tag, ADDED, 'increase'] as const),
    ...[
      '5055d14818ceb16c',
      '0a333d2370691855',
      '1a526698f04a691a',
      'e6d7527ff165e392',
      'cc02c391359191cd',
    ].map((tag) => [tag, REMOVED, 'decrease'] as const),
  ]
  for (const [data, tag, kind] of forms) {
    const calls = [moved(tag, 30n, 60n)]
    assert.deepEqual(
      changesOf(decodeInstructions([{ program: DLMM, accounts: LIQUIDITY, data, calls }])),
      [[kind, USER, X, 30n, 60n]],
    )
  }
})

test('dlmm: a recorded withdrawal has the transferred amounts, and claimed fees are not a change', () => {
  const { poolChanges, swaps, dropped } = decodeBlock(
    recordedSolanaBlock('remove_liquidity_meteora_dlmm_1.json'),
    solanaDecodeContext(),
  )
  assert.deepEqual([swaps, dropped], [[], []])
  assert.deepEqual(
    poolChanges.map(({ kind, owner, amountARaw, amountBRaw, reserves, path }) => [
      kind,
      owner,
      amountARaw,
      amountBRaw,
      reserves,
      path,
    ]),
    [
      [
        'decrease',
        '2L8p3dBDZghgPnbMTJF3Kb1x5C93D65TcFC5NM9cHWzV',
        0n,
        1_500_001_496n,
        [4_142_625_788_987n, 335_857_896_545n],
        { outer: 5, inner: null },
      ],
    ],
  )
})

test('dlmm: a one-sided deposit needs a known pool', () => {
  const fact: PoolMetadata = {
    address: POOL,
    tokenA: X,
    tokenB: Y,
    protocol: 'meteora_dlmm',
    factory: DLMM,
    feePips: null,
    verified: true,
  }
  const forms = [
    ['5e9b6797465fdca5', 8],
    ['2905eeaf64e106cd', 8],
    ['a1c26754ab47fa9a', 8],
    ['2133a3c975627de7', 6],
  ] as const
  for (const [data, user] of forms) {
    const accounts = listOf(12, { 1: POOL, 5: Y, [user]: USER })
    const call: InstructionInput = { program: DLMM, accounts, data, calls: [moved(ADDED, 0n, 60n)] }
    const block = buildSvmBlock([buildSvmTransaction([call])])
    assert.deepEqual(changesOf(decodeBlock(block, solanaDecodeContext([fact]))), [
      ['increase', USER, X, 0n, 60n],
    ])
    assert.deepEqual(reasonsOf(decodeBlock(block, solanaDecodeContext())), ['unknown-token'])
  }
})

test('dlmm: a rebalanced position gives a withdrawal and a deposit; zero amounts give none', () => {
  const rebalance = (amounts: readonly bigint[]): InstructionInput => ({
    program: DLMM,
    accounts: LIQUIDITY,
    data: '5c04b0c177b95309',
    calls: [
      eventCpi(
        DLMM,
        '006d75b33d5bc7c8',
        borshFields(
          POOL,
          addressFor('position'),
          USER,
          Buffer.alloc(4),
          ...amounts,
          Buffer.alloc(48),
        ),
      ),
    ],
  })
  const tokenBalances = [
    buildTokenBalance(VAULT_X, POOL, X, { postRaw: 900n }),
    buildTokenBalance(VAULT_Y, POOL, Y, { postRaw: 80n }),
  ]
  const found = decodeInstructions([rebalance([10n, 7n, 20n, 5n])], { tokenBalances })
  assert.deepEqual(changesOf(found), [
    ['decrease', USER, X, 10n, 20n],
    ['increase', USER, X, 7n, 5n],
  ])
  assert.deepEqual(
    found.poolChanges.map(({ reserves }) => reserves),
    [
      [893n, 75n],
      [900n, 80n],
    ],
  )
  assert.deepEqual(changesOf(decodeInstructions([rebalance([0n, 7n, 0n, 5n])])), [
    ['increase', USER, X, 7n, 5n],
  ])
})

test('dlmm: pools are created empty', () => {
  const created = eventCpi(DLMM, 'b94afc7d1bd7bc6f', borshFields(POOL, Buffer.from([10, 0]), X, Y))
  const plain = listOf(16, { 0: POOL, 2: X, 3: Y, 8: USER })
  const permissioned = listOf(18, { 1: POOL, 3: X, 4: Y, 8: USER })
  const forms = [
    ['2d9aedd2dd0fa65c', plain],
    ['493b2478ed536cc6', plain],
    ['2e2729876fb7c840', plain],
    ['f349817e3313f16b', plain],
    ['6c66d555fb033515', permissioned],
  ] as const
  for (const [data, accounts] of forms) {
    const found = decodeInstructions([{ program: DLMM, accounts, data, calls: [created] }])
    assert.deepEqual(changesOf(found), [['initialize', USER, X, 0n, 0n]])
    assert.deepEqual(found.poolChanges[0]?.reserves, [0n, 0n])
    assert.deepEqual([found.pools[0]?.tokenA, found.pools[0]?.tokenB], [X, Y])
  }
  const reason = (more: Partial<InstructionInput>) =>
    reasonsOf(
      decodeInstructions([
        { program: DLMM, accounts: plain, data: '2d9aedd2dd0fa65c', calls: [created], ...more },
      ]),
    )
  assert.deepEqual(reason({ data: SWAP }), ['unknown-instruction'])
  assert.deepEqual(reason({ accounts: plain.slice(0, 8) }), ['missing-account'])
})

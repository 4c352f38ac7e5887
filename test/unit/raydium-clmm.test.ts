import assert from 'node:assert/strict'
import { test } from 'node:test'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { recordedBlock } from '../../ingestors/recorded/files.ts'
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
  u128le,
} from '../support/builders/svm-block.ts'
import {
  recordedSolanaBlock,
  solanaDecodeContext,
  solanaRecordingJson,
} from '../support/recordings/solana.ts'

const CLMM = PROGRAM_IDS.raydiumClmm
const POOL = addressFor('pool')
const USER = addressFor('user')
const [MINT_0, MINT_1] = [addressFor('mint 0'), addressFor('mint 1')]
const [VAULT_0, VAULT_1] = [addressFor('vault 0'), addressFor('vault 1')]
const [USER_0, USER_1] = [addressFor('user 0'), addressFor('user 1')]
const SWAP_EVENT = '40c6cde8260871e2'
const DECREASE_EVENT = '3ade563a44325538'

const BALANCES: readonly SvmTokenBalance[] = [
  buildTokenBalance(VAULT_0, POOL, MINT_0),
  buildTokenBalance(VAULT_1, POOL, MINT_1),
  buildTokenBalance(USER_0, USER, MINT_0),
  buildTokenBalance(USER_1, USER, MINT_1),
]

const decoded = (...calls: readonly InstructionInput[]) =>
  decodeInstructions(calls, { tokenBalances: BALANCES })

const swapped = (pool: string, sqrtPriceX64: bigint, liquidity: bigint): string =>
  eventLogLine(
    SWAP_EVENT,
    Buffer.concat([
      borshFields(pool, USER, USER_0, USER_1, 300n, 0n, 40n, 0n, true),
      u128le(sqrtPriceX64),
      u128le(liquidity),
      Buffer.alloc(4),
    ]),
  )

const paid = tokenTransferInstruction([USER_0, VAULT_0, USER], 300n)
const got = tokenTransferInstruction([VAULT_1, USER_1, POOL], 40n)
const SWAP = buildAccountList(13, { 0: USER, 2: POOL, 5: VAULT_0, 6: VAULT_1 })

const swapOf = (more: Partial<InstructionInput> = {}): InstructionInput => ({
  program: CLMM,
  accounts: SWAP,
  data: 'f8c69e91e17587c8',
  calls: [paid, got],
  logs: [swapped(POOL, 7n << 64n, 1n << 70n)],
  ...more,
})

test('raydium_clmm: both forms of a swap are decoded, with price and liquidity after it', () => {
  for (const data of ['f8c69e91e17587c8', '2b04ed0b1ac91e62']) {
    const { swaps, pools, dropped } = decoded(swapOf({ data }))
    assert.deepEqual(dropped, [])
    assert.deepEqual(swaps, [
      {
        kind: 'swap',
        txIndex: 0,
        logIndex: 0,
        path: { outer: 0, inner: null },
        pool: POOL,
        protocol: 'raydium_clmm',
        trader: USER,
        tokenIn: MINT_0,
        tokenOut: MINT_1,
        amountInRaw: 300n,
        amountOutRaw: 40n,
        sqrtPriceX96: 7n << 96n,
        liquidityRaw: 1n << 70n,
        accounts: { userIn: USER_0, userOut: USER_1, vaultIn: VAULT_0, vaultOut: VAULT_1 },
      },
    ])
    assert.deepEqual([pools[0]?.tokenA, pools[0]?.tokenB], sortPubkeys(MINT_0, MINT_1))
  }
})

test('raydium_clmm: a swap without its own log has no price', () => {
  for (const logs of [[], [swapped(addressFor('other'), 7n << 64n, 1n)]]) {
    const [swap] = decoded(swapOf({ logs })).swaps
    assert.deepEqual(
      [swap?.amountInRaw, swap?.sqrtPriceX96, swap?.liquidityRaw],
      [300n, undefined, undefined],
    )
  }
})

const POOL_2 = addressFor('pool 2')
const [VAULT_2, VAULT_3] = [addressFor('vault 2'), addressFor('vault 3')]
const MINT_2 = addressFor('mint 2')
const ROUTE = [
  ...buildAccountList(6, { 0: USER, 2: MINT_0 }),
  ...[
    addressFor('config'),
    POOL,
    USER_1,
    VAULT_0,
    VAULT_1,
    MINT_1,
    addressFor('observation'),
    addressFor('ticks'),
    addressFor('ticks 2'),
  ],
  ...[
    addressFor('config'),
    POOL_2,
    addressFor('user 2'),
    VAULT_2,
    VAULT_3,
    MINT_2,
    addressFor('observation 2'),
    addressFor('ticks 3'),
  ],
]
const onward = tokenTransferInstruction([USER_1, VAULT_2, USER], 40n)
const last = tokenTransferInstruction([VAULT_3, addressFor('user 2'), POOL_2], 9n)

const routeOf = (more: Partial<InstructionInput> = {}): InstructionInput => ({
  program: CLMM,
  accounts: ROUTE,
  data: '457d73daf5baf2c4',
  calls: [paid, got, onward, last],
  logs: [swapped(POOL, 1n << 64n, 1n), swapped(POOL_2, 2n << 64n, 1n)],
  ...more,
})

test('raydium_clmm: a route is one trade per hop, each with its own pool and price', () => {
  const { swaps, pools, dropped } = decodeInstructions([routeOf()])
  assert.deepEqual(
    dropped.filter(({ protocol }) => protocol === 'raydium_clmm'),
    [],
  )
  assert.deepEqual(
    swaps.map(({ pool, tokenIn, tokenOut, amountInRaw, amountOutRaw, sqrtPriceX96, path }) => [
      ...[pool, tokenIn, tokenOut, amountInRaw, amountOutRaw, sqrtPriceX96, path?.outer],
    ]),
    [
      [POOL, MINT_0, MINT_1, 300n, 40n, 1n << 96n, 0],
      [POOL_2, MINT_1, MINT_2, 40n, 9n, 2n << 96n, 0],
    ],
  )
  assert.equal(pools.length, 2)
})

test('raydium_clmm: a route through one pool twice uses its events in order', () => {
  const hop = ROUTE.slice(6, 15)
  const back = [
    addressFor('config'),
    POOL,
    USER_0,
    VAULT_1,
    VAULT_0,
    MINT_0,
    addressFor('observation'),
  ]
  const { swaps } = decodeInstructions([
    routeOf({
      accounts: [...ROUTE.slice(0, 6), ...hop, ...back],
      calls: [
        paid,
        got,
        tokenTransferInstruction([USER_1, VAULT_1, USER], 40n),
        tokenTransferInstruction([VAULT_0, USER_0, POOL], 290n),
      ],
      logs: [swapped(POOL, 1n << 64n, 1n), swapped(POOL, 3n << 64n, 1n)],
    }),
  ])
  assert.deepEqual(
    swaps.map(({ tokenIn, sqrtPriceX96 }) => [tokenIn, sqrtPriceX96]),
    [
      [MINT_0, 1n << 96n],
      [MINT_1, 3n << 96n],
    ],
  )
})

test('raydium_clmm: an invalid swap is dropped with its reason', () => {
  const reasonOf = (call: InstructionInput): string | undefined => {
    const { swaps, poolChanges, dropped } = decoded(call)
    assert.deepEqual([swaps, poolChanges], [[], []])
    return dropped.find(({ protocol }) => protocol === 'raydium_clmm')?.reason
  }
  assert.equal(reasonOf(swapOf({ accounts: SWAP.slice(0, 6) })), 'missing-account')
  assert.equal(reasonOf(swapOf({ calls: [paid] })), 'no-transfers')
  const given = tokenTransferInstruction([addressFor('other'), USER_1, POOL], 40n)
  assert.equal(reasonOf(swapOf({ calls: [paid, given] })), 'unexpected-vault')
  const nothing = tokenTransferInstruction([VAULT_1, USER_1, POOL], 0n)
  const none = tokenTransferInstruction([USER_0, VAULT_0, USER], 0n)
  assert.equal(reasonOf(swapOf({ calls: [none, nothing] })), 'zero-amount')
  assert.equal(reasonOf(routeOf({ accounts: [] })), 'missing-account')
  assert.equal(reasonOf(routeOf({ accounts: ROUTE.slice(0, 11) })), 'missing-account')
  assert.equal(reasonOf(routeOf({ calls: [] })), 'no-transfers')
  assert.equal(reasonOf(routeOf({ accounts: ROUTE.slice(0, 9) })), 'unexpected-vault')
  assert.equal(
    reasonOf({ ...swapOf(), data: 'e992d18ecf6840bc', accounts: [USER] }),
    'missing-account',
  )
  assert.equal(
    reasonOf({ ...swapOf(), data: '2e9cf3760dcdfbb2', accounts: [USER] }),
    'missing-account',
  )
  assert.equal(
    reasonOf({ ...swapOf(), data: 'a026d06f685b2c01', accounts: [USER] }),
    'missing-account',
  )
  assert.equal(reasonOf({ ...swapOf(), data: 'a026d06f685b2c01' }), 'truncated-data')
  const { dropped } = decodeInstructions([swapOf()])
  assert.equal(dropped[0]?.reason, 'unknown-token')
})

const FORMS: Readonly<
  Record<string, readonly [tag: string, places: Readonly<Record<number, string>>]>
> = {
  open_position: ['87802f4d0f98f031', { 1: USER, 5: POOL, 12: VAULT_0, 13: VAULT_1 }],
  open_position_v2: ['4db84ad67056f1c7', { 1: USER, 5: POOL, 12: VAULT_0, 13: VAULT_1 }],
  open_position_with_token22_nft: [
    '4dffae527d1dc92e',
    { 1: USER, 4: POOL, 11: VAULT_0, 12: VAULT_1 },
  ],
  increase_liquidity: ['2e9cf3760dcdfbb2', { 0: USER, 2: POOL, 9: VAULT_0, 10: VAULT_1 }],
  increase_liquidity_v2: ['851d59df45eeb00a', { 0: USER, 2: POOL, 9: VAULT_0, 10: VAULT_1 }],
}

test('raydium_clmm: positions are opened and increased in every form, also with one token alone', () => {
  for (const [name, [data, places]] of Object.entries(FORMS)) {
    const grow = (...calls: readonly InstructionInput[]): InstructionInput => ({
      program: CLMM,
      accounts: buildAccountList(16, places),
      data,
      calls,
    })
    const second = tokenTransferInstruction([USER_1, VAULT_1, USER], 70n)
    const { poolChanges, pools, dropped } = decoded(grow(paid, second), grow(second), grow())
    const opens = name.startsWith('open')
    assert.deepEqual(
      dropped.map(({ reason }) => reason),
      opens ? [] : ['no-transfers'],
      name,
    )
    assert.deepEqual(
      poolChanges.map(({ kind, pool, owner, amountARaw, amountBRaw }) => [
        ...[kind, pool, owner, amountARaw, amountBRaw],
      ]),
      [
        ['increase', POOL, USER, 300n, 70n],
        ['increase', POOL, USER, 0n, 70n],
      ],
      name,
    )
    assert.deepEqual([pools[0]?.tokenA, pools[0]?.tokenB], [MINT_0, MINT_1])
  }
})

test('raydium_clmm: a withdrawal counts the amounts of its event, without the fees in the same transfers', () => {
  const shrink = (
    data: string,
    liquidity: bigint,
    more: Partial<InstructionInput> = {},
  ): InstructionInput => ({
    program: CLMM,
    accounts: buildAccountList(12, { 0: USER, 3: POOL, 5: VAULT_0, 6: VAULT_1 }),
    data: Buffer.concat([Buffer.from(data, 'hex'), u128le(liquidity), borshFields(0n, 0n)]),
    calls: [
      tokenTransferInstruction([VAULT_0, USER_0, POOL], 105n),
      tokenTransferInstruction([VAULT_1, USER_1, POOL], 207n),
    ],
    ...more,
  })
  const told = (...amounts: readonly [bigint, bigint]): Partial<InstructionInput> => ({
    logs: [
      eventLogLine(DECREASE_EVENT, borshFields(addressFor('nft'), u128le(5n), ...amounts, 5n, 7n)),
    ],
  })
  const { poolChanges, dropped } = decoded(
    shrink('a026d06f685b2c01', 5n, told(100n, 200n)),
    shrink('3a7fbc3e4f52c460', 1n << 64n, told(100n, 0n)),
    shrink('a026d06f685b2c01', 5n),
    shrink('a026d06f685b2c01', 0n),
    shrink('3a7fbc3e4f52c460', 0n, told(0n, 0n)),
    shrink('3a7fbc3e4f52c460', 1n, told(0n, 0n)),
  )
  assert.deepEqual(dropped, [])
  assert.deepEqual(
    poolChanges.map(({ kind, owner, amountARaw, amountBRaw }) => [
      kind,
      owner,
      amountARaw,
      amountBRaw,
    ]),
    [
      ['decrease', USER, 100n, 200n],
      ['decrease', USER, 100n, 0n],
      ['decrease', USER, 105n, 207n],
    ],
  )
})

test('raydium_clmm: pools are created empty', () => {
  const create = (data: string, at: number): InstructionInput => ({
    program: CLMM,
    accounts: buildAccountList(13, {
      [at === 2 ? 0 : 1]: USER,
      [at]: POOL,
      [at + 1]: MINT_0,
      [at + 2]: MINT_1,
    }),
    data,
  })
  const { poolChanges, pools, dropped } = decodeInstructions([
    create('e992d18ecf6840bc', 2),
    create('2b44d4a7592fa401', 2),
    create('24f3b3232aef35e5', 4),
  ])
  assert.deepEqual(dropped, [])
  for (const change of poolChanges) {
    const { kind, pool, owner, tokenA, tokenB, amountARaw, amountBRaw } = change
    assert.deepEqual(
      [kind, pool, owner, tokenA, tokenB, amountARaw, amountBRaw],
      ['initialize', POOL, USER, MINT_0, MINT_1, 0n, 0n],
    )
    assert.ok(!('reserves' in change))
  }
  assert.deepEqual([poolChanges.length, pools.length], [3, 1])
})

test('raydium_clmm: the price after a recorded swap is near its trade price', () => {
  for (const name of ['swap_raydium_clmm_1.json', 'rotki_4XaCfTLNno.json']) {
    const { swaps, pools } = decodeBlock(recordedSolanaBlock(name), solanaDecodeContext())
    const [swap] = swaps
    assert.ok(swap?.sqrtPriceX96)
    const price = (Number(swap.sqrtPriceX96) / 2 ** 96) ** 2
    const paidPrice = Number(swap.amountOutRaw) / Number(swap.amountInRaw)
    const inIsFirst = swap.tokenIn === pools[0]?.tokenA
    const off = paidPrice / (inIsFirst ? price : 1 / price)
    assert.ok(off > 0.95 && off < 1.05, `${name} ${off}`)
  }
})

test('raydium_clmm: a configured fork is decoded as its family, log lines included', () => {
  const name = 'rotki_5XYf7V6rNj.json'
  const byreal = {
    protocol: 'raydium_clmm',
    factory: 'REALQqNEomY6cQGZJUGwywTBD2UmDT32rZcNnfxQ5N2',
  }
  const extra = { factories: [byreal], quotes: [], referencePools: [], replace: false }
  const { block } = recordedBlock('sol', solanaRecordingJson(name), extra.factories)
  const books = { ...solanaDecodeContext(), protocols: protocolRegistry('sol', extra) }
  const { swaps, dropped } = decodeBlock(block, books)
  assert.deepEqual(dropped, [])
  assert.equal(
    swaps.length,
    decodeBlock(recordedSolanaBlock(name), solanaDecodeContext()).swaps.length + 1,
  )
  const [fork] = swaps
  assert.ok(fork)
  assert.deepEqual([fork.amountInRaw, fork.amountOutRaw], [27_853_252n, 27_859_855n])
  assert.ok(fork.sqrtPriceX96, 'its line tells the price')
})

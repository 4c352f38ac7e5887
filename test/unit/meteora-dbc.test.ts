import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROGRAM_IDS } from '../../ingestors/svm/programs/programs.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import type { DecodedBlock } from '../../schemas/events.ts'
import {
  addressFor,
  borshFields,
  borshText,
  buildTokenBalance,
  decodeInstructions,
  eventCpi,
  type InstructionInput,
  tokenTransferInstruction,
  u64le,
} from '../support/builders/svm-block.ts'
import { recordedSolanaBlock, solanaDecodeContext } from '../support/recordings/solana.ts'

const DBC = PROGRAM_IDS.meteoraDbc
const [CURVE, USER] = [addressFor('curve'), addressFor('user')]
const [BASE, QUOTE] = [addressFor('base'), addressFor('quote')]
const [BASE_VAULT, QUOTE_VAULT] = [addressFor('base vault'), addressFor('quote vault')]
const [SELLS, BUYS] = [0, 1] as const

const listOf = (size: number, places: Readonly<Record<number, string>>): readonly string[] =>
  Array.from({ length: size }, (_, index) => places[index] ?? addressFor(`account ${index}`))

const LIST = listOf(15, {
  2: CURVE,
  3: addressFor('user in'),
  4: addressFor('user out'),
  5: BASE_VAULT,
  6: QUOTE_VAULT,
  7: BASE,
  8: QUOTE,
  9: USER,
})

const byte = (value: number): Buffer => Buffer.from([value])

const first = (inRaw: bigint, outRaw: bigint, direction: number): InstructionInput =>
  eventCpi(
    DBC,
    '1b3c15d58aaabb93',
    borshFields(
      ...[CURVE, addressFor('config'), byte(direction), false, 1n, 2n],
      ...[3n, outRaw, 0n, 0n, 4n, 5n, 6n, inRaw, 7n],
    ),
  )

interface Second {
  readonly tag?: string
  readonly reserve?: bigint
  readonly goal?: bigint
}

const second = (
  inRaw: bigint,
  outRaw: bigint,
  direction: number,
  { tag = 'bd4233a826507599', reserve = 250n, goal = 1_000n }: Second = {},
): InstructionInput =>
  eventCpi(
    DBC,
    tag,
    borshFields(
      ...[CURVE, addressFor('config'), byte(direction), false, 1n, 2n, byte(0)],
      ...[inRaw, 3n, 0n, outRaw, 0n, 0n, 4n, 5n, 6n, reserve, goal, 7n],
    ),
  )

const tradeOf = (
  calls: readonly InstructionInput[],
  more: Partial<InstructionInput> = {},
): InstructionInput => ({
  program: DBC,
  accounts: LIST,
  data: 'f8c69e91e17587c8',
  calls,
  ...more,
})

const reasonOf = ({
  swaps,
  tokenCreations,
  migrations,
  dropped,
}: DecodedBlock): string | undefined => {
  assert.deepEqual([...swaps, ...tokenCreations, ...migrations], [])
  return dropped[0]?.reason
}

test('dbc: a recorded sale with two events is one trade with the state of its curve', () => {
  const { swaps, pools, dropped } = decodeBlock(
    recordedSolanaBlock('swap_mintech_1.json'),
    solanaDecodeContext(),
  )
  assert.deepEqual(dropped, [])
  const [swap] = swaps
  assert.equal(swaps.length, 1)
  assert.deepEqual(swap?.curve, {
    virtualQuoteRaw: null,
    virtualTokenRaw: null,
    realQuoteRaw: 11n,
    realTokenRaw: 999_999_997_568_001n,
  })
  assert.equal(swap?.curveProgress, 11 / 12_500_000_000)
  assert.equal(pools[0]?.tokenA, swap?.tokenIn)
})

test('dbc: in every instruction and layout a buyer pays the quote token', () => {
  const tags = ['f8c69e91e17587c8', '414b3f4ceb5b5b88', 'b75d992818e6c297']
  for (const data of tags) {
    for (const calls of [
      [first(300n, 40n, BUYS)],
      [second(300n, 40n, BUYS)],
      [second(300n, 40n, BUYS, { tag: '863ba8785e3372e7' })],
      [first(299n, 39n, BUYS), second(300n, 40n, BUYS)],
    ]) {
      const { swaps, pools, dropped } = decodeInstructions([tradeOf(calls, { data })])
      assert.deepEqual(dropped, [])
      assert.equal(swaps.length, 1)
      const [swap] = swaps
      assert.deepEqual(
        [swap?.tokenIn, swap?.amountInRaw, swap?.tokenOut, swap?.amountOutRaw],
        [QUOTE, 300n, BASE, 40n],
      )
      assert.deepEqual([swap?.pool, swap?.trader, swap?.protocol], [CURVE, USER, 'meteora_dbc'])
      assert.deepEqual(swap?.accounts, {
        userIn: addressFor('user in'),
        userOut: addressFor('user out'),
        vaultIn: QUOTE_VAULT,
        vaultOut: BASE_VAULT,
      })
      assert.deepEqual([pools[0]?.tokenA, pools[0]?.tokenB], [BASE, QUOTE])
    }
  }
  const [sale] = decodeInstructions([tradeOf([second(40n, 300n, SELLS)])]).swaps
  assert.deepEqual([sale?.tokenIn, sale?.accounts?.vaultIn], [BASE, BASE_VAULT])
})

test('dbc: curve progress is the raised share of the goal, at most 1', () => {
  const progressOf = (told: Second) =>
    decodeInstructions([tradeOf([second(300n, 40n, BUYS, told)])]).swaps[0]?.curveProgress
  assert.equal(progressOf({}), 0.25)
  assert.equal(progressOf({ reserve: 1_007n }), 1)
  assert.equal(progressOf({ goal: 0n }), undefined)
  const [old] = decodeInstructions([tradeOf([first(300n, 40n, BUYS)])]).swaps
  assert.deepEqual([old?.curveProgress, old?.curve], [undefined, undefined])
})

test('dbc: trade amounts are the transferred ones, and the quote reserve leaves out fees', () => {
  const tokenBalances = [
    buildTokenBalance(BASE_VAULT, addressFor('authority'), BASE, { postRaw: 9_000n }),
    buildTokenBalance(QUOTE_VAULT, addressFor('authority'), QUOTE, { postRaw: 290n }),
  ]
  const calls = [
    tokenTransferInstruction([addressFor('user in'), QUOTE_VAULT, USER], 280n),
    tokenTransferInstruction([BASE_VAULT, addressFor('user out'), addressFor('authority')], 40n),
    second(300n, 40n, BUYS),
  ]
  const [swap] = decodeInstructions([tradeOf(calls)], { tokenBalances }).swaps
  assert.deepEqual([swap?.amountInRaw, swap?.amountOutRaw], [280n, 40n])
  assert.deepEqual(swap?.reservesInOut, [250n, 9_000n])
  assert.equal(swap?.curve?.realTokenRaw, 9_000n)
})

test('dbc: an invalid event is dropped with its reason', () => {
  const event = first(300n, 40n, BUYS)
  const reason = (call: InstructionInput) => reasonOf(decodeInstructions([call]))
  const short = Buffer.from(event.data).subarray(0, 16 + 145)
  assert.equal(reason(tradeOf([{ ...event, data: short }])), 'truncated-data')
  assert.equal(reason(event), 'unexpected-caller')
  assert.equal(reason(tradeOf([event], { program: addressFor('forger') })), 'unexpected-caller')
  assert.equal(reason(tradeOf([event], { data: '00'.repeat(8) })), 'unknown-instruction')
  assert.equal(reason(tradeOf([event], { accounts: LIST.slice(0, 9) })), 'missing-account')
  assert.equal(reason(tradeOf([first(0n, 0n, BUYS)])), 'zero-amount')
})

const opened = (tag = 'e432f655cb428625'): InstructionInput =>
  eventCpi(DBC, tag, borshFields(CURVE, addressFor('config'), USER, BASE, byte(0), 5n))

/** The mint is set up, filled and left without an authority before the event. */
const MAKING: readonly InstructionInput[] = [
  {
    program: PROGRAM_IDS.token,
    accounts: [BASE],
    data: Buffer.concat([Buffer.from([20, 6]), Buffer.alloc(32, 3), byte(0)]),
  },
  {
    program: PROGRAM_IDS.token,
    accounts: [BASE, BASE_VAULT, addressFor('authority')],
    data: Buffer.concat([byte(7), u64le(1_000_000n)]),
  },
  {
    program: PROGRAM_IDS.token,
    accounts: [BASE, addressFor('authority')],
    data: Buffer.from([6, 0, 0]),
  },
]

const OPENING: InstructionInput = {
  program: DBC,
  accounts: listOf(16, { 2: USER, 3: BASE, 4: QUOTE, 5: CURVE, 6: BASE_VAULT }),
  data: Buffer.concat([
    Buffer.from('8c55d7b06636684f', 'hex'),
    borshText('Name'),
    borshText('SYM'),
    borshText('https://x'),
  ]),
  calls: [...MAKING, opened()],
}

test('dbc: a pool creation gives one token with its curve, which then trades', () => {
  const found = decodeInstructions([OPENING, tradeOf([second(300n, 40n, BUYS)])])
  assert.deepEqual(found.dropped, [])
  assert.deepEqual(found.tokenCreations, [
    {
      kind: 'token-created',
      txIndex: 0,
      logIndex: 0,
      path: { outer: 0, inner: null },
      metadata: {
        address: BASE,
        decimals: 6,
        name: 'Name',
        symbol: 'SYM',
        totalSupplyRaw: 1_000_000n,
        uri: 'https://x',
        program: PROGRAM_IDS.token,
      },
      dev: USER,
      creators: [USER],
      launch: { protocol: 'meteora_dbc', pool: CURVE },
    },
  ])
  assert.deepEqual(
    found.poolChanges.map(({ kind, pool, tokenA, tokenB, amountARaw, reserves }) => [
      ...[kind, pool, tokenA, tokenB, amountARaw, reserves],
    ]),
    [['initialize', CURVE, BASE, QUOTE, 1_000_000n, [1_000_000n, 0n]]],
  )
  assert.equal(found.pools.length, 1)
  assert.equal(found.swaps.length, 1)
})

test('dbc: every form of a pool creation is decoded', () => {
  const forms = [
    ['a2d0681ceb203b31', 'e432f655cb428625'],
    ['a976334e916edc9b', 'e432f655cb428625'],
    ['b40c1c96a766a29d', 'e432f655cb428625'],
    ['b60de9b12a918702', 'd589a435c14a0f6e'],
    ['e2af7f0d26833af3', 'd589a435c14a0f6e'],
  ] as const
  for (const [form, tag] of forms) {
    const data = Buffer.concat([
      Buffer.from(form, 'hex'),
      borshText('N'),
      borshText('S'),
      borshText('u'),
    ])
    const found = decodeInstructions([{ ...OPENING, data, calls: [...MAKING, opened(tag)] }])
    assert.deepEqual([found.tokenCreations[0]?.metadata.symbol, found.dropped], ['S', []])
  }
  const reason = (more: Partial<InstructionInput>) =>
    reasonOf(decodeInstructions([{ ...OPENING, calls: [opened()], ...more }]))
  assert.equal(reason({ data: 'f8c69e91e17587c8' }), 'unknown-instruction')
  assert.equal(reason({ data: '8c55d7b06636684f' }), 'truncated-data')
  assert.equal(reason({ accounts: [] }), 'missing-account')
  const cut = Buffer.from(opened().data).subarray(0, 60)
  assert.equal(reason({ calls: [{ ...opened(), data: cut }] }), 'truncated-data')
})

test('dbc: a curve migrates to a pool of either Meteora program', () => {
  const accounts = listOf(31, { 0: CURVE, 4: addressFor('pool'), 7: BASE, 13: BASE })
  const forms = [
    ['1b013016b43f76d9', 'meteora_damm_v1'],
    ['9ca9e66735e45040', 'meteora_damm_v2'],
  ] as const
  for (const [data, protocol] of forms) {
    const { migrations, dropped } = decodeInstructions([{ program: DBC, accounts, data }])
    assert.deepEqual(dropped, [])
    assert.deepEqual(migrations, [
      {
        kind: 'migration',
        txIndex: 0,
        logIndex: 0,
        path: { outer: 0, inner: null },
        token: BASE,
        from: { protocol: 'meteora_dbc', pool: CURVE },
        to: { protocol, pool: addressFor('pool') },
      },
    ])
    const short = decodeInstructions([{ program: DBC, accounts: accounts.slice(0, 7), data }])
    assert.equal(reasonOf(short), 'missing-account')
  }
})

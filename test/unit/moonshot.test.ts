import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROGRAM_IDS } from '../../ingestors/svm/programs/programs.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { DecodedBlock, SvmTransaction } from '../../schemas/events.ts'
import {
  addressFor,
  borshFields,
  borshText,
  buildSvmBlock,
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

const MOON = PROGRAM_IDS.moonshot
const WSOL = CHAINS.sol.wrappedNative
const NO_KEY = CHAINS.sol.nativeAddress
const RECORDED = 'swap_moonit_1.json'
const [CURVE, USER, MINT] = [addressFor('curve'), addressFor('user'), addressFor('mint')]
const [VAULT, TOKENS] = [addressFor('vault'), addressFor('tokens')]
const [BUY, SELL] = ['66063d1201daebea', '33e685a4017f83ad'] as const

const listOf = (size: number, places: Readonly<Record<number, string>>): readonly string[] =>
  Array.from({ length: size }, (_, index) => places[index] ?? addressFor(`account ${index}`))

const LIST = listOf(11, { 0: USER, 1: TOKENS, 2: CURVE, 3: VAULT, 6: MINT })

const traded = (tokensRaw: bigint, coinRaw: bigint, cost: string = WSOL): string => {
  const event = Buffer.concat([
    Buffer.from('bddb7fd34ee661ee', 'hex'),
    borshFields(tokensRaw, coinRaw, 1n, 1n, 9n, CURVE, cost, USER, false),
    borshText('trade'),
  ])
  return `Program data: ${event.toString('base64')}`
}

const coinTransfer = (from: string, to: string, amount: bigint): InstructionInput => ({
  program: PROGRAM_IDS.system,
  accounts: [from, to],
  data: Buffer.concat([Buffer.from([2, 0, 0, 0]), u64le(amount)]),
})

const tradeOf = (
  data: string,
  logs: readonly string[],
  more: Partial<InstructionInput> = {},
): InstructionInput => ({
  program: MOON,
  accounts: LIST,
  data,
  logs,
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

test('moonshot: in a purchase and a sale the SOL accounts are the user and the curve themselves', () => {
  const buy = decodeInstructions([tradeOf(BUY, [traded(5_000n, 100n)])])
  assert.deepEqual(buy.dropped, [])
  assert.deepEqual(buy.swaps, [
    {
      kind: 'swap',
      txIndex: 0,
      logIndex: 0,
      path: { outer: 0, inner: null },
      pool: CURVE,
      protocol: 'moonshot',
      trader: USER,
      tokenIn: WSOL,
      tokenOut: MINT,
      amountInRaw: 100n,
      amountOutRaw: 5_000n,
      accounts: { userIn: USER, userOut: TOKENS, vaultIn: CURVE, vaultOut: VAULT },
    },
  ])
  assert.deepEqual([buy.pools[0]?.tokenA, buy.pools[0]?.tokenB], [MINT, WSOL])
  const [sale] = decodeInstructions([tradeOf(SELL, [traded(5_000n, 100n)])]).swaps
  assert.deepEqual(
    [sale?.tokenIn, sale?.amountInRaw, sale?.tokenOut, sale?.amountOutRaw, sale?.accounts],
    [
      ...[MINT, 5_000n, WSOL, 100n],
      { userIn: TOKENS, userOut: USER, vaultIn: VAULT, vaultOut: CURVE },
    ],
  )
})

test('moonshot: the quote is the cost token, and SOL without one', () => {
  const quoteOf = (cost: string) =>
    decodeInstructions([tradeOf(BUY, [traded(5_000n, 100n, cost)])]).swaps[0]?.tokenIn
  assert.equal(quoteOf(NO_KEY), WSOL)
  assert.equal(quoteOf(addressFor('dollars')), addressFor('dollars'))
})

test('moonshot: a recorded sale decodes the same without its log', () => {
  const [told] = decodeBlock(recordedSolanaBlock(RECORDED), solanaDecodeContext()).swaps
  assert.equal(told?.amountOutRaw, 1_752_300_000n, 'before the fees')
  assert.deepEqual(told.reservesInOut, [987_554_586_992_977_773n, 355_782_002n])
  const tx = recordedSolanaTransaction(RECORDED)
  const instructions = tx.instructions.map((each) => ({ ...each, logs: [] }))
  const { swaps, dropped } = decodeBlock(
    buildSvmBlock([{ ...tx, instructions }]),
    solanaDecodeContext(),
  )
  assert.deepEqual(dropped, [])
  assert.deepEqual(swaps, [told])
})

test('moonshot: a purchase without its log has the amounts sent to the curve', () => {
  const calls = [
    coinTransfer(USER, CURVE, 100n),
    coinTransfer(USER, addressFor('fees'), 1n),
    tokenTransferInstruction([VAULT, TOKENS, CURVE], 5_000n),
  ]
  const [swap] = decodeInstructions([tradeOf(BUY, [], { calls })]).swaps
  assert.deepEqual([swap?.amountInRaw, swap?.amountOutRaw], [100n, 5_000n])
})

test('moonshot: several trades in one transaction have no reserves', () => {
  const more: Partial<SvmTransaction> = {
    tokenBalances: [buildTokenBalance(VAULT, CURVE, MINT, { postRaw: 700n })],
    lamports: [{ account: CURVE, preRaw: 900n, postRaw: 800n }],
  }
  const sale = tradeOf(SELL, [traded(5_000n, 100n)])
  assert.deepEqual(decodeInstructions([sale], more).swaps[0]?.reservesInOut, [700n, 800n])
  const buy = tradeOf(BUY, [traded(5_000n, 100n)])
  assert.deepEqual(decodeInstructions([buy], more).swaps[0]?.reservesInOut, [800n, 700n])
  const both = decodeInstructions([sale, buy], more).swaps
  assert.deepEqual(
    both.map(({ reservesInOut }) => reservesInOut),
    [undefined, undefined],
  )
  const calls = [tokenTransferInstruction([TOKENS, VAULT, USER], 5_000n)]
  const silent = tradeOf(SELL, [], { calls })
  assert.equal(decodeInstructions([silent], more).swaps[0]?.amountOutRaw, 100n)
  assert.deepEqual(
    decodeInstructions([silent, silent], more).dropped.flatMap(({ protocol, reason }) =>
      protocol === 'moonshot' ? [reason] : [],
    ),
    ['no-transfers', 'no-transfers'],
  )
})

test('moonshot: an invalid trade is dropped with its reason', () => {
  const reason = (call: InstructionInput) => reasonOf(decodeInstructions([call]))
  const whole = traded(5_000n, 100n)
  const bytes = Buffer.from(whole.slice('Program data: '.length), 'base64').subarray(0, 8 + 103)
  const cut = `Program data: ${bytes.toString('base64')}`
  assert.equal(reason(tradeOf(BUY, [cut])), 'truncated-data')
  assert.equal(reason(tradeOf('2ae50ae7bd3ec1ae', [whole])), 'unknown-instruction')
  assert.equal(reason(tradeOf(BUY, [whole], { accounts: LIST.slice(0, 6) })), 'missing-account')
  assert.equal(reason(tradeOf(BUY, [], { accounts: LIST.slice(0, 3) })), 'missing-account')
  assert.equal(reason(tradeOf(BUY, [traded(0n, 0n)])), 'zero-amount')
  assert.equal(reason(tradeOf(BUY, [])), 'no-transfers')
  assert.equal(reason(tradeOf(SELL, [])), 'no-transfers')
})

const TOKEN_MINT = '032ca4b87b0df5b3'
const params = Buffer.concat([
  ...[borshText('Name'), borshText('SYM'), borshText('https://x')],
  ...[Buffer.from([9, 0]), u64le(1_000n), Buffer.from([1])],
])

const BORN: InstructionInput = {
  program: MOON,
  accounts: listOf(11, { 0: USER, 2: CURVE, 3: MINT, 5: VAULT, 7: PROGRAM_IDS.token }),
  data: Buffer.concat([Buffer.from(TOKEN_MINT, 'hex'), params]),
  calls: [
    {
      program: PROGRAM_IDS.token,
      accounts: [MINT],
      data: Buffer.concat([Buffer.from([20, 9]), Buffer.alloc(33)]),
    },
    {
      program: PROGRAM_IDS.token,
      accounts: [MINT, VAULT, CURVE],
      data: Buffer.concat([Buffer.from([7]), u64le(1_000n)]),
    },
  ],
}

test('moonshot: a creation gives one token with its curve, in the former and the current layout', () => {
  const today = Buffer.concat([Buffer.from(BORN.data), Buffer.alloc(11)])
  for (const data of [BORN.data, today]) {
    const { tokenCreations, poolChanges, pools, dropped } = decodeInstructions([{ ...BORN, data }])
    assert.deepEqual(dropped, [])
    assert.deepEqual(tokenCreations, [
      {
        kind: 'token-created',
        txIndex: 0,
        logIndex: 0,
        path: { outer: 0, inner: null },
        metadata: {
          address: MINT,
          decimals: 9,
          name: 'Name',
          symbol: 'SYM',
          totalSupplyRaw: 1_000n,
          uri: 'https://x',
          program: PROGRAM_IDS.token,
        },
        dev: USER,
        creators: [USER],
        launch: { protocol: 'moonshot', pool: CURVE },
      },
    ])
    assert.deepEqual(
      poolChanges.map(({ kind, pool, tokenA, tokenB, reserves }) => [
        ...[kind, pool, tokenA, tokenB, reserves],
      ]),
      [['initialize', CURVE, MINT, WSOL, [1_000n, 0n]]],
    )
    assert.equal(pools[0]?.address, CURVE)
  }
  const reason = (more: Partial<InstructionInput>) =>
    reasonOf(decodeInstructions([{ ...BORN, calls: [], ...more }]))
  assert.equal(reason({ data: Buffer.from(BORN.data).subarray(0, -1) }), 'truncated-data')
  assert.equal(reason({ data: TOKEN_MINT }), 'truncated-data')
  assert.equal(reason({ accounts: BORN.accounts?.slice(0, 7) ?? [] }), 'missing-account')
})

test('moonshot: a curve whose funds are withdrawn has migrated, to a pool not yet known', () => {
  const accounts = listOf(12, { 2: CURVE, 5: MINT })
  const call: InstructionInput = { program: MOON, accounts, data: '2ae50ae7bd3ec1ae' }
  assert.deepEqual(decodeInstructions([call]).migrations, [
    {
      kind: 'migration',
      txIndex: 0,
      logIndex: 0,
      path: { outer: 0, inner: null },
      token: MINT,
      from: { protocol: 'moonshot', pool: CURVE },
      to: null,
    },
  ])
  const short = decodeInstructions([{ ...call, accounts: accounts.slice(0, 5) }])
  assert.equal(reasonOf(short), 'missing-account')
})

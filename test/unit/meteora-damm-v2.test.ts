import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROGRAM_IDS } from '../../ingestors/svm/programs/programs.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import type { DecodedBlock, SvmInstruction } from '../../schemas/events.ts'
import {
  addressFor,
  borshFields,
  buildSvmBlock,
  decodeInstructions,
  eventCpi,
  type InstructionInput,
} from '../support/builders/svm-block.ts'
import {
  recordedSolanaBlock,
  recordedSolanaTransaction,
  solanaDecodeContext,
} from '../support/recordings/solana.ts'

const AMM = PROGRAM_IDS.meteoraDammV2
const [POOL, USER] = [addressFor('pool'), addressFor('user')]
const [A, B] = [addressFor('token a'), addressFor('token b')]
const RECORDED = 'swap_meteora_damm_v2_1.json'

const listOf = (size: number, places: Readonly<Record<number, string>>): readonly string[] =>
  Array.from({ length: size }, (_, index) => places[index] ?? addressFor(`account ${index}`))

const LIST = listOf(14, {
  1: POOL,
  2: addressFor('user in'),
  3: addressFor('user out'),
  4: addressFor('vault a'),
  5: addressFor('vault b'),
  6: A,
  7: B,
  8: USER,
})

const byte = (value: number): Buffer => Buffer.from([value])

/** The first layout. */
const first = (inRaw: bigint, outRaw: bigint, direction: number): InstructionInput =>
  eventCpi(
    AMM,
    '1b3c15d58aaabb93',
    borshFields(
      ...[POOL, byte(direction), false, 1n, 2n, outRaw, 0n, 0n, 3n, 4n, 5n, 6n, inRaw, 7n],
    ),
  )

const second = (inRaw: bigint, outRaw: bigint, direction: number): InstructionInput =>
  eventCpi(
    AMM,
    'bd4233a826507599',
    borshFields(
      ...[POOL, byte(direction), byte(0), false, 1n, 2n, byte(0)],
      ...[90n, 80n, 0n, 70n, 0n, 0n, 1n, 1n, 1n, 1n],
      ...[inRaw, outRaw, outRaw - 1n, 7n],
    ),
  )

const swapOf = (
  calls: readonly InstructionInput[],
  more: Partial<InstructionInput> = {},
): InstructionInput => ({
  program: AMM,
  accounts: LIST,
  data: 'f8c69e91e17587c8',
  calls,
  ...more,
})

const reasonOf = ({ swaps, poolChanges, dropped }: DecodedBlock): string | undefined => {
  assert.deepEqual([...swaps, ...poolChanges], [])
  return dropped[0]?.reason
}

test('damm_v2: a recorded swap has the reserves of the pool without its fees', () => {
  const { swaps, dropped } = decodeBlock(recordedSolanaBlock(RECORDED), solanaDecodeContext())
  assert.deepEqual(dropped, [])
  assert.deepEqual(swaps[0]?.reservesInOut, [90_025_163_994n, 944_069_381_397_393n])
  const held = recordedSolanaTransaction(RECORDED).tokenBalances.find(
    ({ account }) => account === swaps[0]?.accounts?.vaultIn,
  )
  assert.equal(held?.postRaw, 90_025_163_994n)
})

test('damm_v2: a recorded event cut behind its amounts gives the same swap, without reserves', () => {
  const { instructions, ...tx } = recordedSolanaTransaction(RECORDED)
  const at = instructions.findIndex(
    ({ data }) => data && Buffer.from(data).subarray(8, 16).toString('hex') === 'bd4233a826507599',
  )
  const event = instructions[at]
  assert.ok(event?.data)
  const { length } = event.data
  for (let end = 16; end <= length; end += 1) {
    const cut: SvmInstruction = { ...event, data: event.data.subarray(0, end) }
    const { swaps, dropped } = decodeBlock(
      buildSvmBlock([{ ...tx, instructions: instructions.with(at, cut) }]),
      solanaDecodeContext(),
    )
    if (end < 16 + 148) assert.deepEqual([swaps.length, dropped[0]?.reason], [0, 'truncated-data'])
    else {
      assert.deepEqual([swaps[0]?.amountOutRaw, dropped.length], [6_730_447_370_930n, 0])
      const told = swaps[0]?.reservesInOut?.[1] === 944_069_381_397_393n
      assert.equal(told, end === length, `${end}`)
    }
  }
})

test('damm_v2: every instruction, layout and direction gives a swap; two layouts of one swap give one', () => {
  for (const data of ['f8c69e91e17587c8', '414b3f4ceb5b5b88']) {
    for (const calls of [
      [first(300n, 40n, 0)],
      [second(300n, 40n, 0)],
      [first(299n, 39n, 0), second(300n, 40n, 0)],
    ]) {
      const { swaps, pools, dropped } = decodeInstructions([swapOf(calls, { data })])
      assert.deepEqual(dropped, [])
      assert.deepEqual(swaps, [
        {
          kind: 'swap',
          txIndex: 0,
          logIndex: 0,
          path: { outer: 0, inner: null },
          pool: POOL,
          protocol: 'meteora_damm_v2',
          trader: USER,
          tokenIn: A,
          tokenOut: B,
          amountInRaw: 300n,
          amountOutRaw: 40n,
          accounts: {
            userIn: addressFor('user in'),
            userOut: addressFor('user out'),
            vaultIn: addressFor('vault a'),
            vaultOut: addressFor('vault b'),
          },
        },
      ])
      assert.deepEqual([pools[0]?.tokenA, pools[0]?.tokenB], [A, B])
    }
  }
  for (const event of [first(300n, 40n, 1), second(300n, 40n, 1)]) {
    const [swap] = decodeInstructions([swapOf([event])]).swaps
    assert.deepEqual([swap?.tokenIn, swap?.tokenOut], [B, A])
  }
})

test('damm_v2: an invalid event is dropped with its reason', () => {
  const reason = (call: InstructionInput) => reasonOf(decodeInstructions([call]))
  const event = first(300n, 40n, 0)
  const short = Buffer.from(event.data).subarray(0, 16 + 105)
  assert.equal(reason(swapOf([{ ...event, data: short }])), 'truncated-data')
  assert.equal(reason(event), 'unexpected-caller')
  assert.equal(reason(swapOf([event], { program: addressFor('forger') })), 'unexpected-caller')
  assert.equal(reason(swapOf([event], { data: '00'.repeat(8) })), 'unknown-instruction')
  assert.equal(reason(swapOf([event], { accounts: LIST.slice(0, 8) })), 'missing-account')
  assert.equal(reason(swapOf([first(0n, 0n, 0)])), 'zero-amount')
})

const ADDS = listOf(14, { 0: POOL, 6: A, 7: B, 9: USER })
const REMOVES = listOf(15, { 1: POOL, 7: A, 8: B, 10: USER })

const changed = (type: number): InstructionInput =>
  eventCpi(
    AMM,
    'c5ab4e7fe0d3570d',
    borshFields(
      ...[POOL, addressFor('position'), USER, 30n, 60n, 31n, 61n, 1_030n, 2_060n],
      ...[9n, 0n, 0n, 0n, byte(type)],
    ),
  )

const moved = (tag: string): InstructionInput =>
  eventCpi(
    AMM,
    tag,
    borshFields(POOL, addressFor('position'), USER, 9n, 0n, 0n, 0n, 30n, 60n, 31n, 61n),
  )

const change = (data: string, accounts: readonly string[], calls: readonly InstructionInput[]) => {
  const { poolChanges, dropped } = decodeInstructions([{ program: AMM, accounts, data, calls }])
  assert.deepEqual(dropped, [])
  return poolChanges.map(({ kind, pool, owner, tokenA, amountARaw, amountBRaw, reserves }) => [
    ...[kind, pool, owner, tokenA, amountARaw, amountBRaw, reserves],
  ])
}

test('damm_v2: liquidity in and out, in the current layout, the former one, and both', () => {
  const [ADDED, REMOVED] = ['aff2089d1ef7b9a9', '572e5862af60225b']
  const into = ['increase', POOL, USER, A, 30n, 60n]
  const out = ['decrease', POOL, USER, A, 30n, 60n]
  const held = [1_030n, 2_060n]
  const add = 'b59d59438fb63448'
  assert.deepEqual(change(add, ADDS, [changed(0)]), [[...into, held]])
  assert.deepEqual(change(add, ADDS, [moved(ADDED)]), [[...into, undefined]])
  assert.deepEqual(change(add, ADDS, [moved(ADDED), changed(0)]), [[...into, held]])
  for (const data of ['5055d14818ceb16c', '0a333d2370691855']) {
    assert.deepEqual(change(data, REMOVES, [changed(1)]), [[...out, held]])
    assert.deepEqual(change(data, REMOVES, [moved(REMOVED)]), [[...out, undefined]])
  }
  const call = (more: Partial<InstructionInput>): InstructionInput => ({
    program: AMM,
    accounts: ADDS,
    data: add,
    calls: [changed(2)],
    ...more,
  })
  assert.equal(reasonOf(decodeInstructions([call({})])), 'unknown-type')
  const calls = [changed(0)]
  assert.equal(reasonOf(decodeInstructions([call({ calls, accounts: [] })])), 'missing-account')
  assert.equal(
    reasonOf(decodeInstructions([call({ calls, data: 'f8c69e91e17587c8' })])),
    'unknown-instruction',
  )
})

test('damm_v2: pools are created with a dynamic fee or without', () => {
  const opened = (dynamic: boolean): InstructionInput =>
    eventCpi(
      AMM,
      'e432f655cb428625',
      borshFields(
        ...[POOL, A, B, USER, USER, addressFor('alpha'), Buffer.alloc(30), dynamic],
        ...(dynamic ? [Buffer.alloc(32, 9)] : []),
        ...[Buffer.alloc(32), Buffer.alloc(2), Buffer.alloc(32), 5n, Buffer.alloc(2)],
        ...[500n, 700n, 501n, 701n, byte(0)],
      ),
    )
  const forms = [
    ['5fb40aac54aee828', listOf(20, { 0: USER, 6: POOL, 8: A, 9: B })],
    ['955248c5fdfc440f', listOf(21, { 0: USER, 7: POOL, 9: A, 10: B })],
    ['14a1f118bdddb402', listOf(19, { 0: USER, 5: POOL, 7: A, 8: B })],
  ] as const
  for (const [data, accounts] of forms) {
    for (const dynamic of [false, true]) {
      assert.deepEqual(change(data, accounts, [opened(dynamic)]), [
        ['initialize', POOL, USER, A, 500n, 700n, [500n, 700n]],
      ])
    }
  }
  const event = opened(true)
  const cut = { ...event, data: Buffer.from(event.data).subarray(0, 16 + 240) }
  const [data, accounts] = forms[0]
  const { dropped } = decodeInstructions([{ program: AMM, accounts, data, calls: [cut] }])
  assert.deepEqual(
    dropped.map(({ reason }) => reason),
    ['truncated-data'],
  )
})

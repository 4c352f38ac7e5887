import assert from 'node:assert/strict'
import { test } from 'node:test'
import { base58Decode, base58Encode } from '../../core/base58.ts'
import { normalizeTransaction } from '../../ingestors/svm/normalize/block.ts'
import {
  ALL_PROGRAMS,
  PROGRAM_IDS,
  withAllInstructions,
} from '../../ingestors/svm/programs/programs.ts'
import { instructionEvents } from '../../ingestors/svm/to-wire/feeds.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import type { DecodedBlock, SvmTransaction } from '../../schemas/events.ts'
import { buildSvmBlock, u64le } from '../support/builders/svm-block.ts'
import {
  addressFromByte,
  buildRpcTransaction,
  type MessageInput,
} from '../support/builders/svm-transaction-json.ts'
import {
  solanaDecodeContext,
  solanaRecordingJson,
  solanaRecordingNames,
} from '../support/recordings/solana.ts'

interface Inner {
  readonly programIdIndex: number
  readonly accounts: readonly number[]
  readonly data: string
  readonly stackHeight: number
}
interface Answer {
  readonly transaction: { readonly message: { readonly accountKeys: readonly string[] } }
  readonly meta: {
    readonly err: unknown
    readonly logMessages: readonly string[]
    readonly loadedAddresses: Record<'writable' | 'readonly', readonly string[]>
    readonly innerInstructions: readonly {
      readonly index: number
      readonly instructions: readonly Inner[]
    }[]
  }
}

const TOKEN_PROGRAMS: readonly string[] = [PROGRAM_IDS.token, PROGRAM_IDS.token2022]

const batched = (list: readonly Inner[]): Inner => {
  const parts = list.map(({ accounts, data }) => {
    const bytes = base58Decode(data) ?? Buffer.alloc(0)
    return Buffer.concat([Buffer.from([accounts.length, bytes.length]), bytes])
  })
  const [first] = list as readonly [Inner]
  const data = base58Encode(Buffer.concat([Buffer.from([255]), ...parts]))
  return { ...first, accounts: list.flatMap(({ accounts }) => accounts), data }
}

/** The same transaction as if each program had sent neighbouring token instructions as one batch. */
const inBatches = (answer: Answer): { readonly answer: Answer; readonly batches: number } => {
  const { transaction, meta } = answer
  const { writable, readonly } = meta.loadedAddresses
  const keys = [...transaction.message.accountKeys, ...writable, ...readonly]
  let batches = 0
  const innerInstructions = meta.innerInstructions.map(({ index, instructions }) => {
    const runs: Inner[][] = []
    for (const each of instructions) {
      const run = runs.at(-1)
      const before = run?.[0]
      const joins =
        before?.programIdIndex === each.programIdIndex &&
        before.stackHeight === each.stackHeight &&
        TOKEN_PROGRAMS.includes(keys[each.programIdIndex] ?? '')
      if (joins) run?.push(each)
      else runs.push([each])
    }
    batches += runs.filter((run) => run.length > 1).length
    const joined = runs.map((run) => (run.length > 1 ? batched(run) : (run[0] as Inner)))
    return { index, instructions: joined }
  })
  const logMessages = meta.logMessages.filter(
    (line) => !TOKEN_PROGRAMS.some((program) => line.startsWith(`Program ${program} `)),
  )
  return { answer: { ...answer, meta: { ...meta, innerInstructions, logMessages } }, batches }
}

const decoded = (answer: unknown): DecodedBlock => {
  const tx = normalizeTransaction(answer, { index: 0, programs: ALL_PROGRAMS })
  return decodeBlock(buildSvmBlock(tx === undefined ? [] : [tx]), solanaDecodeContext())
}

const moves = ({ swaps, transfers, supplies }: DecodedBlock) => ({
  swaps: swaps.map(({ pool, trader, tokenIn, tokenOut, amountInRaw, amountOutRaw, accounts }) => ({
    pool,
    trader,
    tokenIn,
    tokenOut,
    amountInRaw,
    amountOutRaw,
    accounts,
  })),
  transfers: transfers.map(({ token, from, to, amountRaw }) => ({ token, from, to, amountRaw })),
  supplies: supplies.map(({ type, token, amountRaw }) => ({ type, token, amountRaw })),
})

test('swaps and transfers in a batch instruction are decoded like single instructions', () => {
  let swaps = 0
  let batches = 0
  for (const name of solanaRecordingNames()) {
    const said = (solanaRecordingJson(name) as { getTransactionJson?: Answer }).getTransactionJson
    if (said === undefined || said.meta.err !== null) continue
    const joined = inBatches(said)
    if (joined.batches === 0) continue
    const wanted = moves(decoded(said))
    assert.deepEqual(moves(decoded(joined.answer)), wanted, name)
    batches += joined.batches
    swaps += wanted.swaps.length
  }
  assert.ok(batches >= 15 && swaps >= 15, `${batches} batches, ${swaps} swaps`)
})

const [PAYER, FROM, TO, MINT] = [
  addressFromByte(1),
  addressFromByte(2),
  addressFromByte(3),
  addressFromByte(4),
]
const transfer = Buffer.concat([Buffer.from([3]), u64le(7n)])
const checked = Buffer.concat([Buffer.from([12]), u64le(9n), Buffer.from([6])])

const message = (data: Buffer): MessageInput => ({
  keys: [PAYER, FROM, TO, MINT, PROGRAM_IDS.token],
  instructions: [{ program: 4, accounts: [1, 2, 0, 1, 3, 2, 0], data }],
})
const read = (said: unknown): SvmTransaction => {
  const tx = normalizeTransaction(said, { index: 0, programs: withAllInstructions(ALL_PROGRAMS) })
  assert.ok(tx !== undefined)
  return tx
}
const BATCH = Buffer.concat([
  Buffer.from([255, 3, transfer.length]),
  transfer,
  Buffer.from([4, checked.length]),
  checked,
])

test('a batch instruction is one call of the token program, with its own data', () => {
  const tx = read(buildRpcTransaction(message(BATCH)))
  assert.deepEqual(
    tx.instructions.map(({ accounts, data, batched: held }) => [accounts, data?.[0], held]),
    [
      [[FROM, TO, PAYER, FROM, MINT, TO, PAYER], 255, undefined],
      [[FROM, TO, PAYER], 3, true],
      [[FROM, MINT, TO, PAYER], 12, true],
    ],
  )
  const events = instructionEvents(buildSvmBlock([tx])).map(({ event }) => event)
  assert.deepEqual(
    events.map(({ data, call_path, internal_seq }) => [data, call_path, internal_seq]),
    [[base58Encode(BATCH), [0], 0]],
  )
})

test('a batch instruction that a node parsed into parts is encoded to bytes again', () => {
  const parts = [
    { type: 'transfer', info: { source: FROM, destination: TO, authority: PAYER, amount: '7' } },
    { type: 'syncNative', info: { account: FROM } },
    { type: 'amountToUiAmount', info: { mint: MINT, amount: '1' } },
    {
      type: 'transferChecked',
      info: {
        source: FROM,
        mint: MINT,
        destination: TO,
        authority: PAYER,
        tokenAmount: { amount: '9', decimals: 6 },
      },
    },
  ]
  const said = buildRpcTransaction(message(BATCH))
  const parsed = { type: 'batch', info: { instructions: parts } }
  const instructions = [{ programId: PROGRAM_IDS.token, parsed, stackHeight: 1 }]
  const told = { ...said.transaction.message, instructions }
  const tx = read({ ...said, transaction: { ...said.transaction, message: told } })
  assert.deepEqual(
    tx.instructions.map(({ accounts, data }) => [accounts.length, data?.[0]]),
    [
      [8, 255],
      [3, 3],
      [1, 17],
      [4, 12],
    ],
  )
})

test('a batch instruction with invalid lengths has no parts, and a nested batch is not read', () => {
  for (const data of [
    BATCH.subarray(0, -1),
    Buffer.concat([BATCH, Buffer.from([0])]),
    Buffer.concat([BATCH, Buffer.from([0, 0])]),
    Buffer.concat([BATCH, Buffer.from([1, 1, 17])]),
    Buffer.from([255]),
  ]) {
    assert.equal(read(buildRpcTransaction(message(data))).instructions.length, 1)
  }
  const nested = Buffer.concat([Buffer.from([255, 7, BATCH.length]), BATCH])
  const tx = read(buildRpcTransaction(message(nested)))
  assert.deepEqual(
    tx.instructions.map(({ data, batched: held }) => [data?.[0], held]),
    [
      [255, undefined],
      [255, true],
    ],
  )
})

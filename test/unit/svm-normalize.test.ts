import assert from 'node:assert/strict'
import { test } from 'node:test'
import { base58Decode, base58Encode } from '../../core/base58.ts'
import { InvalidInput } from '../../core/errors.ts'
import { normalizeBlock, normalizeTransaction } from '../../ingestors/svm/normalize/block.ts'
import { ALL_PROGRAMS, PROGRAM_IDS, pumpFunProfile } from '../../ingestors/svm/programs/programs.ts'
import type { SvmTransaction } from '../../schemas/events.ts'
import {
  addressFromByte,
  buildRpcTransaction,
  encodeV1Transaction,
  type MessageInput,
} from '../support/builders/svm-transaction-json.ts'
import {
  recordedSolanaBlock,
  solanaRecordingJson,
  solanaRecordingNames,
} from '../support/recordings/solana.ts'

type Json = Record<string, unknown>

const reading = { index: 0, programs: ALL_PROGRAMS }
const read = (said: unknown): SvmTransaction => {
  const transaction = normalizeTransaction(said, reading)
  assert.ok(transaction !== undefined)
  return transaction
}
const refuses = (said: unknown, reason: string): void => {
  assert.throws(
    () => normalizeTransaction(said, reading),
    (error: unknown) => error instanceof InvalidInput && error.reason === reason,
    reason,
  )
}

test('the binary and the JSON form of a Solana transaction normalize to the same result', () => {
  let compared = 0
  for (const name of solanaRecordingNames()) {
    const { getTransaction, getTransactionJson } = solanaRecordingJson(name) as Json
    if (getTransaction === undefined || getTransactionJson === undefined) continue
    assert.deepEqual(read(getTransaction), read(getTransactionJson), name)
    compared += 1
  }
  assert.ok(compared >= 8)
})

test('accounts of address look-up tables are indexed after the static accounts', () => {
  const [transaction] = recordedSolanaBlock('swap_raydium_v4_1.json').transactions
  const swaps = transaction?.instructions.filter(({ program }) => program === PROGRAM_IDS.raydiumV4)
  assert.equal(swaps?.length, 2)
  assert.deepEqual(
    swaps?.map(({ outer, inner, depth, data }) => [outer, inner, depth, data?.[0]]),
    [
      [2, 1, 2, 16],
      [2, 4, 2, 16],
    ],
  )
  assert.ok(
    swaps?.every(({ accounts }) => accounts.every((key) => base58Decode(key)?.length === 32)),
  )
})

test('log lines belong to the call that wrote them, and only for decoded programs', () => {
  const [transaction] = recordedSolanaBlock('swap_raydium_v4_1.json').transactions
  const logged = transaction?.instructions.filter(({ logs }) => logs.length > 0)
  assert.deepEqual(
    logged?.map(({ program, inner, logs }) => [
      program,
      inner,
      logs.map((line) => line.slice(0, 21)),
    ]),
    [1, 4].map((inner) => [PROGRAM_IDS.raydiumV4, inner, ['Program log: ray_log:']]),
  )
})

test('a failed Solana transaction keeps its fee and lamport balances, but no instructions and no token balances', () => {
  const [transaction] = recordedSolanaBlock('swap_meteora_dlmm_1.json').transactions
  assert.equal(transaction?.success, false)
  assert.equal(transaction?.feeRaw, 5_163n)
  assert.deepEqual(transaction?.instructions, [])
  assert.deepEqual(transaction?.tokenBalances, [])
  const [payer] = transaction?.lamports ?? []
  assert.equal((payer?.preRaw ?? 0n) - (payer?.postRaw ?? 0n), 5_163n)
})

test('a token account created and closed in one Solana transaction keeps its mint and owner', () => {
  const [transaction] = recordedSolanaBlock('migrate_pumpfun_1.json').transactions
  const passing = transaction?.tokenBalances.filter(
    ({ preRaw, postRaw }) => preRaw === null && postRaw === null,
  )
  assert.ok(passing !== undefined && passing.length > 0)
  for (const { account, mint, owner } of passing) {
    for (const key of [account, mint, owner]) assert.equal(base58Decode(key)?.length, 32)
  }
})

test('instruction data is kept only for Solana programs that a decoder reads', () => {
  for (const name of solanaRecordingNames()) {
    for (const { program, data } of recordedSolanaBlock(name).transactions.flatMap(
      (tx) => tx.instructions,
    )) {
      if (data !== null) assert.ok(ALL_PROGRAMS.data.has(program), program)
    }
  }
})

test('a parsed Solana block of 2021 is normalized without votes, with depth and token program restored', () => {
  const block = recordedSolanaBlock('block_structure_100000000_jsonparsed.json')
  assert.equal(block.height, 100_000_000)
  assert.equal(block.blockHeight, 89_586_871)
  assert.deepEqual([block.txCount, block.rewardsCount], [10, 1])
  assert.deepEqual(
    block.transactions.map(({ index }) => index),
    [3, 4, 6, 7],
  )
  const [, transfer] = block.transactions[2]?.instructions ?? []
  assert.deepEqual([transfer?.program, transfer?.depth], [PROGRAM_IDS.token, 2])
  const amount = new DataView(Uint8Array.from(transfer?.data ?? []).buffer)
  assert.deepEqual([amount.getUint8(0), amount.getBigUint64(1, true)], [3, 1_242_000_000n])
})

test('parsed Solana instructions are encoded to bytes again; their depth comes from the log', () => {
  const [transaction] = recordedSolanaBlock('block_account_deletion.json').transactions
  const told = transaction?.instructions.map(({ program, depth, data }) => [
    program.slice(0, 4),
    depth,
    data === null ? null : data.length,
  ])
  assert.deepEqual(told?.slice(0, 5), [
    ['ATok', 1, null],
    ['Toke', 2, null],
    ['1111', 2, 52],
    ['Toke', 2, null],
    ['Toke', 2, 33],
  ])
  assert.deepEqual(told?.[8], ['Toke', 3, 9])
})

test('a Yellowstone update is normalized like a Solana block', () => {
  const block = recordedSolanaBlock('yellowstone_block_344556402.json')
  assert.equal(block.height, 344_556_402)
  assert.equal(block.parentSlot, 344_556_401)
  assert.deepEqual(
    block.transactions.map(({ index }) => index),
    [11, 22, 29],
  )
  const second = block.transactions[1]
  assert.deepEqual(
    second?.instructions.map(({ program, depth }) => `${program.slice(0, 4)} ${depth}`),
    ['1111 1', 'Toke 1', '675k 1', 'Toke 2', 'Toke 2', 'Toke 1'],
  )
})

const MESSAGE: MessageInput = {
  keys: [addressFromByte(1), addressFromByte(2), PROGRAM_IDS.system],
  instructions: [{ program: 2, accounts: [0, 1], data: Uint8Array.of(2, 0, 0, 0, 9) }],
}

test('a v1 Solana transaction is read: its configuration is skipped, its signatures are at the end', () => {
  const wire = encodeV1Transaction(MESSAGE, { mask: 0b1011, signature: Buffer.alloc(64, 7) })
  const said = { ...buildRpcTransaction(MESSAGE), transaction: [wire.toString('base64'), 'base64'] }
  const transaction = read(said)
  assert.equal(transaction.version, 1)
  assert.equal(transaction.hash, base58Encode(Buffer.alloc(64, 7)))
  assert.equal(transaction.from, addressFromByte(1))
  assert.deepEqual(transaction.instructions, [
    {
      program: PROGRAM_IDS.system,
      accounts: [addressFromByte(1), addressFromByte(2)],
      outer: 0,
      inner: null,
      data: Buffer.from([2, 0, 0, 0, 9]),
      depth: 1,
      logs: [],
    },
  ])
  refuses(
    { ...said, transaction: [wire.subarray(0, 150).toString('base64').slice(0, 200), 'base64'] },
    'truncated-transaction',
  )
})

test('an invalid Solana transaction is refused with its reason', () => {
  const said = buildRpcTransaction(MESSAGE)
  read(said)
  const { transaction, meta } = said
  const message = (change: Json): Json => ({
    ...said,
    transaction: { ...transaction, message: { ...transaction.message, ...change } },
  })
  const result = (change: Json): Json => ({ ...said, meta: { ...meta, ...change } })
  refuses(7, 'not-an-object')
  refuses({ ...said, meta: null }, 'missing-meta')
  refuses({ ...said, version: 2 }, 'unknown-version')
  refuses({ ...said, transaction: ['AA', 'base58'] }, 'unknown-encoding')
  refuses({ ...said, transaction: ['A', 'base64'] }, 'bad-base64')
  refuses(message({ accountKeys: ['0OIl'] }), 'bad-base58')
  refuses(message({ accountKeys: [addressFromByte(1), addressFromByte(2)] }), 'bad-index')
  refuses(
    message({ instructions: [{ programIdIndex: 2, accounts: [0], data: '0' }] }),
    'bad-base58',
  )
  refuses(message({ instructions: [{ programIdIndex: 2, accounts: [9], data: '' }] }), 'bad-index')
  refuses(result({ preBalances: [1] }), 'balance-count')
  refuses(result({ postBalances: [1, 2, -1] }), 'bad-amount')
  refuses(result({ fee: '1.5' }), 'bad-amount')
  refuses(result({ innerInstructions: [{ index: 4, instructions: [] }] }), 'bad-index')
  refuses(
    result({
      logMessages: [1],
      innerInstructions: [
        { index: 0, instructions: [{ programIdIndex: 2, accounts: [], data: '' }] },
      ],
    }),
    'not-a-text',
  )
})

test('a Solana block must name a parent slot below its own', () => {
  const block = {
    blockhash: addressFromByte(1),
    previousBlockhash: addressFromByte(2),
    blockTime: 1,
    transactions: [],
  }
  const at = (slot: number, parentSlot: unknown) =>
    normalizeBlock({ ...block, parentSlot }, { chain: 'sol', slot, programs: ALL_PROGRAMS })
  assert.equal(at(9, 5).parentSlot, 5)
  assert.equal(at(9, 5).blockHeight, null)
  for (const parentSlot of [9, 10, -1, '5.5', null])
    assert.throws(() => at(9, parentSlot), InvalidInput)
})

test('the pump profile keeps transactions that name pump.fun or hold one of its tokens', () => {
  const programs = pumpFunProfile([addressFromByte(2)])
  const kept = (said: unknown) => normalizeTransaction(said, { index: 0, programs }) !== undefined
  assert.equal(kept(buildRpcTransaction(MESSAGE)), true, 'a reference pool')
  const other = { ...MESSAGE, keys: [addressFromByte(1), addressFromByte(3), PROGRAM_IDS.system] }
  assert.equal(kept(buildRpcTransaction(other)), false)
  const told = buildRpcTransaction(other)
  const balance = (mint: string) => ({
    ...told,
    meta: {
      ...told.meta,
      postTokenBalances: [
        {
          accountIndex: 1,
          mint,
          owner: addressFromByte(1),
          uiTokenAmount: { amount: '5', decimals: 6 },
        },
      ],
    },
  })
  assert.equal(kept(balance('4F4gGVBAWuKi3EpmYdhntXvCVFqZZqmrb1cqNGawpump')), true)
  assert.equal(kept(balance(addressFromByte(9))), false)
  assert.equal(kept((solanaRecordingJson('buy_token_pumpfun_1.json') as Json).getTransaction), true)
})

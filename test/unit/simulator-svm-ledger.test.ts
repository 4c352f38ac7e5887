import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { base58Decode } from '../../core/base58.ts'
import type { SealedBlock } from '../../simulator/svm/blocks.ts'
import {
  buildSimulatedSvmBlocks,
  executedInstructions,
  type RpcTokenBalance,
  type RpcTransaction,
  toRpcTransactions,
  transactionAccounts,
} from '../support/builders/simulated-svm-blocks.ts'

const SPEC = { seed: 1, ratePerSecond: 5, genesisMs: 1_735_689_600_000 }
const TOKEN_PROGRAMS = new Set([
  'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
])
const WSOL = 'So11111111111111111111111111111111111111112'

let blocks: readonly SealedBlock[]
let leaders: readonly string[]
let tape: readonly { readonly block: SealedBlock; readonly tx: RpcTransaction }[]

before(() => {
  const made = buildSimulatedSvmBlocks(SPEC, 300)
  blocks = made.blocks
  leaders = made.producer.scenario.validators.map(({ identity }) => identity.address)
  tape = blocks.flatMap((block) => toRpcTransactions(block).map((tx) => ({ block, tx })))
})

const sum = (numbers: readonly number[]): bigint =>
  numbers.reduce((total, one) => total + BigInt(one), 0n)

test('the lamports of a simulated transaction sum up: the difference is the fee', () => {
  for (const { tx } of tape) {
    const { preBalances, postBalances, fee } = tx.meta
    assert.equal(sum(preBalances) - sum(postBalances), BigInt(fee), tx.transaction.signatures[0])
    assert.ok([...preBalances, ...postBalances].every((one) => one >= 0))
    assert.ok(Number.isSafeInteger(Math.max(...preBalances)))
  }
})

test('a balance before a simulated transaction equals the one after the previous transaction of that account', () => {
  const lamports = new Map<string, number>()
  const tokens = new Map<string, string>()
  let seen = 0
  for (const [at, { block, tx }] of tape.entries()) {
    const keys = transactionAccounts(tx)
    const { preBalances, postBalances, preTokenBalances, postTokenBalances } = tx.meta
    keys.forEach((key, index) => {
      const held = lamports.get(key)
      if (held !== undefined) assert.equal(preBalances[index], held, key)
      lamports.set(key, postBalances[index] ?? -1)
    })
    for (const { accountIndex, uiTokenAmount } of preTokenBalances) {
      const held = tokens.get(keys[accountIndex] ?? '')
      if (held === undefined) continue
      assert.equal(uiTokenAmount.amount, held)
      seen += 1
    }
    for (const key of keys) tokens.delete(key)
    for (const { accountIndex, uiTokenAmount } of postTokenBalances)
      tokens.set(keys[accountIndex] ?? '', uiTokenAmount.amount)
    if (tape[at + 1]?.block === block) continue
    lamports.set(leaders[block.leader] ?? '', Number(block.leaderRaw))
  }
  assert.ok(seen > 1_000, `${seen} balances compared`)
})

/** What token instructions alone make of the balances before; undefined = no such account. */
const replayed = (tx: RpcTransaction): ReadonlyMap<string, bigint> => {
  const keys = transactionAccounts(tx)
  const held = new Map<string, bigint>()
  for (const { accountIndex, uiTokenAmount } of tx.meta.preTokenBalances)
    held.set(keys[accountIndex] ?? '', BigInt(uiTokenAmount.amount))
  const add = (index: number | undefined, amount: bigint): void => {
    const key = keys[index ?? -1] ?? ''
    assert.ok(held.has(key), 'an account takes part that does not exist')
    held.set(key, (held.get(key) ?? 0n) + amount)
  }
  const wrapped = new Map<string, bigint>()
  for (const { programIdIndex, accounts, data } of executedInstructions(tx)) {
    const bytes = Buffer.from(base58Decode(data) ?? [])
    const program = keys[programIdIndex] ?? ''
    const [first, second, third] = accounts
    if (program === '11111111111111111111111111111111' && bytes.readUInt32LE(0) === 2)
      wrapped.set(
        keys[second ?? -1] ?? '',
        (wrapped.get(keys[second ?? -1] ?? '') ?? 0n) + bytes.readBigUInt64LE(4),
      )
    if (!TOKEN_PROGRAMS.has(program)) continue
    const amount = (): bigint => bytes.readBigUInt64LE(1)
    if (bytes[0] === 18) held.set(keys[first ?? -1] ?? '', 0n)
    if (bytes[0] === 3 || bytes[0] === 12) {
      add(first, -amount())
      add(bytes[0] === 3 ? second : third, amount())
    }
    if (bytes[0] === 7) add(second, amount())
    if (bytes[0] === 8) add(first, -amount())
    if (bytes[0] === 9) held.delete(keys[first ?? -1] ?? '')
    if (bytes[0] === 17) add(first, wrapped.get(keys[first ?? -1] ?? '') ?? 0n)
  }
  return held
}

test('token instructions of a simulated transaction lead from the balances before to those after', () => {
  let migrations = 0
  for (const { tx } of tape) {
    if (tx.meta.err !== null) {
      assert.deepEqual(tx.meta.preTokenBalances, tx.meta.postTokenBalances)
      continue
    }
    const keys = transactionAccounts(tx)
    const isMigration = tx.meta.logMessages.includes('Program log: Instruction: Migrate')
    if (isMigration) {
      migrations += 1
      continue // the curve pays its wSOL by moving lamports, which no instruction says
    }
    const after = new Map(
      tx.meta.postTokenBalances.map(({ accountIndex, uiTokenAmount }) => [
        keys[accountIndex] ?? '',
        BigInt(uiTokenAmount.amount),
      ]),
    )
    assert.deepEqual(new Map([...replayed(tx)].sort()), new Map([...after].sort()))
  }
  assert.ok(migrations > 0)
})

test('a failed simulated transaction changes only its fee, and has its logs up to the error', () => {
  const failed = tape.filter(({ tx }) => tx.meta.err !== null)
  assert.ok(failed.length > 10)
  let withTrades = 0
  for (const { tx } of failed) {
    const { preBalances, postBalances, fee, logMessages, innerInstructions } = tx.meta
    assert.equal((preBalances[0] ?? 0) - (postBalances[0] ?? 0), fee)
    assert.deepEqual(preBalances.slice(1), postBalances.slice(1))
    assert.match(
      logMessages.at(-1) ?? '',
      /^Program \w+ failed: custom program error: 0x[0-9a-f]+$/,
    )
    const [index, { Custom }] = (tx.meta.err as { InstructionError: [number, { Custom: number }] })
      .InstructionError
    assert.equal(index, tx.transaction.message.instructions.length - 1)
    assert.ok(logMessages.at(-1)?.endsWith(`0x${Custom.toString(16)}`))
    if (logMessages.some((line) => line.startsWith('Program data: vdt/'))) withTrades += 1
    assert.ok(innerInstructions.length > 0 || logMessages.some((line) => line.includes('ray_log')))
  }
  assert.ok(withTrades > 2, 'some failed after a whole trade')
})

test('simulated token balances are printed like those of a node', () => {
  const tokens: RpcTokenBalance[] = tape.flatMap(({ tx }) => [...tx.meta.postTokenBalances])
  for (const { uiTokenAmount, mint, programId } of tokens) {
    const { amount, decimals, uiAmount, uiAmountString } = uiTokenAmount
    assert.ok(TOKEN_PROGRAMS.has(programId))
    assert.equal(uiAmount, amount === '0' ? null : Number(uiAmountString))
    const [whole = '', fraction = ''] = uiAmountString.split('.')
    assert.equal(BigInt(whole + fraction.padEnd(decimals, '0')), BigInt(amount))
    assert.ok(!fraction.endsWith('0'))
    if (mint === WSOL) assert.equal(decimals, 9)
  }
  assert.ok(new Set(tokens.map(({ programId }) => programId)).size === 2)
})

test('the simulated Solana has every kind of transaction', () => {
  const text = tape.map(({ tx }) => tx.meta.logMessages.join())
  for (const word of [
    ...['Create', 'CreateV2', 'Buy', 'Sell', 'Migrate', 'CreatePool', 'Route', 'CloseAccount'],
    ...['SyncNative', 'Burn', 'Transfer', 'TransferChecked'],
  ])
    assert.ok(
      text.some((lines) => lines.includes(`Instruction: ${word},`)),
      word,
    )
  assert.ok(text.some((lines) => lines.includes('ray_log')))
  const versions = tape.map(({ tx }) => tx.version)
  assert.ok(versions.includes(0) && versions.includes('legacy'))
  const votes = tape.filter(({ tx }) =>
    transactionAccounts(tx).some((key) => key.startsWith('Vote111')),
  )
  assert.equal(votes.length, (blocks.length - 1) * 2)
})

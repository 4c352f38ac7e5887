import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { base58Decode, base58Encode } from '../../core/base58.ts'
import { transactionToJson } from '../../simulator/svm/transaction-json.ts'
import type { SealedTransaction } from '../../simulator/svm/transactions.ts'
import {
  buildSimulatedSvmBlocks,
  executedInstructions,
  toRpcTransactions,
  transactionAccounts,
} from '../support/builders/simulated-svm-blocks.ts'

const SPEC = { seed: 4, ratePerSecond: 6, genesisMs: 1_735_689_600_000 }
let sealed: readonly SealedTransaction[]
let tape: ReturnType<typeof toRpcTransactions>

before(() => {
  const { blocks } = buildSimulatedSvmBlocks(SPEC, 200)
  sealed = blocks.flatMap(({ transactions }) => transactions)
  tape = blocks.flatMap(toRpcTransactions)
})

test('simulated log lines are a well-formed call stack of the executed instructions', () => {
  for (const tx of tape) {
    const keys = transactionAccounts(tx)
    const stack: string[] = []
    const invoked: [string, number][] = []
    for (const line of tx.meta.logMessages) {
      const invoke = /^Program (\w+) invoke \[(\d+)\]$/.exec(line)
      if (invoke) {
        stack.push(invoke[1] ?? '')
        assert.equal(stack.length, Number(invoke[2]))
        invoked.push([invoke[1] ?? '', stack.length])
      } else if (/^Program \w+ (success|failed: .+)$/.test(line))
        assert.equal(stack.pop(), line.split(' ')[1])
      else if (/ consumed \d+ of \d+ compute units$/.test(line)) {
        assert.equal(stack.at(-1), line.split(' ')[1])
        const [used = 0, left = 0] = [...line.matchAll(/ (\d+) /g)].map((found) => Number(found[1]))
        assert.ok(used <= left)
      } else assert.match(line, /^Program (log|data): ./)
    }
    assert.deepEqual(stack, [])
    assert.deepEqual(
      invoked,
      executedInstructions(tx).map((one) => [keys[one.programIdIndex], one.stackHeight]),
    )
  }
})

test('simulated accounts are ordered: signers first, then lookup tables, writable before read-only', () => {
  let withTables = 0
  for (const tx of tape) {
    const { message, signatures } = tx.transaction
    const keys = transactionAccounts(tx)
    const { header } = message
    assert.equal(new Set(keys).size, keys.length)
    assert.equal(signatures.length, header.numRequiredSignatures)
    assert.equal(tx.meta.preBalances.length, keys.length)
    assert.equal(message.addressTableLookups === undefined, tx.version === 'legacy')
    const lookups = message.addressTableLookups ?? []
    const { writable, readonly } = tx.meta.loadedAddresses
    assert.equal(lookups.flatMap((one) => one.writableIndexes).length, writable.length)
    assert.equal(lookups.flatMap((one) => one.readonlyIndexes).length, readonly.length)
    if (lookups.length > 0) withTables += 1
    for (const one of executedInstructions(tx)) {
      assert.ok(one.accounts.every((place) => place < keys.length))
      if (one.stackHeight === 1) assert.ok(one.programIdIndex < message.accountKeys.length)
    }
    const frozen = message.accountKeys.length - (header.numReadonlyUnsignedAccounts ?? 0)
    tx.meta.preBalances.forEach((lamports, place) => {
      const isStatic = place < message.accountKeys.length
      const isReadonly = isStatic
        ? place >= frozen
        : place >= message.accountKeys.length + writable.length
      if (isReadonly) assert.equal(tx.meta.postBalances[place], lamports, keys[place])
    })
  }
  assert.ok(withTables > 50)
})

/** Reads a message of the wire by hand. */
const readWire = (bytes: Buffer) => {
  let at = 0
  const u8 = (): number => bytes[at++] ?? 0
  const length = (): number => {
    const low = u8()
    return low < 0x80 ? low : (low & 0x7f) | (u8() << 7)
  }
  const take = (size: number): Buffer => {
    at += size
    return bytes.subarray(at - size, at)
  }
  const list = <T>(read: () => T): T[] => Array.from({ length: length() }, read)
  const signatures = list(() => base58Encode(take(64)))
  const isVersioned = ((bytes[at] ?? 0) & 0x80) !== 0
  const version = isVersioned ? u8() & 0x7f : 'legacy'
  const header = [u8(), u8(), u8()]
  const accountKeys = list(() => base58Encode(take(32)))
  const recentBlockhash = base58Encode(take(32))
  const instructions = list(() => ({
    programIdIndex: u8(),
    accounts: list(u8),
    data: base58Encode(take(length())),
  }))
  const lookups = isVersioned
    ? list(() => ({
        accountKey: base58Encode(take(32)),
        writableIndexes: list(u8),
        readonlyIndexes: list(u8),
      }))
    : []
  assert.equal(at, bytes.length)
  return { signatures, version, header, accountKeys, recentBlockhash, instructions, lookups }
}

test('the base64 form of a simulated transaction equals its JSON form', () => {
  sealed.forEach((tx, place) => {
    const [text = ''] = transactionToJson(tx, 'base64').transaction as readonly string[]
    const wire = readWire(Buffer.from(text, 'base64'))
    const json = tape[place]
    assert.ok(json)
    const { message, signatures } = json.transaction
    assert.deepEqual(wire.signatures, signatures)
    assert.equal(wire.version, json.version)
    const { header } = message
    assert.deepEqual(wire.header, [
      header.numRequiredSignatures,
      header.numReadonlySignedAccounts,
      header.numReadonlyUnsignedAccounts,
    ])
    assert.deepEqual(wire.accountKeys, message.accountKeys)
    assert.equal(wire.recentBlockhash, message.recentBlockhash)
    assert.deepEqual(
      wire.instructions,
      message.instructions.map(({ programIdIndex, accounts, data }) => ({
        programIdIndex,
        accounts,
        data,
      })),
    )
    assert.deepEqual(
      wire.lookups,
      (message.addressTableLookups ?? []).map(
        ({ accountKey, writableIndexes, readonlyIndexes }) => ({
          accountKey,
          writableIndexes,
          readonlyIndexes,
        }),
      ),
    )
  })
})

test('simulated signatures, hashes and addresses have their length', () => {
  for (const tx of tape) {
    for (const signature of tx.transaction.signatures)
      assert.equal(base58Decode(signature)?.length, 64)
    for (const key of transactionAccounts(tx)) assert.equal(base58Decode(key)?.length, 32)
  }
})

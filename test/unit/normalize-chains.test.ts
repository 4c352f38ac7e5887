import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normalizeBlock } from '../../ingestors/evm/normalize/block.ts'
import { chainRecordingJson } from '../support/recordings/evm-chains.ts'

type Json = Record<string, unknown>
interface Answers {
  readonly block: Json & { readonly transactions: Json[] }
  readonly receipts: (Json & { readonly logs: Json[] })[]
}

const answers = (name: string): Answers => {
  const file = chainRecordingJson(name)
  return {
    block: file.eth_getBlockByNumber as Answers['block'],
    receipts: file.eth_getBlockReceipts as Answers['receipts'],
  }
}
const normalized = (chain: string, { block, receipts }: Answers) =>
  normalizeBlock(chain, block, receipts)
const at = <T>(list: readonly T[], index: number): T => {
  const item = list.at(index)
  assert.ok(item !== undefined)
  return item
}
const ZERO = `0x${'00'.repeat(20)}`
const hash = (byte: string): string => `0x${byte.repeat(32)}`
const hex = (value: number): string => `0x${value.toString(16)}`

test('OP stack: deposits have no fee, other transactions include their L1 fee', () => {
  const all = answers('base/block_2000000.json')
  const { transactions } = normalized('base', all)
  assert.equal(transactions.length, 15)
  assert.equal(at(transactions, 0).from, '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001')
  assert.equal(at(transactions, 0).feeRaw, 0n)
  const second = at(all.receipts, 1)
  const fee =
    BigInt(String(second.gasUsed)) * BigInt(String(second.effectiveGasPrice)) +
    BigInt(String(second.l1Fee))
  assert.ok(BigInt(String(second.l1Fee)) > 0n)
  assert.equal(at(transactions, 1).feeRaw, fee)
  Object.assign(at(all.receipts, 0), { effectiveGasPrice: '0x7', l1Fee: '0x9' })
  assert.equal(at(normalized('base', all).transactions, 0).feeRaw, 0n, 'whatever else it says')
})

test('OP stack: the operator fee is added to the transaction fee', () => {
  const all = answers('base/block_2000000.json')
  const plain = normalized('base', all).transactions
  const used = BigInt(String(at(all.receipts, 1).gasUsed))
  const operatorFee = { operatorFeeScalar: hex(3_000_001), operatorFeeConstant: '0x7' }
  for (const receipt of all.receipts) Object.assign(receipt, operatorFee)
  const isthmus = normalized('base', all).transactions
  assert.equal(at(isthmus, 0).feeRaw, 0n, 'not of a deposit')
  const floor = (used * 3_000_001n) / 1_000_000n
  assert.equal(at(isthmus, 1).feeRaw, at(plain, 1).feeRaw + floor + 7n)
  for (const receipt of all.receipts) Object.assign(receipt, { daFootprintGasScalar: '0x94' })
  const jovian = normalized('base', all).transactions
  assert.equal(at(jovian, 1).feeRaw, at(plain, 1).feeRaw + used * 3_000_001n * 100n + 7n)
})

test('Arbitrum: its own transaction types, with gas that includes the L1 part', () => {
  const all = answers('arbitrum/block_150000000.json')
  const { transactions } = normalized('arbitrum', all)
  assert.equal(at(all.receipts, 0).type, '0x6a')
  assert.equal(at(transactions, 0).feeRaw, 0n)
  const paid = at(all.receipts, 1)
  assert.ok(BigInt(String(paid.gasUsedForL1)) > 0n)
  assert.equal(
    at(transactions, 1).feeRaw,
    BigInt(String(paid.gasUsed)) * BigInt(String(paid.effectiveGasPrice)),
  )
})

test('Avalanche: receipts without a type are decoded', () => {
  const all = answers('avalanche/block_31878202.json')
  all.block.logsBloom = null // the recording holds one transaction of more
  const { height, transactions } = normalized('avalanche', all)
  assert.equal(height, 31_878_202)
  assert.equal(transactions.flatMap(({ logs }) => logs).length, 3)
})

/** A block of Polygon with the receipt that no transaction of it has. */
const stateSynced = (more: Json = {}): Answers => {
  const { block, receipts } = answers('base/block_2000000.json')
  const { blockHash, blockNumber } = at(receipts, 0)
  const logs = receipts.flatMap((receipt) => receipt.logs).length
  const place = {
    blockHash,
    blockNumber,
    transactionHash: hash('5c'),
    transactionIndex: hex(receipts.length),
  }
  const log = { ...place, address: ZERO, topics: [hash('01')], data: '0x', logIndex: hex(logs) }
  const receipt = {
    ...place,
    from: ZERO,
    to: ZERO,
    gasUsed: '0x0',
    cumulativeGasUsed: '0x0',
    status: '0x1',
    logsBloom: `0x${'ff'.repeat(256)}`,
    logs: [log],
    ...more,
  }
  return { block, receipts: [...receipts, receipt] }
}

test('Polygon: a last receipt from and to the zero address may be missing from the header bloom', () => {
  const { transactions } = normalized('polygon', stateSynced())
  assert.equal(transactions.length, 16)
  const last = at(transactions, -1)
  assert.deepEqual(
    [last.from, last.to, last.valueRaw, last.feeRaw, last.logs.length],
    [ZERO, ZERO, 0n, 0n, 1],
  )
  const without = stateSynced()
  without.receipts.pop()
  assert.equal(normalized('polygon', without).transactions.length, 15, 'or it may not')
})

const NOT_SYNCED: readonly (readonly [string, string, Json, string])[] = [
  ['of another chain', 'base', {}, 'receipt-count'],
  ['from somebody', 'polygon', { from: `0x${'01'.repeat(20)}` }, 'receipt-count'],
  ['to somebody', 'polygon', { to: `0x${'01'.repeat(20)}` }, 'receipt-count'],
  ['that used gas', 'polygon', { gasUsed: '0x1' }, 'receipt-count'],
  ['in another place', 'polygon', { transactionIndex: '0x0' }, 'tx-order'],
]

for (const [what, chain, more, reason] of NOT_SYNCED) {
  test(`an extra receipt ${what}: ${reason}`, () => {
    assert.throws(() => normalized(chain, stateSynced(more)), { reason })
  })
}

test('a second extra receipt is rejected as receipt-count', () => {
  const all = stateSynced()
  all.receipts.push(at(all.receipts, -1))
  assert.throws(() => normalized('polygon', all), { reason: 'receipt-count' })
})

test('ZKsync: transaction indexes may be missing and log indexes may have gaps; their order counts', () => {
  const all = answers('base/block_2000000.json')
  for (const receipt of all.receipts) {
    receipt.transactionIndex = '0x0'
    for (const log of receipt.logs) log.logIndex = hex(Number(log.logIndex) * 2)
  }
  const { transactions } = normalized('zksync', all)
  assert.deepEqual(
    transactions.map(({ index }) => index),
    Array.from({ length: 15 }, (_, index) => index),
  )
  assert.equal(
    at(
      transactions.flatMap(({ logs }) => logs),
      -1,
    ).index,
    96,
  )
  assert.throws(() => normalized('base', all), { reason: 'tx-order' })
  const backwards = answers('base/block_2000000.json')
  const logged = backwards.receipts.filter(({ logs }) => logs.length > 1)
  at(logged, 0).logs.reverse()
  assert.throws(() => normalized('zksync', backwards), { reason: 'log-order' })
  const again = answers('base/block_2000000.json')
  for (const { logs } of again.receipts) {
    for (const [index, log] of logs.entries()) log.logIndex = hex(index)
  }
  assert.throws(() => normalized('zksync', again), { reason: 'log-order' })
})

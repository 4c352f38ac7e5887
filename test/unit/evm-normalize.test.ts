import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvalidInput } from '../../core/errors.ts'
import { bloomAgrees, normalizeBlock } from '../../ingestors/evm/normalize/block.ts'
import { parseEvmRecording, recordingJson } from '../support/recordings/ethereum.ts'

type Json = Record<string, unknown>
interface Answers {
  block: Json & { transactions: Json[]; logsBloom: string }
  receipts: (Json & { logs: (Json & { topics: unknown[] })[] })[]
}

const answers = (): Answers => {
  const file = recordingJson('block_18000000.json')
  return {
    block: file.eth_getBlockByNumber as Answers['block'],
    receipts: file.eth_getBlockReceipts as Answers['receipts'],
  }
}

const at = <T>(list: readonly T[], index: number): T => {
  const item = list[index]
  assert.ok(item !== undefined)
  return item
}
const logged = ({ receipts }: Answers) =>
  at(
    receipts.filter(({ logs }) => logs.length > 1),
    0,
  )
const firstLog = (all: Answers) => at(logged(all).logs, 0)

test('a block is decoded from the response of the node, in lower case', () => {
  const all = answers()
  const raw = at(all.block.transactions, 0)
  firstLog(all).address = String(firstLog(all).address).toUpperCase().replace('0X', '0x')
  raw.value = '0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff'
  const block = normalizeBlock('eth', { ...all.block, unheardOf: { deep: [1] } }, all.receipts)
  assert.equal(block.height, 18_000_000)
  assert.equal(block.timeMs, 0x64ea268f * 1_000)
  assert.equal(block.baseFeeRaw, 0x50ead8e39n)
  assert.equal(block.transactions.length, 94)
  const first = at(block.transactions, 0)
  assert.equal(first.valueRaw, 2n ** 256n - 1n)
  assert.equal(first.feeRaw, 0xec18n * 0x54a485839n)
  assert.equal(at(first.logs, 0).address, '0xfd14567eaf9ba941cb8c8a94eec14831ca7fd1b4')
  assert.equal(block.transactions.flatMap(({ logs }) => logs).length, 291)
  const failed = block.transactions.filter(({ success }) => !success)
  assert.ok(failed.length > 0)
  assert.ok(failed.every(({ logs, feeRaw }) => logs.length === 0 && feeRaw > 0n))
})

test('fields that old or other chains lack have a meaning', () => {
  const all = answers()
  for (const key of ['baseFeePerGas', 'difficulty', 'nonce', 'extraData']) delete all.block[key]
  const receipt = at(all.receipts, 0)
  delete receipt.effectiveGasPrice
  delete receipt.status
  receipt.l1Fee = '0x5'
  const block = normalizeBlock('eth', all.block, all.receipts)
  assert.deepEqual([block.baseFeeRaw, block.nonce, block.extra], [0n, '0x', '0x'])
  assert.equal(at(block.transactions, 0).success, true)
  assert.equal(at(block.transactions, 0).feeRaw, 0xec18n * 0x54a485839n + 5n)
})

test('values that nodes omit or format differently normalize to the same block', () => {
  const expected = normalizeBlock('eth', answers().block, answers().receipts)
  const all = answers()
  delete all.block.miner
  for (const receipt of all.receipts) {
    receipt.contractAddress ??= `0x${'0'.repeat(40)}`
    if (receipt.status === '0x0') receipt.status = '0x'
    for (const log of receipt.logs) {
      for (const key of ['blockHash', 'blockNumber', 'transactionHash']) delete log[key]
    }
  }
  for (const transaction of all.block.transactions) {
    if (transaction.value === '0x0') transaction.value = '0x'
  }
  const read = normalizeBlock('eth', all.block, all.receipts)
  assert.deepEqual({ ...read, coinbase: expected.coinbase }, expected)
  assert.equal(read.coinbase, `0x${'0'.repeat(40)}`)
  assert.ok(expected.transactions.some(({ success }) => !success))
})

const REFUSED: readonly (readonly [string, string, (all: Answers) => unknown])[] = [
  ['a block that is null', 'not-an-object', (all) => Object.assign(all, { block: null })],
  ['a block that is a list', 'not-an-object', (all) => Object.assign(all, { block: [] })],
  ['receipts that are an object', 'not-a-list', (all) => Object.assign(all, { receipts: {} })],
  [
    'transactions that are missing',
    'not-a-list',
    (all) => Reflect.deleteProperty(all.block, 'transactions'),
  ],
  [
    'transactions that are hashes',
    'not-an-object',
    (all) => Object.assign(all.block.transactions, [all.block.hash]),
  ],
  ['a number instead of hex', 'bad-hex', (all) => Object.assign(all.block, { number: 18_000_000 })],
  ['a hex without digits', 'bad-hex', (all) => Object.assign(all.block, { number: '0x' })],
  [
    'a height beyond integers',
    'too-big',
    (all) => Object.assign(all.block, { number: `0x${'f'.repeat(16)}` }),
  ],
  [
    'a time beyond integers',
    'too-big',
    (all) => Object.assign(all.block, { timestamp: '0x1fffffffffffff' }),
  ],
  ['a hash that is short', 'bad-hex', (all) => Object.assign(all.block, { hash: '0x01' })],
  ['a receipt missing', 'receipt-count', (all) => all.receipts.pop()],
  ['a receipt too many', 'receipt-count', (all) => all.receipts.push(at(all.receipts, 0))],
  [
    'a receipt of another block',
    'foreign-receipt',
    (all) => Object.assign(at(all.receipts, 3), { blockHash: `0x${'ab'.repeat(32)}` }),
  ],
  [
    'a receipt of another height',
    'foreign-receipt',
    (all) => Object.assign(at(all.receipts, 3), { blockNumber: '0x1' }),
  ],
  [
    'a receipt of another transaction',
    'foreign-receipt',
    (all) => Object.assign(at(all.receipts, 3), { transactionHash: `0x${'ab'.repeat(32)}` }),
  ],
  ['receipts in another order', 'foreign-receipt', (all) => all.receipts.reverse()],
  [
    'a transaction index that is wrong',
    'tx-order',
    (all) => Object.assign(at(all.receipts, 3), { transactionIndex: '0x9' }),
  ],
  [
    'a log of another block',
    'log-of-other-block',
    (all) => Object.assign(firstLog(all), { blockHash: `0x${'ab'.repeat(32)}` }),
  ],
  [
    'a log of another transaction',
    'log-of-other-block',
    (all) => Object.assign(firstLog(all), { transactionHash: `0x${'ab'.repeat(32)}` }),
  ],
  [
    'a log that was removed',
    'removed-log',
    (all) => Object.assign(firstLog(all), { removed: true }),
  ],
  ['logs in another order', 'log-order', (all) => logged(all).logs.reverse()],
  ['a log missing at the end of a receipt', 'log-order', (all) => logged(all).logs.pop()],
  ['a log missing at the start of a receipt', 'log-order', (all) => logged(all).logs.shift()],
  [
    'five topics',
    'topic-count',
    (all) => Object.assign(firstLog(all), { topics: new Array(5).fill(all.block.hash) }),
  ],
  ['half a byte of data', 'bad-hex', (all) => Object.assign(firstLog(all), { data: '0x123' })],
  ['data that is not hex', 'bad-hex', (all) => Object.assign(firstLog(all), { data: '0xzz' })],
  ['logs that are missing', 'not-a-list', (all) => Reflect.deleteProperty(logged(all), 'logs')],
  [
    'receipts of which one lost its bloom bits',
    'bloom',
    (all) => {
      for (const receipt of all.receipts) receipt.logsBloom = `0x${'00'.repeat(256)}`
    },
  ],
  [
    'a message of megabytes',
    'bad-hex',
    (all) => Object.assign(all.block, { hash: 'x'.repeat(5_000_000) }),
  ],
]

for (const [what, reason, spoil] of REFUSED) {
  test(`${what}: ${reason}`, () => {
    const all = answers()
    spoil(all)
    assert.throws(
      () => normalizeBlock('eth', all.block, all.receipts),
      (error) =>
        error instanceof InvalidInput && error.reason === reason && error.message.length < 200,
    )
  })
}

test('blooms are compared only where all are given', () => {
  const { block, receipts } = answers()
  assert.equal(bloomAgrees(block, receipts), true)
  assert.equal(bloomAgrees(block, receipts.slice(40)), false)
  assert.equal(bloomAgrees({ ...block, logsBloom: null }, receipts.slice(40)), true)
})

test('one recorded transaction gives a block with height and time; receipts alone give no time', () => {
  const one = parseEvmRecording(recordingJson('tx_univ3_swap_0a86fef1.json'))
  assert.equal(one.whole, false)
  assert.equal(one.timed, true)
  assert.equal(one.block.transactions.length, 1)
  assert.ok(one.block.timeMs > 1_600_000_000_000)
  const stamped = parseEvmRecording(recordingJson('block_18100000.json'))
  assert.deepEqual(
    [stamped.whole, stamped.timed, stamped.block.timeMs],
    [true, true, 0x64fc9c13 * 1_000],
  )
  const bare = parseEvmRecording(recordingJson('block_19999999.json'))
  assert.deepEqual([bare.whole, bare.timed, bare.block.timeMs], [true, false, 0])
})

test('a recorded log is a block of its transaction without a sender', () => {
  const log = at(
    (
      recordingJson('tx_univ3_swap_0a86fef1.json')
        .eth_getTransactionReceipt as Answers['receipts'][0]
    ).logs,
    0,
  )
  const { block, whole } = parseEvmRecording({ chain: 'ethereum', log })
  assert.equal(whole, false)
  assert.equal(at(at(block.transactions, 0).logs, 0).data, log.data)
  assert.match(at(block.transactions, 0).from, /^0x0{40}$/)
})

test('a recording may hold fewer receipts than the block has transactions, or only their hashes', () => {
  const { block, receipts } = answers()
  const part = parseEvmRecording({
    eth_getBlockByNumber: block,
    eth_getBlockReceipts: receipts.slice(10, 20),
  })
  assert.equal(part.whole, false)
  assert.deepEqual(
    part.block.transactions.map(({ index }) => index),
    [10, 11, 12, 13, 14, 15, 16, 17, 18, 19],
  )
  const hashes = { ...block, transactions: block.transactions.map(({ hash }) => hash) }
  const bare = parseEvmRecording({
    eth_getBlockByNumber: hashes,
    eth_getBlockReceipts: receipts,
  })
  assert.equal(bare.whole, true)
  assert.equal(bare.block.transactions.flatMap(({ logs }) => logs).length, 291)
  assert.throws(() => parseEvmRecording({ eth_getBlockReceipts: [...receipts].reverse() }), {
    reason: 'tx-order',
  })
})

test('a whole block with a transaction that is null is refused', () => {
  const all = answers()
  Object.assign(all.block.transactions, [null])
  assert.throws(() => normalizeBlock('eth', all.block, all.receipts), { reason: 'not-an-object' })
})

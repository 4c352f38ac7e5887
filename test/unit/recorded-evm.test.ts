import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeReceipt } from '../../ingestors/evm/source/ethers-receipt.ts'
import { recordedBlock } from '../../ingestors/recorded/files.ts'
import { chainRecordingJson } from '../support/recordings/evm-chains.ts'

type Json = Record<string, unknown>
const RECEIPT = 'zksync/receipt_eth_withdrawal-to-different-address.json'
const ENVELOPED = 'arbitrum/tx_joe21_swap_1756eca9.json'
const LOGS = 'avalanche/getLogs_block_30825190_nodex.json'

const readEvm = (chain: string, json: unknown) => {
  const recorded = recordedBlock(chain, json)
  assert.ok(recorded.block.vm === 'evm')
  return { ...recorded, block: recorded.block }
}

test('a receipt in the format of ethers.js gives a block with its transaction', () => {
  const { block, whole, timed, named } = readEvm('zksync', chainRecordingJson(RECEIPT))
  assert.deepEqual([whole, timed, named], [false, false, true])
  assert.equal(block.height, 258_521)
  const [tx] = block.transactions
  assert.deepEqual(
    [tx?.index, tx?.from, tx?.success, tx?.feeRaw],
    [7, '0xd754ff5e8a6f257e162f72578a4bb0493c0681d8', true, 0x07ee9dn * 0x1dcd6500n],
  )
  assert.deepEqual(
    tx?.logs.map(({ index }) => index),
    [40, 41, 42, 43, 44],
  )
})

test('receipts of ethers.js version 6, with old BigNumbers and of a node give the same block', () => {
  const old = chainRecordingJson(RECEIPT)
  const logs = old.logs as Json[]
  const { transactionHash, transactionIndex, effectiveGasPrice, ...rest } = old
  const expected = readEvm('zksync', old).block
  const six = {
    ...rest,
    hash: transactionHash,
    index: transactionIndex,
    gasUsed: String(0x07ee9d),
    gasPrice: String(0x1dcd6500),
  }
  assert.deepEqual(readEvm('zksync', six).block, expected)
  const underscored = { ...old, gasUsed: { _hex: '0x07ee9d', _isBigNumber: true } }
  assert.deepEqual(readEvm('zksync', underscored).block, expected)
  const plain = nodeReceipt(old)
  assert.equal(plain.gasUsed, '0x07ee9d')
  assert.equal(plain.blockNumber, '0x3f1d9')
  assert.deepEqual(nodeReceipt(plain), plain)
  assert.equal((plain.logs as Json[]).length, logs.length)
})

const BROKEN: readonly (readonly [string, Json, string])[] = [
  ['a height that is not a number', { blockNumber: 1.5 }, 'bad-hex'],
  ['a height below zero', { blockNumber: -1 }, 'bad-hex'],
  ['gas of a thousand digits', { gasUsed: '9'.repeat(1_000) }, 'bad-hex'],
  ['gas that is an object of nothing', { gasUsed: {} }, 'bad-hex'],
  ['logs that are not a list', { logs: 'none' }, 'not-a-list'],
  ['a log that is not an object', { logs: [null] }, 'not-an-object'],
  ['no hash', { transactionHash: undefined }, 'bad-hex'],
]

for (const [what, more, reason] of BROKEN) {
  test(`a receipt with ${what}: ${reason}`, () => {
    assert.throws(() => recordedBlock('zksync', { ...chainRecordingJson(RECEIPT), ...more }), {
      reason,
    })
  })
}

test('filtered logs of a block give transactions in order, without senders', () => {
  const file = chainRecordingJson(LOGS)
  const { block, whole } = readEvm('avalanche', file)
  assert.equal(whole, false)
  assert.equal(block.height, 30_806_758)
  const logs = block.transactions.flatMap((tx) => tx.logs)
  assert.equal(logs.length, 54)
  assert.deepEqual(
    logs.map(({ index }) => index),
    logs.map(({ index }) => index).toSorted((a, b) => a - b),
  )
  assert.ok(block.transactions.every(({ from }) => /^0x0{40}$/.test(from)))
  const shuffled = {
    ...file,
    eth_getLogs: (file.eth_getLogs as Json[]).toSorted((one, other) =>
      String(other.transactionHash).localeCompare(String(one.transactionHash)),
    ),
  }
  assert.deepEqual(readEvm('avalanche', shuffled).block, block)
})

test('logs of two blocks, logs out of order and an empty list are rejected', () => {
  const file = chainRecordingJson(LOGS)
  const logs = file.eth_getLogs as Json[]
  const refused = (list: unknown, reason: string) =>
    assert.throws(() => recordedBlock('avalanche', { eth_getLogs: list }), { reason })
  const other = { ...logs[0], transactionHash: `0x${'0e'.repeat(32)}`, blockNumber: '0x1' }
  refused([...logs, other], 'foreign-receipt')
  refused(
    logs.map((log, index) => (index === 53 ? { ...log, blockNumber: '0x1' } : log)),
    'log-of-other-block',
  )
  refused([...logs].reverse(), 'log-order')
  refused([], 'no-block')
  refused({}, 'not-a-list')
  refused([7], 'not-an-object')
})

test('recorded logs without transaction indexes are ordered by their position in the recording', () => {
  const log = (transactionHash: string, logIndex: string): Json => ({
    blockNumber: '0x1',
    blockHash: `0x${'0b'.repeat(32)}`,
    transactionIndex: '0x0',
    address: `0x${'0a'.repeat(20)}`,
    topics: [],
    data: '0x',
    transactionHash,
    logIndex,
  })
  const [one, other] = [`0x${'01'.repeat(32)}`, `0x${'02'.repeat(32)}`]
  const logs = [log(other, '0x5'), log(one, '0x1')]
  const places = (chain: string) =>
    readEvm(chain, { eth_getLogs: logs }).block.transactions.map(({ hash, index }) => [hash, index])
  assert.deepEqual(places('zksync'), [
    [one, 0],
    [other, 1],
  ])
  const receipts = [one, other].map((transactionHash, index) => ({
    ...log(transactionHash, '0x0'),
    from: `0x${'0a'.repeat(20)}`,
    logs: [log(transactionHash, `0x${index}`)],
  }))
  const { block } = readEvm('zksync', { eth_getBlockReceipts: receipts })
  assert.deepEqual(
    block.transactions.map(({ index }) => index),
    [0, 1],
  )
  assert.throws(() => recordedBlock('base', { eth_getBlockReceipts: receipts }), {
    reason: 'tx-order',
  })
})

test('responses wrapped in JSON-RPC messages decode like plain ones', () => {
  const message = (result: unknown) => ({ jsonrpc: '2.0', id: 1, result })
  const file = chainRecordingJson(ENVELOPED)
  const expected = recordedBlock('arbitrum', file)
  const named = Object.fromEntries(
    Object.entries(file).map(([name, each]) => [name, message(each)]),
  )
  assert.deepEqual(recordedBlock('arbitrum', named), expected)
  assert.deepEqual(recordedBlock('arbitrum', message(file)), expected)
  const alone = file.eth_getTransactionReceipt as Json
  assert.deepEqual(recordedBlock('arbitrum', message(alone)), recordedBlock('arbitrum', alone))
  assert.throws(() => recordedBlock('arbitrum', message(null)), { reason: 'unknown-shape' })
})

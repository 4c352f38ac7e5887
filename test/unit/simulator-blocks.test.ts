import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Hex,
  hexToBytes,
  hexToNumber,
  keccak256,
  serializeTransaction,
  type TransactionSerializableEIP1559,
  toRlp,
} from 'viem'
import { blockToJson, receiptsToJson, transactionToJson } from '../../simulator/evm/blocks.ts'
import { buildSimulatedEvmBlocks } from '../support/builders/simulated-evm-blocks.ts'

const { producer, blocks } = buildSimulatedEvmBlocks(
  { seed: 11, ratePerSecond: 3, genesisMs: 1_735_689_600_000 },
  45,
)

const trimmed = (quantity: string): Hex => {
  const digits = quantity.slice(2).replace(/^0+/, '')
  return digits === '' ? '0x' : `0x${digits.length % 2 === 0 ? digits : `0${digits}`}`
}

/** Bloom by the Yellow Paper, written apart from the simulator's. */
const bloomOf = (items: readonly Hex[]): string => {
  const bits = new Set<number>()
  for (const item of items) {
    const hash = keccak256(item).slice(2)
    for (const at of [0, 4, 8]) bits.add(Number.parseInt(hash.slice(at, at + 4), 16) % 2_048)
  }
  let filter = 0n
  for (const bit of bits) filter |= 1n << BigInt(bit)
  return `0x${filter.toString(16).padStart(512, '0')}`
}

test('a header hash is keccak over the RLP of the header that a node shows', () => {
  for (const block of blocks) {
    const json = blockToJson(block, false)
    const header = [
      json.parentHash,
      json.sha3Uncles,
      json.miner,
      json.stateRoot,
      json.transactionsRoot,
      json.receiptsRoot,
      json.logsBloom,
      trimmed(json.difficulty),
      trimmed(json.number),
      trimmed(json.gasLimit),
      trimmed(json.gasUsed),
      trimmed(json.timestamp),
      json.extraData,
      json.mixHash,
      json.nonce,
      trimmed(json.baseFeePerGas),
      json.withdrawalsRoot,
      trimmed(json.blobGasUsed),
      trimmed(json.excessBlobGas),
      json.parentBeaconBlockRoot,
    ] as const satisfies readonly Hex[]
    assert.equal(json.hash, keccak256(toRlp(header)))
  }
})

test('simulated blocks link to their parents, twelve seconds apart, within their gas limit', () => {
  blocks.slice(1).forEach((block, at) => {
    const parent = blocks[at]
    assert.equal(block.parentHash, parent?.hash)
    assert.equal(block.height, at + 1)
    assert.equal(block.timeMs, 1_735_689_600_000 + block.height * 12_000)
    assert.ok(block.gasUsed <= block.gasLimit, `gas of block ${block.height}`)
    const parentFee = parent?.baseFeeRaw ?? 0n
    const move = block.baseFeeRaw - parentFee
    assert.ok((move < 0n ? -move : move) <= parentFee / 8n)
  })
})

test('a transaction hash is keccak over the envelope that viem makes of the same fields', () => {
  const seen = new Set<string>()
  for (const block of blocks) {
    block.transactions.forEach((tx, index) => {
      const json = transactionToJson(block, tx, index)
      const envelope: TransactionSerializableEIP1559 = {
        type: 'eip1559',
        chainId: 1,
        nonce: hexToNumber(json.nonce),
        maxFeePerGas: BigInt(json.maxFeePerGas),
        maxPriorityFeePerGas: BigInt(json.maxPriorityFeePerGas),
        gas: BigInt(json.gas),
        value: BigInt(json.value),
        data: json.input,
        ...(json.to !== null && { to: json.to }),
      }
      const { r, s, yParity } = json
      const bytes = serializeTransaction(envelope, { r, s, yParity: hexToNumber(yParity) })
      assert.equal(json.hash, keccak256(bytes))
      assert.equal(seen.has(json.hash), false)
      seen.add(json.hash)
    })
  }
  assert.ok(seen.size > 500)
})

test('nonces of every simulated sender count up from zero', () => {
  const next = new Map<string, number>()
  for (const { transactions } of blocks) {
    for (const { from, nonce } of transactions) {
      assert.equal(nonce, next.get(from) ?? 0)
      next.set(from, nonce + 1)
    }
  }
})

test('simulated receipts have consistent gas, log indexes and blooms; a failed transaction has no logs', () => {
  let failed = 0
  for (const block of blocks) {
    const receipts = receiptsToJson(block, producer.blooms)
    assert.equal(receipts.length, block.transactions.length)
    let gas = 0
    let logIndex = 0
    const items: Hex[] = []
    for (const receipt of receipts) {
      gas += hexToNumber(receipt.gasUsed)
      assert.equal(hexToNumber(receipt.cumulativeGasUsed), gas)
      const own = receipt.logs.flatMap(({ address, topics }) => [address, ...topics])
      assert.equal(receipt.logsBloom, bloomOf(own))
      items.push(...own)
      for (const log of receipt.logs) {
        assert.equal(hexToNumber(log.logIndex), logIndex)
        assert.equal(log.transactionHash, receipt.transactionHash)
        assert.equal(hexToBytes(log.data).length % 32, 0)
        logIndex += 1
      }
      if (receipt.status === '0x0') {
        failed += 1
        assert.equal(receipt.logs.length, 0)
        assert.ok(hexToNumber(receipt.gasUsed) > 21_000)
      }
    }
    assert.equal(gas, block.gasUsed)
    assert.equal(block.logsBloom, bloomOf(items))
  }
  assert.ok(failed > 0)
})

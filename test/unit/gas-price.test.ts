/** Fees of blocks, from what a node says to the price that is answered. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normalizeBlock } from '../../ingestors/evm/normalize/block.ts'
import { evmHeader } from '../../ingestors/evm/to-wire/header.ts'
import { gasPriceOf } from '../../serving/queries/gas-price.ts'
import { recordingJson } from '../support/recordings/ethereum.ts'

type Json = Readonly<Record<string, unknown>>

const recorded = () => {
  const file = recordingJson('block_18000000.json')
  return {
    block: file.eth_getBlockByNumber as Json & { readonly transactions: readonly Json[] },
    receipts: file.eth_getBlockReceipts as readonly Json[],
  }
}

test('a block record has the lower median of its priority fees', () => {
  const { block, receipts } = recorded()
  const baseFee = BigInt(block.baseFeePerGas as string)
  const paid = receipts.map((receipt) => BigInt(receipt.effectiveGasPrice as string))
  const { priority_fee } = evmHeader(normalizeBlock('eth', block, receipts))
  const price = baseFee + BigInt(priority_fee)
  assert.equal(paid.length, 94)
  assert.ok(paid.includes(price))
  assert.ok(paid.filter((each) => each < price).length <= 46)
  assert.ok(paid.filter((each) => each <= price).length >= 47)
})

test('a transaction below the base fee has a priority fee of zero', () => {
  const { block, receipts } = recorded()
  const free = receipts.map((receipt) => ({ ...receipt, effectiveGasPrice: '0x0' }))
  assert.equal(evmHeader(normalizeBlock('eth', block, free)).priority_fee, '0')
})

test('a block without transactions or without prices has no median priority fee', () => {
  const { block, receipts } = recorded()
  const silent = receipts.map(({ effectiveGasPrice: _price, ...receipt }) => receipt)
  const transactions = block.transactions.map(({ gasPrice: _price, ...transaction }) => transaction)
  const unpriced = normalizeBlock('eth', { ...block, transactions }, silent)
  assert.equal(evmHeader(unpriced).priority_fee, '')
  assert.equal(evmHeader({ ...unpriced, transactions: [] }).priority_fee, '')
  const deposits = receipts.map((receipt) => ({ ...receipt, type: '0x7e' }))
  assert.equal(evmHeader(normalizeBlock('base', block, deposits)).priority_fee, '')
})

test('a price needs a priority fee that is known', () => {
  const blocks = (...fees: readonly (string | null)[]) =>
    fees.map((priority_fee, index) => ({ base_fee: String(100 - index), priority_fee }))
  assert.equal(gasPriceOf([]), undefined)
  assert.equal(gasPriceOf(blocks(null, null)), undefined)
  assert.equal(gasPriceOf(blocks(null, '5')), 105n)
  assert.equal(gasPriceOf(blocks('9', '10', '2', '1')), 102n)
  const wide = '115792089237316195423570985008687907853269984665640564039457584007913129639935'
  assert.equal(gasPriceOf(blocks(wide)), BigInt(wide) + 100n)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { InvalidInput } from '../../core/errors.ts'
import { nativeBalanceDiffs } from '../../ingestors/evm/source/native-balances.ts'
import { flashblockOf } from '../../ingestors/flashblocks/frame.ts'
import { partTransactions } from '../../ingestors/flashblocks/transactions.ts'
import { replaceAtPath } from '../support/replace-at-path.ts'
import { buildFlashblocks } from '../support/replay/flashblocks-server.ts'

const ODD: readonly unknown[] = [
  ...[null, '', '0x', 'x', -1, 1.5, 2 ** 60, true, [], {}, [[]], '0x7e', '0x7ec0', '0x02c0'],
  ...[`0x${'f'.repeat(64)}`, `0x${'f'.repeat(65)}`, `0x${'00'.repeat(20)}`, { Eip1559: {} }],
]

const mutation = fc.record({
  path: fc.array(fc.nat(2_000), { minLength: 1, maxLength: 7 }),
  by: fc.constantFrom(...ODD),
})

/** A refusal has a reason, and nothing else is thrown. */
const survives = (read: () => void): void => {
  try {
    read()
  } catch (error) {
    assert.ok(error instanceof InvalidInput, String(error))
  }
}

test('a flashblock part with random fields is decoded or rejected', () => {
  const parts = { payloadId: '0x0000000000000001', height: 2_000_000, parts: 2 }
  const [whole] = buildFlashblocks('base/block_2000000.json', parts)
  fc.assert(
    fc.property(fc.array(mutation, { minLength: 1, maxLength: 3 }), (mutations) => {
      const odd = mutations.reduce<unknown>(
        (said, { path, by }) => replaceAtPath(said, path, by),
        whole,
      )
      survives(() => {
        const { transactions, receipts } = flashblockOf(Buffer.from(JSON.stringify(odd)), false)
        partTransactions(transactions, receipts, { chainId: 8_453, index: 0, logs: 0 })
      })
    }),
    { numRuns: 500 },
  )
})

test('a flashblock frame of random bytes is decoded or rejected', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), fc.boolean(), (bytes, isBinary) => {
      survives(() => flashblockOf(Buffer.from(bytes), isBinary))
    }),
  )
})

test('a prestate trace with random fields is decoded or rejected', () => {
  const hash = `0x${'a'.repeat(64)}`
  const account = `0x${'b'.repeat(40)}`
  const transaction = {
    hash,
    index: 0,
    from: account,
    to: null,
    valueRaw: 0n,
    feeRaw: 0n,
    success: true,
    contractAddress: null,
    logs: [],
  }
  const state = { [account]: { balance: '0x1', nonce: 1 }, [`0x${'c'.repeat(40)}`]: { nonce: 2 } }
  const answer = [{ txHash: hash, result: { pre: state, post: state } }]
  fc.assert(
    fc.property(mutation, ({ path, by }) => {
      survives(() => {
        for (const { preRaw } of nativeBalanceDiffs(
          { hash, transactions: [transaction] },
          replaceAtPath(answer, path, by),
        ).values()) {
          assert.ok(preRaw >= 0n)
        }
      })
    }),
    { numRuns: 500 },
  )
})

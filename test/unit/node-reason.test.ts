import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeErrorResult, parseAbi } from 'viem'
import { nodeReason } from '../../serving/dex/node-reason.ts'
import { nodeErrorFault } from '../../serving/dex/node-refusal.ts'

const ERRORS = parseAbi(['error Error(string)', 'error Panic(uint256)', 'error Own(address)'])
const own = encodeErrorResult({
  abi: ERRORS,
  errorName: 'Own',
  args: [`0x${'11'.repeat(20)}`],
})

test('reasons that follow from the transaction are shown', () => {
  const text = encodeErrorResult({ abi: ERRORS, errorName: 'Error', args: ['K\u001b[2J too low'] })
  const panic = encodeErrorResult({ abi: ERRORS, errorName: 'Panic', args: [17n] })
  for (const [message, data, wanted] of [
    ['execution reverted: UniswapV2: K', undefined, 'execution reverted: UniswapV2: K'],
    ['execution reverted', text, 'execution reverted: K[2J too low'],
    ['execution reverted', panic, 'execution reverted: 17'],
    ['execution reverted', own, 'execution reverted'],
    [
      "VM Exception while processing transaction: reverted with reason string 'claimed already'",
      undefined,
      'execution reverted: claimed already',
    ],
    [`revert ${'x'.repeat(400)}`, undefined, `execution reverted: ${'x'.repeat(200)}`],
    [
      'Transaction simulation failed: Error processing Instruction 2: custom program error: 0x1771',
      undefined,
      'Error processing Instruction 2: custom program error: 0x1771',
    ],
    [
      'err: insufficient funds for gas * price + value: have 1 want 2',
      undefined,
      'insufficient funds for gas * price + value',
    ],
    ['Transaction simulation failed: Blockhash not found', undefined, 'blockhash not found'],
  ] as const) {
    assert.equal(nodeReason(message, data), wanted)
  }
})

test("what a provider says of its customer's account is not shown", () => {
  for (const message of [
    'project ID 5f3a of ops@example.org is out of credits, upgrade at https://provider.invalid/billing',
    'daily request count exceeded, key abc',
    '',
  ]) {
    const { faultName, details } = nodeErrorFault(message, [])
    assert.deepEqual(
      [faultName, details],
      ['TRANSACTION_FAILED', { reason: 'refused', node: 'the node refused the transaction' }],
    )
  }
})

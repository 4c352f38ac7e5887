import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Outage } from '../../core/errors.ts'
import { RpcError } from '../../core/rpc/pool.ts'
import { isMissingMethod, isTransactionError } from '../../core/rpc/transaction-errors.ts'
import type { Vm } from '../../schemas/chains.ts'

const said = (code: number, message = 'no', data?: string): RpcError =>
  new RpcError(code, message, data)
const blamed = (vm: Vm, step: 'run' | 'send', errors: readonly RpcError[]): readonly boolean[] =>
  errors.map((error) => isTransactionError(vm, step, error))

test('the codes by which nodes refuse a transaction, per virtual machine and step', () => {
  const codes = [3, -32_000, -32_002, -32_003, -32_005, -32_010, -32_015, -32_602, -32_603]
  const taken = (vm: Vm, step: 'run' | 'send') =>
    codes.filter((code) => isTransactionError(vm, step, said(code)))
  assert.deepEqual(taken('evm', 'run'), [3, -32_000, -32_003, -32_015])
  assert.deepEqual(taken('evm', 'send'), [3, -32_000, -32_003, -32_010, -32_602])
  const solana = [-32_002, -32_003, -32_015, -32_602]
  assert.deepEqual(taken('svm', 'run'), solana)
  assert.deepEqual(taken('svm', 'send'), solana)
  assert.deepEqual(taken('move', 'send'), [])
})

test('a limit of the node or a state that it does not hold is not the transaction, under any code', () => {
  const errors = [
    said(-32_000, 'header not found'),
    said(-32_000, 'missing trie node 12'),
    said(-32_000, 'execution aborted (timeout = 5s)'),
    said(-32_003, 'daily request limit reached'),
    said(-32_000, 'rate limit exceeded'),
  ]
  for (const step of ['run', 'send'] as const) {
    assert.deepEqual(blamed('evm', step, errors), [false, false, false, false, false])
  }
  assert.deepEqual(blamed('svm', 'send', [said(-32_003, 'daily request limit reached')]), [false])
})

test('a call that reverts is to blame under any code, one that is sent on is not', () => {
  const errors = [
    said(-32_603, 'VM Exception while processing transaction: reverted'),
    said(-32_015, 'VM execution error.', 'Reverted 0x'),
    said(3, 'execution reverted: rate limit'),
  ]
  assert.deepEqual(blamed('evm', 'run', errors), [true, true, true])
  assert.deepEqual(blamed('evm', 'send', errors.slice(0, 1)), [false])
  assert.equal(isTransactionError('evm', 'run', new Outage('rpc', 'reverted')), false)
})

test('a missing method is distinguished from an error of the method', () => {
  assert.deepEqual(
    [said(-32_601), said(-32_004), said(-32_005), new Error('no')].map(isMissingMethod),
    [true, true, false, false],
  )
})

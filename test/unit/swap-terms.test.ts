import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../../core/errors.ts'
import { unsignedHex } from '../../serving/dex/evm-calls.ts'
import {
  parseAmount,
  parseDeadline,
  parseFees,
  parseSlippage,
  parseSwapMode,
} from '../../serving/dex/swap-terms.ts'

const codeOf = (work: () => unknown): number | undefined => {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof Fault)
    return error.code
  }
  return undefined
}

test('an unsigned swap transaction is the RLP encoding of EIP-1559 without a signature', () => {
  const transaction = {
    chainId: 1,
    nonce: 7,
    gas: 210_000n,
    value: 0n,
    data: '0x3593564c',
    to: '0x66a9893cc07d91d95644aedd05d03f95e1dba8af',
    fees: { maxFeePerGas: 30_000_000_000n, maxPriorityFeePerGas: 1_500_000_000n },
  } as const
  assert.equal(
    unsignedHex(transaction),
    '0x02ed01078459682f008506fc23ac00830334509466a9893cc07d91d95644aedd05d03f95e1dba8af80843593564cc0',
  )
})

test('swap amounts, slippages and modes are parsed exactly or refused, never rounded', () => {
  assert.equal(parseAmount(String(2n ** 256n - 1n)), 2n ** 256n - 1n)
  const amounts = ['0', '-1', '1.0', '1e3', '', ' 1', '0x1', String(2n ** 256n), '9'.repeat(101)]
  assert.deepEqual(
    amounts.map((text) => codeOf(() => parseAmount(text))),
    [40015, 40014, 40014, 40014, 40014, 40014, 40014, 40016, 40014],
  )
  assert.deepEqual(['5', '0.5', '0.01', '50'].map(parseSlippage), [500, 50, 1, 5_000])
  const slippages = ['0', '0.00', '50.01', '100', '0.001', '-1', 'x', '1e1', '']
  assert.deepEqual(
    slippages.map((text) => codeOf(() => parseSlippage(text))),
    [40019, 40019, 40008, 40008, 40018, 40018, 40018, 40018, 40018],
  )
  assert.deepEqual(['ExactIn', 'ExactOut'].map(parseSwapMode), ['exact_in', 'exact_out'])
  assert.equal(
    codeOf(() => parseSwapMode('exactin')),
    40021,
  )
})

test('a swap deadline is given in seconds or milliseconds and must be in the future', () => {
  const nowMs = 1_800_000_000_000
  assert.equal(parseDeadline(undefined, nowMs), 1_800_001_200)
  assert.equal(parseDeadline(1_800_000_001, nowMs), 1_800_000_001)
  assert.equal(parseDeadline(1_800_000_001_999, nowMs), 1_800_000_001)
  assert.equal(
    codeOf(() => parseDeadline(1_800_000_000, nowMs)),
    40031,
  )
  assert.equal(
    codeOf(() => parseDeadline(1_700_000_000_000, nowMs)),
    40031,
  )
})

test('the fees of a swap must belong to one type of transaction', () => {
  assert.equal(parseFees({}), undefined)
  assert.deepEqual(parseFees({ gasPrice: '7' }), { gasPrice: 7n })
  assert.deepEqual(parseFees({ maxFeePerGas: '7', maxPriorityFeePerGas: '2' }), {
    maxFeePerGas: 7n,
    maxPriorityFeePerGas: 2n,
  })
  for (const words of [
    { gasPrice: '7', maxFeePerGas: '7', maxPriorityFeePerGas: '2' },
    { gasPrice: '7', maxFeePerGas: '7' },
    { maxFeePerGas: '7' },
    { maxPriorityFeePerGas: '7' },
    { maxFeePerGas: '1', maxPriorityFeePerGas: '2' },
    { gasPrice: '-1' },
    { gasPrice: '1.5' },
  ]) {
    assert.equal(
      codeOf(() => parseFees(words)),
      40022,
      JSON.stringify(words),
    )
  }
})

test('an amount of nothing is refused in words that fit whatever it is for', () => {
  const message = 'The amount is too small'
  assert.throws(() => parseAmount('0', 'totalAmount'), { faultName: 'AMOUNT_TOO_SMALL', message })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../../core/errors.ts'
import { parseSwapAmount, resolveAmount } from '../../serving/dex/balance-share.ts'

const codeOf = (work: () => unknown): number | undefined => {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof Fault)
    return error.code
  }
  return undefined
}

test('a swap amount is base units, the whole balance, or a percentage of it with two decimals', () => {
  assert.deepEqual(parseSwapAmount('17', 'exact_in'), { amountRaw: 17n })
  assert.deepEqual(parseSwapAmount('17', 'exact_out'), { amountRaw: 17n })
  const shares = { auto: 10_000, '100%': 10_000, '50%': 5_000, '0.01%': 1, '33.3%': 3_330 }
  for (const [text, share] of Object.entries(shares))
    assert.deepEqual(parseSwapAmount(text, 'exact_in'), { share }, text)
})

test('a swap amount of zero percent, above the balance or in another notation is refused', () => {
  const codes = {
    '0%': 40_015,
    '0.00%': 40_015,
    '100.01%': 40_014,
    '999%': 40_014,
    '1000%': 40_014,
    '50.001%': 40_014,
    '%': 40_014,
    '-5%': 40_014,
    AUTO: 40_014,
    ' 50%': 40_014,
    half: 40_014,
  }
  for (const [text, code] of Object.entries(codes))
    assert.equal(
      codeOf(() => parseSwapAmount(text, 'exact_in')),
      code,
      text,
    )
  for (const text of ['auto', '50%'])
    assert.equal(
      codeOf(() => parseSwapAmount(text, 'exact_out')),
      40_014,
      text,
    )
})

test('a part of a balance is rounded down, and what stays for fees is never sold', async () => {
  const resolved = (text: string, balanceRaw: bigint, reserveRaw = 0n): Promise<bigint> =>
    resolveAmount(parseSwapAmount(text, 'exact_in'), async () => ({ balanceRaw, reserveRaw }))
  assert.equal(await resolved('50%', 101n), 50n)
  assert.equal(await resolved('auto', 101n), 101n)
  assert.equal(await resolved('auto', 101n, 11n), 90n)
  assert.equal(await resolved('50%', 100n, 11n), 50n)
  assert.equal(await resolved('95%', 100n, 11n), 89n)
  assert.equal(await resolved('7', 0n, 11n), 7n)
  const poor = [
    ['auto', 0n, 0n],
    ['0.01%', 9_999n, 0n],
    ['auto', 11n, 11n],
  ] as const
  for (const [text, balance, reserve] of poor)
    await assert.rejects(resolved(text, balance, reserve), { code: 50_017 })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { packedBins } from '../../ingestors/evm/abi/packed.ts'

const word = (value: bigint): string => value.toString(16).padStart(64, '0')

/** An event's data: a list of so many bins and one of as many amounts, 7 of X and 9 of Y each. */
const dataOf = (count: number): string => {
  const list = (wordOf: (index: number) => bigint): string[] => [
    word(BigInt(count)),
    ...Array.from({ length: count }, (_, index) => word(wordOf(index))),
  ]
  const heads = [word(64n), word(64n + 32n * BigInt(count + 1))]
  const amounts = list(() => (9n << 128n) | 7n)
  return `0x${[...heads, ...list((index) => BigInt(index + 1)), ...amounts].join('')}`
}

test('the bins of one event are read up to a bound', () => {
  const bins = packedBins(dataOf(2_000), 0, 1)
  assert.equal(bins?.length, 2_000)
  assert.deepEqual(bins?.at(-1), { bin: 2_000, xRaw: 7n, yRaw: 9n })
  assert.equal(packedBins(dataOf(2_001), 0, 1), undefined)
})

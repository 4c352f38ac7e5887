import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeAbiParameters } from 'viem'
import { textIn, wordsIn } from '../../ingestors/evm/abi/dynamic.ts'
import { hexWord } from '../support/recordings/ethereum.ts'

const list = (...values: readonly bigint[]): string =>
  encodeAbiParameters([{ type: 'uint256' }, { type: 'uint256[]' }], [9n, values])
const text = (value: string): string =>
  encodeAbiParameters([{ type: 'uint256' }, { type: 'string' }], [9n, value])
const data = (...words: readonly bigint[]): string => `0x${words.map(hexWord).join('')}`
const MAX = (1n << 256n) - 1n

test('ABI lists and texts are read at the offset of their word', () => {
  assert.deepEqual(wordsIn(list(1n, MAX, 3n), 1), [1n, MAX, 3n])
  assert.deepEqual(wordsIn(list(), 1), [])
  assert.equal(textIn(text('Ein Täuschungsmanöver 🦄'), 1, 99), 'Ein Täuschungsmanöver 🦄')
  assert.equal(textIn(text(''), 1, 99), null)
  assert.equal(textIn(text('abcdef'), 1, 3), 'abc')
})

test('an ABI list has at most 256 entries', () => {
  const long = (length: number) => list(...new Array<bigint>(length).fill(1n))
  assert.equal(wordsIn(long(256), 1)?.length, 256)
  assert.equal(wordsIn(long(257), 1), undefined)
})

const BROKEN: readonly (readonly [string, string])[] = [
  ['an offset outside', data(9n, 64n)],
  ['the greatest offset', data(9n, MAX)],
  ['an offset that is not a word', data(9n, 65n, 0n)],
  ['a length beyond the data', data(9n, 64n, 99n, 1n)],
  ['half of all lengths', data(9n, 64n, 1n << 255n, 1n)],
  ['the greatest length', data(9n, 64n, MAX, 1n)],
]

for (const [what, broken] of BROKEN) {
  test(`an ABI list and text are rejected: ${what}`, () => {
    assert.equal(wordsIn(broken, 1), undefined)
    assert.equal(textIn(broken, 1, 99), undefined)
  })
}

test('an ABI list whose last entry is cut is rejected', () => {
  assert.equal(wordsIn(list(1n, 2n).slice(0, -2), 1), undefined)
})

test('an ABI offset word of zero is also the length of its list', () => {
  assert.deepEqual(wordsIn(data(0n), 0), [])
  assert.equal(wordsIn(data(32n, 32n), 0), undefined)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { wordAt, wordsOf } from '../../ingestors/evm/abi/words.ts'

/** Amounts of every length, most of them low ones. */
const amount = fc
  .tuple(fc.bigInt({ min: 0n, max: (1n << 256n) - 1n }), fc.integer({ min: 0, max: 256 }))
  .map(([value, bits]) => value >> BigInt(bits))

const hex = (words: readonly bigint[]): string =>
  `0x${words.map((word) => word.toString(16).padStart(64, '0')).join('')}`

const asked = (data: string, count: number): readonly bigint[] | string => {
  try {
    return Array.from({ length: count }, (_, index) => wordAt(data, index))
  } catch (error) {
    return String(error)
  }
}

const together = (data: string, count: number): readonly bigint[] | string => {
  try {
    return wordsOf(data, count)
  } catch (error) {
    return String(error)
  }
}

test('ABI words decoded together equal the encoded ones', () => {
  fc.assert(
    fc.property(fc.array(amount, { minLength: 1, maxLength: 10 }), (words) => {
      assert.deepEqual(wordsOf(hex(words), words.length), words)
    }),
    { numRuns: 2_000 },
  )
})

test('text that is not hex, or is too short, is rejected like word by word', () => {
  const odd = fc.constantFrom('g', 'A', ' ', 'x', 'é', 'İ', '字', '\ud800', '')
  let refused = 0
  fc.assert(
    fc.property(
      fc.array(amount, { minLength: 1, maxLength: 10 }),
      fc.array(fc.tuple(fc.nat(), odd), { minLength: 1, maxLength: 3 }),
      fc.nat(),
      (words, changes, end) => {
        let data = hex(words)
        for (const [place, by] of changes) {
          const at = place % data.length
          data = data.slice(0, at) + by + data.slice(at + 1)
        }
        if (end % 8 === 0) data = data.slice(0, end % data.length)
        const expected = asked(data, words.length)
        if (typeof expected === 'string') refused += 1
        assert.deepEqual(together(data, words.length), expected)
      },
    ),
    { numRuns: 5_000 },
  )
  assert.ok(refused > 1_000)
})

test('a wide character at the end of ABI data is rejected', () => {
  const words = new Array<bigint>(8).fill(1n)
  const data = `${hex(words).slice(0, -1)}é`
  assert.deepEqual(wordsOf(hex(words), 8), words)
  assert.throws(() => wordsOf(data, 8), SyntaxError)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { base58Decode, base58Encode } from '../../core/base58.ts'

const DIGITS = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** Digit by digit, the way of a textbook. */
const plainEncode = (bytes: Uint8Array): string => {
  const digits: number[] = []
  for (const byte of bytes) {
    let carry = byte
    for (let at = 0; at < digits.length; at += 1) {
      carry += (digits[at] ?? 0) * 256
      digits[at] = carry % 58
      carry = Math.floor(carry / 58)
    }
    for (; carry > 0; carry = Math.floor(carry / 58)) digits.push(carry % 58)
  }
  const zeros = bytes.findIndex((byte) => byte !== 0)
  const text = digits.reverse().map((digit) => DIGITS[digit])
  return '1'.repeat(zeros < 0 ? bytes.length : zeros) + text.join('')
}

test('known addresses and data', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['', ''],
    ['00', '1'],
    ['00'.repeat(32), '11111111111111111111111111111111'],
    ['61', '2g'],
    ['00010966776006953d5567439e5e39f86a0d273beed61967f6', '16UwLL9Risc3QfPqBUvKofHmBQ7wMtjvM'],
    [
      '06ddf6e1d765a193d9cbe146ceeb79ac1cb485ed5f5b37913a8cf5857eff00a9',
      'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
    ],
    [
      '069b8857feab8184fb687f634618c035dac439dc1aeb3b5598a0f00000000001',
      'So11111111111111111111111111111111111111112',
    ],
  ]
  for (const [hex, text] of cases) {
    assert.equal(base58Encode(Buffer.from(hex, 'hex')), text)
    assert.equal(Buffer.from(base58Decode(text) ?? [9]).toString('hex'), hex)
  }
})

test('base58 round-trips any bytes and matches the textbook algorithm', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 120 }), fc.nat(4), (tail, zeros) => {
      const bytes = new Uint8Array([...new Uint8Array(zeros), ...tail])
      const text = base58Encode(bytes)
      assert.equal(text, plainEncode(bytes))
      assert.deepEqual(new Uint8Array(base58Decode(text) ?? []), bytes)
    }),
  )
})

test('a part of a larger buffer is that part only', () => {
  const whole = Buffer.from('ff61ff', 'hex')
  assert.equal(base58Encode(whole.subarray(1, 2)), '2g')
})

test('base58 refuses characters outside its alphabet', () => {
  for (const text of ['0', 'O', 'I', 'l', 'abc def', 'é', '2g\n', '١'])
    assert.equal(base58Decode(text), undefined)
})

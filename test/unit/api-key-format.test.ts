import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  equalsInConstantTime,
  generateApiKey,
  hashSecret,
  isWellFormedApiKey,
} from '../../serving/auth/api-keys.ts'

const KEY = generateApiKey('sluice', 'live')

test('an API key has brand, mode, 32 random and 6 check characters', () => {
  assert.match(generateApiKey('acme', 'test'), /^acme_test_[0-9A-Za-z]{38}$/)
  assert.notEqual(generateApiKey('acme', 'test'), generateApiKey('acme', 'test'))
})

test('the check characters of an API key are the CRC-32 of the text before them', () => {
  const key = generateApiKey('sluice', 'live', () => 0)
  const body = `sluice_live_${'0'.repeat(32)}`
  assert.ok(key.startsWith(body))
  assert.equal(key.slice(body.length), base62(crc(body)))
})

test('a single changed or missing character of an API key is detected without a lookup', () => {
  for (let at = 0; at < KEY.length; at += 1) {
    const other = KEY[at] === 'x' ? 'y' : 'x'
    assert.equal(
      isWellFormedApiKey(KEY.slice(0, at) + other + KEY.slice(at + 1)),
      false,
      `at ${at}`,
    )
    assert.equal(isWellFormedApiKey(KEY.slice(0, at) + KEY.slice(at + 1)), false, `without ${at}`)
  }
  assert.equal(isWellFormedApiKey(KEY), true)
})

test('a secret hash depends on the pepper, and hashes compare by value', () => {
  assert.equal(hashSecret('a', 'p'), hashSecret('a', 'p'))
  assert.notEqual(hashSecret('a', 'p'), hashSecret('a', 'q'))
  assert.equal(equalsInConstantTime('ab', 'ab'), true)
  assert.equal(equalsInConstantTime('ab', 'ac'), false)
  assert.equal(equalsInConstantTime('ab', 'abc'), false)
})

/** Bitwise CRC-32 (IEEE 802.3), independent of the one in the product. */
function crc(text: string): number {
  let rest = 0xffffffff
  for (const byte of Buffer.from(text)) {
    rest ^= byte
    for (let bit = 0; bit < 8; bit += 1) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1
  }
  return (rest ^ 0xffffffff) >>> 0
}

function base62(value: number): string {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  let rest = BigInt(value)
  let text = ''
  for (let place = 0; place < 6; place += 1) {
    text = digits.charAt(Number(rest % 62n)) + text
    rest /= 62n
  }
  return text
}

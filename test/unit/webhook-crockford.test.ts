import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeTime, isValid, ulid } from 'ulid'
import { crockfordText, sortableId } from '../../serving/webhooks/crockford.ts'

test('ids in Crockford base32 are what the ulid library makes and reads', () => {
  for (const nowMs of [1, 1_023, 1_763_640_000_000, 1_763_640_000_999, 2 ** 48 - 1]) {
    const id = sortableId(nowMs, Math.random)
    assert.ok(isValid(id), id)
    assert.equal(decodeTime(id), nowMs)
    const same = ulid(nowMs, () => 0).slice(0, 10)
    assert.equal(id.slice(0, 10), same)
  }
  assert.equal(
    sortableId(0, () => 0),
    '0'.repeat(26),
  )
  assert.equal(
    sortableId(0, () => 0.999_999),
    `${'0'.repeat(10)}${'Z'.repeat(16)}`,
  )
  assert.equal(
    new Set(Array.from({ length: 10_000 }, () => sortableId(1, Math.random))).size,
    10_000,
  )
})

test('bytes are written in Crockford base32, five bits a character from the first bit on', () => {
  const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
  const bytes = Uint8Array.from({ length: 32 }, (_, at) => (at * 73 + 41) & 255)
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  const expected = Array.from({ length: 26 }, (_, at) =>
    alphabet.charAt(Number.parseInt(bits.slice(at * 5, at * 5 + 5), 2)),
  ).join('')
  assert.equal(crockfordText(bytes, 26), expected)
})

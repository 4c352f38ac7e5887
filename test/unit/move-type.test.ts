import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normalizeCoinType, normalizeMoveAddress, parseMoveType } from '../../core/move-type.ts'

test('a Move address is written with all its digits, a coin type with as few as possible', () => {
  assert.equal(normalizeMoveAddress('0x2'), `0x${'0'.repeat(63)}2`)
  assert.equal(normalizeMoveAddress('0xABC'), `0x${'0'.repeat(61)}abc`)
  assert.equal(normalizeMoveAddress(`0x${'f'.repeat(65)}`), undefined)
  assert.equal(normalizeMoveAddress('0x'), undefined)
  for (const said of ['0x2::sui::SUI', `0x${'2'.padStart(64, '0')}::sui::SUI`, '0002::sui::SUI']) {
    assert.equal(normalizeCoinType(said), '0x2::sui::SUI')
  }
  assert.equal(normalizeCoinType('0x0::a::B'), '0x0::a::B')
})

test('a Move type is parsed, and its arguments are normalized', () => {
  const type = parseMoveType(
    '0x00ab::pool::Pool<0x02::sui::SUI,0x3::lp::LP<u64, vector<0x04::a::A>>>',
  )
  assert.deepEqual(type, {
    package: `0x${'ab'.padStart(64, '0')}`,
    name: 'pool::Pool',
    typeArguments: ['0x2::sui::SUI', '0x3::lp::LP<u64, vector<0x4::a::A>>'],
  })
})

test('invalid and hostile Move types are rejected', () => {
  const deep = `${'0x1::a::B<'.repeat(20)}u8${'>'.repeat(20)}`
  const vectors = `0x1::a::B<${'vector<'.repeat(20)}u8${'>'.repeat(20)}>`
  const wide = `0x1::a::B<${'u8,'.repeat(400)}u8>`
  for (const said of [deep, vectors, wide, '', '0x2', '0x2::sui', '0x2::sui::SUI<', 'x::y::z']) {
    assert.equal(parseMoveType(said), undefined, said.slice(0, 40))
  }
  for (const said of ['0x2::a::B<>', '0x2::a::B<u8,>', '0x2::a::B<u8>>', '0x2::a::B<nothing>']) {
    assert.equal(parseMoveType(said), undefined, said)
  }
  assert.equal(normalizeCoinType('0x2::a::B<u8, bool>'), '0x2::a::B<u8, bool>')
})

test('a coin type so long that three do not fit into a state key is rejected', () => {
  const named = (length: number): string =>
    `0x2::coin::${'C'.repeat(length - '0x2::coin::'.length)}`
  assert.equal(normalizeCoinType(named(100)), named(100))
  const nested = (inner: string): string => `0x2::pool::LP<${inner}, ${inner}>`
  assert.equal(normalizeCoinType(nested(named(110)))?.length, nested(named(110)).length)
  assert.equal(normalizeCoinType(nested(named(130))), undefined)
})

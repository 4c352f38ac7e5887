import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  formatDecimal,
  formatUnits,
  formatUsd,
  parseUnits,
  rescaleRaw,
  usdToRaw,
} from '../../core/amounts.ts'

const raws = fc.bigInt({ min: -(2n ** 256n), max: 2n ** 256n })
const places = fc.integer({ min: 0, max: 80 })

test('base units survive the way to a decimal and back, without trailing zeros or exponents', () => {
  fc.assert(
    fc.property(raws, places, (raw, decimals) => {
      const text = formatUnits(raw, decimals)
      assert.match(text, /^-?\d+(\.\d*[1-9])?$/)
      assert.equal(parseUnits(text, decimals), raw)
    }),
  )
})

test('a double in plain notation reads back as the same double', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const text = formatDecimal(value)
      assert.match(text, /^-?\d+(\.\d+)?$/)
      assert.equal(Number(text), value === 0 ? 0 : value)
    }),
  )
})

test('a USD amount has at most 12 places and is off by half of the last one at most', () => {
  fc.assert(
    fc.property(fc.double({ min: -1e9, max: 1e9, noNaN: true }), (value) => {
      const text = formatUsd(value)
      assert.match(text, /^-?\d+(\.\d{1,12})?$/)
      assert.ok(Math.abs(Number(text) - value) <= 5e-13 + Math.abs(value) * Number.EPSILON)
    }),
  )
})

test('the raw form of a USD amount is that of its text', () => {
  const places = 12
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      assert.equal(usdToRaw(value), parseUnits(formatUsd(value), places))
    }),
  )
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 256n }), fc.nat({ max: 30 }), (raw, decimals) => {
      assert.equal(
        rescaleRaw(raw, decimals, places),
        parseUnits(formatUnits(raw, decimals), places),
      )
    }),
  )
})

test('an unknown amount is formatted as the empty text', () => {
  for (const value of [null, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.equal(formatDecimal(value), '')
    assert.equal(formatUsd(value), '')
  }
  assert.throws(() => parseUnits('1e5', 6), RangeError)
})

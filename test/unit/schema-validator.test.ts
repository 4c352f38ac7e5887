import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createValidatorBuilder } from '../../serving/http/schema-validator.ts'

const schema = {
  type: 'object',
  required: ['url'],
  properties: {
    url: { type: 'string' },
    channels: { type: 'array', maxItems: 100, items: { type: 'string' } },
    levels: { type: 'array', items: { type: 'object', required: ['price', 'token'] } },
  },
}
const validate = createValidatorBuilder()({}, {})({ schema })
const errorsOf = (body: unknown): number => {
  assert.equal(validate(body), false)
  return validate.errors?.length ?? 0
}

test('every error of a small body is reported', () => {
  assert.equal(validate({ url: 'https://a.example', channels: ['x'] }), true)
  assert.equal(errorsOf({ channels: [1, 2, 3] }), 4)
})

test('of a body with many values the first error is reported, whatever its shape', () => {
  assert.equal(errorsOf({ url: '', channels: Array(130_000).fill(1) }), 1)
  assert.equal(errorsOf({ url: '', levels: Array(80_000).fill({}) }), 1)
  assert.equal(errorsOf(Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [n, n]))), 1)
  assert.equal(errorsOf({ channels: [[Array(300).fill(0)]] }), 1)
})

test('routes that share a compiler keep their own schemas, also under one name, and the shared ones of their server', () => {
  const build = createValidatorBuilder()
  const schema = { $id: 'Route', type: 'object', properties: { a: { $ref: 'Named#' } } }
  const text = build({ Named: { $id: 'Named', type: 'string' } }, {})
  assert.equal(text({ schema })({ a: 'x' }), true)
  assert.equal(text({ schema })({ a: 1 }), false)
  assert.equal(text({ schema: { $id: 'Route', type: 'number' } })(1), true)
  const number = build({ Named: { $id: 'Named', type: 'number' } }, {})
  assert.equal(number({ schema })({ a: 1 }), true)
  assert.equal(number({ schema })({ a: 'x' }), false)
})

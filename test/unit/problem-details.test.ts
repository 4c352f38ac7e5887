import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FAULTS, Fault, type FaultName, Outage } from '../../core/errors.ts'
import {
  problemBody,
  problemMediaType,
  problemStatus,
  toFault,
} from '../../serving/http/problem-details.ts'

const NAMES = Object.keys(FAULTS) as FaultName[]
const CONTEXT = {
  requestId: 'req-12345678',
  instance: '/v2/token/search',
  nowMs: Date.UTC(2026, 10, 20, 12),
  docsUrl: 'https://docs.example',
  statusMode: 'semantic',
} as const

test('error codes are unique, and the status mode changes the status only', () => {
  assert.equal(new Set(NAMES.map((name) => FAULTS[name].code)).size, NAMES.length)
  for (const name of NAMES) {
    const fault = new Fault(name)
    assert.equal(problemStatus(fault, 'semantic'), FAULTS[name].status)
    assert.equal(problemStatus(fault, 'reference'), FAULTS[name].reference)
    const ours = problemBody(fault, CONTEXT)
    const reference = problemBody(fault, { ...CONTEXT, statusMode: 'reference' })
    assert.deepEqual({ ...ours, status: 0 }, { ...reference, status: 0 })
  }
})

test('a problem body has every field, with the message twice', () => {
  const fault = new Fault('INVALID_PARAMETER', 'limit must be <= 100', {
    parameter: 'limit',
    value: '101',
  })
  assert.deepEqual(problemBody(fault, CONTEXT), {
    type: 'https://docs.example/errors/40002',
    title: 'A parameter is not valid',
    status: 400,
    detail: 'limit must be <= 100',
    instance: '/v2/token/search',
    code: 40002,
    name: 'INVALID_PARAMETER',
    message: 'limit must be <= 100',
    requestId: 'req-12345678',
    timestamp: '2026-11-20T12:00:00.000Z',
    details: { parameter: 'limit', value: '101' },
  })
})

test('an internal error answers 500 or 503 without its message', () => {
  const inside = new Error('SELECT secret FROM table at 10.0.0.7')
  for (const error of [inside, new Outage('warehouse', inside.message), 'a thrown text', null]) {
    const body = JSON.stringify(problemBody(toFault(error), CONTEXT))
    assert.doesNotMatch(body, /SELECT|10\.0\.0\.7|thrown/)
    assert.match(body, /"status":50[03]/)
  }
  assert.equal(problemBody(toFault(new Outage('warehouse', 'gone')), CONTEXT).code, 50005)
})

test('errors of Fastify map to their own rows of the error table', () => {
  const cases: readonly (readonly [number, number])[] = [
    [400, 400],
    [404, 404],
    [413, 413],
    [415, 415],
    [418, 400],
    [503, 500],
  ]
  for (const [statusCode, code] of cases) {
    assert.equal(toFault(Object.assign(new Error('x'), { statusCode })).code, code)
  }
})

const invalid = (...validation: readonly object[]): Error =>
  Object.assign(new Error('querystring is wrong'), {
    statusCode: 400,
    validation,
    validationContext: 'querystring',
  })
const complaint = (path: string, keyword: string, params: object = {}) => ({
  instancePath: path,
  keyword,
  params,
  message: `is wrong by ${keyword}`,
})

test('one invalid value is named in the details, several are listed', () => {
  const inputs = { querystring: { limit: '500', resolution: '7m' } }
  const limit = toFault(invalid(complaint('/limit', 'maximum')), inputs)
  assert.equal(limit.code, 40002)
  assert.deepEqual(limit.details, { parameter: 'limit', value: '500' })

  const resolution = toFault(
    invalid(complaint('/resolution', 'enum', { allowedValues: ['1m'] })),
    inputs,
  )
  assert.equal(resolution.code, 40032)
  assert.deepEqual(resolution.details, {
    parameter: 'resolution',
    value: '7m',
    allowed_values: ['1m'],
  })
  const missing = toFault(invalid(complaint('', 'required', { missingProperty: 'resolution' })))
  assert.equal(missing.code, 40004)

  const both = toFault(invalid(complaint('/limit', 'maximum'), complaint('/from', 'type')), inputs)
  assert.equal(both.code, 40001)
  assert.deepEqual(both.details?.errors, [
    { path: '/limit', rule: 'maximum', message: 'is wrong by maximum' },
    { path: '/from', rule: 'type', message: 'is wrong by type' },
  ])
})

test('plain JSON errors are sent only to clients that accept nothing else', () => {
  assert.match(problemMediaType(), /^application\/problem\+json/)
  assert.match(problemMediaType('*/*'), /^application\/problem\+json/)
  assert.match(problemMediaType('application/json, */*;q=0.1'), /^application\/problem\+json/)
  assert.match(problemMediaType('text/html'), /^application\/problem\+json/)
  assert.match(problemMediaType('application/json'), /^application\/json/)
})

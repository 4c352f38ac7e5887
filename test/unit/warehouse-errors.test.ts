import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClickHouseError } from '@clickhouse/client'
import { isRejectedStatement, toReadError } from '../../core/clickhouse/read-errors.ts'
import { Fault, Outage } from '../../core/errors.ts'

const answered = (code: string, message = 'said the engine'): ClickHouseError =>
  new ClickHouseError({ code, message, type: 'TYPE' })

const nameOf = (error: unknown): string => {
  const read = toReadError(error)
  if (read instanceof Fault) return read.faultName
  return read instanceof Outage ? 'outage' : 'rejected'
}

test('error codes of the database engine map to too expensive, busy, outage or rejected', () => {
  const meanings = {
    QUERY_TOO_EXPENSIVE: ['158', '159', '160', '241', '307', '396'],
    SERVER_BUSY: ['173', '202', '394', '439', '473', '745'],
    outage: ['60', '74', '75', '209', '210', '236', '243', '279', '516', '81'],
    rejected: ['43', '47', '62', '386', '456'],
  }
  for (const [name, codes] of Object.entries(meanings)) {
    for (const code of codes) assert.equal(nameOf(answered(code)), name, code)
  }
  assert.equal(nameOf(new Error('ECONNREFUSED')), 'outage')
})

test('a total memory limit of the server means SERVER_BUSY, not an expensive query', () => {
  assert.equal(
    nameOf(answered('241', '(total) memory limit exceeded: would use 7 GiB')),
    'SERVER_BUSY',
  )
  assert.equal(nameOf(answered('241', 'Query memory limit exceeded')), 'QUERY_TOO_EXPENSIVE')
})

test('only statements that the database engine rejected as invalid count as rejected statements', () => {
  for (const code of ['386', '60', '81'])
    assert.equal(isRejectedStatement(toReadError(answered(code))), true, code)
  for (const code of ['159', '202', '210'])
    assert.equal(isRejectedStatement(toReadError(answered(code))), false, code)
  assert.equal(isRejectedStatement(toReadError(new Error('gone'))), false)
})

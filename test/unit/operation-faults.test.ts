import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorResponses, operationFaults } from '../../serving/http/openapi-faults.ts'

test('the API document lists the error statuses of the configured mode', () => {
  const faults = operationFaults({
    method: 'PATCH',
    path: '/webhook/endpoint/:id',
    scopes: ['webhook.write'],
  })
  const statuses = (mode: 'semantic' | 'reference') => Object.keys(errorResponses(faults, mode))
  assert.deepEqual(statuses('semantic'), [
    '400',
    '401',
    '403',
    '404',
    '409',
    '413',
    '415',
    '429',
    '500',
    '503',
  ])
  assert.deepEqual(statuses('reference'), [
    '400',
    '401',
    '403',
    '409',
    '413',
    '415',
    '429',
    '500',
    '503',
    '520',
  ])
})

test('the API document lists the errors of key and wallet routes', () => {
  const faultsOf = (method: string, path: string): readonly string[] =>
    operationFaults({ method, path, scopes: [] })
  assert.ok(faultsOf('DELETE', '/account/keys/:keyId').includes('NOT_FOUND'))
  assert.ok(faultsOf('DELETE', '/account/wallets/:wallet/:address').includes('NOT_FOUND'))
  assert.ok(faultsOf('POST', '/account/keys').includes('CONFLICT'))
  assert.ok(faultsOf('POST', '/x402/link-address').includes('CONFLICT'))
})

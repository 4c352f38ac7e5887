import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { envExample } from '../../core/config/env-example.ts'
import { ConfigError } from '../../core/config/errors.ts'
import { loadConfig } from '../../core/config/load.ts'

test('defaults need no environment', () => {
  const config = loadConfig({})
  assert.equal(config.port, 8080)
  assert.deepEqual(config.chains, ['eth'])
})

test('the command line stands above the environment', () => {
  assert.equal(loadConfig({ PORT: '9000' }, { port: 9001 }).port, 9001)
})

test('five mistakes are reported together', () => {
  const wrong = {
    PORT: 'eighty',
    LOG_LEVEL: 'loud',
    KAFKA_BROKERS: 'broker',
    RPC_URLS: 'ftp://x',
    CHAIN_EXTRA: '{not json',
  }
  assert.throws(
    () => loadConfig(wrong),
    (error: unknown) => {
      assert.ok(error instanceof ConfigError)
      const variables = new Set(error.problems.map(({ variable }) => variable))
      for (const name of Object.keys(wrong)) assert.ok(variables.has(name), `${name} not reported`)
      return true
    },
  )
})

test('brokers without a registry are refused', () => {
  assert.throws(() => loadConfig({ KAFKA_BROKERS: '127.0.0.1:9092' }), /SCHEMA_REGISTRY_URL/)
})

test('a secret does not print', () => {
  const config = loadConfig({ KEY_PEPPER: 'hush' })
  assert.equal(JSON.stringify({ pepper: config.keyPepper }), '{"pepper":"[redacted]"}')
  assert.equal(config.keyPepper.reveal(), 'hush')
})

test('.env.example lists every setting with its default', () => {
  const text = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8')
  assert.equal(text, envExample())
})

test('JSON of a setting nests no deeper than other JSON from outside', () => {
  const levels = 49_000
  const nested = `{"eth":${'['.repeat(levels)}${']'.repeat(levels)}}`
  for (const text of [nested, '{"eth":']) {
    assert.throws(
      () => loadConfig({ PRICES_STATIC: text }),
      (error: unknown) =>
        error instanceof ConfigError && /PRICES_STATIC.*is not JSON/.test(String(error.message)),
    )
  }
})

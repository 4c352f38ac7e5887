import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { busOutage } from '../../core/bus/kafka/client.ts'
import { kafkaBusOptions } from '../../core/bus/kafka/config.ts'
import { loadConfig } from '../../core/config/load.ts'
import { Outage, RecordTooLarge } from '../../core/errors.ts'

const BROKERS = { KAFKA_BROKERS: 'a:1,b:2', SCHEMA_REGISTRY_URL: 'http://registry' }

test('Kafka options with brokers only: plain text, no login, state in the data folder', () => {
  const config = loadConfig({ ...BROKERS, DATA_DIR: 'folder', LMDB_MAP_SIZE_MB: '16' })
  assert.deepEqual(kafkaBusOptions(config), {
    brokers: ['a:1', 'b:2'],
    sessionTimeoutMs: 45_000,
    state: { path: join('folder', 'state'), mapSizeBytes: 16 * 1_048_576 },
  })
})

test('Kafka options with a login and TLS; the password is not printed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-ca-'))
  const path = join(folder, 'ca.pem')
  writeFileSync(path, 'the authority')
  const login = { KAFKA_SASL_USERNAME: 'alice', KAFKA_SASL_PASSWORD: 'hush' }
  const config = loadConfig({ ...BROKERS, ...login, KAFKA_TLS: 'true', KAFKA_TLS_CA: path })
  const { sasl, tls } = kafkaBusOptions(config)
  assert.deepEqual(sasl, { mechanism: 'scram-sha-512', username: 'alice', password: 'hush' })
  assert.deepEqual(tls, { ca: 'the authority' })
  assert.doesNotMatch(JSON.stringify(config), /hush/)
  const system = loadConfig({
    ...BROKERS,
    ...login,
    KAFKA_TLS: 'true',
    KAFKA_SASL_MECHANISM: 'plain',
  })
  assert.deepEqual(kafkaBusOptions(system).tls, {})
  assert.equal(kafkaBusOptions(system).sasl?.mechanism, 'plain')
  const own = loadConfig({
    ...BROKERS,
    KAFKA_TLS: 'true',
    KAFKA_TLS_CERT: path,
    KAFKA_TLS_KEY: path,
  })
  assert.deepEqual(kafkaBusOptions(own).tls, { cert: 'the authority', key: 'the authority' })
  assert.throws(() => loadConfig({ ...BROKERS, KAFKA_TLS_CERT: path }), /KAFKA_TLS_KEY/)
  rmSync(folder, { recursive: true })
  assert.throws(() => kafkaBusOptions(config), Outage)
})

test('an answer of several errors names each of them, at most five', () => {
  const errors = Array.from({ length: 7 }, (_, n) =>
    Object.assign(new Error('Topic authorization failed'), { topic: `eth.${n}` }),
  )
  const { message } = busOutage('the topics', Object.assign(new Error('Not made'), { errors }))
  assert.match(message, /^the topics: Not made \(eth\.0: Topic authorization failed; .*eth\.4/)
  assert.match(message, /; 2 more\)$/)
})

test('a batch that the broker refuses for its size is known as that, also behind the wrappers of the client', () => {
  for (const type of ['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE']) {
    const cause = Object.assign(new Error('The request included a message larger'), { type })
    const outage = busOutage('writer one', new Error('not sent', { cause }))
    assert.ok(outage instanceof RecordTooLarge, type)
    assert.match(outage.message, /^writer one: not sent/)
  }
  const other = Object.assign(new Error('No leader'), { type: 'LEADER_NOT_AVAILABLE' })
  assert.equal(busOutage('writer one', other) instanceof RecordTooLarge, false)
})

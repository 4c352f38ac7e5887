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
import { METHODS } from '../../serving/realtime/protocol.ts'
import { PUBLIC_ROUTES } from '../support/access-matrix.ts'
import { callApi, callApiPatiently, startApi, type TestApi } from '../support/api-stack.ts'
import { openRawWebSocket } from '../support/raw-websocket.ts'
import { type RealtimeStack, startRealtimeStack } from '../support/realtime-stack.ts'

/** Everything that answers without a credential; whatever else is served must ask for one. */
const OPEN: ReadonlySet<string> = new Set(PUBLIC_ROUTES.open)
const ADMIN_TOKEN = 'admin token of this test'

let api: TestApi
let admin: FastifyInstance
let folder: string
let tokens: Readonly<Record<'right' | 'unscoped' | 'expired' | 'elsewhere', string>>

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-authorization-'))
  const authSigningKeyFile = join(folder, 'key.pem')
  const pair = await generateKeyPairPem()
  writeFileSync(authSigningKeyFile, pair.privatePem)
  api = await startApi({ overrides: { authSigningKeyFile }, meter: METER })
  await api.organizations.keySet()
  const sign = await createSigner(pair)
  const place = api.organizations.tokenPlace()
  const now = Math.floor(Date.now() / 1_000)
  const claims: TokenClaims = {
    clientId: api.clientId,
    orgId: '',
    tokenId: newTokenId(Date.now()),
    scopes: SCOPES,
    issuedAt: now,
    expiresAt: now + 600,
  }
  tokens = {
    right: await sign(claims, place),
    unscoped: await sign({ ...claims, scopes: [] }, place),
    expired: await sign({ ...claims, issuedAt: now - 900, expiresAt: now - 300 }, place),
    elsewhere: await sign(claims, { ...place, audience: 'https://elsewhere.test' }),
  }
  admin = await createAdminServer({
    organizations: api.organizations,
    endpoints: api.endpoints,
    meter: METER,
    config: loadConfig({ ADMIN_TOKEN }),
    metrics: makeMetrics(),
    log: makeSilentLogger(),
    nowMs: Date.now,
  })
})
after(async () => {
  await admin.close()
  await api.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** The limit of one address is not what is tested here. */
const METER = {
  ...createMeter(),
  take: async () => ({ allowed: true, limit: 1, remaining: 1, resetAt: 0, retryAfterSeconds: 1 }),
}

interface Operation {
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
}
interface Route {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

/** Every operation of a document. */
const routesOf = (document: unknown): readonly Route[] =>
  Object.entries((document as { paths: Record<string, Record<string, Operation>> }).paths).flatMap(
    ([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => ({
        method: method.toUpperCase(),
        operation,
        path,
      })),
  )

const filled = (path: string): string => path.replace(/\{\w+\}/g, 'x')

const send = ({ method, path }: Route, headers: Record<string, string>) =>
  callApiPatiently(api, filled(path), { method, headers })

test('every route: none, bad, expired, foreign, wrong-scope and right credentials', async () => {
  const document = (await callApi(api, '/openapi.json', { headers: {} })).body
  const routes = routesOf(document).filter(({ method, path }) => !OPEN.has(`${method} ${path}`))
  assert.ok(routes.length >= 30, `${routes.length} routes`)
  const refused: Readonly<Record<string, readonly [Record<string, string>, string]>> = {
    none: [{}, 'missing_credential'],
    'unknown key': [{ 'x-api-key': generateApiKey('sluice', 'live') }, 'invalid_api_key'],
    'no key': [{ 'x-api-key': 'garbage' }, 'invalid_api_key'],
    'garbage token': [{ authorization: 'Bearer a.b.c' }, 'invalid_token'],
    'expired token': [{ authorization: `Bearer ${tokens.expired}` }, 'expired_token'],
    'foreign token': [{ authorization: `Bearer ${tokens.elsewhere}` }, 'invalid_token'],
  }
  for (const route of routes) {
    const name = `${route.method} ${route.path}`
    const scopes = route.operation.security?.[0]?.bearer_auth
    assert.ok(scopes, `${name} asks for no credential: guard it, or list it as open`)
    for (const [what, [headers, reason]] of Object.entries(refused)) {
      const { status, body } = await send(route, headers)
      assert.equal(status, 401, `${name}, ${what}`)
      const { code, details } = body as { code: number; details: { reason: string } }
      assert.deepEqual([code, details.reason], [401, reason], `${name}, ${what}`)
    }
    const unscoped = await send(route, { authorization: `Bearer ${tokens.unscoped}` })
    if (scopes.length > 0) {
      const { code, details } = unscoped.body as { code: number; details: unknown }
      assert.deepEqual([unscoped.status, code], [403, 40_301], name)
      assert.deepEqual(details, { required_scope: scopes[0], current_scopes: [] }, name)
      const challenge = unscoped.headers.get('www-authenticate')
      assert.equal(challenge, `Bearer error="insufficient_scope", scope="${scopes[0]}"`, name)
    } else assert.ok(![401, 403].includes(unscoped.status), `${name}: ${unscoped.status}`)
    for (const headers of [
      { authorization: `Bearer ${tokens.right}` },
      { 'x-api-key': api.apiKey },
    ]) {
      const { status } = await send(route, headers)
      assert.ok(![401, 403].includes(status), `${name}: ${status}`)
    }
  }
})

test('every route of the admin API accepts the admin token only', async () => {
  const document = (await admin.inject('/openapi.json')).json()
  const routes = routesOf(document).filter(({ path }) => path !== '/openapi.json')
  assert.ok(routes.length >= 15, `${routes.length} routes`)
  for (const { method, path } of routes) {
    const status = async (authorization?: string): Promise<number> => {
      const headers = authorization === undefined ? {} : { authorization }
      const url = filled(path)
      return (await admin.inject({ method: method as 'GET', url, headers })).statusCode
    }
    for (const wrong of [
      ...[undefined, 'Bearer', `Basic ${ADMIN_TOKEN}`, `Bearer ${ADMIN_TOKEN}x`],
      ...[`Bearer ${tokens.right}`, `Bearer ${api.apiKey}`],
    ]) {
      assert.equal(await status(wrong), 401, `${method} ${path} with ${wrong}`)
    }
    assert.ok(![401, 403].includes(await status(`Bearer ${ADMIN_TOKEN}`)), `${method} ${path}`)
  }
})

test('every command on a WebSocket connection waits for a successful connect', async () => {
  const stack: RealtimeStack = await startRealtimeStack()
  try {
    const { port } = await stack.serve()
    const url = `ws://127.0.0.1:${port}/connection/websocket`
    const closeOf = async (text: string): Promise<number> => {
      const raw = await openRawWebSocket(url)
      raw.send(text)
      return (await raw.closed()).code
    }
    for (const method of METHODS) {
      if (method === 'connect') continue
      const command = method === 'send' ? '{"send":{"data":1}}' : `{"${method}":{},"id":1}`
      assert.equal(await closeOf(command), 3501, method)
      const withBad = `{"connect":{"token":"garbage"},"id":1}\n${command}`
      assert.equal(await closeOf(withBad), 3500, method)
    }
    assert.equal(await closeOf('{"connect":{},"id":1}'), 3501)
    const good = await openRawWebSocket(url)
    good.send(`{"connect":{"token":"${stack.key.apiKey}"},"id":1}`)
    await good.frame('"connect":{')
    good.ws.close()
  } finally {
    await stack.close()
  }
})

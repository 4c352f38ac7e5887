import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AuthenticationClient } from 'auth0'
import type { FastifyInstance } from 'fastify'
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import * as openid from 'openid-client'
import { loadConfig } from '../../core/config/load.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { createMeter } from '../../serving/billing/meter.ts'
import { createAdminServer } from '../../serving/http/admin.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { until } from '../support/until.ts'

const AUDIENCE = 'https://api.sluice.invalid'
const ISSUER = 'https://auth.test/'
const ADMIN_TOKEN = 'the admin token of this test'
const SEARCH = '/v2/token/search?chain=eth&keyword=x'

let api: TestApi
let admin: FastifyInstance
before(async () => {
  api = await startApi()
  admin = await createAdminServer({
    organizations: api.organizations,
    endpoints: api.endpoints,
    meter: createMeter(),
    config: loadConfig({ ADMIN_TOKEN }),
    metrics: makeMetrics(),
    log: makeSilentLogger(),
    nowMs: Date.now,
  })
})
after(async () => {
  await admin.close()
  await api.stop()
})

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Readonly<Record<string, unknown>>
}

const post = async (body: string, headers: Record<string, string> = {}): Promise<Answer> => {
  const response = await fetch(`${api.base}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Answer['body'],
  }
}
const good = () => ({
  grant_type: 'client_credentials',
  client_id: api.clientId,
  client_secret: api.clientSecret,
  audience: AUDIENCE,
})
const token = async (more: object = {}): Promise<string> => {
  const { status, body } = await post(JSON.stringify({ ...good(), ...more }))
  assert.equal(status, 200, JSON.stringify(body))
  return String(body.access_token)
}
const bearer = (value: string): RequestInit => ({ headers: { authorization: `Bearer ${value}` } })

/** Calls the admin API; throws for a status other than 200. */
const adminCall = async (
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  payload?: object,
): Promise<Readonly<Record<string, string>>> => {
  const answer = await admin.inject({
    method,
    url: `/admin/v1${path}`,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    ...(payload && { payload }),
  })
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.json()
}

/** The stock client dials https alone: its request goes to the server under test as it is. */
const toServer =
  (base: string): typeof fetch =>
  (input, init) => {
    const url = new URL(input instanceof Request ? input.url : String(input))
    const target = new URL(url.pathname + url.search, base)
    return fetch(input instanceof Request ? new Request(target, input) : target, init)
  }

test('the auth0 client gets a token that opens REST', async () => {
  const client = new AuthenticationClient({
    domain: 'auth.test',
    clientId: api.clientId,
    clientSecret: api.clientSecret,
    fetch: toServer(api.base),
  })
  const { data } = await client.oauth.clientCredentialsGrant({ audience: AUDIENCE })
  assert.equal(data.token_type, 'Bearer')
  assert.equal(data.expires_in, 86_400)
  assert.equal((await callApi(api, SEARCH, bearer(data.access_token))).status, 200)
})

const METHODS = { body: openid.ClientSecretPost, header: openid.ClientSecretBasic }
for (const [place, method] of Object.entries(METHODS)) {
  test(`openid-client finds the service and gets a token with its secret in the ${place}`, async () => {
    const config = await openid.discovery(
      new URL(ISSUER),
      api.clientId,
      undefined,
      method(api.clientSecret),
      {
        algorithm: 'oauth2',
        [openid.customFetch]: (url, { method: verb, headers, body, redirect, signal }) =>
          toServer(api.base)(url, {
            method: verb,
            headers,
            redirect,
            ...(body !== undefined && { body }),
            ...(signal && { signal }),
          }),
      },
    )
    const tokens = await openid.clientCredentialsGrant(config, {
      audience: AUDIENCE,
      scope: 'webhook.read kyt.read',
    })
    assert.equal(tokens.scope, 'webhook.read kyt.read')
    assert.equal((await callApi(api, SEARCH, bearer(tokens.access_token))).status, 200)
  })
}

test('claims and header are as written; the published key verifies them', async () => {
  const access = await token({ scope: 'kyt.write' })
  const keys = createRemoteJWKSet(new URL(`${api.base}/.well-known/jwks.json`))
  const { payload, protectedHeader } = await jwtVerify(access, keys, {
    issuer: ISSUER,
    audience: AUDIENCE,
    typ: 'at+jwt',
  })
  assert.deepEqual(Object.keys(protectedHeader).toSorted(), ['alg', 'kid', 'typ'])
  assert.equal(protectedHeader.alg, 'RS256')
  const { iat = 0, exp = 0, jti, org_id, ...rest } = payload
  assert.equal(exp - iat, 86_400)
  assert.match(String(jti), /^[0-9a-f-]{36}$/)
  assert.match(String(org_id), /^org_/)
  assert.deepEqual(rest, {
    iss: ISSUER,
    aud: AUDIENCE,
    sub: `${api.clientId}@clients`,
    azp: api.clientId,
    client_id: api.clientId,
    gty: 'client-credentials',
    scope: 'kyt.write',
  })
  assert.equal('scope' in decodeJwt(await token()), false)
})

test('discovery: one document under both names, cacheable', async () => {
  for (const name of ['oauth-authorization-server', 'openid-configuration']) {
    const { status, body, headers } = await callApi(api, `/.well-known/${name}`, { headers: {} })
    assert.equal(status, 200)
    assert.match(headers.get('cache-control') ?? '', /max-age=3600/)
    assert.deepEqual(body, {
      issuer: ISSUER,
      token_endpoint: 'https://auth.test/oauth/token',
      jwks_uri: 'https://auth.test/.well-known/jwks.json',
      grant_types_supported: ['client_credentials'],
      response_types_supported: [],
      token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
      scopes_supported: ['webhook.read', 'webhook.write', 'kyt.read', 'kyt.write'],
    })
  }
})

test('an invalid token request answers with the error fields of OAuth', async () => {
  const json = (more: object): string => JSON.stringify({ ...good(), ...more })
  const basic = (id: string, secret: string): Record<string, string> => ({
    authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
  })
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const asForm = (fields: object): string => new URLSearchParams({ ...fields }).toString()
  const { client_id, client_secret, ...noClient } = good()
  const restricted = await adminCall('POST', '/apps', { name: 'narrow', scopes: ['kyt.read'] })
  const narrow = { client_id: restricted.clientId, client_secret: restricted.clientSecret }
  const cases: readonly (readonly [string, Record<string, string>, number, string | undefined])[] =
    [
      [json({}), {}, 200, undefined],
      [asForm(good()), form, 200, undefined],
      [asForm(noClient), { ...form, ...basic(client_id, client_secret) }, 200, undefined],
      [JSON.stringify(noClient), basic(client_id, client_secret), 200, undefined],
      ['{', {}, 400, 'invalid_request'],
      ['[]', {}, 400, 'invalid_request'],
      ['null', {}, 400, 'invalid_request'],
      ['', {}, 400, 'invalid_request'],
      ['<xml/>', { 'content-type': 'text/xml' }, 400, 'invalid_request'],
      [json({ grant_type: undefined }), {}, 400, 'invalid_request'],
      [json({ grant_type: 'password' }), {}, 400, 'unsupported_grant_type'],
      [json({ client_id: undefined }), {}, 400, 'invalid_request'],
      [json({ client_secret: undefined }), {}, 400, 'invalid_request'],
      [json({ client_secret: { a: 1 } }), {}, 400, 'invalid_request'],
      [json({ audience: undefined }), {}, 400, 'invalid_request'],
      [json({ audience: 'https://other.test' }), {}, 403, 'access_denied'],
      [json({ scope: 'kyt.read everything' }), {}, 400, 'invalid_scope'],
      [json({ ...narrow, scope: 'webhook.read' }), {}, 400, 'invalid_scope'],
      [json({ ...narrow, scope: 'kyt.read' }), {}, 200, undefined],
      [json({ client_id: 'client_nobody' }), {}, 401, 'invalid_client'],
      [json({ client_secret: 'x'.repeat(64) }), {}, 401, 'invalid_client'],
      [json({ client_secret: 'x'.repeat(9_000) }), {}, 413, 'invalid_request'],
      [json({}), basic(client_id, client_secret), 400, 'invalid_request'],
      [
        JSON.stringify({ ...noClient, client_id: 'x' }),
        basic(client_id, client_secret),
        400,
        'invalid_request',
      ],
      [JSON.stringify(noClient), basic(client_id, 'wrong'), 401, 'invalid_client'],
      [JSON.stringify(noClient), { authorization: 'Basic %%%' }, 401, 'invalid_client'],
      [`${asForm(good())}&scope=kyt.read&scope=kyt.write`, form, 400, 'invalid_request'],
    ]
  for (const [body, headers, status, error] of cases) {
    const answer = await post(body, headers)
    const what = `${body} ${JSON.stringify(headers)}: ${JSON.stringify(answer.body)}`
    assert.equal(answer.status, status, what)
    assert.equal(answer.body.error, error, what)
    assert.equal(answer.headers.get('cache-control'), 'no-store', what)
    assert.equal(answer.headers.get('pragma'), 'no-cache', what)
    const challenge = status === 401 && headers.authorization ? 'Basic realm="oauth"' : null
    assert.equal(answer.headers.get('www-authenticate'), challenge, what)
    if (error === undefined) continue
    assert.equal(typeof answer.body.error_description, 'string')
    assert.equal(answer.body.requestId, answer.headers.get('x-request-id'))
  }
})

test('guessing a secret is locked after five failures, for that client alone', async () => {
  const made = await adminCall('POST', '/apps', { name: 'guessed' })
  const own = { client_id: made.clientId, client_secret: made.clientSecret }
  const statuses: number[] = []
  for (let guess = 0; guess < 6; guess += 1) {
    const wrong = JSON.stringify({ ...good(), ...own, client_secret: 'wrong' })
    statuses.push((await post(wrong)).status)
  }
  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429])
  const locked = await post(JSON.stringify({ ...good(), ...own, client_secret: 'wrong too' }))
  assert.deepEqual([locked.status, locked.body.error], [429, 'temporarily_unavailable'])
  assert.ok(Number(locked.headers.get('retry-after')) > 50)
  // Who knows the secret is let in all the while, also behind the address of the guesser.
  assert.equal((await post(JSON.stringify({ ...good(), ...own }))).status, 200)
  await token()
})

test('an address has sixty failed token requests a minute, whatever clients they name; valid secrets are not counted', async () => {
  const guess = (id: number): Promise<string> =>
    api.organizations.tokens
      .issue({
        grantType: 'client_credentials',
        clientId: `nobody_${id}`,
        clientSecret: 'wrong',
        audience: AUDIENCE,
        scope: undefined,
        ip: '203.0.113.9',
      })
      .then(
        () => 'issued',
        (error: { readonly error: string }) => error.error,
      )
  const answers = await Promise.all(Array.from({ length: 200 }, (_, id) => guess(id)))
  assert.equal(answers.filter((answer) => answer === 'invalid_client').length, 60)
  assert.equal(answers.filter((answer) => answer === 'temporarily_unavailable').length, 140)
  const own = await adminCall('POST', '/apps', { name: 'beside a guesser' })
  const { accessToken } = await api.organizations.tokens.issue({
    grantType: 'client_credentials',
    clientId: own.clientId ?? '',
    clientSecret: own.clientSecret ?? '',
    audience: AUDIENCE,
    scope: undefined,
    ip: '203.0.113.9',
  })
  assert.ok(accessToken)
})

test('an application gets sixty tokens a minute', async () => {
  const made = await adminCall('POST', '/apps', { name: 'eager' })
  const own = { client_id: made.clientId ?? '', client_secret: made.clientSecret ?? '' }
  for (let issued = 0; issued < 60; issued += 1) {
    await api.organizations.tokens.issue({
      grantType: 'client_credentials',
      clientId: own.client_id,
      clientSecret: own.client_secret,
      audience: AUDIENCE,
      scope: undefined,
      ip: '127.0.0.1',
    })
  }
  assert.equal((await post(JSON.stringify({ ...good(), ...own }))).status, 429)
})

test('an OAuth client secret is rotated with or without an overlap; issued tokens stay valid', async () => {
  const made = await adminCall('POST', '/apps', { name: 'rotating' })
  const path = `/apps/${made.appId}/secret/rotate`
  const statusOf = async (client_secret = ''): Promise<number> =>
    (await post(JSON.stringify({ ...good(), client_id: made.clientId, client_secret }))).status
  const issued = await token({ client_id: made.clientId, client_secret: made.clientSecret })
  const { clientSecret: second } = await adminCall('POST', path)
  assert.deepEqual([await statusOf(made.clientSecret), await statusOf(second)], [200, 200])
  const { clientSecret: third } = await adminCall('POST', path, { overlapSeconds: 0 })
  assert.deepEqual([await statusOf(second), await statusOf(third)], [401, 200])
  assert.equal((await callApi(api, SEARCH, bearer(issued))).status, 200)
})

test('OAuth client: disabling, enabling, ending all tokens and deleting apply to tokens and keys at once', async () => {
  const made = await adminCall('POST', '/apps', { name: 'ended' })
  const own = { client_id: made.clientId, client_secret: made.clientSecret }
  const path = `/apps/${made.appId}`
  const statuses = async (access: string): Promise<readonly number[]> => [
    (await callApi(api, SEARCH, bearer(access))).status,
    (await callApi(api, SEARCH, { headers: { 'x-api-key': made.apiKey ?? '' } })).status,
    (await post(JSON.stringify({ ...good(), ...own }))).status,
  ]
  const first = await token(own)
  assert.deepEqual(await statuses(first), [200, 200, 200])
  await adminCall('PATCH', path, { disabled: true })
  assert.deepEqual(await statuses(first), [401, 401, 401])
  await adminCall('PATCH', path, { disabled: false })
  assert.deepEqual(await statuses(first), [200, 200, 200])
  await adminCall('POST', `${path}/tokens/revoke`)
  assert.deepEqual(await statuses(first), [401, 200, 200])
  const second = await token(own)
  assert.deepEqual(await statuses(second), [200, 200, 200])
  await adminCall('DELETE', path)
  assert.deepEqual(await statuses(second), [401, 401, 401])
})

test('scopes removed from an application are removed from its tokens at once', async () => {
  const made = await adminCall('POST', '/apps', { name: 'shrinking' })
  const own = { client_id: made.clientId, client_secret: made.clientSecret }
  const access = await token({ ...own, scope: 'kyt.read kyt.write' })
  const scopes = async (): Promise<readonly string[]> => {
    const found = await api.organizations.guard.identify({ token: access })
    return found !== undefined && 'scopes' in found ? found.scopes : []
  }
  assert.deepEqual(await scopes(), ['kyt.read', 'kyt.write'])
  await adminCall('PATCH', `/apps/${made.appId}`, { scopes: ['kyt.read'] })
  assert.deepEqual(await scopes(), ['kyt.read'])
})

test('the signing key is rotated without a failed request', async () => {
  const before = await token()
  const rotated = await adminCall('POST', '/signing-keys/rotate', { leadSeconds: 0 })
  const failed: number[] = []
  const kids = new Set<string | undefined>()
  await until(async () => {
    const { accessToken } = await issueOf(api)
    const access = accessToken
    kids.add(decodeProtectedHeader(access).kid)
    for (const each of [before, access]) {
      const { status } = await callApi(api, SEARCH, bearer(each))
      if (status !== 200) failed.push(status)
    }
    return kids.has(rotated.kid)
  }, 'tokens of the new key')
  assert.deepEqual(failed, [])
  assert.equal(kids.size, 2)
  const { body } = await callApi(api, '/.well-known/jwks.json', { headers: {} })
  const published = (body as { keys: readonly { kid: string }[] }).keys.map(({ kid }) => kid)
  assert.deepEqual(new Set(published), kids)
  const { data } = (await adminCall('GET', '/signing-keys')) as unknown as {
    data: readonly { slot: string }[]
  }
  assert.deepEqual(
    data.map(({ slot }) => slot),
    ['previous', 'current'],
  )
})

/** A token without the minute's limit of one application: each comes from a new one. */
const issueOf = async ({ organizations }: TestApi) => {
  const { clientId, clientSecret } = await organizations.createKey({
    name: 'once',
    plan: 'selfhost',
  })
  return organizations.tokens.issue({
    grantType: 'client_credentials',
    clientId,
    clientSecret,
    audience: AUDIENCE,
    scope: undefined,
    ip: '127.0.0.1',
  })
}

// Last: it leaves the address slowed.
test('after a flood of refused requests from one address, a valid client secret from it gets a token', async () => {
  const wrong = (id: number): string =>
    JSON.stringify({ ...good(), client_id: `client_${id}`, client_secret: 'wrong' })
  await until(
    async () => {
      const answers = await Promise.all(Array.from({ length: 40 }, (_, id) => post(wrong(id))))
      return answers.some(({ status }) => status === 429)
    },
    'the address is slowed',
    30_000,
  )
  assert.equal((await post(JSON.stringify(good()))).status, 200)
})

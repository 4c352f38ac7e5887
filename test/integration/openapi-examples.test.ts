import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { SCHEMA_EXAMPLES } from '../../schemas/api/examples.ts'
import { WEBHOOK_KIND_NAMES } from '../../schemas/webhooks.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'

type Json = Readonly<Record<string, unknown>>

interface Operation {
  readonly parameters?: readonly (Json & { readonly name: string; readonly schema: Json })[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Json }>> }
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Json }>> }>
  >
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks: Readonly<
    Record<
      string,
      {
        readonly post: {
          readonly requestBody: {
            readonly content: { readonly 'application/json': { schema: Json; example: unknown } }
          }
        }
      }
    >
  >
  readonly components: { readonly schemas: Readonly<Record<string, Json>> }
}

/** Rows of lists that are always empty here. */
const NEVER_SERVED: ReadonlySet<string> = new Set([
  ...['DexscrAd', 'DexscrBoost', 'DexscrLinkUpdate', 'DexscrTrendingMeta'],
])

let api: TestApi
let document: Document
let ajv: Ajv2020
before(async () => {
  api = await startApi({ graphql: true })
  document = (await callApi(api, '/openapi.json')).body as Document
  ajv = new Ajv2020({ strict: false, allErrors: true })
  ajv.addSchema(document, 'document')
})
after(() => api.stop())

const assertFits = (value: unknown, reference: string, what: string): void => {
  const validate = ajv.getSchema(`document#${reference}`)
  assert.ok(validate, reference)
  assert.ok(validate(value), `${what}: ${ajv.errorsText(validate.errors)}`)
}

const operations = (): readonly (readonly [string, Operation])[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const,
    ),
  )

test('OpenAPI: every named schema has an example that fits it', () => {
  const { schemas } = document.components
  for (const [name, schema] of Object.entries(schemas)) {
    if (NEVER_SERVED.has(name)) continue
    const { examples } = schema
    assert.ok(Array.isArray(examples) && examples.length > 0, `${name} has no example`)
    for (const example of examples) assertFits(example, `/components/schemas/${name}`, name)
  }
  const unused = Object.keys(SCHEMA_EXAMPLES).filter((name) => !Object.hasOwn(schemas, name))
  assert.deepEqual(unused, [], 'examples of schemas that the document does not have')
})

test('OpenAPI: every parameter has an example or a default, and it fits', () => {
  for (const [name, { parameters = [] }] of operations()) {
    for (const { name: word, schema, example, examples } of parameters) {
      const given = Object.values((examples ?? {}) as Readonly<Record<string, { value: unknown }>>)
      const inSchema = (schema.examples ?? []) as readonly unknown[]
      const values = [example, ...given.map(({ value }) => value), ...inSchema, schema.default]
      const known = values.filter((value) => value !== undefined)
      assert.ok(known.length > 0, `${name} has no example of ${word}`)
      const validate = ajv.compile(schema)
      for (const value of known) assert.ok(validate(value), `${name} ${word}: ${value}`)
    }
  }
})

test('every request and response body is a named schema, a list or a map of one', () => {
  const isNamed = ({
    $ref,
    items,
    patternProperties,
    additionalProperties,
    anyOf,
  }: Json): boolean => {
    if (typeof $ref === 'string') return true
    const [each] = Object.values((patternProperties ?? {}) as Readonly<Record<string, Json>>)
    const [inner] = (anyOf ?? []) as readonly Json[]
    const one = [items, each, inner, additionalProperties].find(
      (schema) => typeof schema === 'object' && schema !== null,
    )
    return one !== undefined && isNamed(one as Json)
  }
  for (const [name, { requestBody, responses }] of operations()) {
    if (name === 'GET /openapi.json') continue
    const messages = [requestBody, ...Object.values(responses)]
    const media = messages.flatMap((message) => Object.values(message?.content ?? {}))
    for (const { schema } of media) assert.ok(isNamed(schema), `${name}: ${JSON.stringify(schema)}`)
  }
})

/** Values that differ with every callApi. */
const VOLATILE = /^(?:id|endpointId|createdAt|updatedAt|requestId|timestamp|secret)$/

const steady = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, one) => (VOLATILE.test(key) ? 'differs' : one)))

const send = (method: string, path: string, body?: unknown) =>
  callApi(api, path, {
    method,
    headers: { 'x-api-key': api.apiKey, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })

const example = (name: string): Json => SCHEMA_EXAMPLES[name] as Json

test('responses to the example bodies equal the example responses', async () => {
  const made = await send('POST', '/v2/webhook/endpoint', example('CreateWebhook'))
  assert.equal(made.status, 200, made.text)
  assert.deepEqual(steady(made.body), steady(SCHEMA_EXAMPLES.WebhookEndpoint))
  const listed = await send('GET', '/v2/webhook/endpoint')
  assert.deepEqual(steady(listed.body), steady(SCHEMA_EXAMPLES.EndpointListResponse))
  const { id } = made.body as { readonly id: string }
  const at = `/v2/webhook/endpoint/${id}`
  const changed = { ...example('WebhookEndpoint'), description: 'Every new token' }
  const updates = [
    await send('PATCH', '/v2/webhook/endpoint', { ...example('UpdateWebhook'), endpointId: id }),
    await send('PATCH', at, example('UpdateWebhookAt')),
  ]
  for (const { status, body } of updates) {
    assert.equal(status, 200)
    assert.deepEqual(steady({ ...(body as Json), version: 1 }), steady(changed))
  }
  const secret = await send('GET', `${at}/secret`)
  assert.deepEqual(steady(secret.body), steady(SCHEMA_EXAMPLES.WebhookSecret))
  for (const [method, path, body] of [
    ['POST', `${at}/secret/rotate`, example('RotateWebhook')],
    ['DELETE', at, undefined],
  ] as const) {
    assert.deepEqual((await send(method, path, body)).body, SCHEMA_EXAMPLES.Success, path)
  }
})

test('a problem, a refused query and a refused token request equal their examples', async () => {
  const problem = await callApi(api, '/v2/token/search?limit=101')
  assert.deepEqual(steady(problem.body), steady(SCHEMA_EXAMPLES.Problem))
  const query = await send('POST', '/graphql', {})
  assert.deepEqual(steady(query.body), steady(SCHEMA_EXAMPLES.GraphqlRefusal))
  const wrong = await send('POST', '/graphql', { query: '{ Nothing }' })
  assert.deepEqual(wrong.body, { data: null, errors: [SCHEMA_EXAMPLES.GraphqlError] })
  const token = await send('POST', '/oauth/token', {})
  assert.deepEqual(steady(token.body), steady(SCHEMA_EXAMPLES.OAuthError))
})

test('accounts, keys, tokens and probes have the fields of their examples', async () => {
  const fields = (value: unknown): readonly string[] => Object.keys(value as Json).toSorted()
  const { clientId: client_id, clientSecret: client_secret } = api
  const { audience } = api.organizations.tokenPlace()
  const asked = { ...example('TokenRequest'), client_id, client_secret, audience }
  const answers = {
    AccountUsage: await send('GET', '/v2/account/usage'),
    AccountPlan: await send('GET', '/v2/account/plan'),
    NewApiKey: await send('POST', '/v2/account/keys', {
      ...example('CreateApiKey'),
      expiresAt: Date.now() + 60_000,
    }),
    ApiKeyPage: await send('GET', '/v2/account/keys'),
    LinkedWalletPage: await send('GET', '/v2/account/wallets'),
    KeySet: await send('GET', '/.well-known/jwks.json'),
    TokenService: await send('GET', '/.well-known/oauth-authorization-server'),
    Probe: await send('GET', '/health'),
    AccessToken: await send('POST', '/oauth/token', asked),
  }
  for (const [name, { status, body, text }] of Object.entries(answers)) {
    assert.equal(status, 200, `${name}: ${text}`)
    assertFits(body, `/components/schemas/${name}`, name)
    assert.deepEqual(fields(body), fields(SCHEMA_EXAMPLES[name]), name)
  }
})

test('the document has a schema and an example of every kind of webhook, and they fit', () => {
  const kinds = Object.entries(document.webhooks)
  assert.deepEqual(
    kinds.map(([kind]) => kind),
    WEBHOOK_KIND_NAMES,
  )
  for (const [kind, { post }] of kinds) {
    const { schema, example } = post.requestBody.content['application/json']
    const validate = new Ajv2020({ strict: false, allErrors: true }).compile(schema)
    assert.ok(validate(example), `${kind}: ${ajv.errorsText(validate.errors)}`)
    assert.ok(!validate({ ...(example as object), data: { b: 1 } }), kind)
  }
})

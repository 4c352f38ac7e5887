import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { isPayableRoute, ROUTE_MILLI_UNITS, type RouteName } from '../../schemas/plans.ts'
import { SCOPES } from '../../schemas/scopes.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { record } from '../support/token-api.ts'

let api: TestApi
before(async () => {
  api = await startApi()
})
after(() => api.stop())

/** Keys and wallets of an account are for credentials without limits: a narrower one could make a wider one. */
const OWNER_PATHS = /^\/(?:account\/(?:keys|wallets)|x402\/link-address)\b/

const scopesOf = (method: string, path: string): readonly string[] => {
  if (OWNER_PATHS.test(path)) return SCOPES
  const [, family] = path.match(/^\/(webhook|ky[at])\//) ?? []
  if (family === undefined) return []
  // What is asked of an address is a registration of screening.
  return [`${family.replace('kya', 'kyt')}.${method === 'GET' ? 'read' : 'write'}`]
}

const isPayable = (name: string, scopes: readonly string[]): boolean =>
  scopes.length === 0 && isPayableRoute(name as RouteName)

/** Statuses of an operation in the document, from what it takes and does. */
const statusesOf = (name: string, scopes: readonly string[]): readonly string[] => {
  const has = (isTrue: boolean, ...statuses: readonly number[]) => (isTrue ? statuses : [])
  const isRead = name.startsWith('GET ')
  const asksNoRows =
    /account|watchlist|ipfs|ky[at]|GET .jobs?\/|dexscr|calculate|POST .webhook.endpoint|(PATCH|PUT|DELETE)|webhook.endpoint(..id(.secret)?)?$|\/task\b/
  const namesRecord =
    /^GET .kyt|:chain|:id|:msgId$|search|GET .(dex|redpacket)$|PATCH|^(POST|DELETE) .(account.(keys|wallets)|x402.link-address)/
  return [
    ...[200, 400, 401, 403, 408, 429, 431, 500, 503],
    ...has(name.endsWith('/streaming'), 204),
    ...has(isRead && scopes.length === 0, 304),
    ...has(isPayable(name, scopes), 402),
    ...has(!isRead, 413, 415),
    ...has(namesRecord.test(name), 404),
    ...has(
      /(PATCH|PUT)|POST .webhook.endpoint$|resend|recover|replay|send-example|claim$|POST .(account.keys|x402.link-address)$/.test(
        name,
      ),
      409,
    ),
    ...has(!asksNoRows.test(name), 422),
    ...has(
      /\/(similar|send)$|^POST \/(dex\/:chain\/(route|swap|create)$|ky[at]\/|redpacket\/)/.test(
        name,
      ),
      501,
    ),
    ...has(name === 'POST /redpacket/:chain/claim', 410),
    ...has(
      /POST .(ipfs.presign|redpacket.:chain.send|transaction.:chain.send|dex.:chain.route)$/.test(
        name,
      ),
      502,
    ),
  ]
    .toSorted((one, other) => one - other)
    .map(String)
}

test('the API document describes every route, with price, credentials and errors', async () => {
  const document = record((await callApi(api, '/openapi.json', { headers: {} })).body)
  assert.equal(document.openapi, '3.1.0')
  const paths = record(document.paths)
  for (const name of Object.keys(ROUTE_MILLI_UNITS) as (keyof typeof ROUTE_MILLI_UNITS)[]) {
    const [method = '', path = ''] = name.split(' ')
    for (const version of path.startsWith('/x402/') ? [''] : ['/v1', '/v2']) {
      const url = version + path.replace(/:(\w+)/g, '{$1}')
      const operation = record(record(paths[url])[method.toLowerCase()])
      assert.equal(operation['x-cu-cost'], ROUTE_MILLI_UNITS[name] / 1_000, url)
      const scopes = scopesOf(method, path)
      assert.deepEqual(operation.security, [{ bearer_auth: scopes }, { api_key_auth: [] }])
      const responses = record(operation.responses)
      assert.deepEqual(Object.keys(responses), statusesOf(name, scopes), name)
      assert.equal(operation['x-payable'], isPayable(name, scopes), name)
      const { headers } = record(responses[200])
      assert.ok(Object.keys(record(headers)).includes('X-RateLimit-Remaining'), name)
    }
  }
  const ids = Object.values(paths).flatMap((path) =>
    Object.values(record(path)).map((operation) => record(operation).operationId),
  )
  assert.ok(ids.includes('getV2TokenByChainByTokenAddressPrice'))
  assert.ok(ids.every((id) => typeof id === 'string' && /^[a-z]\w+$/.test(id)))
  assert.equal(new Set(ids).size, ids.length)
  const { schemas, responses } = record(document.components)
  const problem = { schema: { $ref: '#/components/schemas/Problem' } }
  assert.deepEqual(record(record(responses).Status404).content, {
    'application/problem+json': problem,
    'application/json': problem,
  })
  assert.deepEqual(Object.keys(record(record(responses).Status431)), ['description'])
  const references = JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)
  const named = Object.keys(record(schemas)).toSorted()
  assert.deepEqual([...new Set([...references].map(([, name]) => name))].toSorted(), named)
  for (const name of ['Token', 'TradeDetail', 'WalletPnlStat', 'WebhookEndpoint', 'Problem'])
    assert.ok(named.includes(name), name)
  const known = new Set(Object.keys(paths))
  const versioned = [...known].filter((path) => /^\/v[12]\//.test(path))
  const priced = Object.keys(ROUTE_MILLI_UNITS).map((name) => name.split(' ')[1] ?? '')
  const withVersion = priced.filter((path) => !path.startsWith('/x402/'))
  assert.equal(versioned.length, 2 * new Set(withVersion).size)
})

test('no field with a list of values is named as another schema: generators make one class of both and drop what uses it', async () => {
  const document = record((await callApi(api, '/openapi.json', { headers: {} })).body)
  const schemas = Object.entries(record(record(document.components).schemas))
  const pascal = (name: string): string =>
    name.replaceAll(/(?:^|[_-])(\w)/g, (_, first: string) => first.toUpperCase())
  const listed = (name: string, field: string, of: unknown): readonly string[] =>
    Array.isArray(record(record(of).items ?? {}).enum) ? [`${name}${pascal(field)}Item`] : []
  const enums = schemas.flatMap(([name, schema]) =>
    Object.entries(record(record(schema).properties ?? {})).flatMap(([field, of]) =>
      Array.isArray(record(of).enum) ? [`${name}${pascal(field)}`] : listed(name, field, of),
    ),
  )
  assert.ok(enums.includes('JobState') && enums.includes('PurchaseStatus'))
  const names = new Set(schemas.map(([name]) => name))
  assert.deepEqual(
    enums.filter((name) => names.has(name)),
    [],
  )
})

const TRANSACTION_PATHS =
  /^\/v[12]\/(?:dex\/\{chain\}\/|transaction\/\{chain\}\/|redpacket\/\{chain\}\/)/

test('bodies that ask for a transaction are closed; no optional field of a body has a default, which generators make required', async () => {
  const document = record((await callApi(api, '/openapi.json', { headers: {} })).body)
  const schemas = record(record(document.components).schemas)
  const bodies = Object.entries(record(document.paths)).flatMap(([path, operations]) =>
    Object.values(record(operations)).flatMap((operation) => {
      const { requestBody } = record(operation)
      if (requestBody === undefined) return []
      const media = Object.values(record(record(requestBody).content))
      return media.map((each) => ({ path, references: JSON.stringify(each) }))
    }),
  )
  const named = ({ references }: { readonly references: string }) =>
    [...references.matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name = '']) => name)
  const closed = new Set(bodies.filter(({ path }) => TRANSACTION_PATHS.test(path)).flatMap(named))
  assert.equal(closed.size, 8)
  for (const name of [...closed, 'TokenCreationExtra', 'SendTransactionOptions'])
    assert.equal(record(schemas[name]).additionalProperties, false, name)
  const names = new Set(bodies.flatMap(named))
  assert.ok(names.has('RotateWebhook'))
  for (const name of names) {
    const { properties = {}, required = [] } = record(schemas[name])
    for (const [field, of] of Object.entries(record(properties)))
      if (!(required as readonly unknown[]).includes(field))
        assert.equal(record(of).default, undefined, `${name}.${field}`)
  }
})

test('without upload storage the presign route answers 502 and costs nothing', async () => {
  for (const version of ['/v1', '/v2']) {
    const { status, body, headers } = await callApi(api, `${version}/ipfs/presign`, {
      method: 'POST',
      headers: { 'x-api-key': api.apiKey },
    })
    assert.deepEqual([status, record(body).code], [502, 50025])
    assert.equal(headers.get('x-cu-cost'), '0')
  }
})

test('without plan prices the purchase routes answer 501, which the API document lists', async () => {
  const document = record((await callApi(api, '/openapi.json', { headers: {} })).body)
  const statuses = (path: string, method: string) => {
    const operation = record(record(record(document.paths)[path])[method])
    assert.equal(operation.security, undefined)
    return Object.keys(record(operation.responses)).join(' ')
  }
  const paid = '200 400 402 403 408 409'
  assert.equal(statuses('/x402/pricing', 'get'), '200 408 429 431 500 501')
  assert.equal(statuses('/x402/status', 'get'), '200 400 408 429 431 500 501')
  assert.equal(statuses('/x402/purchase', 'get'), `${paid} 429 431 500 501 503`)
  assert.equal(statuses('/x402/purchase', 'post'), `${paid} 413 415 429 431 500 501 503`)
  const address = `0x${'12'.repeat(20)}`
  for (const [method, path] of [
    ['GET', '/x402/pricing'],
    ['GET', '/x402/purchase?plan=nano'],
    ['POST', '/x402/purchase?plan=nano'],
    ['GET', `/x402/status?chain=evm&address=${address}`],
  ] as const) {
    const answer = await callApi(api, path, { method, headers: {} })
    assert.deepEqual([answer.status, record(answer.body).code], [501, 40024], path)
  }
})

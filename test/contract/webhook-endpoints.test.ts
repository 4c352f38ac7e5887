import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { SCOPES } from '../../schemas/scopes.ts'
import { type ApiResponse, callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { until } from '../support/until.ts'

const PUBLIC = ['93.184.216.34']
let addresses = PUBLIC
let api: TestApi
before(async () => {
  api = await startApi({ resolve: async () => addresses })
})
after(() => api.stop())

const record = (value: unknown): Record<string, unknown> => {
  assert.ok(typeof value === 'object' && value !== null, String(value))
  return value as Record<string, unknown>
}

const HOOK = 'https://receiver.example.com/hook'

const send = (
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<ApiResponse> =>
  callApi(api, path, {
    method,
    headers: {
      'x-api-key': api.apiKey,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })

const made = async (body: object = {}, version = 'v2'): Promise<Record<string, unknown>> => {
  const answer = await send('POST', `/${version}/webhook/endpoint`, { url: HOOK, ...body })
  assert.equal(answer.status, 200, answer.text)
  return record(answer.body)
}

const faultOf = ({ body }: ApiResponse): unknown => record(body).code

const removeAll = async (): Promise<void> => {
  const { data } = record((await send('GET', '/v2/webhook/endpoint?limit=100')).body)
  for (const { id } of data as { id: string }[]) await send('DELETE', `/v2/webhook/endpoint/${id}`)
}

for (const version of ['v1', 'v2']) {
  test(`the seven operations under /${version}`, async () => {
    const base = `/${version}/webhook/endpoint`
    const body = {
      channels: ['sol.token.created'],
      description: 'mine',
      filter: 'name == "USDC"',
      filterTypes: ['sol.token.*'],
      metadata: { team: 'a', deep: { x: [1, null] } },
      rateLimit: 5,
      secret: `whsec_${Buffer.alloc(32, 9).toString('base64')}`,
    }
    const endpoint = await made(body, version)
    const { id, createdAt, updatedAt, ...rest } = endpoint
    assert.match(String(id), /^ep_[0-9A-HJKMNP-TV-Z]{26}$/)
    assert.match(String(createdAt), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.equal(updatedAt, createdAt)
    const { secret, ...shown } = body
    assert.deepEqual(rest, { url: HOOK, ...shown, disabled: false, version: 1 })
    assert.deepEqual((await send('GET', `${base}/${id}`)).body, endpoint)
    assert.deepEqual((await send('GET', `${base}/${id}/secret`)).body, { secret })
    const changed = await send('PATCH', base, {
      endpointId: id,
      filter: null,
      channels: null,
      metadata: null,
      rateLimit: null,
      description: 'new',
      disabled: true,
    })
    const now = record(changed.body)
    assert.deepEqual(
      [now.description, now.disabled, now.disabledReason, now.version],
      ['new', true, 'user', 2],
    )
    for (const key of ['filter', 'channels', 'metadata', 'rateLimit', 'secret'])
      assert.ok(!(key in now), key)
    assert.deepEqual((await send('POST', `${base}/${id}/secret/rotate`)).body, { success: true })
    const rotated = record((await send('GET', `${base}/${id}/secret`)).body)
    assert.notEqual(rotated.secret, secret)
    const list = record((await send('GET', base)).body)
    assert.deepEqual(Object.keys(list).toSorted(), [
      ...['data', 'done', 'hasMore', 'items', 'iterator', 'nextCursor', 'prevIterator'],
    ])
    assert.deepEqual(list.items, list.data)
    assert.deepEqual([list.done, list.iterator, list.nextCursor], [true, null, ''])
    assert.deepEqual((await send('DELETE', `${base}/${id}`)).body, { success: true })
    const again = await send('DELETE', `${base}/${id}`)
    assert.deepEqual([again.status, faultOf(again)], [404, 52000])
  })
}

test('no response of the webhook endpoints holds a signing secret or the credentials of a URL', async () => {
  const secret = `whsec_${Buffer.alloc(24, 3).toString('base64')}`
  const { id } = await made({ secret, url: 'https://user:hidden@receiver.example.com/x' })
  const texts = [
    (await send('GET', '/v2/webhook/endpoint')).text,
    (await send('GET', `/v2/webhook/endpoint/${id}`)).text,
    (await send('PUT', `/v2/webhook/endpoint/${id}`, { description: 'x' })).text,
  ]
  for (const text of texts) {
    assert.ok(!text.includes(secret.slice(6)) && !text.includes('hidden'), text)
    assert.ok(text.includes('https://***:***@receiver.example.com/x'))
  }
  await removeAll()
})

test('an invalid webhook body is refused before an endpoint is created', async () => {
  const unknown = await send('POST', '/v2/webhook/endpoint', { url: HOOK, name: 't' })
  assert.match(unknown.text, /\/name is not known/)
  assert.equal(record((await send('GET', '/v2/webhook/endpoint')).body).done, true)
})

test('the endpoint limit of a plan holds for concurrent creates, and a retry with the same key creates nothing twice', async () => {
  const { apiKey } = await api.organizations.createKey({
    name: 'bound',
    plan: 'free',
    scopes: SCOPES,
  })
  const free = { 'x-api-key': apiKey }
  const headers = { ...free, 'idempotency-key': 'create-once-1' }
  const body = { url: HOOK, description: 'once' }
  const twice = await Promise.all(
    [1, 2].map(() => send('POST', '/v2/webhook/endpoint', body, headers)),
  )
  assert.deepEqual(record(twice[0]?.body).id, record(twice[1]?.body).id)
  assert.deepEqual(
    twice.map((answer) => answer.headers.get('idempotent-replayed')).toSorted(),
    [null, 'true'].toSorted(),
  )
  const other = await send('POST', '/v2/webhook/endpoint', { url: `${HOOK}2` }, headers)
  assert.deepEqual([other.status, faultOf(other)], [409, 40901])
  const many = await Promise.all(
    Array.from({ length: 12 }, () => send('POST', '/v2/webhook/endpoint', { url: HOOK }, free)),
  )
  assert.equal(many.filter(({ status }) => status === 200).length, 9)
  const refused = many.find(({ status }) => status === 409)
  assert.ok(refused)
  assert.equal(faultOf(refused), 52001)
  assert.deepEqual(record(refused.body).details, { current_count: 10, max_allowed: 10 })
  for (let count = 0; count < 11; count += 1) {
    const { status } = await send('POST', '/v2/webhook/endpoint', { url: HOOK })
    assert.equal(status, 200, 'of a plan that has more')
  }
  await removeAll()
})

test('a repeated create with the same key returns the first response: after a change, after a delete, before every check', async () => {
  const headers = { 'idempotency-key': 'create-once-2' }
  const body = { url: 'https://once.example.com/hook' }
  const create = () => send('POST', '/v2/webhook/endpoint', body, headers)
  const first = await create()
  assert.deepEqual([first.status, first.headers.get('idempotent-replayed')], [200, null])
  const { id } = record(first.body)
  await send('PATCH', `/v2/webhook/endpoint/${id}`, { description: 'changed' })
  addresses = ['10.0.0.1']
  const again = await create()
  addresses = PUBLIC
  assert.deepEqual([again.status, again.headers.get('idempotent-replayed')], [200, 'true'])
  assert.deepEqual(again.body, first.body)
  await send('DELETE', `/v2/webhook/endpoint/${id}`)
  assert.deepEqual((await create()).body, first.body)
  assert.deepEqual(record((await send('GET', '/v2/webhook/endpoint')).body).data, [])
})

test('webhook calls with a JSON content type and no body succeed', async () => {
  const { id } = await made()
  const headers = { 'content-type': 'application/json' }
  const rotated = await send('POST', `/v2/webhook/endpoint/${id}/secret/rotate`, undefined, headers)
  assert.equal(rotated.status, 200, rotated.text)
  const removed = await send('DELETE', `/v2/webhook/endpoint/${id}`, undefined, headers)
  assert.equal(removed.status, 200, removed.text)
})

test('pages in both orders and directions', async () => {
  const ids: unknown[] = []
  for (let index = 0; index < 5; index += 1) ids.push((await made({ uid: `uid-${index}` })).id)
  ids.sort()
  const page = async (query: string) => {
    const answer = await send('GET', `/v2/webhook/endpoint?${query}`)
    assert.equal(answer.status, 200, answer.text)
    const { data, done, iterator, prevIterator } = record(answer.body)
    return { ids: (data as { id: string }[]).map(({ id }) => id), done, iterator, prevIterator }
  }
  const first = await page('limit=2&order=ascending')
  assert.deepEqual([first.ids, first.done, first.prevIterator], [ids.slice(0, 2), false, null])
  const second = await page(`limit=2&order=ascending&iterator=${first.iterator}`)
  assert.deepEqual([second.ids, second.done], [ids.slice(2, 4), false])
  const third = await page(`limit=2&order=ascending&cursor=${second.iterator}`)
  assert.deepEqual([third.ids, third.done, third.iterator], [ids.slice(4), true, null])
  const back = await page(`limit=2&order=ascending&iterator=${third.prevIterator}`)
  assert.deepEqual(back.ids, ids.slice(2, 4))
  assert.deepEqual((await page('limit=3')).ids, ids.toReversed().slice(0, 3))
  for (const bad of ['x', `${first.iterator}x`, `${first.iterator}&order=descending`]) {
    const answer = await send('GET', `/v2/webhook/endpoint?order=ascending&iterator=${bad}`)
    assert.deepEqual(
      [answer.status, faultOf(answer)],
      [400, bad.includes('&') ? 40002 : 40027],
      bad,
    )
  }
  assert.equal(record((await send('GET', '/v2/webhook/endpoint/uid-3')).body).uid, 'uid-3')
  const clash = await send('POST', '/v2/webhook/endpoint', { url: HOOK, uid: 'uid-3' })
  assert.equal(clash.status, 409)
  await removeAll()
})

test('an endpoint of another organization answers 404, and creating one needs the write scope', async () => {
  const { id } = await made()
  const stranger = await api.organizations.createKey({ name: 'stranger', plan: 'selfhost' })
  const asStranger = { 'x-api-key': stranger.apiKey }
  for (const [method, path, body] of [
    ['GET', `/${id}`, undefined],
    ['GET', `/${id}/secret`, undefined],
    ['PATCH', '', { endpointId: id }],
    ['PATCH', `/${id}`, {}],
    ['POST', `/${id}/secret/rotate`, {}],
    ['DELETE', `/${id}`, undefined],
  ] as const) {
    const answer = await send(method, `/v2/webhook/endpoint${path}`, body, asStranger)
    assert.deepEqual([answer.status, faultOf(answer)], [404, 52000], `${method} ${path}`)
  }
  const reader = await api.organizations.createKey({
    name: 'reader',
    plan: 'selfhost',
    scopes: ['webhook.read'],
  })
  const asReader = { 'x-api-key': reader.apiKey }
  assert.equal((await send('GET', '/v1/webhook/endpoint', undefined, asReader)).status, 200)
  const refused = await send('POST', '/v1/webhook/endpoint', { url: HOOK }, asReader)
  assert.deepEqual([refused.status, faultOf(refused)], [403, 40301])
  assert.equal((await callApi(api, '/v2/webhook/endpoint', { headers: {} })).status, 401)
  await removeAll()
})

test('an update with an older version is refused with 409; an update without an id is refused', async () => {
  const { id } = await made()
  const fresh = await send('PATCH', `/v2/webhook/endpoint/${id}`, { description: 'a', version: 1 })
  assert.equal(record(fresh.body).version, 2)
  const stale = await send('PATCH', `/v2/webhook/endpoint/${id}`, { description: 'b', version: 1 })
  assert.deepEqual([stale.status, faultOf(stale)], [409, 409])
  assert.equal((await send('PATCH', '/v2/webhook/endpoint', {})).status, 400)
  const secret = await send('PATCH', `/v2/webhook/endpoint/${id}`, { secret: 'whsec_x' })
  assert.deepEqual([secret.status, faultOf(secret)], [400, 40001])
  await until(async () => (await send('DELETE', `/v2/webhook/endpoint/${id}`)).status === 200)
})

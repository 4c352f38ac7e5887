import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { MAX_FOLLOWED_JOBS } from '../../schemas/plans.ts'
import type { Job, JobChange } from '../../serving/jobs/job.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { until } from '../support/until.ts'

const DONE: JobChange = { status: 'completed', result: { block: 7 } }
const SSE = { accept: 'text/event-stream' }
const JSON_ONLY = { accept: 'application/json' }

let api: TestApi
let orgId = ''
/** Key of another organization. */
let foreignKey = ''
before(async () => {
  api = await startApi()
  orgId = api.organizations.registry.orgs()[0]?.org_id ?? ''
  const other = await api.organizations.createKey({ name: 'other', plan: 'selfhost' })
  foreignKey = other.apiKey
})
let isStopped = false
after(() => (isStopped ? undefined : api.stop()))

const newJob = (): Promise<Job> =>
  api.jobs.create({ orgId, kind: 'send', hash: '0xabc', result: { step: 1 } })

/** Follows a job as events; the connection is the caller's to leave. */
const follow = async (
  id: string,
  { headers = {}, apiKey = api.apiKey, path = `/v2/job/${id}/streaming` } = {},
) => {
  const left = new AbortController()
  const response = await fetch(api.base + path, {
    headers: { 'x-api-key': apiKey, ...SSE, ...headers },
    signal: left.signal,
  })
  let text = ''
  const ended = (async () => {
    for await (const part of response.body ?? []) text += Buffer.from(part).toString()
    return 'whole'
  })().catch(() => 'broken')
  const events = () =>
    text
      .split('\n\n')
      .filter((frame) => frame.startsWith('id:'))
      .map((frame) => {
        const [, idText = '', data = ''] = /^id: (\d+)\ndata: (.*)$/.exec(frame) ?? []
        return { id: Number(idText), data: JSON.parse(data) }
      })
  return { response, events, ended, leave: () => left.abort() }
}

test('a job is visible to its own organization only, under every path', async () => {
  const { id } = await newJob()
  for (const path of ['/v2/job', '/v1/job', '/v2/jobs', '/v1/jobs', '/jobs']) {
    const { status, body, headers } = await callApi(api, `${path}/${id}`)
    assert.deepEqual([status, body], [200, { state: 'pending', result: { step: 1 } }], path)
    assert.equal(headers.get('x-cu-cost'), '0.05')
    for (const rest of ['', '/streaming']) {
      const foreign = { headers: { 'x-api-key': foreignKey } }
      const refused = await callApi(api, `${path}/${id}${rest}`, foreign)
      assert.deepEqual([refused.status, refused.headers.get('x-cu-cost')], [404, '0'], path + rest)
    }
  }
  assert.equal((await callApi(api, '/v2/job/unknown')).status, 404)
  assert.equal((await callApi(api, `/v2/job/${'x'.repeat(129)}`)).status, 400)
})

test('the event stream of a job sends each change, and ends with the job', async () => {
  const job = await newJob()
  const { response, events, ended } = await follow(job.id)
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  assert.equal(response.headers.get('cache-control'), 'private, no-store')
  await until(() => events().length === 1)
  await api.jobs.update(job, () => ({ result: { step: 2 } }))
  await until(() => events().length === 2)
  await api.jobs.update(job, () => DONE)
  await ended
  const common = { id: '0xabc', hash: '0xabc' }
  assert.deepEqual(events(), [
    { id: 1, data: { ...common, status: 'pending', success: false, result: { step: 1 } } },
    { id: 2, data: { ...common, status: 'pending', success: false, result: { step: 2 } } },
    { id: 3, data: { ...common, status: 'completed', success: true, result: { block: 7 } } },
  ])
  const again = await follow(job.id, { path: `/jobs/${job.id}/streaming` })
  await again.ended
  assert.deepEqual(
    again.events().map(({ id }) => id),
    [3],
  )
})

test('a reconnecting client gets the events that it missed, and 204 behind the last one', async () => {
  const job = await newJob()
  await api.jobs.update(job, () => ({ status: 'failed', error: 'expired', message: 'Too late' }))
  const { events, ended } = await follow(job.id, { headers: { 'last-event-id': '1' } })
  await ended
  const [last] = events()
  assert.equal(last?.id, 2)
  const { status, success, error, message } = last?.data ?? {}
  assert.deepEqual([status, success, error, message], ['failed', false, 'expired', 'Too late'])
  const { response } = await follow(job.id, { headers: { 'last-event-id': '2' } })
  assert.equal(response.status, 204)
})

test('the JSON form of a job stream is answered once the job ends', async () => {
  const job = await newJob()
  let answered = false
  const answer = callApi(api, `/v2/job/${job.id}/streaming`, {
    headers: { 'x-api-key': api.apiKey, ...JSON_ONLY },
  }).finally(() => {
    answered = true
  })
  await api.jobs.update(job, () => ({ result: { step: 2 } }))
  await callApi(api, `/v2/job/${job.id}`)
  assert.equal(answered, false)
  await api.jobs.update(job, () => DONE)
  const { status, body } = await answer
  const data = { id: '0xabc', hash: '0xabc', status: 'completed', success: true }
  assert.deepEqual([status, body], [200, { id: 3, data: { ...data, result: { block: 7 } } }])
})

test('job streams of an organization are limited; a closed one frees its slot for another', async () => {
  const job = await newJob()
  const followers = await Promise.all(
    Array.from({ length: MAX_FOLLOWED_JOBS }, () => follow(job.id)),
  )
  assert.ok(followers.every(({ response }) => response.status === 200))
  for (const headers of [SSE, JSON_ONLY]) {
    const refused = await callApi(api, `/v2/job/${job.id}/streaming`, {
      headers: { 'x-api-key': api.apiKey, ...headers },
    })
    assert.deepEqual([refused.status, (refused.body as { code: number }).code], [429, 42903])
  }
  followers[0]?.leave()
  const isLetIn = async (): Promise<boolean> => {
    const next = await follow(job.id)
    followers.push(next)
    return next.response.status === 200
  }
  await until(isLetIn)
  await api.jobs.update(job, () => DONE)
  await Promise.all(followers.map(({ ended }) => ended))
})

test('a stream ends with the credential of its caller', async () => {
  const own = await api.organizations.createKey({ name: 'revoked', plan: 'selfhost' })
  const [key] = api.organizations.registry.keysOf(own.appId)
  assert.ok(key)
  const job = await api.jobs.create({ orgId: own.orgId, kind: 'send' })
  const { response, ended } = await follow(job.id, { apiKey: own.apiKey })
  assert.equal(response.status, 200)
  await api.organizations.revokeKey(key.key_id)
  await ended
  assert.equal(api.jobs.get(job)?.status, 'pending')
})

test('a server that stops ends its streams', async () => {
  const { response, ended } = await follow((await newJob()).id)
  assert.equal(response.status, 200)
  isStopped = true
  await api.stop()
  assert.equal(await ended, 'whole')
})

import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import type { LogRecord } from '../../core/bus/contract.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type { EndpointStore } from '../../serving/webhooks/endpoint-store.ts'
import { messageId } from '../../serving/webhooks/message.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'
import {
  buildTokenEvent,
  buildTokenRecord,
  startWebhookStack,
  TEST_OWNER,
  type WebhookStack,
} from '../support/webhook-stack.ts'

const CREATED = 'sol.token.created'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.stop()
})

const opened = async (
  options: Parameters<typeof startWebhookStack>[0] = {},
): Promise<{ readonly stack: WebhookStack; readonly receiver: WebhookReceiver }> => {
  const receiver = await startWebhookReceiver()
  open.push(receiver)
  const stack = await startWebhookStack(options)
  open.push(stack)
  return { stack, receiver }
}

const publish = (stack: WebhookStack, mint: string): Promise<void> =>
  stack.publish(CREATED, buildTokenRecord([buildTokenEvent(mint)]))

const mintsAt = (receiver: WebhookReceiver, path: string): readonly string[] =>
  receiver.at(path).map(({ body }) => JSON.parse(body).data.a)

const statuses = async (stack: WebhookStack): Promise<readonly string[]> =>
  (await stack.attempts()).map(({ status }) => status)

const outboxRecords = async ({ bus }: WebhookStack): Promise<readonly LogRecord[]> => {
  const outbox = globalTopic('webhookOutbox')
  const found: LogRecord[] = []
  for (const { partition, low, end } of await bus.ends(outbox)) {
    for await (const record of bus.read(outbox, partition, low, end)) found.push(record)
  }
  return found
}

test('a waiting message survives a change of its endpoint, and is sent to the new URL', async () => {
  const { stack, receiver } = await opened({ scheduleMs: [0, 600, 600] })
  receiver.answer('/old', (response) => response.writeHead(500).end())
  const { endpoint_id: id } = await stack.endpoint({ url: `${receiver.base}/old` })
  await stack.startMatcher()
  await stack.startSender()
  await publish(stack, 'Waits')
  await until(async () => (await stack.attempts()).length === 1)
  const { endpoints: endpointApi } = stack.webhookContext
  await endpointApi.update(TEST_OWNER, id, { disabled: false, url: `${receiver.base}/old` })
  await endpointApi.update(TEST_OWNER, id, { url: `${receiver.base}/new` })
  await until(() => receiver.at('/new').length === 1)
  await until(async () => (await stack.attempts()).length === 2)
  assert.deepEqual(await statuses(stack), ['pending', 'success'])
})

test('a 410 from an earlier URL of an endpoint does not turn it off', async () => {
  const { stack, receiver } = await opened()
  let answer: (() => void) | undefined
  receiver.answer('/old', (response) => {
    answer = () => response.writeHead(410).end()
  })
  const { endpoint_id: id } = await stack.endpoint({ url: `${receiver.base}/old` })
  await stack.startMatcher()
  await stack.startSender()
  await publish(stack, 'Late')
  await until(() => answer !== undefined)
  await stack.webhookContext.endpoints.update(TEST_OWNER, id, { url: `${receiver.base}/new` })
  answer?.()
  await until(async () => (await stack.attempts()).length === 1)
  await publish(stack, 'Next')
  await until(() => receiver.at('/new').length === 1)
  assert.equal(stack.webhookContext.store.get(id)?.disabled, false)
  const { values } = await stack.metrics.webhookDisabled.get()
  assert.deepEqual(values, [])
})

test('a late failure at an earlier URL of an endpoint is recorded, and does not count against the new URL', async () => {
  const { stack, receiver } = await opened({ scheduleMs: [0] })
  let answer: (() => void) | undefined
  receiver.answer('/old', (response) => {
    answer = () => response.writeHead(500).end()
  })
  receiver.answer('/new', (response) => response.writeHead(500).end())
  const { endpoint_id: id } = await stack.endpoint({ url: `${receiver.base}/old` })
  const health = (): number =>
    stack
      .commits()
      .flatMap(({ state }) => state ?? [])
      .filter(({ key }) => key === `${id}/health`).length
  await stack.startMatcher()
  await stack.startSender()
  await publish(stack, 'Late')
  await until(() => answer !== undefined)
  await stack.webhookContext.endpoints.update(TEST_OWNER, id, { url: `${receiver.base}/new` })
  answer?.()
  await until(async () => (await stack.attempts()).length === 1)
  assert.deepEqual(await statuses(stack), ['fail'])
  assert.equal(health(), 0)
  assert.equal(stack.webhookContext.store.get(id)?.first_failure_at, 0)
  await publish(stack, 'Next')
  await until(async () => (await stack.attempts()).length === 2)
  assert.equal(health(), 1, 'a failure at the URL of now counts')
  await until(() => (stack.webhookContext.store.get(id)?.first_failure_at ?? 0) > 0)
})

test('messages that waited before a fast disable and enable are canceled by the sweep; a replay of them meanwhile is sent', async () => {
  const { stack, receiver } = await opened({ scheduleMs: [0, 3_600_000] })
  receiver.answer('/hook', (response, _request, nth) =>
    response.writeHead(nth <= 2 ? 500 : 200).end(),
  )
  const { endpoint_id: id } = await stack.endpoint({ url: `${receiver.base}/hook` })
  await stack.startMatcher()
  await stack.startSender()
  await publish(stack, 'Replayed')
  await publish(stack, 'Waits')
  await until(async () => (await stack.attempts()).length === 2)
  const { endpoints: endpointApi } = stack.webhookContext
  await endpointApi.update(TEST_OWNER, id, { disabled: true })
  await endpointApi.update(TEST_OWNER, id, { disabled: false })
  const outbox = globalTopic('webhookOutbox')
  const [first] = await outboxRecords(stack)
  assert.ok(first?.value)
  const replay = {
    ...stack.codec.decode('webhook.Delivery', first.value),
    enabled_at: stack.webhookContext.store.get(id)?.enabled_at ?? 0,
    trigger: 'replay',
  }
  const writer = await stack.bus.writer('test-outbox')
  const value = stack.codec.encode('webhook.Delivery', replay)
  await writer.commit({ records: [{ topic: outbox, key: id, value }] })
  await until(() => mintsAt(receiver, '/hook').length === 3, 'the replay', 10_000)
  await until(async () => (await stack.attempts()).length === 5, 'all ends', 10_000)
  const lastStatus = new Map(
    (await stack.attempts()).map(({ message_id, status }) => [message_id, status]),
  )
  assert.equal(lastStatus.get(replay.message_id), 'success')
  assert.deepEqual([...lastStatus.values()].toSorted(), ['canceled', 'success'])
})

test('a delivery that stands twice in the outbox is sent once, also where both arrive in one batch', async () => {
  const { stack, receiver } = await opened({ scheduleMs: [0, 1_500] })
  receiver.answer('/hook', (response, _request, nth) =>
    response.writeHead(nth === 1 ? 500 : 200).end(),
  )
  await stack.endpoint({ url: `${receiver.base}/hook` })
  await stack.startMatcher()
  await publish(stack, 'Twice')
  const outbox = globalTopic('webhookOutbox')
  const [first] = await until(async () => {
    const found = await outboxRecords(stack)
    return found.length === 1 && found
  })
  assert.ok(first)
  const writer = await stack.bus.writer('test-outbox')
  const repeat = () =>
    writer.commit({ records: [{ topic: outbox, key: first.key, value: first.value }] })
  await repeat()
  const sender = await stack.startSender()
  await until(async () => (await stack.attempts()).length === 1)
  await repeat()
  await until(async () => (await stack.attempts()).length === 2)
  await publish(stack, 'Next')
  await until(() => mintsAt(receiver, '/hook').includes('Next'))
  await until(() => sender.backlog() === 0)
  assert.deepEqual(mintsAt(receiver, '/hook'), ['Twice', 'Twice', 'Next'])
  const attempts = await stack.attempts()
  assert.deepEqual(
    attempts.map(({ status, attempt }) => `${status} ${attempt}`),
    ['pending 1', 'success 2', 'success 1'],
  )
})

test('a sender that receives an endpoint after its messages sends them all the same', async () => {
  const { stack, receiver } = await opened()
  const { store } = stack.webhookContext
  const { endpoint_id: id } = await stack.endpoint({ url: `${receiver.base}/hook` })
  const { endpoints: endpointApi } = stack.webhookContext
  await endpointApi.update(TEST_OWNER, id, { disabled: true })
  const off = store.get(id)
  await endpointApi.update(TEST_OWNER, id, { disabled: false })
  await stack.startMatcher()
  let known: 'nothing' | 'off' | 'all' = 'nothing'
  let looks = 0
  const late: EndpointStore = {
    ...store,
    get: (endpointId) => {
      looks += 1
      if (known === 'all') return store.get(endpointId)
      return known === 'off' ? off : undefined
    },
  }
  const sender = await stack.startSender(late)
  await publish(stack, 'Early')
  await until(() => sender.backlog() === 1, 'the message at the sender')
  const looked = (times: number) => until(() => looks >= times, 'sweeps and attempts', 15_000)
  await looked(8)
  known = 'off'
  await looked(16)
  assert.deepEqual(await statuses(stack), [], 'no sweep and no attempt ended it')
  known = 'all'
  await until(() => receiver.at('/hook').length === 1)
  assert.deepEqual(mintsAt(receiver, '/hook'), ['Early'])
})

test('a message whose endpoint is never found is canceled after a minute', async () => {
  let aheadMs = 0
  const { stack, receiver } = await opened({ nowMs: () => Date.now() + aheadMs })
  await stack.endpoint({ url: `${receiver.base}/hook` })
  await stack.startMatcher()
  const sender = await stack.startSender({ ...stack.webhookContext.store, get: () => undefined })
  await publish(stack, 'Lost')
  await until(() => sender.backlog() === 1)
  aheadMs = 61_000
  await until(async () => (await statuses(stack)).length === 1)
  assert.deepEqual(await statuses(stack), ['canceled'])
  assert.equal(receiver.at('/hook').length, 0)
})

test('a suspended organization gets no webhook messages; waiting ones are sent when it is active again', async () => {
  let suspended = false
  const { stack, receiver } = await opened({
    orgOf: (orgId) => ({ suspended: suspended && orgId === TEST_OWNER.orgId }),
    scheduleMs: [0, 300, 300],
  })
  receiver.answer('/hook', (response, _request, nth) => {
    // Suspended with the first attempt: its repetition may be due before the test sees that the attempt is stored.
    if (nth === 1) suspended = true
    response.writeHead(nth === 1 ? 500 : 200).end()
  })
  await stack.endpoint({ url: `${receiver.base}/hook` })
  const witness = { url: `${receiver.base}/witness` }
  await stack.webhookContext.endpoints.create({ ...TEST_OWNER, orgId: 'org_2' }, witness)
  await stack.startMatcher()
  await stack.startSender()
  await publish(stack, 'Before')
  await until(async () => (await stack.attempts()).length === 2)
  for (const mint of ['Meanwhile', 'Meanwhile2']) {
    const before = receiver.at('/witness').length
    await publish(stack, mint)
    await until(() => receiver.at('/witness').length > before)
    await until(
      () => Date.now() - (receiver.at('/hook')[0]?.atMs ?? 0) > 600,
      'a repetition is due',
    )
  }
  assert.equal(receiver.at('/hook').length, 1)
  suspended = false
  await until(() => receiver.at('/hook').length === 2)
  await publish(stack, 'After')
  await until(() => receiver.at('/hook').length === 3)
  assert.deepEqual(mintsAt(receiver, '/hook'), ['Before', 'Before', 'After'])
})

test('the endpoints of an organization that is gone get nothing, also before they are removed', async () => {
  const orgs = new Set(['org_1', 'org_2'])
  const { stack, receiver } = await opened({
    orgOf: (orgId) => (orgs.has(orgId) ? { suspended: false } : undefined),
  })
  const { endpoints: endpointApi, store } = stack.webhookContext
  await stack.endpoint({ url: `${receiver.base}/gone` })
  await endpointApi.create({ ...TEST_OWNER, orgId: 'org_2' }, { url: `${receiver.base}/stays` })
  await stack.startMatcher()
  await stack.startSender()
  orgs.delete('org_1')
  await publish(stack, 'First')
  await until(() => receiver.at('/stays').length === 1)
  await store.removeOrg('org_1')
  assert.deepEqual(store.ofOrg('org_1'), [])
  assert.equal(store.ofOrg('org_2').length, 1)
  assert.ok((await stack.operations()).includes('endpoint.deleted'))
  assert.equal(receiver.at('/gone').length, 0)
})

test('a burst for many endpoints is committed in parts, and every message arrives once', async () => {
  const { stack } = await opened({ config: { webhookEndpoints: 40 } })
  const filter = 'data.a.startsWith("Burst")'
  await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      stack.endpoint({ url: `https://receiver${index}.example.com/`, filter }),
    ),
  )
  const mints = Array.from({ length: 310 }, (_, index) => `Burst${index}`)
  await stack.publish(CREATED, buildTokenRecord(mints.map((mint) => buildTokenEvent(mint))))
  await stack.startMatcher()
  const total = 310 * 41
  const outgoing = () => stack.commits().map(({ records = [] }) => records.length)
  const sum = (): number => outgoing().reduce((all, one) => all + one, 0)
  await until(() => sum() >= total, 'everything is matched', 30_000)
  assert.equal(sum(), total)
  assert.ok(Math.max(...outgoing()) <= 1_000 + 41, `${outgoing()}`)
  const offsets = stack.commits().filter((commit) => commit.offsets !== undefined)
  assert.equal(offsets.length, 1, 'the offset moves with the last event of the record')
})

test('a receiver known to hang gets one message at a time', async () => {
  const { stack, receiver } = await opened({ config: { webhookTimeoutMs: 300 } })
  receiver.answer('/hang', () => undefined)
  await stack.endpoint({ url: `${receiver.base}/hang` })
  await stack.startMatcher()
  await stack.startSender()
  const mints = Array.from({ length: 13 }, (_, index) => `Hang${index}`)
  await stack.publish(CREATED, buildTokenRecord(mints.map((mint) => buildTokenEvent(mint))))
  await until(() => receiver.at('/hang').length === 13)
  const times = receiver.at('/hang').map(({ atMs }) => atMs)
  const pauses = [11, 12].map((nth) => (times[nth] ?? 0) - (times[nth - 1] ?? 0))
  assert.ok(Math.min(...pauses) >= 200, `${pauses}`)
})

test('health of an endpoint that is gone does not stay', async () => {
  const { stack, receiver } = await opened({ scheduleMs: [0] })
  receiver.answer('/sick', (response) => response.writeHead(500).end())
  const { endpoint_id: id } = await stack.endpoint({ url: `${receiver.base}/sick` })
  await stack.startMatcher()
  await stack.startSender()
  await publish(stack, 'Sick')
  const health = () =>
    stack
      .commits()
      .flatMap(({ state = [] }) => state)
      .filter(({ key }) => key === `${id}/health`)
      .map(({ value }) => value !== null)
  await until(() => health().length === 1)
  await stack.webhookContext.endpoints.remove(TEST_OWNER, id)
  await until(() => health().length === 2, 'the sweep')
  assert.deepEqual(health(), [true, false])
})

test('the gauge of the backlog counts the messages of all lanes', async (context) => {
  const { stack, receiver } = await opened({
    scheduleMs: [0, 60_000],
    config: { webhookEndpoints: 9 },
  })
  const paths = Array.from({ length: 9 }, (_, index) => `/hook${index}`)
  for (const path of paths) receiver.answer(path, (response) => response.writeHead(500).end())
  await Promise.all(paths.map((path) => stack.endpoint({ url: receiver.base + path })))
  await stack.startMatcher()
  const sender = await stack.startSender()
  await publish(stack, 'Backlog')
  await until(async () => (await stack.attempts()).length === 9)
  await until(() => sender.backlog() === 9)
  const gauge = context.mock.method(stack.metrics.webhookBacklog, 'set')
  await until(() => gauge.mock.callCount() >= 2, 'the gauge')
  const shown = gauge.mock.calls.map((call) => call.arguments[0])
  assert.deepEqual(new Set<unknown>(shown), new Set([9]))
})

test('beyond the limit of an organization the longest queues lose their oldest messages, and other endpoints none', async () => {
  const { stack, receiver } = await opened({
    scheduleMs: [0, 3_600_000],
    backlogLimits: { perEndpoint: 100, perOrg: 10, total: 1_000 },
  })
  const dead = ['/dead0', '/dead1']
  for (const path of dead) receiver.answer(path, (response) => response.writeHead(500).end())
  for (const path of [...dead, '/well']) await stack.endpoint({ url: receiver.base + path })
  await stack.startMatcher()
  const sender = await stack.startSender()
  const mints = Array.from({ length: 12 }, (_, index) => `Mint${index}`)
  for (const [at, mint] of mints.entries()) {
    await stack.publish(CREATED, buildTokenRecord([buildTokenEvent(mint)], { seq: at + 1 }))
    await until(() => mintsAt(receiver, '/well').length === at + 1, `${mint} arrives`)
  }
  await until(async () => (await statuses(stack)).length === 36 + 14, 'all are recorded', 10_000)
  await until(() => sender.backlog() === 10)
  const counts = new Map<string, number>()
  for (const { endpoint_id: id, status } of await stack.attempts()) {
    counts.set(`${id} ${status}`, (counts.get(`${id} ${status}`) ?? 0) + 1)
  }
  assert.deepEqual([...counts.values()].toSorted(), [12, 12, 12, 7, 7])
  const dropped = (await stack.attempts()).filter(({ status }) => status === 'dropped')
  const oldest = mints.slice(0, 7).map((mint) => messageId(CREATED, mint, `tx-${mint}`, '2.1'))
  for (const { endpoint_id: id } of dropped) {
    const own = dropped.filter(({ endpoint_id }) => endpoint_id === id)
    assert.deepEqual(new Set(own.map(({ message_id }) => message_id)), new Set(oldest))
  }
  assert.equal(dropped.length, 14)
  assert.equal(mintsAt(receiver, '/well').length, 12)
  assert.ok((await stack.operations()).includes('webhook.backlog'))
  const { values } = await stack.metrics.webhookAttempts.get()
  assert.equal(values.find(({ labels }) => labels.result === 'dropped')?.value, 14)
})

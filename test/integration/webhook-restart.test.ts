import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { globalTopic } from '../../schemas/topics.ts'
import { messageId } from '../../serving/webhooks/message.ts'
import { SENDER_GROUP } from '../../serving/webhooks/topics.ts'
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
const ATTEMPTS = globalTopic('webhookAttempts')

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

const mints = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `Mint${index}`)

const record = (count: number) =>
  buildTokenRecord(mints(count).map((mint) => buildTokenEvent(mint)))

test('the outbox waits for a sender; one that stops in the middle loses nothing', async () => {
  const { stack, receiver } = await opened({ config: { webhookInFlight: 4 } })
  receiver.answer('/hook', (response) => setTimeout(() => response.writeHead(200).end(), 20))
  await stack.endpoint({ url: `${receiver.base}/hook` })
  const matcher = await stack.startMatcher()
  await stack.publish(CREATED, record(60))
  await until(async () => (await stack.bus.ends('_webhooks.outbox')).some(({ end }) => end > 0))
  await matcher.stop()
  let restarts = 0
  for (const reached of [10, 25, 40]) {
    const sender = await stack.startSender()
    await until(() => receiver.at('/hook').length >= reached)
    await sender.stop()
    restarts += 1
  }
  await stack.startSender()
  const wanted = mints(60).map((mint) => messageId(CREATED, mint, `tx-${mint}`, '2.1'))
  const ids = () => receiver.at('/hook').map(({ headers }) => headers['webhook-id'])
  await until(() => new Set(ids()).size === 60)
  assert.deepEqual(new Set(ids()), new Set(wanted))
  assert.ok(ids().length <= 60 + restarts * 4, 'only what was on its way may come twice')
})

test('a stop while a receiver hangs ends without an exception, and its attempts are not recorded', async () => {
  const { stack, receiver } = await opened({ config: { webhookInFlight: 4 } })
  receiver.answer('/hang', () => undefined)
  await stack.endpoint({ url: `${receiver.base}/hang` })
  await stack.startMatcher()
  await stack.startSender()
  await stack.publish(CREATED, record(3))
  await until(() => receiver.at('/hang').length === 3, 'the receiver hangs')
  // The log closes right after the attempts have been given up.
  await stack.stop()
  await sleep(500)
  assert.deepEqual(
    stack
      .commits()
      .flatMap(({ records = [] }) => records)
      .filter(({ topic }) => topic === ATTEMPTS),
    [],
    'an attempt that was given up is not recorded',
  )
})

test('a sender that dies between two commits: what it had recorded is not sent again, all else is', async () => {
  const { stack, receiver } = await opened({ config: { webhookInFlight: 4 } })
  receiver.answer('/slow', (response, _request, nth) => {
    if (nth > 4) response.writeHead(200).end()
  })
  await stack.endpoint({ url: `${receiver.base}/fast` })
  await stack.endpoint({ url: `${receiver.base}/slow` })
  await stack.startMatcher()
  await stack.publish(CREATED, record(300))
  let left = 3
  const died: unknown[] = []
  const dying = await stack.startSender(undefined, (own, given) => {
    if (left > 0) {
      left -= 1
      return own(given)
    }
    died.push(given)
    return new Promise(() => undefined)
  })
  await until(() => died.length > 0, 'the process stands still in a commit')
  await dying.stop()
  const recorded = new Set(
    (await stack.attempts()).map(({ endpoint_id, message_id }) => `${endpoint_id} ${message_id}`),
  )
  const offsets = await stack.bus.offsets(SENDER_GROUP, [globalTopic('webhookOutbox')])
  const passed = offsets.reduce((sum, { offset }) => sum + offset, 0)
  assert.ok(recorded.size > 0 && passed > 0, `${recorded.size} recorded, ${passed} passed`)
  const before = new Map(['/fast', '/slow'].map((path) => [path, receiver.at(path).length]))
  await stack.startSender()
  const idsAt = (path: string) =>
    receiver.at(path).map(({ headers }) => String(headers['webhook-id']))
  await until(() => ['/fast', '/slow'].every((path) => new Set(idsAt(path)).size === 300))
  await until(async () => (await stack.attempts()).length >= 600, 'every end is recorded')
  const fast = stack.webhookContext.store
    .ofOrg(TEST_OWNER.orgId)
    .find(({ url }) => url.endsWith('/fast'))
  const again = idsAt('/fast').slice(before.get('/fast') ?? 0)
  assert.deepEqual(
    again.filter((id) => recorded.has(`${fast?.endpoint_id} ${id}`)),
    [],
    'what is recorded does not come again',
  )
  const attempts = (await stack.attempts()).filter(({ status }) => status === 'success')
  const ends = new Set(attempts.map(({ endpoint_id, message_id }) => endpoint_id + message_id))
  assert.equal(ends.size, 600)
})

test('a pause between attempts survives a restart', async () => {
  const { stack, receiver } = await opened({ scheduleMs: [0, 700] })
  receiver.answer('/hook', (response, _request, nth) =>
    response.writeHead(nth === 1 ? 500 : 200).end(),
  )
  await stack.endpoint({ url: `${receiver.base}/hook` })
  await stack.startMatcher()
  const sender = await stack.startSender()
  await stack.publish(CREATED, record(1))
  await until(async () => (await stack.attempts()).length === 1)
  await sender.stop()
  await stack.startSender()
  await until(() => receiver.at('/hook').length === 2)
  const [first, second] = receiver.at('/hook')
  assert.ok((second?.atMs ?? 0) - (first?.atMs ?? 0) >= 500)
  assert.equal(first?.headers['webhook-id'], second?.headers['webhook-id'])
  assert.equal(first?.body, second?.body)
})

test('the webhook matcher resumes at its position: no message is sent twice, in any order of events', async () => {
  const { stack, receiver } = await opened()
  await stack.endpoint({ url: `${receiver.base}/hook` })
  await stack.startSender()
  for (let round = 1; round <= 3; round += 1) {
    const matcher = await stack.startMatcher()
    await stack.publish(CREATED, record(round * 5))
    await until(() => receiver.at('/hook').length >= round * 5)
    await matcher.stop()
  }
  const ids = receiver.at('/hook').map(({ headers }) => headers['webhook-id'])
  assert.equal(ids.length, 15)
  assert.equal(new Set(ids).size, 15)
  const seqs = receiver.at('/hook').map(({ body }) => {
    const { lane, seq } = JSON.parse(body).meta
    return `${lane}:${seq}`
  })
  assert.equal(new Set(seqs).size, 15, 'numbers continue after a restart')
})

test('two senders share the lanes; when one leaves, the other takes its lanes over', async () => {
  const { stack, receiver } = await opened()
  await Promise.all(
    Array.from({ length: 9 }, (_, index) =>
      stack.endpoint({ url: `${receiver.base}/hook${index}` }),
    ),
  )
  await stack.startMatcher()
  const one = await stack.startSender()
  await stack.startSender()
  const all = () => Array.from({ length: 9 }, (_, index) => receiver.at(`/hook${index}`)).flat()
  await stack.publish(CREATED, record(10))
  await until(() => all().length === 90)
  await one.stop()
  await stack.publish(CREATED, buildTokenRecord([buildTokenEvent('After')]))
  await until(() => all().length >= 99)
  const keys = all().map(({ path, headers }) => `${path} ${headers['webhook-id']}`)
  assert.equal(new Set(keys).size, 99)
  assert.equal(keys.length, 99)
})

test('webhooks: an undecodable record is sent to the dead letters, and the records after it are processed', async () => {
  const { stack, receiver } = await opened()
  await stack.endpoint({ url: `${receiver.base}/hook` })
  await stack.startMatcher()
  await stack.startSender()
  const writer = await stack.bus.writer('vandal')
  const value = Buffer.from('nonsense')
  await writer.commit({
    records: [0, 1, 2].flatMap((partition) => [
      { topic: 'sol.tokens.created', partition, key: 'x', value },
      { topic: '_webhooks.outbox', partition, key: 'x', value },
    ]),
  })
  await stack.publish(CREATED, record(5))
  await until(() => receiver.at('/hook').length === 5)
  for (const topic of ['dlq.webhooks.matcher.sol', 'dlq.webhooks.sender']) {
    const ends = await stack.bus.ends(topic)
    assert.equal(
      ends.reduce((sum, { end }) => sum + end, 0),
      3,
      topic,
    )
  }
})

for (const [status, most] of [
  [502, 2],
  [504, 2],
  [503, 4],
] as const) {
  test(`after a ${status} an endpoint gets ${most} of 4 messages at a time`, async () => {
    const { stack, receiver } = await opened({
      scheduleMs: [0, 60_000],
      config: { webhookInFlight: 4 },
    })
    receiver.answer('/hook', (response, _request, nth) => {
      if (nth === 1) response.writeHead(status).end()
    })
    await stack.endpoint({ url: `${receiver.base}/hook` })
    await stack.startMatcher()
    await stack.startSender()
    await stack.publish(CREATED, buildTokenRecord([buildTokenEvent('First')]))
    await until(async () => (await stack.attempts()).length === 1)
    await stack.publish(CREATED, record(8))
    // The receiver answers none of them.
    await until(() => receiver.at('/hook').length >= 1 + most)
    await sleep(300)
    assert.equal(receiver.at('/hook').length, 1 + most)
  })
}

import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { messageId } from '../../serving/webhooks/message.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'
import {
  buildTokenEvent,
  buildTokenRecord,
  startWebhookStack,
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

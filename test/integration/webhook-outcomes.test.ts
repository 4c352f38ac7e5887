import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Attempt } from '../../schemas/wire.ts'
import { until } from '../support/until.ts'
import {
  type RespondTo,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../support/webhook-receiver.ts'
import {
  buildTokenEvent,
  buildTokenRecord,
  startWebhookStack,
  type WebhookStack,
} from '../support/webhook-stack.ts'

let receiver: WebhookReceiver
let stack: WebhookStack
before(async () => {
  receiver = await startWebhookReceiver()
  // The limits are those that an installation has unless it says otherwise.
  stack = await startWebhookStack({ scheduleMs: [0, 5_000] })
  await stack.startMatcher()
  await stack.startSender()
})
after(async () => {
  await stack.stop()
  await receiver.stop()
})

const firstAttempt = async (path: string, answer: RespondTo, waitMs = 10_000): Promise<Attempt> => {
  receiver.answer(path, answer)
  const { endpoint_id: id } = await stack.endpoint({ url: receiver.base + path })
  await stack.publish(
    'sol.token.created',
    buildTokenRecord([buildTokenEvent(`Mint${path.slice(1)}`)]),
  )
  return until(
    async () =>
      (await stack.attempts()).find(
        ({ endpoint_id, attempt }) => endpoint_id === id && attempt === 1,
      ),
    'the first attempt is recorded',
    waitMs,
  )
}

for (const status of [301, 302, 303, 307, 308]) {
  test(`a redirect is a failed attempt with its status: ${status}`, async () => {
    const target = `/target${status}`
    const {
      response_status,
      error_kind,
      status: outcome,
    } = await firstAttempt(`/moved${status}`, (response) =>
      response.writeHead(status, { location: receiver.base + target }).end(),
    )
    assert.deepEqual([response_status, error_kind, outcome], [status, 'status', 'pending'])
    assert.deepEqual(receiver.at(target), [], 'it is not followed')
  })
}

test('a receiver that hangs is a failed attempt of kind timeout after 15 seconds, tried again a minute later', async () => {
  const attempt = await firstAttempt('/hang', () => undefined, 60_000)
  const { error_kind, response_status, status, duration_ms, next_at, at } = attempt
  assert.deepEqual([error_kind, response_status, status], ['timeout', 0, 'pending'])
  // A timer counts whole milliseconds of another clock than the duration: it may end a little before 15,000.
  assert.ok(duration_ms >= 14_950, `${duration_ms} ms`)
  assert.ok(next_at - at >= 59_000, `${next_at - at} ms`)
})

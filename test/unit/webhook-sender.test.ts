import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { localCodec } from '../../core/codec/local-codec.ts'
import type { Delivery, WebhookEndpoint } from '../../schemas/wire.ts'
import { applyEndpointAction } from '../../serving/webhooks/apply-endpoint-action.ts'
import { createConcurrencyLimiter } from '../../serving/webhooks/concurrency-limiter.ts'
import {
  checkEligibility,
  type DeliveryEligibility,
  isSameEndpointTarget,
} from '../../serving/webhooks/delivery-eligibility.ts'
import { createEndpointHealth } from '../../serving/webhooks/endpoint-health.ts'
import { EndpointQueue, type QueuedDelivery } from '../../serving/webhooks/endpoint-queue.ts'
import { matchEndpoint } from '../../serving/webhooks/match-endpoint.ts'
import type { RetryDecision } from '../../serving/webhooks/retry-policy.ts'
import { buildWebhookEndpoint } from '../support/builders/webhook-endpoint.ts'

const NOW = 1_763_640_000_000
const MINUTE = 60_000
const HOUR = 60 * MINUTE

const endpoint = (change: Partial<WebhookEndpoint> = {}): WebhookEndpoint =>
  buildWebhookEndpoint({ enabled_at: NOW, ...change })
const delivery = (change: Partial<Delivery> = {}): Delivery => ({
  message_id: 'msg_1',
  endpoint_id: 'ep_1',
  org_id: 'org_1',
  channel: 'sol.token.created',
  body: '{}',
  event_time: NOW,
  queued_at: NOW,
  enabled_at: NOW,
  trigger: 'scheduled',
  attempt: 1,
  due_at: NOW,
  ...change,
})
const ORG = { suspended: false }

test('a webhook delivery is eligible, postponed, canceled or dropped; a sender that may be behind waits a minute before it cancels', () => {
  const known = { endpoint: endpoint(), org: ORG }
  const older = { endpoint: endpoint({ enabled_at: NOW - 1 }), org: ORG }
  const olderAndOff = { endpoint: endpoint({ enabled_at: NOW - 1, disabled: true }), org: ORG }
  const table: readonly (readonly [
    string,
    Parameters<typeof checkEligibility>[1],
    number,
    DeliveryEligibility,
  ])[] = [
    ['all is well', known, NOW, 'good'],
    ['a suspended organization ends nothing', { ...known, org: { suspended: true } }, NOW, 'good'],
    ['unknown here', { endpoint: undefined, org: undefined }, NOW, 'later'],
    ['unknown for long', { endpoint: undefined, org: undefined }, NOW + MINUTE, 'canceled'],
    ['organization unknown here', { ...known, org: undefined }, NOW + MINUTE - 1, 'later'],
    ['organization gone', { ...known, org: undefined }, NOW + MINUTE, 'canceled'],
    ['known as it was before', older, NOW, 'later'],
    ['known as it was before, off', olderAndOff, NOW + 1, 'later'],
    ['never caught up', older, NOW + MINUTE, 'canceled'],
    ['off', { ...known, endpoint: endpoint({ disabled: true }) }, NOW, 'canceled'],
    ['on again since', { ...known, endpoint: endpoint({ enabled_at: NOW + 1 }) }, NOW, 'canceled'],
    ['waited for a day', known, NOW + 24 * HOUR, 'good'],
    ['waited for more', known, NOW + 24 * HOUR + 1, 'dropped'],
  ]
  for (const [name, addressee, nowMs, expected] of table) {
    assert.equal(checkEligibility(delivery(), addressee, nowMs), expected, name)
  }
  const second = delivery({ attempt: 2 })
  assert.equal(
    checkEligibility(second, known, NOW + 48 * HOUR),
    'good',
    'a repetition is not dropped',
  )
})

test('a response counts only for the endpoint target that it came from', () => {
  assert.ok(isSameEndpointTarget(endpoint(), endpoint({ version: 9, description: 'other' })))
  assert.ok(!isSameEndpointTarget(endpoint(), endpoint({ url: 'https://good.example/fixed' })))
  assert.ok(!isSameEndpointTarget(endpoint(), endpoint({ enabled_at: NOW + 1 })))
  assert.ok(!isSameEndpointTarget(endpoint(), undefined))
})

test('an endpoint action applies to the target that was called, not to one changed since', () => {
  const gone = { kind: 'disable', reason: 'gone' } as const
  const step = applyEndpointAction(endpoint(), gone, NOW + 9)
  const off = step(endpoint({ version: 4 }))
  assert.deepEqual(
    [
      off?.event,
      off?.endpoint?.disabled_reason,
      off?.endpoint?.disabled_at,
      off?.endpoint?.version,
    ],
    ['endpoint.disabled', 'gone', NOW + 9, 5],
  )
  for (const known of [
    ...[undefined, endpoint({ disabled: true }), endpoint({ url: 'https://good.example/fixed' })],
    endpoint({ enabled_at: NOW + 1 }),
  ]) {
    assert.equal(step(known), undefined)
  }
  const clock = (kind: 'start-clock' | 'stop-clock', first_failure_at: number) =>
    applyEndpointAction(endpoint(), { kind }, NOW)(endpoint({ first_failure_at }))?.endpoint
      ?.first_failure_at
  assert.deepEqual([clock('start-clock', 0), clock('start-clock', 5)], [NOW, undefined])
  assert.deepEqual([clock('stop-clock', 5), clock('stop-clock', 0)], [0, undefined])
  assert.equal(applyEndpointAction(endpoint(), { kind: 'none' }, NOW)(endpoint()), undefined)
})

test('a deleted or suspended organization gets no new webhook messages', () => {
  const event = {
    id: 'msg_1',
    channel: 'sol.token.created' as const,
    timeMs: NOW,
    data: {},
    chain: 'sol',
    tokenAddress: 'Mint',
    slot: 1,
    tx: 'tx',
    path: '1',
    commitment: 'confirmed',
  }
  const filterOf = () => () => 'match' as const
  assert.equal(matchEndpoint(endpoint(), event, { org: ORG, filterOf }), 'match')
  assert.equal(matchEndpoint(endpoint(), event, { org: undefined, filterOf }), 'other')
  assert.equal(matchEndpoint(endpoint(), event, { org: { suspended: true }, filterOf }), 'other')
})

/** The next message of a queue, started and recorded. */
const started = (queue: EndpointQueue): QueuedDelivery => {
  const next = queue.next(NOW, { inFlight: 1, perSecond: null })
  assert(next.kind === 'start')
  queue.answered()
  queue.recorded()
  return next.delivery
}

test('a webhook queue orders 100,000 waiting messages within five seconds', () => {
  const queue = new EndpointQueue()
  const startedMs = performance.now()
  for (let index = 0; index < 100_000; index += 1) {
    queue.add({ key: String(index), dueAtMs: (index * 7_919) % 100_003, queuedAtMs: index })
  }
  let lastMs = -1
  while (queue.size > 0) {
    const { dueAtMs } = started(queue)
    assert.ok(dueAtMs >= lastMs)
    lastMs = dueAtMs
  }
  assert.ok(performance.now() - startedMs < 5_000, `${performance.now() - startedMs} ms`)
})

test('webhook messages with the same due time start in order of arrival', () => {
  const queue = new EndpointQueue()
  const keys = Array.from({ length: 50 }, (_, index) => `key${index}`)
  for (const key of keys) queue.add({ key, dueAtMs: 5, queuedAtMs: 5 })
  assert.deepEqual(
    keys.map(() => started(queue).key),
    keys,
  )
})

test('a webhook queue drops what was queued first, not what is due first', () => {
  const queue = new EndpointQueue()
  queue.add({ key: 'new', dueAtMs: NOW, queuedAtMs: NOW })
  queue.add({ key: 'old', dueAtMs: NOW + 2 * HOUR, queuedAtMs: NOW - 3 * HOUR })
  queue.add({ key: 'oldest', dueAtMs: NOW + 5 * HOUR, queuedAtMs: NOW - 9 * HOUR })
  assert.equal(queue.dropOldest()?.key, 'oldest')
  queue.add({ key: 'again', dueAtMs: NOW + HOUR, queuedAtMs: NOW - 4 * HOUR })
  assert.equal(queue.dropOldest()?.key, 'again')
  assert.equal(started(queue).key, 'new')
  assert.deepEqual(
    [queue.size, queue.dropOldest()?.key, queue.dropOldest(), queue.size],
    [1, 'old', undefined, 0],
  )
})

test('a webhook queue with a drop for each of 300,000 new messages keeps the newest, within ten seconds', () => {
  const queue = new EndpointQueue()
  const startedMs = performance.now()
  let dropped = 0
  for (let index = 0; index < 400_000; index += 1) {
    // Each is due at another time than its turn.
    queue.add({ key: String(index), dueAtMs: (index * 7_919) % 100_003, queuedAtMs: index })
    if (queue.size <= 100_000) continue
    assert.equal(queue.dropOldest()?.queuedAtMs, dropped)
    dropped += 1
  }
  assert.deepEqual([queue.size, dropped], [100_000, 300_000])
  const left = queue.clear().map(({ queuedAtMs }) => queuedAtMs)
  assert.deepEqual([left.length, Math.min(...left.slice(0, 1_000)) >= 300_000], [100_000, true])
  assert.equal(queue.dropOldest(), undefined)
  assert.ok(performance.now() - startedMs < 10_000, `${performance.now() - startedMs} ms`)
})

test('a webhook queue that starts and drops by turns loses no message and returns none twice', () => {
  const queue = new EndpointQueue()
  const seen = new Set<string>()
  for (let index = 0; index < 3_000; index += 1) {
    queue.add({ key: String(index), dueAtMs: (index * 31) % 97, queuedAtMs: (index * 17) % 89 })
    if (index % 3 === 1) seen.add(started(queue).key)
    if (index % 3 === 2) seen.add(queue.dropOldest()?.key ?? '')
  }
  assert.deepEqual([queue.size, seen.size], [1_000, 2_000])
  for (const { key } of queue.clear()) seen.add(key)
  assert.equal(seen.size, 3_000)
})

test('a webhook receiver that times out gets one message at a time for a minute', () => {
  const queue = new EndpointQueue()
  for (const key of ['a', 'b', 'c']) queue.add({ key, dueAtMs: 0, queuedAtMs: 0 })
  const pace = { inFlight: 10, perSecond: null }
  queue.markSlow(NOW)
  assert.ok(queue.isSlow(NOW + MINUTE - 1) && !queue.isSlow(NOW + MINUTE))
  assert.equal(queue.next(NOW, pace).kind, 'start')
  assert.equal(queue.next(NOW, pace).kind, 'idle')
  assert.equal(queue.next(NOW + MINUTE, pace).kind, 'start')
})

const hang = (): Promise<never> => new Promise(() => undefined)

test('webhook receivers that hang leave reserved slots for receivers with nothing in flight', async () => {
  const places = createConcurrencyLimiter({ total: 100, reserved: 20, slow: 30 })
  let hanging = 0
  for (let index = 0; index < 400; index += 1) {
    const asker = { endpointId: `hang${index % 10}`, isSlow: false }
    void places.run(asker, () => {
      hanging += 1
      return hang()
    })
  }
  assert.equal(hanging, 80)
  let answered = 0
  for (let index = 0; index < 50; index += 1) {
    await places.run({ endpointId: 'healthy', isSlow: false }, async () => {
      answered += 1
    })
  }
  assert.equal(answered, 50)
})

test('slow webhook receivers share a limited part of the slots, for any number of them', async () => {
  const places = createConcurrencyLimiter({ total: 100, reserved: 20, slow: 30 })
  const ends: (() => void)[] = []
  for (let index = 0; index < 200; index += 1) {
    const work = () => new Promise<void>((resolve) => ends.push(resolve))
    void places.run({ endpointId: `slow${index}`, isSlow: true }, work)
  }
  assert.equal(ends.length, 30)
  const got = await Promise.all(
    Array.from({ length: 200 }, (_, index) =>
      places.run({ endpointId: `healthy${index % 5}`, isSlow: false }, async () => index),
    ),
  )
  assert.equal(got.length, 200)
  ends[0]?.()
  await nextTurn()
  assert.equal(ends.length, 31, 'a place that gets free goes to the next')
})

test('webhook endpoints take turns for slots, and a failed delivery frees its slot', async () => {
  const places = createConcurrencyLimiter({ total: 1, reserved: 0, slow: 1 })
  const order: string[] = []
  const ask = (endpointId: string) =>
    places.run({ endpointId, isSlow: false }, async () => {
      order.push(endpointId)
      await nextTurn()
      throw new Error('lost')
    })
  const all = await Promise.allSettled(['a', 'a', 'a', 'b', 'b', 'c'].map(ask))
  assert.ok(all.every(({ status }) => status === 'rejected'))
  assert.deepEqual(order, ['a', 'a', 'b', 'c', 'a', 'b'])
})

const codec = localCodec()
const FAILED: RetryDecision = { status: 'fail', nextAtMs: null, disable: null, exhausted: true }
const WENT_WELL: RetryDecision = { ...FAILED, status: 'success', exhausted: false }

test('endpoint health is counted from the last enabling, and its rows are deleted with their subject', () => {
  const rows = new Map<string, Uint8Array>()
  const open = () => createEndpointHealth(codec)
  const keep = (changes: ReturnType<ReturnType<typeof open>['expired']>): readonly string[] => {
    for (const { key, value } of changes) {
      if (value) rows.set(key, value)
      else rows.delete(key)
    }
    return changes.map(({ key, value }) => `${value ? 'put' : 'end'} ${key}`)
  }
  const book = open()
  const fail = (at: number, enabled_at = NOW, of = book) => {
    const { health, rows: changes } = of.after(endpoint({ enabled_at }), FAILED, at)
    return [health.failed_attempts, ...keep(changes)]
  }
  assert.deepEqual(keep(book.after(endpoint(), WENT_WELL, NOW).rows), [])
  assert.deepEqual(fail(NOW + 1), [1, 'put ep_1/health'])
  assert.deepEqual(fail(NOW + 2), [2, 'put ep_1/health'], 'also before the first row is durable')
  assert.deepEqual(fail(NOW + 9, NOW + 5), [1, 'put ep_1/health'], 'on again since')
  assert.deepEqual(keep(book.expired(() => endpoint({ enabled_at: NOW + 5 }))), [])

  const [[key = '', bytes = new Uint8Array()] = []] = rows
  const again = open()
  assert.ok(again.load(key, bytes))
  assert.ok(!again.load('ep_1/msg_1', bytes))
  assert.deepEqual(keep(again.expired(() => endpoint({ enabled_at: NOW + 10 }))), [
    'end ep_1/health',
  ])
  assert.deepEqual(keep(again.expired(() => undefined)), [])

  assert.deepEqual(fail(NOW + 20, NOW, again), [1, 'put ep_1/health'])
  assert.deepEqual(
    keep(again.expired(() => undefined)),
    ['end ep_1/health'],
    'the endpoint is gone',
  )
  fail(NOW + 30, NOW, again)
  assert.deepEqual(keep(again.after(endpoint(), WENT_WELL, NOW + 31).rows), ['end ep_1/health'])
})

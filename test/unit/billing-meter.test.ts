import assert from 'node:assert/strict'
import { type mock, test } from 'node:test'
import { Fault } from '../../core/errors.ts'
import { ANONYMOUS_REQUESTS_PER_SECOND, PLANS } from '../../schemas/plans.ts'
import { createMeter } from '../../serving/billing/meter.ts'
import type { Principal } from '../../serving/interfaces.ts'

const principal = (orgId: string, plan: Principal['plan'] = 'free'): Principal => ({
  kind: 'api-key',
  orgId,
  appId: 'app',
  credentialId: 'key',
  plan,
  scopes: [],
  expiresAtMs: null,
})
const units = (unitsPerMonth: number | null) => ({
  ...PLANS,
  free: { requestsPerSecond: 10, unitsPerMonth },
})

const FROZEN = { apis: ['Date', 'setTimeout'], now: Date.UTC(2026, 10, 21) } satisfies Parameters<
  typeof mock.timers.enable
>[0]

test('rate limit: a burst of twice the rate passes, then calls wait for the next second', async (t) => {
  t.mock.timers.enable(FROZEN)
  const meter = createMeter()
  const subject = { principal: principal('org_a') }
  const answers = []
  for (let call = 0; call < 25; call += 1) answers.push(await meter.take(subject))
  assert.equal(answers.filter(({ allowed }) => allowed).length, 20)
  assert.deepEqual(
    answers.slice(0, 3).map(({ remaining }) => remaining),
    [19, 18, 17],
  )
  const last = answers.at(-1)
  assert.equal(last?.allowed, false)
  assert.equal(last?.remaining, 0)
  assert.equal(last?.limit, 10)
  assert.equal(last?.retryAfterSeconds, 1)
  assert.equal(last?.resetAt, FROZEN.now / 1_000 + 2)
  t.mock.timers.tick(1_000)
  const later = []
  for (let call = 0; call < 15; call += 1) later.push((await meter.take(subject)).allowed)
  assert.equal(later.filter(Boolean).length, 10)
  t.mock.timers.tick(10_000)
  assert.equal((await meter.take(subject)).remaining, 19)
})

test('rate limit: organizations and addresses do not share a bucket', async (t) => {
  t.mock.timers.enable(FROZEN)
  const meter = createMeter()
  for (let call = 0; call < 20; call += 1) await meter.take({ principal: principal('org_a') })
  assert.equal((await meter.take({ principal: principal('org_a') })).allowed, false)
  assert.equal((await meter.take({ principal: principal('org_b') })).allowed, true)
  const anonymous = await meter.take({ ip: 'org_a' })
  assert.equal(anonymous.allowed, true)
  assert.equal(anonymous.limit, ANONYMOUS_REQUESTS_PER_SECOND)
})

test('of forty concurrent calls of a quarter unit with one unit left exactly four pass', () => {
  const meter = createMeter({ plans: units(1) })
  const who = principal('org_a')
  const held = Array.from({ length: 40 }, () => {
    try {
      return meter.reserve(who, 250)
    } catch (error) {
      assert.ok(error instanceof Fault)
      assert.equal(error.faultName, 'FORBIDDEN')
      assert.equal(error.details?.reason, 'quota_exhausted')
      return undefined
    }
  }).filter((reservation) => reservation !== undefined)
  assert.equal(held.length, 4)
  held[0]?.release()
  assert.equal(meter.quota(who).remaining, 0.25)
  for (const reservation of held) reservation.settle(250)
  assert.deepEqual(
    { used: meter.quota(who).used, remaining: meter.quota(who).remaining },
    { used: 0.75, remaining: 0.25 },
  )
})

test('a hold is closed once, with its actual cost', () => {
  const meter = createMeter({ plans: units(10) })
  const who = principal('org_a')
  const hold = meter.reserve(who, 9_000)
  assert.equal(meter.quota(who).remaining, 1)
  hold.settle(1_500)
  hold.settle(9_000)
  hold.release()
  assert.equal(meter.quota(who).used, 1.5)
  assert.equal(meter.quota(who).remaining, 8.5)
})

test('the quota month changes in UTC; an open hold stays in its month', () => {
  let nowMs = Date.UTC(2026, 10, 30, 23, 59, 59)
  const meter = createMeter({ plans: units(1), nowMs: () => nowMs })
  const who = principal('org_a')
  const hold = meter.reserve(who, 1_000)
  assert.throws(() => meter.reserve(who, 1))
  assert.equal(meter.quota(who).resetAtMs, Date.UTC(2026, 11, 1))
  nowMs = Date.UTC(2026, 11, 1)
  meter.reserve(who, 1_000).release()
  hold.settle(1_000)
  assert.equal(meter.quota(who).used, 0)
})

test('an unlimited plan has a remaining quota of null', () => {
  const meter = createMeter()
  const who = principal('org_a', 'selfhost')
  meter.reserve(who, 1e15).settle(1e15)
  assert.equal(meter.quota(who).remaining, null)
})

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { localCodec } from '../../core/codec/local-codec.ts'
import { Fault, Outage, RecordTooLarge } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { makeRecordSigner } from '../../core/security/record-signature.ts'
import { PLANS } from '../../schemas/plans.ts'
import { globalTopic } from '../../schemas/topics.ts'
import { createMeter, type QuotaMeter } from '../../serving/billing/meter.ts'
import { openUsageLog, type UsageLog, type UsageLogDeps } from '../../serving/billing/usage-log.ts'
import type { Principal } from '../../serving/interfaces.ts'
import { createPasswordAttempts } from '../../serving/red-packets/password-attempts.ts'
import { openTempBus } from '../support/temp-bus.ts'
import { until } from '../support/until.ts'

const { bus, stop } = await openTempBus()
after(stop)
const clock = { nowMs: Date.UTC(2026, 10, 21) }
const nowMs = (): number => clock.nowMs

const signer = makeRecordSigner('pepper')

const who = (orgId: string): Principal => ({
  kind: 'jwt',
  orgId,
  appId: 'app',
  credentialId: 'jti',
  plan: 'free',
  scopes: [],
  expiresAtMs: null,
})

interface Node extends UsageLog {
  readonly meter: QuotaMeter
}
const open = async (more: Partial<UsageLogDeps> = {}): Promise<Node> => {
  const usage = await openUsageLog({
    bus,
    codec: localCodec(),
    nowMs,
    log: makeSilentLogger(),
    writeEveryMs: 5,
    signer,
    metrics: makeMetrics(),
    ...more,
  })
  const plans = { ...PLANS, free: { requestsPerSecond: 10, unitsPerMonth: 10 } }
  return { ...usage, meter: createMeter({ nowMs, plans, usage: usage.totals }) }
}
const spend = ({ meter }: Node, orgId: string, milliUnits: number, route = 'GET /x'): void =>
  meter.reserve(who(orgId), milliUnits, route).settle(milliUnits)
const usedBy = ({ meter }: Node, orgId: string): number => meter.quota(who(orgId)).used

test('a clean stop writes the charges of every organization, however many', async () => {
  const names = Array.from({ length: 4_500 }, (_, index) => `org_many_${index}`)
  const first = await open({ writeEveryMs: 600_000 })
  for (const name of names) spend(first, name, 1_000)
  await first.stop()
  const second = await open()
  assert.deepEqual(
    names.filter((name) => usedBy(second, name) !== 1),
    [],
  )
  await second.stop()
})

test('usage survives a restart, by route and by day', async () => {
  const first = await open()
  spend(first, 'org_a', 1_500)
  spend(first, 'org_a', 500, 'graphql')
  clock.nowMs += 86_400_000
  spend(first, 'org_a', 250)
  await first.stop()
  const second = await open()
  assert.equal(usedBy(second, 'org_a'), 2.25)
  spend(second, 'org_a', 250)
  const { byRoute, byDay } = second.meter.month('org_a')
  assert.deepEqual(Object.fromEntries(byRoute), {
    'GET /x': { calls: 3, milliUnits: 2_000 },
    graphql: { calls: 1, milliUnits: 500 },
  })
  assert.deepEqual(Object.fromEntries(byDay), {
    [Date.UTC(2026, 10, 21)]: { calls: 2, milliUnits: 2_000 },
    [Date.UTC(2026, 10, 22)]: { calls: 2, milliUnits: 500 },
  })
  await second.stop()
})

test('the last use of an API key is known in other processes and after a restart; what the rate limit refuses does not count', async () => {
  const key: Principal = { ...who('org_key'), kind: 'api-key', credentialId: 'key_used' }
  const [here, there] = [await open(), await open()]
  await here.meter.take({ principal: who('org_key') })
  assert.equal(here.meter.keyLastUsedAtMs('key_used'), undefined)
  const usedAtMs = nowMs()
  await here.meter.take({ principal: key })
  await until(() => there.meter.keyLastUsedAtMs('key_used') === usedAtMs, 'the use, elsewhere')
  clock.nowMs += 86_400_000
  await there.meter.take({ principal: key })
  await until(() => here.meter.keyLastUsedAtMs('key_used') === nowMs(), 'the newer use')
  await here.stop()
  await there.stop()
  const again = await open()
  assert.equal(again.meter.keyLastUsedAtMs('key_used'), nowMs())
  assert.equal(again.meter.keyLastUsedAtMs('jti'), undefined)
  const lastAllowedMs = nowMs()
  clock.nowMs += 1
  let state = await again.meter.take({ principal: key })
  while (state.allowed) state = await again.meter.take({ principal: key })
  const allowed = again.meter.keyLastUsedAtMs('key_used')
  clock.nowMs += 1
  assert.equal((await again.meter.take({ principal: key })).allowed, false)
  assert.equal(again.meter.keyLastUsedAtMs('key_used'), allowed)
  assert.ok(lastAllowedMs < (allowed ?? 0))
  await again.stop()
})

test('processes count together: the quota of one is used up by the other', async () => {
  const [here, there] = [await open(), await open()]
  spend(here, 'org_b', 6_000)
  spend(there, 'org_b', 3_000)
  await until(() => usedBy(here, 'org_b') === 9 && usedBy(there, 'org_b') === 9, 'both totals')
  spend(there, 'org_b', 1_000)
  await until(() => usedBy(here, 'org_b') === 10, 'the last unit')
  assert.throws(
    () => spend(here, 'org_b', 1),
    (error) => error instanceof Fault && error.details?.reason === 'quota_exhausted',
  )
  here.meter.reserve(who('org_b'), 0).settle(0)
  await here.stop()
  await there.stop()
})

test('compaction of the usage topic leaves one record per organization, day and process', async () => {
  const node = await open()
  const topic = globalTopic('usageEvents')
  for (let call = 1; call <= 4; call += 1) {
    spend(node, 'org_c', 10)
    await until(async () => {
      const probe = await open()
      const seen = usedBy(probe, 'org_c')
      await probe.stop()
      return seen === call / 100
    }, 'the charge on the topic')
  }
  await node.stop()
  await bus.sweep(clock.nowMs)
  let records = 0
  for await (const { key } of bus.read(topic, 0, 0)) if (key.startsWith('org_c/')) records += 1
  assert.equal(records, 1)
})

test('charges that cannot be written are kept, and written once the log answers', async () => {
  let answers = false
  const node = await open({
    bus: {
      ...bus,
      writer: (id) => (answers ? bus.writer(id) : Promise.reject(new Outage('bus', 'away'))),
    },
  })
  const other = await open()
  spend(node, 'org_d', 1_000)
  spend(node, 'org_d', 1_000)
  answers = true
  await until(() => usedBy(other, 'org_d') === 2, 'both charges elsewhere')
  await node.stop()
  await other.stop()
})

test('a record that the log refuses for its size holds up no other: it alone is left out, and counted', async () => {
  const metrics = makeMetrics()
  let refused = 0
  const node = await open({
    metrics,
    bus: {
      ...bus,
      writer: async (id) => {
        const writer = await bus.writer(id)
        return {
          ...writer,
          commit: (commit) => {
            const isLarge = commit.records?.some(({ value }) => (value?.byteLength ?? 0) > 4_096)
            if (!isLarge) return writer.commit(commit)
            refused += 1
            return Promise.reject(new RecordTooLarge('MESSAGE_TOO_LARGE'))
          },
        }
      },
    },
    writeEveryMs: 600_000,
  })
  const other = await open()
  for (let nth = 0; nth < 500; nth += 1) spend(node, 'org_large', 1, `GET /${nth}/0123456789`)
  for (let nth = 0; nth < 20; nth += 1) spend(node, `org_small_${nth}`, 1_000)
  await node.stop()
  await until(() => usedBy(other, 'org_small_19') === 1, 'the charges of the others')
  for (let nth = 0; nth < 20; nth += 1) assert.equal(usedBy(other, `org_small_${nth}`), 1)
  assert.equal(usedBy(other, 'org_large'), 0)
  assert.equal(usedBy(node, 'org_large'), 0.5, 'counted in its own process')
  assert.equal(refused, 2, 'all together, and the large one alone')
  assert.deepEqual((await metrics.eventsDropped.get()).values, [
    { labels: { stage: 'usage', reason: 'too-large' }, value: 1 },
  ])
  await other.stop()
})

test('a new month starts with zero usage; a hold from before counts in the old month', async () => {
  const node = await open()
  clock.nowMs = Date.UTC(2026, 10, 30, 23, 59, 59)
  const hold = node.meter.reserve(who('org_e'), 4_000, 'late')
  clock.nowMs = Date.UTC(2026, 11, 1)
  hold.settle(4_000)
  assert.equal(usedBy(node, 'org_e'), 0)
  assert.equal(node.meter.month('org_e').byDay.size, 0)
  await node.stop()
  const next = await open()
  assert.equal(usedBy(next, 'org_e'), 0)
  clock.nowMs = Date.UTC(2026, 10, 30, 23, 59, 59)
  await next.stop()
  const back = await open()
  assert.equal(usedBy(back, 'org_e'), 4)
  await back.stop()
})

test('a record that cannot be read is left out', async () => {
  const writer = await bus.writer('vandal')
  const topic = globalTopic('usageEvents')
  await writer.commit({
    records: [signer.sign({ topic, partition: 0, key: 'bad', value: Buffer.from('not avro') })],
  })
  await writer.close()
  const node = await open()
  assert.equal(usedBy(node, 'org_a') > 0, true)
  await node.stop()
})

/** Seconds after which each process knows what the others let pass; the report interval in this test. */
const REPORT_SECONDS = 1
const RATE = 10
const BURST = 20

/** Asks `perStep` times at each node, ten times a second; between seconds every node learns of the others' requests. */
const flood = async (
  nodes: readonly Node[],
  orgId: string,
  { seconds, perStep }: { readonly seconds: number; readonly perStep: number },
): Promise<readonly number[]> => {
  const known = nodes.map(() => 0)
  nodes.forEach(({ totals }, index) => {
    totals.onRequests((org, more) => {
      if (org === orgId) known[index] = (known[index] ?? 0) + more
    })
  })
  const passed = nodes.map(() => 0)
  for (let second = 0; second < seconds; second += 1) {
    for (let step = 0; step < 10; step += 1) {
      clock.nowMs += 100
      for (const [index, { meter }] of nodes.entries()) {
        for (let call = 0; call < perStep; call += 1) {
          if ((await meter.take({ principal: who(orgId) })).allowed) {
            passed[index] = (passed[index] ?? 0) + 1
          }
        }
      }
    }
    const total = passed.reduce((sum, one) => sum + one, 0)
    await until(() => known.every((others, at) => others === total - (passed[at] ?? 0)), 'reports')
  }
  return passed
}

test('processes limit the rate together: no more than the stated error beyond it', async () => {
  const nodes = [await open(), await open()]
  const seconds = 30
  const passed = await flood(nodes, 'org_f', { seconds, perStep: 4 })
  const total = passed.reduce((sum, one) => sum + one, 0)
  const error = (nodes.length - 1) * (BURST + RATE * REPORT_SECONDS)
  assert.ok(total <= RATE * seconds + BURST + error, `${passed} passed in ${seconds} s`)
  assert.ok(total >= 0.9 * RATE * seconds, `${passed} passed in ${seconds} s`)
  for (const node of nodes) await node.stop()
})

test('calls below the rate of the organization, over all processes, are never refused', async () => {
  const nodes = [await open(), await open(), await open()]
  let refused = 0
  for (let second = 0; second < 10; second += 1) {
    for (let call = 0; call < RATE; call += 1) {
      clock.nowMs += 100
      const node = nodes[call % nodes.length]
      const state = await node?.meter.take({ principal: who('org_g') })
      if (state?.allowed !== true) refused += 1
    }
    await until(() => {
      const left = nodes.map(({ meter }) => meter.rate(who('org_g')).remaining)
      return left.every((one) => one <= BURST - RATE / nodes.length)
    }, 'reports')
  }
  assert.equal(refused, 0)
  for (const node of nodes) await node.stop()
})

test('requests before the start cost nothing; after a late report the next request is allowed within 31 s', async () => {
  const first = await open()
  await flood([first], 'org_h', { seconds: 2, perStep: 4 })
  await first.stop()
  const second = await open()
  const whole = await second.meter.take({ principal: who('org_h') })
  assert.equal(whole.remaining, BURST - 1)
  const late = { org_id: 'org_h', node: 'far', day: clock.nowMs - (clock.nowMs % 86_400_000) }
  const report = {
    ...late,
    lines: [],
    requests: 1e9,
    updated_at: clock.nowMs,
    version: 1,
    key_uses: [],
  }
  second.totals.applyRecord(report)
  const { allowed, retryAfterSeconds } = await second.meter.take({ principal: who('org_h') })
  assert.equal(allowed, false)
  assert.ok(retryAfterSeconds <= 31, `${retryAfterSeconds} s`)
  clock.nowMs += retryAfterSeconds * 1_000
  assert.equal((await second.meter.take({ principal: who('org_h') })).allowed, true)
  await second.stop()
})

test('two processes overshoot a quota at most by what each spends between two reports', async () => {
  const nodes = [await open({ writeEveryMs: 600_000 }), await open({ writeEveryMs: 600_000 })]
  const passed = nodes.map((node) => {
    let calls = 0
    try {
      for (;;) {
        spend(node, 'org_i', 1_000)
        calls += 1
      }
    } catch (error) {
      assert.ok(error instanceof Fault && error.details?.reason === 'quota_exhausted')
    }
    return calls
  })
  // Nothing was reported yet: each spends the whole quota of ten once, and no more.
  assert.deepEqual(passed, [10, 10])
  await nodes[0]?.stop()
  await until(() => nodes[1] !== undefined && usedBy(nodes[1], 'org_i') === 20, 'the report')
  await nodes[1]?.stop()
})

test('processes limit the wrong passwords of a red packet together: what passed before they knew of each other is waited for', async () => {
  const nodes = [await open(), await open(), await open()]
  const known = nodes.map(() => 0)
  nodes.forEach(({ totals }, index) => {
    totals.onRequests((key, more) => {
      if (key === 'packet eth 0x01') known[index] = (known[index] ?? 0) + more
    })
  })
  const limits = nodes.map(({ meter }) => createPasswordAttempts(nowMs, meter.counts))
  const passed = nodes.map(() => 0)
  let caller = 0
  const guess = async (index: number): Promise<boolean> => {
    try {
      await limits[index]?.attempt(
        { packet: 'eth 0x01', callers: [`org ${caller++}`] },
        async () => false,
      )
      passed[index] = (passed[index] ?? 0) + 1
      return true
    } catch (error) {
      assert.ok(error instanceof Fault && error.faultName === 'RATE_LIMIT')
      return false
    }
  }
  const told = (): Promise<unknown> => {
    const total = passed.reduce((sum, one) => sum + one, 0)
    return until(() => known.every((others, at) => others === total - (passed[at] ?? 0)), 'reports')
  }
  for (let nth = 0; nth < 40; nth += 1) assert.equal(await guess(0), true)
  await told()
  // The second process has seen no attempt of its own, and has the rest of the first one's.
  for (let nth = 0; nth < 20; nth += 1) assert.equal(await guess(1), true)
  await told()
  assert.deepEqual(await Promise.all(nodes.map((_, index) => guess(index))), [false, false, false])
  clock.nowMs += 600_000
  // All at once: each lets a minute's attempts pass, and all of them are closed until that is made up for.
  for (let nth = 0; nth < 80; nth += 1) {
    for (const index of nodes.keys()) await guess(index)
  }
  assert.deepEqual(passed, [100, 80, 60])
  await told()
  clock.nowMs += 120_000
  assert.deepEqual(await Promise.all(nodes.map((_, index) => guess(index))), [false, false, false])
  clock.nowMs += 1_000
  assert.equal(await guess(2), true)
  await told()
  assert.deepEqual(await Promise.all(nodes.map((_, index) => guess(index))), [false, false, false])
  for (const node of nodes) await node.stop()
})

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Bus } from '../../core/bus/contract.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { loadConfig } from '../../core/config/load.ts'
import { Fault, Outage } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { makeRecordSigner } from '../../core/security/record-signature.ts'
import { globalTopic } from '../../schemas/topics.ts'
import { generateApiKey } from '../../serving/auth/api-keys.ts'
import {
  createOrganizations,
  type Organizations,
  type OrganizationsDeps,
} from '../../serving/auth/organizations.ts'
import type { Principal } from '../../serving/interfaces.ts'
import { openTempBus } from '../support/temp-bus.ts'
import { until } from '../support/until.ts'

const { bus, stop } = await openTempBus()
after(stop)
const signer = makeRecordSigner('pepper')
const clock = { nowMs: Date.UTC(2026, 10, 21) }
const open = (overrides: Partial<OrganizationsDeps> = {}): Promise<Organizations> =>
  createOrganizations({
    bus,
    codec: localCodec(),
    config: loadConfig({ KEY_PEPPER: 'pepper' }),
    authUrl: () => 'https://auth.test',
    nowMs: () => clock.nowMs,
    log: makeSilentLogger(),
    metrics: makeMetrics(),
    ...overrides,
  })

const nameOf = ({ guard }: Organizations, apiKey: string): string => {
  const answer = guard.authenticate({ apiKey })
  if (answer === undefined) return 'nothing'
  return answer instanceof Fault ? answer.faultName : answer.credentialId
}

const principalOf = ({ guard }: Organizations, apiKey: string): Partial<Principal> => {
  const answer = guard.authenticate({ apiKey })
  return answer === undefined || answer instanceof Fault ? {} : answer
}

test('a key works when its call returns, here and after a restart, and is stored hashed', async () => {
  const organizations = await open()
  const made = await organizations.createKey({ name: 'one', plan: 'pro', scopes: ['kyt.read'] })
  assert.match(made.apiKey, /^sluice_live_[0-9A-Za-z]{38}$/)
  assert.deepEqual(organizations.guard.authenticate({ apiKey: made.apiKey }), {
    kind: 'api-key',
    orgId: made.orgId,
    appId: made.appId,
    credentialId: made.keyId,
    plan: 'pro',
    scopes: ['kyt.read'],
    expiresAtMs: null,
  })
  await organizations.stop()

  const again = await open()
  assert.equal(nameOf(again, made.apiKey), made.keyId)
  await again.stop()
  const peppered = await open({ config: loadConfig({ KEY_PEPPER: 'another' }) })
  assert.equal(nameOf(peppered, made.apiKey), 'UNAUTHORIZED')
  await peppered.stop()

  for (const topic of ['controlOrgs', 'controlApplications', 'controlApiKeys'] as const) {
    for await (const record of bus.read(globalTopic(topic), 0, 0)) {
      assert.ok(!Buffer.from(record.value ?? []).includes(made.apiKey.slice(12)))
    }
  }
})

test('a revoked key is rejected when the call returns, on every instance, and revocation listeners are called', async () => {
  const [here, there] = [await open(), await open()]
  const made = await here.createKey({ name: 'two' })
  await until(() => nameOf(there, made.apiKey) === made.keyId, 'the other instance')
  const heard: unknown[] = []
  const unlisten = there.guard.onRevoked((gone) => heard.push(gone))
  await here.revokeKey(made.keyId)
  assert.equal(nameOf(here, made.apiKey), 'UNAUTHORIZED')
  await until(() => nameOf(there, made.apiKey) === 'UNAUTHORIZED', 'revocation elsewhere')
  assert.deepEqual(heard, [{ appId: made.appId, credentialId: made.keyId }])
  unlisten()
  await assert.rejects(here.revokeKey(made.keyId), (error) => error instanceof Fault)
  await here.stop()
  await there.stop()
})

test('two instances write in turns: the newest writer fences the other, which takes its writer id back', async () => {
  const [here, there] = [await open(), await open()]
  for (const organizations of [here, there, here, there]) {
    const made = await organizations.createKey({ name: 'turn' })
    assert.equal(nameOf(organizations, made.apiKey), made.keyId)
  }
  await here.stop()
  await there.stop()
})

test('expiry is checked on each call', async () => {
  const organizations = await open()
  const made = await organizations.createKey({ name: 'three', expiresAtMs: clock.nowMs + 1_000 })
  assert.equal(nameOf(organizations, made.apiKey), made.keyId)
  clock.nowMs += 1_000
  assert.equal(nameOf(organizations, made.apiKey), 'UNAUTHORIZED')
  await organizations.stop()
})

test('suspension is 403 and closes everything of the organization; it can be undone', async () => {
  const organizations = await open()
  const made = await organizations.createKey({ name: 'four' })
  const heard: unknown[] = []
  organizations.guard.onRevoked((gone) => heard.push(gone))
  await organizations.setSuspended(made.orgId, true)
  assert.equal(nameOf(organizations, made.apiKey), 'FORBIDDEN')
  assert.deepEqual(heard, [{ appId: made.appId }])
  await organizations.setSuspended(made.orgId, false)
  assert.equal(nameOf(organizations, made.apiKey), made.keyId)
  await organizations.stop()
})

test('a disabled or deleted application takes its keys with it', async () => {
  const organizations = await open()
  const made = await organizations.createKey({ name: 'five' })
  const topic = globalTopic('controlApplications')
  let clientId = ''
  for await (const record of bus.read(topic, 0, 0)) {
    const value = record.value && localCodec().decode('control.Application', record.value)
    if (value?.app_id === made.appId) clientId = record.key
  }
  const heard: unknown[] = []
  organizations.guard.onRevoked((gone) => heard.push(gone))
  const writer = await bus.writer('admin')
  const gone = signer.sign({ topic, partition: 0, key: clientId, value: null })
  await writer.commit({ records: [gone] })
  await until(() => nameOf(organizations, made.apiKey) === 'UNAUTHORIZED', 'the deletion')
  assert.deepEqual(heard, [{ appId: made.appId }])
  await writer.close()
  await organizations.stop()
})

test('the demo credentials are kept while they are valid', async () => {
  const organizations = await open()
  const first = await organizations.createDemo()
  assert.deepEqual(await organizations.createDemo(first), first)
  const withoutSecret = await organizations.createDemo({ apiKey: first.apiKey })
  assert.equal(withoutSecret.clientId, first.clientId)
  assert.notEqual(withoutSecret.clientSecret, first.clientSecret)
  const { credentialId = '' } = principalOf(organizations, first.apiKey)
  await organizations.revokeKey(credentialId)
  assert.notEqual((await organizations.createDemo(first)).apiKey, first.apiKey)
  const strange = { ...first, apiKey: generateApiKey('sluice', 'live') }
  assert.notEqual((await organizations.createDemo(strange)).apiKey, first.apiKey)
  await organizations.stop()
})

test('an undecodable control record is skipped, the others are applied', async () => {
  const writer = await bus.writer('vandal')
  const topic = globalTopic('controlApiKeys')
  await writer.commit({
    records: [signer.sign({ topic, partition: 0, key: 'key_bad', value: Buffer.from('not avro') })],
  })
  await writer.close()
  const organizations = await open()
  const made = await organizations.createKey({ name: 'six' })
  assert.equal(nameOf(organizations, made.apiKey), made.keyId)
  await organizations.stop()
})

test('a stale account map refuses every key with DATABASE_ERROR', async () => {
  const organizations = await open()
  const made = await organizations.createKey({ name: 'seven' })
  assert.equal(organizations.check.run().ok, true)
  clock.nowMs += 30_001
  assert.equal(nameOf(organizations, made.apiKey), 'DATABASE_ERROR')
  assert.equal(organizations.check.run().ok, false)
  assert.equal(nameOf(organizations, 'nonsense'), 'UNAUTHORIZED')
  await organizations.stop()
})

test('account maps are fresh again once the log answers', async () => {
  let answers = false
  const organizations = await open({
    bus: {
      ...bus,
      ends: (topic) => (answers ? bus.ends(topic) : Promise.reject(new Outage('bus', 'away'))),
    },
    checkEveryMs: 5,
  })
  const made = await organizations.createKey({ name: 'eight' })
  clock.nowMs += 30_001
  assert.equal(nameOf(organizations, made.apiKey), 'DATABASE_ERROR')
  answers = true
  await until(() => nameOf(organizations, made.apiKey) === made.keyId, 'a comparison')
  await organizations.stop()
})

test('an account map whose tail delivers no records is detected as stale', async () => {
  let silent = false
  let checks = 0
  const organizations = await open({
    bus: {
      ...bus,
      ends: (topic) => {
        checks += 1
        return bus.ends(topic)
      },
      tail: (tail) =>
        bus.tail({
          ...tail,
          onRecords: (records) => (silent ? undefined : tail.onRecords(records)),
        }),
    },
    checkEveryMs: 5,
  })
  const other = await open()
  const made = await other.createKey({ name: 'nine' })
  await until(() => nameOf(organizations, made.apiKey) === made.keyId, 'the key')
  silent = true
  for (const name of ['ten', 'eleven', 'twelve']) await other.createKey({ name })
  clock.nowMs += 30_001
  const before = checks
  await until(() => checks > before, 'the check after the one under way')
  assert.equal(organizations.check.run().ok, false)
  await other.stop()
  await organizations.stop()
})

test('a failed commit of an account is retried; one that always fails is an Outage', async () => {
  let failures = 2
  const flaky: Bus = {
    ...bus,
    writer: async (id) => {
      const writer = await bus.writer(id)
      return {
        id: writer.id,
        close: () => writer.close(),
        commit: (commit) =>
          failures-- > 0
            ? Promise.reject(new Outage('bus', 'not answered'))
            : writer.commit(commit),
      }
    },
  }
  const organizations = await open({ bus: flaky })
  const made = await organizations.createKey({ name: 'thirteen' })
  assert.equal(nameOf(organizations, made.apiKey), made.keyId)
  failures = Number.POSITIVE_INFINITY
  await assert.rejects(organizations.createKey({ name: 'x' }), (error) => error instanceof Outage)
  failures = 0
  await organizations.createKey({ name: 'fourteen' })
  await organizations.stop()
})

test('account calls of an organization queue in turn with those of others, up to a limit', async () => {
  const organizations = await open()
  const by = { actor: 'key', address: '', requestId: '' }
  const [busy, other] = await Promise.all(
    ['busy', 'other'].map((name) =>
      organizations.admin.createApplication({ name, plan: 'selfhost' }),
    ),
  )
  assert.ok(busy && other)
  const order: string[] = []
  const createKey = async ({ orgId, appId }: typeof busy, name: string): Promise<void> => {
    await organizations.adminAs(by, orgId).createKey(appId, { scopes: ['kyt.read'] })
    order.push(name)
  }
  const many = Array.from({ length: 40 }, () => createKey(busy, 'busy'))
  const one = createKey(other, 'other')
  const refused = (await Promise.allSettled(many)).flatMap((result) =>
    result.status === 'rejected' ? [result.reason] : [],
  )
  await one
  assert.equal(refused.length, 40 - 17)
  for (const reason of refused)
    assert.ok(reason instanceof Fault && reason.faultName === 'CONCURRENCY_LIMIT')
  assert.ok(order.indexOf('other') <= 2, order.join())
  await organizations.stop()
})

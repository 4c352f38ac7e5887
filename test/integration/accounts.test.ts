import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Bus } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { topicSpecs } from '../../core/bus/topic-specs.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { loadConfig } from '../../core/config/load.ts'
import { Fault, Outage } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { makeRecordSigner } from '../../core/security/record-signature.ts'
import { globalTopic } from '../../schemas/topics.ts'
import { type Accounts, type AccountsDeps, createAccounts } from '../../serving/auth/accounts.ts'
import { generateApiKey } from '../../serving/auth/api-keys.ts'
import type { Principal } from '../../serving/interfaces.ts'
import { until } from '../support/until.ts'

let bus: Bus
let folder: string
const signer = makeRecordSigner('pepper')
const clock = { nowMs: Date.UTC(2026, 10, 21) }
const open = (overrides: Partial<AccountsDeps> = {}): Promise<Accounts> =>
  createAccounts({
    bus,
    codec: localCodec(),
    config: loadConfig({ KEY_PEPPER: 'pepper' }),
    authUrl: () => 'https://auth.test',
    nowMs: () => clock.nowMs,
    log: makeSilentLogger(),
    metrics: makeMetrics(),
    ...overrides,
  })

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-accounts-'))
  bus = await openEmbeddedBus({
    path: folder,
    mapSizeBytes: 64 << 20,
    log: makeSilentLogger(),
    retention: 'off',
  })
  await bus.createTopics(topicSpecs({ chains: [], partitions: 1, retention: 'off' }))
})
after(async () => {
  await bus.close()
  rmSync(folder, { recursive: true, force: true })
})

const nameOf = ({ guard }: Accounts, apiKey: string): string => {
  const answer = guard.authenticate({ apiKey })
  if (answer === undefined) return 'nothing'
  return answer instanceof Fault ? answer.faultName : answer.credentialId
}

const principalOf = ({ guard }: Accounts, apiKey: string): Partial<Principal> => {
  const answer = guard.authenticate({ apiKey })
  return answer === undefined || answer instanceof Fault ? {} : answer
}

test('a key works when its call returns, here and after a restart, and is stored hashed', async () => {
  const accounts = await open()
  const made = await accounts.createKey({ name: 'one', plan: 'pro', scopes: ['kyt.read'] })
  assert.match(made.apiKey, /^sluice_live_[0-9A-Za-z]{38}$/)
  assert.deepEqual(accounts.guard.authenticate({ apiKey: made.apiKey }), {
    kind: 'api-key',
    orgId: made.orgId,
    appId: made.appId,
    credentialId: made.keyId,
    plan: 'pro',
    scopes: ['kyt.read'],
    expiresAtMs: null,
  })
  await accounts.stop()

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

test('a revoked key is dead when the call returns, on every instance, and listeners hear of it', async () => {
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

test('two instances write in turns: the newest writer fences the other, which takes the id back', async () => {
  const [here, there] = [await open(), await open()]
  for (const accounts of [here, there, here, there]) {
    const made = await accounts.createKey({ name: 'turn' })
    assert.equal(nameOf(accounts, made.apiKey), made.keyId)
  }
  await here.stop()
  await there.stop()
})

test('expiry is checked on each call', async () => {
  const accounts = await open()
  const made = await accounts.createKey({ name: 'three', expiresAtMs: clock.nowMs + 1_000 })
  assert.equal(nameOf(accounts, made.apiKey), made.keyId)
  clock.nowMs += 1_000
  assert.equal(nameOf(accounts, made.apiKey), 'UNAUTHORIZED')
  await accounts.stop()
})

test('suspension is 403 and closes everything of the organization; it can be undone', async () => {
  const accounts = await open()
  const made = await accounts.createKey({ name: 'four' })
  const heard: unknown[] = []
  accounts.guard.onRevoked((gone) => heard.push(gone))
  await accounts.setSuspended(made.orgId, true)
  assert.equal(nameOf(accounts, made.apiKey), 'FORBIDDEN')
  assert.deepEqual(heard, [{ appId: made.appId }])
  await accounts.setSuspended(made.orgId, false)
  assert.equal(nameOf(accounts, made.apiKey), made.keyId)
  await accounts.stop()
})

test('a disabled or deleted application takes its keys with it', async () => {
  const accounts = await open()
  const made = await accounts.createKey({ name: 'five' })
  const topic = globalTopic('controlApplications')
  let clientId = ''
  for await (const record of bus.read(topic, 0, 0)) {
    const value = record.value && localCodec().decode('control.Application', record.value)
    if (value?.app_id === made.appId) clientId = record.key
  }
  const heard: unknown[] = []
  accounts.guard.onRevoked((gone) => heard.push(gone))
  const writer = await bus.writer('admin')
  const gone = signer.sign({ topic, partition: 0, key: clientId, value: null })
  await writer.commit({ records: [gone] })
  await until(() => nameOf(accounts, made.apiKey) === 'UNAUTHORIZED', 'the deletion')
  assert.deepEqual(heard, [{ appId: made.appId }])
  await writer.close()
  await accounts.stop()
})

test('the demo credentials are kept while they are good', async () => {
  const accounts = await open()
  const first = await accounts.createDemo()
  assert.deepEqual(await accounts.createDemo(first), first)
  const withoutSecret = await accounts.createDemo({ apiKey: first.apiKey })
  assert.equal(withoutSecret.clientId, first.clientId)
  assert.notEqual(withoutSecret.clientSecret, first.clientSecret)
  const { credentialId = '' } = principalOf(accounts, first.apiKey)
  await accounts.revokeKey(credentialId)
  assert.notEqual((await accounts.createDemo(first)).apiKey, first.apiKey)
  const strange = { ...first, apiKey: generateApiKey('sluice', 'live') }
  assert.notEqual((await accounts.createDemo(strange)).apiKey, first.apiKey)
  await accounts.stop()
})

test('a record that cannot be read is left out, the others count', async () => {
  const writer = await bus.writer('vandal')
  const topic = globalTopic('controlApiKeys')
  await writer.commit({
    records: [signer.sign({ topic, partition: 0, key: 'key_bad', value: Buffer.from('not avro') })],
  })
  await writer.close()
  const accounts = await open()
  const made = await accounts.createKey({ name: 'six' })
  assert.equal(nameOf(accounts, made.apiKey), made.keyId)
  await accounts.stop()
})

test('a stale account map refuses every key with DATABASE_ERROR', async () => {
  const accounts = await open()
  const made = await accounts.createKey({ name: 'seven' })
  assert.equal(accounts.check.run().ok, true)
  clock.nowMs += 30_001
  assert.equal(nameOf(accounts, made.apiKey), 'DATABASE_ERROR')
  assert.equal(accounts.check.run().ok, false)
  assert.equal(nameOf(accounts, 'nonsense'), 'UNAUTHORIZED')
  await accounts.stop()
})

test('the maps are fresh again once the log answers', async () => {
  let answers = false
  const accounts = await open({
    bus: {
      ...bus,
      ends: (topic) => (answers ? bus.ends(topic) : Promise.reject(new Outage('bus', 'away'))),
    },
    checkEveryMs: 5,
  })
  const made = await accounts.createKey({ name: 'eight' })
  clock.nowMs += 30_001
  assert.equal(nameOf(accounts, made.apiKey), 'DATABASE_ERROR')
  answers = true
  await until(() => nameOf(accounts, made.apiKey) === made.keyId, 'a comparison')
  await accounts.stop()
})

test('a tail that fell silent is noticed, because nothing that is written comes back', async () => {
  let silent = false
  let checks = 0
  const accounts = await open({
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
  await until(() => nameOf(accounts, made.apiKey) === made.keyId, 'the key')
  silent = true
  for (const name of ['ten', 'eleven', 'twelve']) await other.createKey({ name })
  clock.nowMs += 30_001
  const before = checks
  await until(() => checks > before, 'the check after the one under way')
  assert.equal(accounts.check.run().ok, false)
  await other.stop()
  await accounts.stop()
})

test('a commit that is not answered is made again; one that never is, is an outage', async () => {
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
  const accounts = await open({ bus: flaky })
  const made = await accounts.createKey({ name: 'thirteen' })
  assert.equal(nameOf(accounts, made.apiKey), made.keyId)
  failures = Number.POSITIVE_INFINITY
  await assert.rejects(accounts.createKey({ name: 'x' }), (error) => error instanceof Outage)
  failures = 0
  await accounts.createKey({ name: 'fourteen' })
  await accounts.stop()
})

test('the own calls of an organization wait in turn with those of others, and so many of them', async () => {
  const accounts = await open()
  const by = { actor: 'key', address: '', requestId: '' }
  const [busy, other] = await Promise.all(
    ['busy', 'other'].map((name) => accounts.admin.createApplication({ name, plan: 'selfhost' })),
  )
  assert.ok(busy && other)
  const order: string[] = []
  const createKey = async ({ orgId, appId }: typeof busy, name: string): Promise<void> => {
    await accounts.adminAs(by, orgId).createKey(appId, { scopes: ['kyt.read'] })
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
  await accounts.stop()
})

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Bus, ProducerRecord } from '../../core/bus/contract.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { loadConfig } from '../../core/config/load.ts'
import { Fault, Outage } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { makeRecordSigner } from '../../core/security/record-signature.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type { Payment } from '../../schemas/wire.ts'
import { openControlLog } from '../../serving/auth/control-log.ts'
import { createOrganizations } from '../../serving/auth/organizations.ts'
import { openPaymentLog } from '../../serving/payments/payment-log.ts'
import { createWebhookContext } from '../../serving/webhooks/context.ts'
import type { Owner } from '../../serving/webhooks/endpoint-api.ts'
import { sendExample, startTask } from '../../serving/webhooks/task-api.ts'
import { type FailedCommit, failCommits } from '../support/lost-answers.ts'
import { openTempBus } from '../support/temp-bus.ts'

const { bus, stop } = await openTempBus()
const codec = localCodec()
const config = loadConfig({}, { keyPepper: 'pepper' })
const shared = { codec, config, log: makeSilentLogger(), nowMs: Date.now, metrics: makeMetrics() }
const signer = makeRecordSigner('pepper')
const failing = failCommits(bus)

const webhooks = await createWebhookContext({
  ...shared,
  bus: failing.bus,
  resolve: async () => ['93.184.216.34'],
})
const openAccounts = (on: Bus) =>
  createOrganizations({ ...shared, bus: on, authUrl: () => 'https://auth.test' })
const accounts = await openAccounts(failing.bus)
const payments = await openPaymentLog({ ...shared, signer, bus: failing.bus })
after(async () => {
  for (const each of [webhooks, accounts, payments]) await each.stop()
  await stop()
})

const LOST: FailedCommit = { isWritten: true }
const NOT_WRITTEN: FailedCommit = { isWritten: false }
/** Failures in front of the answer: what comes of the call must be the same behind each of them. */
const FAILURES: readonly (readonly [name: string, commits: readonly FailedCommit[]])[] = [
  ['a commit whose answer was lost', [LOST]],
  ['a commit that was not written', [NOT_WRITTEN]],
  [
    'two commits that were not written and one whose answer was lost',
    [NOT_WRITTEN, NOT_WRITTEN, LOST],
  ],
]

/** Runs the work while its commits fail; all of the failures must have been met. */
const during = async <T>(failures: readonly FailedCommit[], work: () => Promise<T>): Promise<T> => {
  failing.failNext(...failures)
  const result = await work()
  assert.equal(failing.left(), 0)
  return result
}

const recordsOf = async (topic: string, key?: string): Promise<number> => {
  let found = 0
  for (let partition = 0; partition < (await bus.partitions(topic)); partition += 1) {
    for await (const record of bus.read(topic, partition, 0)) {
      if (record.key !== 'noop' && (key === undefined || record.key === key)) found += 1
    }
  }
  return found
}

const ENDPOINTS = globalTopic('controlWebhooks')
const ownerOf = (orgId: string): Owner => ({ orgId, appId: 'app', plan: 'free' })
let owners = 0
/** A new organization with an endpoint. */
const newEndpoint = async () => {
  owners += 1
  const owner = ownerOf(`org_${owners}`)
  const { body } = await webhooks.endpoints.create(owner, { url: 'https://receiver.example.com/' })
  return { owner, id: body.id }
}

for (const [name, failures] of FAILURES) {
  test(`an endpoint is made once behind ${name}`, async () => {
    const owner = ownerOf(`org_create_${name}`)
    const body = { url: 'https://receiver.example.com/', uid: 'mine' }
    const made = await during(failures, () => webhooks.endpoints.create(owner, body, 'create-key'))
    assert.equal(made.replayed, false)
    assert.deepEqual(
      webhooks.store.ofOrg(owner.orgId).map(({ endpoint_id }) => endpoint_id),
      [made.body.id],
    )
    assert.equal(await recordsOf(ENDPOINTS, made.body.id), 1)
  })

  test(`an endpoint is changed from the version that the caller has read behind ${name}`, async () => {
    const { owner, id } = await newEndpoint()
    const change = { version: 1, description: 'changed' }
    const changed = await during(failures, () => webhooks.endpoints.update(owner, id, change))
    assert.deepEqual([changed.version, changed.description], [2, 'changed'])
    assert.equal(await recordsOf(ENDPOINTS, id), 2)
    const stale = webhooks.endpoints.update(owner, id, change)
    await assert.rejects(stale, (error) => error instanceof Fault && error.faultName === 'CONFLICT')
  })

  test(`an endpoint is deleted behind ${name}`, async () => {
    const { owner, id } = await newEndpoint()
    await during(failures, () => webhooks.endpoints.remove(owner, id))
    assert.equal(webhooks.store.get(id), undefined)
    assert.equal(await recordsOf(ENDPOINTS, id), 2)
    await assert.rejects(webhooks.endpoints.remove(owner, id), Fault)
  })

  test(`a secret is rotated once behind ${name}`, async () => {
    const { owner, id } = await newEndpoint()
    const before = webhooks.endpoints.secret(owner, id)
    await during(failures, () => webhooks.endpoints.rotate(owner, id, {}))
    assert.notEqual(webhooks.endpoints.secret(owner, id), before)
    const { secrets, version } = webhooks.endpoints.read(owner, id)
    assert.deepEqual([secrets.length, version], [2, 2])
  })

  test(`a recovery answers its own task behind ${name}`, async () => {
    const { id } = await newEndpoint()
    const recover = () =>
      startTask({ ...shared, store: webhooks.store }, id, {
        kind: 'recover',
        body: { since: Date.now() - 60_000 },
      })
    const task = await during(failures, recover)
    assert.deepEqual(webhooks.store.tasks.ofEndpoint(id), [task])
    await assert.rejects(recover(), (error) => error instanceof Fault)
  })

  test(`an example is queued once behind ${name}`, async () => {
    const { id } = await newEndpoint()
    const deps = { ...shared, store: webhooks.store }
    await during(failures, () => sendExample(deps, { endpoint_id: id }, 'sol.token.created'))
    assert.equal(await recordsOf(globalTopic('webhookOutbox'), id), 1)
  })

  test(`the last API key that an application may have is answered behind ${name}`, async () => {
    const { appId } = await accounts.createKey({ name: 'keys' })
    const made = await during(failures, () => accounts.admin.createKey(appId, { maxKeys: 2 }))
    assert.equal('orgId' in (accounts.guard.authenticate({ apiKey: made.apiKey }) ?? {}), true)
    assert.equal(accounts.registry.keysOf(appId).length, 2)
    await assert.rejects(accounts.admin.createKey(appId, { maxKeys: 2 }), Fault)
  })

  test(`a change of an account is made and audited once behind ${name}`, async () => {
    const audited = () => recordsOf(globalTopic('controlAudit'))
    const { orgId, appId, keyId } = await accounts.createKey({ name: 'changed' })
    const { admin, adminTokens, registry } = accounts
    const { row } = await adminTokens.create({ name: 'token', role: 'read', lifeSeconds: 60 })
    const before = await audited()
    const changes: readonly (() => Promise<unknown>)[] = [
      () => admin.updateOrg(orgId, { name: 'renamed' }),
      () => admin.updateApplication(appId, { name: 'renamed' }),
      () => admin.rotateSecret(appId, 60),
      () => admin.revokeTokens(appId),
      () => admin.revokeKey(keyId, appId),
      () => admin.deleteApplication(appId),
      () => admin.deleteOrg(orgId),
      () => adminTokens.revoke(row.token_id),
      () => admin.createOrg('made', 'free'),
    ]
    const versions: unknown[] = []
    for (const change of changes) {
      await during(failures, change)
      versions.push([registry.org(orgId)?.version, registry.application(appId)?.version])
    }
    assert.equal(await audited(), before + changes.length)
    const gone = [undefined, undefined]
    assert.deepEqual(versions, [
      [2, 1],
      [2, 2],
      [2, 3],
      [2, 4],
      [2, 4],
      [2, undefined],
      gone,
      gone,
      gone,
    ])
  })

  test(`each version of a payment is written once behind ${name}`, async () => {
    const payment = { payment_id: `payment ${name}`, valid_before: Date.now(), version: 1 }
    const full = codec.decode('control.Payment', codec.encode('control.Payment', payment))
    const next = (version: number): Payment => ({ ...full, updated_at: Date.now(), version })
    for (const version of [1, 2]) {
      assert.equal(await during(failures, () => payments.put(next(version))), true)
      assert.equal(await payments.put(next(version)), false)
    }
    assert.equal(await recordsOf(globalTopic('controlPayments'), payment.payment_id), 2)
  })
}

test('an order that another process wrote before the commit was made again is not new', async () => {
  const other = await openAccounts(bus)
  const by = { actor: 'evm:test', address: '127.0.0.1', requestId: 'r' }
  const order = {
    payment_id: 'base:token:payer:1',
    plan: 'nano',
    chain: 'evm',
    address: `0x${'1'.repeat(40)}`,
    nonce: '1',
    network: 'base',
    asset: '0xAA',
    pay_to: '0xBB',
    amount_raw: '5000000',
    valid_before: Date.now() + 60_000,
  }
  const meanwhile = async () => assert.equal(await other.purchasesAs(by).order(order), true)
  const isNew = await during([{ isWritten: false, meanwhile }], () =>
    accounts.purchasesAs(by).order(order),
  )
  assert.equal(isNew, false)
  const lost = { ...order, payment_id: 'base:token:payer:2', address: `0x${'2'.repeat(40)}` }
  assert.equal(await during([LOST], () => accounts.purchasesAs(by).order(lost)), true)
  await other.stop()
})

/** Two logs over one topic that write equal tombstones: how often the first one computes its own. */
const runsBesideEqualTombstone = async (key: string, isWritten: boolean): Promise<number> => {
  const tombstone: ProducerRecord = { topic: ENDPOINTS, partition: 0, key, value: null }
  const open = (on: Bus) =>
    openControlLog({ ...shared, signer, bus: on, topics: [ENDPOINTS], apply: () => undefined })
  const [here, there] = [await open(failing.bus), await open(bus)]
  let runs = 0
  const meanwhile = () => there.update(() => [tombstone])
  await during([{ isWritten, meanwhile }], () =>
    here.update(() => {
      runs += 1
      return [tombstone]
    }),
  )
  await here.stop()
  await there.stop()
  assert.equal(await recordsOf(ENDPOINTS, key), 2)
  return runs
}

test('an equal tombstone of another process is not taken for the own one that was not written', async () => {
  assert.equal(await runsBesideEqualTombstone('not-written', false), 2)
})

test('a tombstone whose answer was lost is recognised beside an equal one of another process', async () => {
  assert.equal(await runsBesideEqualTombstone('lost', true), 1)
})

test('a write that ended without an answer does not stand for the next one', async () => {
  const { orgId } = await accounts.createKey({ name: 'next' })
  const renamed = (name: string) => accounts.admin.updateOrg(orgId, { name })
  const unanswered: readonly FailedCommit[] = [
    ...Array.from({ length: 7 }, () => NOT_WRITTEN),
    LOST,
  ]
  await during(unanswered, () => assert.rejects(renamed('first'), Outage))
  assert.equal((await renamed('second')).name, 'second')
})

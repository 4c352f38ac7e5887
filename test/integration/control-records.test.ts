import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Bus, LogRecord, ProducerRecord } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { openKafkaBus } from '../../core/bus/kafka/bus.ts'
import { topicSpecs } from '../../core/bus/topic-specs.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { loadConfig } from '../../core/config/load.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { makeRecordSigner } from '../../core/security/record-signature.ts'
import { globalTopic } from '../../schemas/topics.ts'
import { generateApiKey, hashSecret } from '../../serving/auth/api-keys.ts'
import { createOrganizations } from '../../serving/auth/organizations.ts'
import { openUsageLog } from '../../serving/billing/usage-log.ts'
import { openEndpointStore } from '../../serving/webhooks/endpoint-store.ts'
import { startKafka } from '../support/kafka.ts'
import { failCommits } from '../support/lost-answers.ts'
import { tryStart } from '../support/optional-dependency.ts'
import { until } from '../support/until.ts'

const PEPPER = 'pepper'
const KEYS = globalTopic('controlApiKeys')
const ORGS = globalTopic('controlOrgs')
const USAGE = globalTopic('usageEvents')
const ENDPOINTS = globalTopic('controlWebhooks')
const codec = localCodec()
const log = makeSilentLogger()

/** Everything that reads control records, on one log. */
const openReaders = async (bus: Bus) => {
  const metrics = makeMetrics()
  const signer = makeRecordSigner(PEPPER)
  const shared = { bus, codec, log, metrics, signer, nowMs: Date.now }
  const organizations = await createOrganizations({
    ...shared,
    config: loadConfig({ KEY_PEPPER: PEPPER }),
    authUrl: () => 'https://auth.test',
  })
  const usage = await openUsageLog({ ...shared, writeEveryMs: 5 })
  const endpoints = await openEndpointStore(shared)
  const refused = async (): Promise<Readonly<Record<string, number>>> =>
    Object.fromEntries(
      (await metrics.controlRecordsRefused.get()).values.map(({ labels, value }) => [
        `${labels.topic} ${labels.reason}`,
        value,
      ]),
    )
  const stop = async (): Promise<void> => {
    for (const part of [organizations, usage, endpoints]) await part.stop()
  }
  return { organizations, usage, endpoints, refused, stop }
}

const newest = async (bus: Bus, topic: string, key: string): Promise<LogRecord> => {
  const [range] = await bus.ends(topic)
  assert.ok(range)
  const found: LogRecord[] = []
  for await (const record of bus.read(topic, 0, range.low, range.end))
    if (record.key === key) found.push(record)
  const last = found.at(-1)
  assert.ok(last, `${topic} holds ${key}`)
  return last
}

/** Whoever may write to the log, but does not know the secret, changes nothing. */
const refusesForeignRecords = async (bus: Bus): Promise<void> => {
  await bus.createTopics(topicSpecs({ chains: [], partitions: 1, retention: 'off' }))
  const first = await openReaders(bus)
  const made = await first.organizations.createKey({ name: 'good', plan: 'free' })
  const apiKey = made.apiKey ?? ''
  const keyRow = first.organizations.registry.keysOf(made.appId)[0]
  assert.ok(keyRow)
  const genuine = await newest(bus, KEYS, keyRow.key_id)

  const stolen = generateApiKey('sluice', 'live')
  const forged = codec.encode('control.ApiKey', {
    ...keyRow,
    key_id: 'intruder',
    hash: hashSecret(stolen, PEPPER),
  })
  const at = { topic: KEYS, partition: 0 }
  const foreign: readonly ProducerRecord[] = [
    { ...at, key: 'intruder', value: forged },
    makeRecordSigner('another secret').sign({ ...at, key: 'intruder', value: forged }),
    { ...at, key: 'intruder', value: genuine.value, headers: genuine.headers },
    { ...at, key: keyRow.key_id, value: null },
    { ...at, key: keyRow.key_id, value: null, headers: genuine.headers },
    { topic: ORGS, partition: 0, key: keyRow.org_id, value: null },
    { topic: ENDPOINTS, partition: 0, key: 'ep_intruder', value: Buffer.from([1, 2, 3]) },
    { topic: USAGE, partition: 0, key: 'org/day/node', value: Buffer.from([1, 2, 3]) },
  ]
  const intruder = await bus.writer('intruder')
  await intruder.commit({ records: foreign })
  await intruder.close()

  const expected = {
    [`${KEYS} unsigned`]: 2,
    [`${KEYS} wrong-signature`]: 3,
    [`${ORGS} unsigned`]: 1,
    [`${ENDPOINTS} unsigned`]: 1,
    [`${USAGE} unsigned`]: 1,
  }
  const total = async (): Promise<number> =>
    Object.values(await first.refused()).reduce((sum, count) => sum + count, 0)
  await until(async () => (await total()) === foreign.length, 'every foreign record was met')
  const second = await openReaders(bus)
  for (const { organizations, endpoints, refused } of [first, second]) {
    assert.deepEqual(await refused(), expected)
    assert.equal(
      (organizations.guard.authenticate({ apiKey }) as { orgId: string }).orgId,
      made.orgId,
    )
    assert.equal('orgId' in (organizations.guard.authenticate({ apiKey: stolen }) ?? {}), false)
    assert.equal(endpoints.get('ep_intruder'), undefined)
  }
  await first.stop()
  await second.stop()
}

test('foreign control records are refused on the embedded log', async () => {
  const path = mkdtempSync(join(tmpdir(), 'sluice-control-'))
  const bus = await openEmbeddedBus({ path, mapSizeBytes: 64 << 20, log, retention: 'off' })
  await refusesForeignRecords(bus)
  await bus.close()
  rmSync(path, { recursive: true, force: true })
})

const cluster = await tryStart('a Kafka broker (Java, Maven)', () => startKafka(1))
after(() => cluster?.stop())

test('foreign control records are refused on Kafka', { skip: cluster === undefined }, async () => {
  assert.ok(cluster)
  const bus = await openKafkaBus({ brokers: cluster.brokers, clientId: 'sluice-control', log })
  await refusesForeignRecords(bus)
  await bus.close()
})

test('a control write whose answer was lost is recognised on Kafka', {
  skip: cluster === undefined,
}, async () => {
  assert.ok(cluster)
  const bus = await openKafkaBus({ brokers: cluster.brokers, clientId: 'sluice-lost', log })
  await bus.createTopics(topicSpecs({ chains: [], partitions: 1, retention: 'off' }))
  const failing = failCommits(bus)
  const { organizations, stop } = await openReaders(failing.bus)
  const { admin, registry } = organizations
  const { orgId, appId, keyId } = await organizations.createKey({ name: 'lost', plan: 'free' })
  failing.failNext({ isWritten: true })
  assert.equal((await admin.updateOrg(orgId, { name: 'renamed' })).version, 2)
  failing.failNext({ isWritten: false }, { isWritten: true })
  await admin.createKey(appId, { maxKeys: 2 })
  failing.failNext({ isWritten: true })
  await admin.revokeKey(keyId)
  assert.equal(failing.left(), 0)
  assert.deepEqual([registry.key(keyId), registry.keysOf(appId).length], [undefined, 1])
  await stop()
  await bus.close()
})

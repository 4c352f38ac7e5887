import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClickHouseError } from '@clickhouse/client'
import type { RunningTask } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { topicSpecs } from '../../core/bus/topic-specs.ts'
import type { Query, Warehouse } from '../../core/clickhouse/client.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { Fault, Outage } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { type Metrics, makeMetrics } from '../../core/ops/metrics.ts'
import { makeRecordSigner } from '../../core/security/record-signature.ts'
import type { RiskAssessment } from '../../schemas/wire.ts'
import { createSymbolReader } from '../../serving/http/dex-route.ts'
import { createLimitedReader } from '../../serving/queries/query-limiter.ts'
import type { AssessmentRequest } from '../../serving/risk/assessment.ts'
import { type AssessmentStore, openAssessmentStore } from '../../serving/risk/assessment-store.ts'
import { startScreener } from '../../serving/risk/screener.ts'
import { withTempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const PLACES = { point: 2, scan: 2, internal: 2 }

/** A store of no records. */
const EMPTY_STORE = {
  takeDue: () => undefined,
} as unknown as AssessmentStore

/** Lines that a screener logs while its store of labels answers with an error, by level. */
const linesBeside = async (error: Error, metrics = makeMetrics()): Promise<readonly string[]> => {
  const lines: string[] = []
  const note = (level: string) => (_: unknown, text: string) => lines.push(`${level}: ${text}`)
  const screener = startScreener({
    store: EMPTY_STORE,
    warehouse: { query: async () => Promise.reject(error), places: PLACES } as unknown as Warehouse,
    metrics,
    log: { ...makeSilentLogger(), warn: note('warn'), error: note('error') } as never,
    nowMs: () => 0,
    chains: ['eth'],
  })
  await until(() => lines.length > 0)
  // Rejects where the loop has ended by the error.
  await screener.stop()
  return lines
}

type Answer = (query: Query) => Promise<readonly unknown[]>

/** A screener on a store of its own, before tables that answer what the test says; empty answers by default. */
const withScreening = async (
  {
    scan,
    answer,
    chains = ['eth'],
  }: { readonly scan: number; readonly answer?: Answer; readonly chains?: readonly string[] },
  run: (parts: {
    readonly store: AssessmentStore
    readonly start: () => RunningTask
    readonly metrics: Metrics
  }) => Promise<void>,
): Promise<void> =>
  withTempFolder(async (path) => {
    const log = makeSilentLogger()
    const metrics = makeMetrics()
    const bus = await openEmbeddedBus({ path, mapSizeBytes: 64 << 20, log, retention: 'off' })
    await bus.createTopics(topicSpecs({ chains: [], partitions: 1, retention: 'off' }))
    const signer = makeRecordSigner('pepper')
    const parts = { bus, codec: localCodec(), nowMs: Date.now, log, signer, metrics, chains }
    const store = await openAssessmentStore(parts)
    const query = async (asked: Query) => ({ rows: (await answer?.(asked)) ?? [] })
    const warehouse = { query, places: { ...PLACES, scan } } as unknown as Warehouse
    const running: RunningTask[] = []
    const start = (): RunningTask => {
      const task = startScreener({ store, warehouse, metrics, log, nowMs: Date.now, chains })
      running.push(task)
      return task
    }
    try {
      await run({ store, start, metrics })
    } finally {
      for (const task of running) await task.stop()
      await store.stop()
      await bus.close()
    }
  })

const addressOf = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`
const request = (n: number): AssessmentRequest => ({
  kind: 'address',
  address: addressOf(n),
  chains: ['eth'],
})
const withdrawal = (attemptTimestamp: string): AssessmentRequest => ({
  kind: 'withdrawal',
  network: 'ethereum',
  chain: 'eth',
  asset: 'ETH',
  address: addressOf(1),
  assetAmount: '1',
  attemptTimestamp,
  assetPrice: null,
  assetDenomination: null,
  assetId: null,
  memo: null,
})

test('a record that cannot be read fails, and neither the ones behind it nor withdrawals beside it', async () => {
  await withScreening({ scan: 2 }, async ({ store, start }) => {
    const unreadable = await store.register('a', withdrawal('1700000000'))
    await store.change(unreadable, (known) => ({ ...known, request: '{' }))
    const address = await store.register('a', request(1))
    const other = await store.register('a', withdrawal('1700000001'))
    start()
    const statusOf = ({ id }: RiskAssessment) => store.get('a', id)?.status
    await until(() => statusOf(other) !== 'PENDING', 'the last record is screened')
    assert.deepEqual([unreadable, address, other].map(statusOf), ['FAILED', 'COMPLETE', 'COMPLETE'])
    assert.equal((await store.read('a', unreadable.id))?.result, '{"reason":"internal"}')
  })
})

test('a failed record is screened when its request comes again', async () => {
  await withScreening({ scan: 2 }, async ({ store, start }) => {
    const record = await store.register('a', request(1))
    await store.change(record, (known) => ({
      ...known,
      status: 'FAILED',
      request: '{',
      result: '{"reason":"internal"}',
      next_at: 0,
    }))
    const repeated = await store.register('a', request(1))
    assert.deepEqual([repeated.id, repeated.status], [record.id, 'PENDING'])
    start()
    await until(() => store.get('a', record.id)?.status === 'COMPLETE', 'the record is screened')
  })
})

test('a record whose screening meets an unexpected error stays pending and is tried later', async () => {
  const answer: Answer = async (query) => {
    if (addressIn(query) !== undefined) throw new TypeError('a defect')
    return []
  }
  await withScreening({ scan: 2, answer }, async ({ store, start }) => {
    const record = await store.register('a', request(1))
    start()
    const nextAt = () => store.get('a', record.id)?.next_at ?? 0
    await until(() => nextAt() > record.next_at, 'the record was tried')
    assert.equal(store.get('a', record.id)?.status, 'PENDING')
    assert.ok(nextAt() >= record.next_at + 30_000)
  })
})

/** The address that a statement is about; undefined: of labels in general. */
const addressIn = ({ params }: Query): string | undefined =>
  (params?.address as string | undefined) ?? (params?.addresses as string[] | undefined)?.[0]

test('an address is judged on the chains that are enabled when it is screened, not when it was registered', async () => {
  const asked = new Set<string>()
  const answer: Answer = async ({ sql }) => {
    for (const [, chain] of sql.matchAll(/FROM (\w+?)_transfer_edges/g)) asked.add(chain ?? '')
    return []
  }
  const chains = ['eth', 'base', 'sol']
  await withScreening({ scan: 2, answer, chains }, async ({ store, start }) => {
    const record = await store.register('a', request(1))
    start()
    await until(() => store.get('a', record.id)?.status === 'COMPLETE', 'the record is screened')
    assert.deepEqual([...asked], ['eth', 'base'])
    const { request: judged } = (await store.read('a', record.id)) ?? record
    assert.deepEqual(JSON.parse(judged), { ...request(1), chains: ['eth', 'base'] })
  })
})

test('an address that no enabled chain has is not judged, and fails until its request comes again', async () => {
  await withScreening({ scan: 2, chains: ['sol'] }, async ({ store, start }) => {
    const record = await store.register('a', request(1))
    const screener = start()
    await until(() => store.get('a', record.id)?.status === 'FAILED', 'the record fails')
    await screener.stop()
    const { result } = (await store.read('a', record.id)) ?? record
    assert.equal(result, '{"reason":"chain_not_supported"}')
    assert.equal((await store.register('a', request(1))).status, 'PENDING')
  })
})

test('a transfer that has left the store is screened with new labels from what its record keeps', async () => {
  const label = { address: addressOf(7), category: 'sanctions', entity: '', source: 'list' }
  const answer: Answer = async (query) => {
    if (query.sql.includes('label_imports')) return [{ version: 2 }]
    const isLabelled = query.sql.includes('_dex_pools') && addressIn(query) === addressOf(7)
    const row = { ...label, confidence: 1, evidence_url: '', from_ms: 0, to_ms: null }
    return isLabelled ? [row] : []
  }
  await withScreening({ scan: 2, answer }, async ({ store, start }) => {
    const record = await store.register('a', {
      ...({ kind: 'transfer', network: 'ethereum', chain: 'eth', asset: 'ETH' } as const),
      ...({ transferReference: '0x1', direction: 'received' } as const),
    })
    const transfer = { tx: '0x1', idx: 0, assetId: '', sender: addressOf(7), timeMs: 1 }
    const ends = { outputAddress: addressOf(8), assetAmount: '1', usdAmount: '1000' }
    await store.change(record, (known) => ({
      ...known,
      status: 'COMPLETE',
      result: JSON.stringify({ level: 'Low', transfer: { ...transfer, ...ends } }),
      labels_version: 1,
      next_at: Date.now() + 1_000_000,
    }))
    start()
    await until(() => store.get('a', record.id)?.labels_version === 2, 'the record is screened')
    const { status, result } = (await store.read('a', record.id)) ?? record
    const { level, labelsVersion, transfer: kept } = JSON.parse(result ?? '{}')
    assert.deepEqual([status, level, labelsVersion], ['COMPLETE', 'Severe', 2])
    assert.deepEqual(kept, { ...transfer, ...ends })
  })
})

test('an organization with many records does not keep another one waiting', async () => {
  const screened: string[] = []
  const answer: Answer = async (query) => {
    const address = addressIn(query)
    if (address !== undefined && screened.at(-1) !== address) screened.push(address)
    return []
  }
  await withScreening({ scan: 2, answer }, async ({ store, start }) => {
    for (let n = 1; n <= 20; n++) await store.register('a', request(n))
    const last = await store.register('b', request(99))
    start()
    await until(() => store.get('b', last.id)?.status === 'COMPLETE', 'the other one is screened')
    assert.deepEqual(screened.slice(0, 2), [1, 99].map(addressOf))
  })
})

test('half of the scans of the warehouse are used at once, each for a record of its own', async () => {
  const open = new Map<string, () => void>()
  const answer: Answer = (query) => {
    const address = addressIn(query)
    if (address === undefined || !query.sql.includes('UNION ALL')) return Promise.resolve([])
    return new Promise((resolve) => open.set(address, () => resolve([])))
  }
  await withScreening({ scan: 8, answer }, async ({ store, start, metrics }) => {
    const records: RiskAssessment[] = []
    for (let n = 1; n <= 6; n++) records.push(await store.register('a', request(n)))
    start()
    await until(() => open.size === 4, 'four records are under way')
    const begun = [...open.keys()]
    const printed = await metrics.registry.getSingleMetric('sluice_risk_queue_age_seconds')?.get()
    const isDone = () => records.every(({ id }) => store.get('a', id)?.status === 'COMPLETE')
    await until(() => {
      for (const resolve of open.values()) resolve()
      return isDone()
    }, 'all records are screened')
    // A screening that is never answered would keep the screener from stopping, so nothing is compared before all of them are.
    assert.deepEqual(begun, [1, 2, 3, 4].map(addressOf))
    const ages = new Map(printed?.values.map(({ labels, value }) => [labels.kind, value]))
    assert.ok((ages.get('first') ?? 0) > 0)
    assert.equal(ages.get('again'), 0)
  })
})

test('a record whose screening met an outage is screened when that is over', async () => {
  let failures = 0
  const answer: Answer = async (query) => {
    if (addressIn(query) === undefined || failures > 0) return []
    failures += 1
    throw new Outage('warehouse', 'away')
  }
  await withScreening({ scan: 2, answer }, async ({ store, start }) => {
    const record = await store.register('a', request(1))
    start()
    await until(() => store.get('a', record.id)?.status === 'COMPLETE', 'screened after the outage')
    assert.equal(failures, 1)
  })
})

test('an error of the screening records is logged and ends neither screening nor the process', async () => {
  assert.deepEqual(await linesBeside(new Fault('DATABASE_ERROR')), [
    'warn: risk screening postponed, dependency unavailable',
  ])
  assert.deepEqual(await linesBeside(new TypeError('a defect')), [
    'error: risk screening round failed',
  ])
})

test('a screening statement that ClickHouse rejects is counted', async () => {
  const metrics = makeMetrics()
  const refused = new ClickHouseError({ message: 'syntax', code: '62', type: 'SYNTAX_ERROR' })
  await linesBeside(refused, metrics)
  const { values } = await metrics.queryRejected.get()
  assert.deepEqual(values, [{ labels: { surface: 'risk' }, value: 1 }])
})

test('symbols of a route are read within a request only', async () => {
  const warehouse = {
    query: async () => ({ rows: [] }),
    places: { point: 1, scan: 1, internal: 1 },
  } as unknown as Warehouse
  const symbols = createSymbolReader(createLimitedReader(warehouse, makeMetrics()))
  await assert.rejects(symbols('eth', ['0x']), /outside of a request/)
})

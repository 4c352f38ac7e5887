import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openLogInfra } from '../../cli/app/infra.ts'
import type { Bus } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { startRetentionCleaner } from '../../core/bus/retention-cleaner.ts'
import { loadConfig } from '../../core/config/load.ts'
import { makeInFlightTracker } from '../../core/ops/in-flight.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { createCapturedLogger } from '../support/captured-logger.ts'
import { until } from '../support/until.ts'

const log = makeSilentLogger()
const folder = mkdtempSync(join(tmpdir(), 'sluice-sweeper-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const openBus = () =>
  openEmbeddedBus({ path: folder, mapSizeBytes: 67_108_864, retention: 'contract', log })

const write = async (bus: Bus, topic: string, key: string): Promise<void> => {
  const writer = await bus.writer('test')
  await writer.commit({ records: [{ topic, key, value: Buffer.from(key) }] })
}

const keysOf = async (bus: Bus, topic: string): Promise<readonly string[]> => {
  const keys: string[] = []
  const [{ low = 0 } = {}] = await bus.ends(topic)
  for await (const { key } of bus.read(topic, 0, low)) keys.push(key)
  return keys
}

test('the retention cleaner removes expired and replaced records by itself until it is stopped', async () => {
  const bus = await openBus()
  await bus.createTopics([
    { topic: 'short', partitions: 1, cleanup: 'delete', retentionMs: 300 },
    { topic: 'long', partitions: 1, cleanup: 'delete', retentionMs: null },
    { topic: 'newest', partitions: 1, cleanup: 'compact', retentionMs: null },
  ])
  const sweeper = startRetentionCleaner(bus, log, 20)
  for (const topic of ['short', 'long', 'newest']) {
    for (const key of ['a', 'b', 'a']) await write(bus, topic, key)
  }
  await until(async () => (await keysOf(bus, 'short')).length === 0, 'what is old is gone')
  assert.deepEqual(await keysOf(bus, 'long'), ['a', 'b', 'a'])
  await until(async () => (await keysOf(bus, 'newest')).length === 2, 'what was replaced is gone')
  assert.deepEqual(await keysOf(bus, 'newest'), ['b', 'a'])
  await sweeper.stop()
  await write(bus, 'short', 'c')
  await bus.close()
})

for (const [where, capacity, message] of [
  ['beside a cluster', undefined, 'removal of old local copies failed'],
  ['of an embedded log', {}, 'embedded log retention run failed'],
] as const) {
  test(`a failed sweep ${where} is logged with its cause`, async () => {
    const { log, lines } = createCapturedLogger()
    const fail = async () => {
      throw new Error('injected')
    }
    const bus = { capacity: () => capacity, sweep: fail } as unknown as Bus
    const sweeper = startRetentionCleaner(bus, log, 5)
    await until(() => lines.length > 0, 'a line')
    await sweeper.stop()
    assert.equal(lines[0]?.message, message)
  })
}

test('a sweep that fails is tried again until the cleaner is stopped', async () => {
  let sweeps = 0
  const busOf = (sweep: () => void) =>
    ({
      capacity: () => undefined,
      sweep: async () => {
        sweep()
        throw new Error('injected')
      },
    }) as unknown as Bus
  const bus = busOf(() => {
    sweeps += 1
  })
  const sweeper = startRetentionCleaner(bus, log, 5)
  await until(() => sweeps > 2, 'it continues')
  await sweeper.stop()
  const seen = sweeps
  let others = 0
  const other = startRetentionCleaner(
    busOf(() => {
      others += 1
    }),
    log,
    5,
  )
  await until(() => others > 4, 'a cleaner that runs sweeps several times')
  await other.stop()
  assert.equal(sweeps, seen)
})

test('a bus that closes waits for the sweep under way', async () => {
  const bus = await openBus()
  await bus.createTopics([
    { topic: 'newest', partitions: 1, cleanup: 'compact', retentionMs: null },
  ])
  const writer = await bus.writer('test')
  for (let round = 0; round < 5; round += 1) {
    const records = Array.from({ length: 2_000 }, (_, index) => ({
      topic: 'newest',
      key: `k${index % 50}`,
      value: Buffer.from('x'),
    }))
    await writer.commit({ records })
  }
  const swept = bus.sweep(Date.now())
  await bus.close()
  await swept
})

test('opening an embedded log starts its retention cleaner', async () => {
  const opened = new Map<string, () => Promise<void>>()
  const config = loadConfig({}, { dataDir: folder })
  await openLogInfra({
    config,
    chains: ['eth'],
    prepare: true,
    log,
    activity: makeInFlightTracker(''),
    logPath: join(folder, 'parts'),
    warehousePath: join(folder, 'unused'),
    onFatal: (error) => assert.fail(String(error)),
    opened: (name, close) => opened.set(name, close),
  })
  assert.deepEqual([...opened.keys()], ['bus', 'sweeper'])
  for (const close of [...opened.values()].toReversed()) await close()
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { openLogInfra } from '../../cli/app/infra.ts'
import type { Bus, TopicSpec } from '../../core/bus/contract.ts'
import { type EmbeddedBusOptions, openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { diskSizedLimit, logLimitBytes } from '../../core/bus/embedded/log-size.ts'
import { SCHEMAS_FILE, saveSchemas } from '../../core/codec/local-codec.ts'
import { loadConfig } from '../../core/config/load.ts'
import { Outage } from '../../core/errors.ts'
import { makeInFlightTracker } from '../../core/ops/in-flight.ts'
import { type Logger, makeSilentLogger } from '../../core/ops/logger.ts'
import { withTempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const MB = 1_048_576
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const LIMIT = 16 * MB

const openAt = (path: string, more: Partial<EmbeddedBusOptions> = {}): Promise<Bus> =>
  openEmbeddedBus({
    path,
    mapSizeBytes: LIMIT,
    log: makeSilentLogger(),
    retention: 'bounded',
    ...more,
  })

/** The log of a data folder, as a process of this configuration opens it. */
const openLog = async (folder: string, environment: Readonly<Record<string, string>> = {}) => {
  const opened: (() => Promise<void>)[] = []
  const { bus } = await openLogInfra({
    config: loadConfig(environment, { dataDir: folder }),
    chains: ['eth'],
    prepare: true,
    log: makeSilentLogger(),
    activity: makeInFlightTracker(''),
    logPath: join(folder, 'log'),
    warehousePath: folder,
    onFatal: (error) => assert.fail(String(error)),
    opened: (_, close) => opened.push(close),
  })
  const close = async (): Promise<void> => {
    for (const each of opened.toReversed()) await each()
  }
  return { bus, close }
}

const spec = (topic: string, more: Partial<TopicSpec> = {}): TopicSpec => ({
  topic,
  partitions: 1,
  cleanup: 'delete',
  retentionMs: HOUR_MS,
  ...more,
})
const record = (topic: string, key = 'k') => ({ topic, key, value: randomBytes(100_000) })

/** Writes records of 100 kB, each in a commit of its own. */
const write = async (bus: Bus, topic: string, count: number): Promise<void> => {
  const writer = await bus.writer(`w.${topic}`)
  for (let n = 0; n < count; n += 1) await writer.commit({ records: [record(topic)] })
}

const lowOf = async (bus: Bus, topic: string): Promise<number> =>
  (await bus.ends(topic))[0]?.low ?? 0
const placeAt = async (bus: Bus, group: string, topic: string, offset: number): Promise<void> => {
  const writer = await bus.writer(`${group}.lane0`)
  await writer.commit({ offsets: { group, next: [{ topic, partition: 0, offset }] } })
  await writer.close()
}
const shareUsed = (bus: Bus): number => {
  const { usedBytes = 0, limitBytes = 1 } = bus.capacity() ?? {}
  return usedBytes / limitBytes
}

/** A log that retention never swept, as full as it gets, a day ago. */
const fillUp = async (path: string): Promise<number> => {
  const bus = await openAt(path, { retention: 'off', nowMs: () => Date.now() - DAY_MS })
  await bus.createTopics([spec('t')])
  const writer = await bus.writer('w')
  for (let written = 0; ; written += 1) {
    try {
      await writer.commit({ records: [record('t')] })
    } catch (error) {
      assert.ok(error instanceof Outage && error.of === 'disk' && error.final)
      await bus.close()
      return written
    }
  }
}

test('a full log that is reopened with retention accepts its first commit', () =>
  withTempFolder(async (path) => {
    const held = await fillUp(path)
    for (const retention of ['contract', 'bounded'] as const) {
      const bus = await openAt(path, {
        retention,
        onHalt: (outage) => assert.fail(outage.message),
      })
      await bus.createTopics([spec('t')])
      const writer = await bus.writer('w')
      await writer.commit({ records: [record('t')] })
      assert.equal(await lowOf(bus, 't'), held)
      await bus.close()
    }
  }))

test('a commit that finds a full log while the process stops is refused, and is not the end of the log', () =>
  withTempFolder(async (path) => {
    await fillUp(path)
    const bus = await openAt(path, { onHalt: (outage) => assert.fail(outage.message) })
    const writer = await bus.writer('w')
    const refused = assert.rejects(
      writer.commit({ records: [record('t')] }),
      (error) => error instanceof Outage && error.of === 'disk' && !error.final,
    )
    await bus.close()
    await refused
  }))

test('LOG_RETENTION_HOURS keeps records longer than their topic does, for exactly the stated hours', () =>
  withTempFolder(async (folder) => {
    const logPath = join(folder, 'log')
    const lowAfter = async (hours: string): Promise<number> => {
      const { bus, close } = await openLog(folder, { LOG_RETENTION_HOURS: hours })
      const low = await lowOf(bus, 'eth.dex.trades')
      await close()
      return low
    }
    const old = await openAt(logPath, { retention: 'off', nowMs: () => Date.now() - 30 * DAY_MS })
    await old.createTopics([spec('eth.dex.trades', { partitions: 3 })])
    const writer = await old.writer('w')
    await writer.commit({ records: [{ ...record('eth.dex.trades'), partition: 0 }] })
    await old.close()
    saveSchemas(join(logPath, SCHEMAS_FILE))
    assert.equal(await lowAfter('750'), 0, 'thirty days are 720 hours')
    assert.equal(await lowAfter('700'), 1)
  }))

test('a log that was full accepts commits again in the same process once there is room', () =>
  withTempFolder(async (path) => {
    await fillUp(path)
    const halts: Outage[] = []
    const bus = await openAt(path, { retention: 'off', onHalt: (outage) => halts.push(outage) })
    const full = await bus.writer('a')
    await assert.rejects(full.commit({ records: [record('t')] }), /is full: 16777216 bytes/)
    assert.equal(halts.length, 1)
    await bus.close()
    let limit = LIMIT
    const grown = await openAt(path, { retention: 'off', limitBytes: () => limit })
    await assert.rejects((await grown.writer('b')).commit({ records: [record('t')] }), Outage)
    limit = 2 * LIMIT
    await grown.sweep(Date.now())
    await (await grown.writer('c')).commit({ records: [record('t')] })
    await grown.close()
  }))

test('retention by default: a log is written to without end, the oldest records that every group has read are removed', () =>
  withTempFolder(async (path) => {
    const bus = await openAt(path, { onHalt: (outage) => assert.fail(outage.message) })
    await bus.createTopics([spec('read'), spec('open'), spec('newest', { cleanup: 'compact' })])
    await write(bus, 'newest', 20)
    await write(bus, 'open', 30)
    await placeAt(bus, 'slow', 'open', 10)
    await write(bus, 'read', 400)
    assert.ok(shareUsed(bus) < 0.95, `${shareUsed(bus)}`)
    assert.equal(await lowOf(bus, 'newest'), 0)
    assert.ok((await lowOf(bus, 'read')) > 250)
    assert.equal(await lowOf(bus, 'open'), 10, 'read records go, what a group has not read stays')
    await bus.close()
  }))

test('retention removes unread records only when the log is nearly full; the lane of their group is reported as halted', () =>
  withTempFolder(async (path) => {
    const bus = await openAt(path, { onHalt: (outage) => assert.fail(outage.message) })
    await bus.createTopics([spec('t')])
    await write(bus, 't', 10)
    await placeAt(bus, 'late', 't', 1)
    await write(bus, 't', 100)
    await bus.sweep(Date.now() + DAY_MS)
    assert.equal(await lowOf(bus, 't'), 1, 'old, but not read')
    await write(bus, 't', 100)
    assert.ok((await lowOf(bus, 't')) > 1)
    const running = await bus.subscribe({
      group: 'late',
      topics: ['t'],
      run: async () => assert.fail('it skips silently'),
    })
    await until(() => bus.halted().length === 1, 'the lane rests')
    const [{ low, end } = { low: 0, end: 0 }] = await bus.ends('t')
    const at = { group: 'late', lane: 0, topic: 't', partition: 0, position: 1, low, end }
    assert.deepEqual(bus.halted(), [at])
    await running.stop()
    assert.deepEqual(bus.halted(), [])
    await bus.close()
  }))

test('retention keeps the newest 20,000 records of a topic that never expires, whatever their size', () =>
  withTempFolder(async (path) => {
    const bus = await openAt(path, { mapSizeBytes: 32 * MB })
    await bus.createTopics([spec('blocks', { retentionMs: null })])
    const writer = await bus.writer('w')
    for (let n = 0; n < 30; n += 1) {
      const records = Array.from({ length: 1_000 }, () => ({
        topic: 'blocks',
        key: 'eth',
        value: randomBytes(900),
      }))
      await writer.commit({ records })
    }
    await bus.sweep(Date.now() + 2 * DAY_MS)
    const [{ low = 0, end = 0 } = {}] = await bus.ends('blocks')
    assert.equal(end, 30_000)
    assert.ok(low > 0 && low <= 10_000, `${low}`)
    await bus.close()
  }))

test('retention keeps records of a broadcast topic that a lane has not read', () =>
  withTempFolder(async (path) => {
    const bus = await openAt(path, { mapSizeBytes: 64 * MB })
    await bus.createTopics([spec('t'), spec('wide'), spec('s', { cleanup: 'compact' })])
    await write(bus, 'wide', 10)
    const subscription = {
      group: 'g',
      topics: ['t'],
      broadcast: ['wide'],
      broadcastFrom: async () => 4,
      run: async () => undefined,
    }
    const running = await bus.subscribe(subscription)
    await bus.sweep(Date.now() + DAY_MS)
    assert.equal(await lowOf(bus, 'wide'), 4)
    await running.stop()
    await bus.close()
    const again = await openAt(path, { mapSizeBytes: 64 * MB })
    await again.sweep(Date.now() + DAY_MS)
    assert.equal(await lowOf(again, 'wide'), 4, 'also before the lane runs again')
    await again.close()
  }))

test('the size limit of the log is logged when it is opened, and once when 80 % of it is used', () =>
  withTempFolder(async (path) => {
    const lines: { readonly message: string; readonly limitBytes?: number }[] = []
    const note = (facts: object, message: string) => lines.push({ ...facts, message })
    const log = { ...makeSilentLogger(), info: note, warn: note } as unknown as Logger
    const bus = await openAt(path, { log, retention: 'off' })
    await bus.createTopics([spec('t')])
    await write(bus, 't', 110)
    assert.deepEqual(
      lines.map(({ message }) => message),
      ['embedded log opened'],
    )
    await write(bus, 't', 35)
    assert.deepEqual(
      lines.map(({ message, limitBytes }) => [message, limitBytes]),
      [
        ['embedded log opened', LIMIT],
        ['embedded log is more than 80 % full', LIMIT],
      ],
    )
    await bus.close()
  }))

test('the default size limit of the log is a quarter of the free disk, within bounds', () =>
  withTempFolder(async (path) => {
    const empty = { fileBytes: 0, keptBytes: 0, limitBytes: Number.POSITIVE_INFINITY }
    const limitMb = (free: number, most = 65_536): number =>
      diskSizedLimit({ ...empty, freeBytes: free * MB }, most * MB) / MB
    assert.deepEqual([limitMb(40_000), limitMb(500), limitMb(4_000_000)], [10_000, 256, 65_536])
    const plan = { maxMb: 0, mapMb: 300, retention: 'bounded' } as const
    assert.ok(logLimitBytes(path, plan, empty) <= 300 * MB)
    assert.equal(logLimitBytes(path, { ...plan, maxMb: 17 }, empty), 17 * MB)
    assert.equal(logLimitBytes(path, { ...plan, retention: 'off' }, empty), 300 * MB)
  }))

test('the default size limit stays above the file when the disk fills, and leaves room beside records that no sweep removes', () => {
  const limitMb = (sizes: Readonly<Record<'file' | 'kept' | 'before' | 'free', number>>): number =>
    Math.floor(
      diskSizedLimit(
        {
          fileBytes: sizes.file * MB,
          keptBytes: sizes.kept * MB,
          limitBytes: sizes.before * MB,
          freeBytes: sizes.free * MB,
        },
        65_536 * MB,
      ) / MB,
    )
  const start = Number.POSITIVE_INFINITY
  // 474 MB of records; the limit was 968 MB, then somebody else left 100 MB of the disk.
  const pressed = limitMb({ file: 474, kept: 1, before: 968, free: 100 })
  assert.equal(pressed, 515, 'nothing goes: 0.92 of that is the file')
  assert.equal(limitMb({ file: 474, kept: 1, before: 968, free: 4_000 }), 1_118, 'and comes back')
  assert.equal(limitMb({ file: 474, kept: 1, before: 480, free: 100 }), 480, 'it does not creep up')
  assert.equal(limitMb({ file: 474, kept: 1, before: start, free: 0 }), 474, 'nor beyond the disk')
  // State only grows: it never makes the log refuse a write that the disk has room for.
  assert.ok(limitMb({ file: 400, kept: 350, before: 256, free: 600 }) > 350 + 255)
  assert.ok(limitMb({ file: 12_000, kept: 10_000, before: start, free: 5_000 }) > 12_000)
})

test('a log opened without a retention setting deletes expired records before it writes', () =>
  withTempFolder(async (folder) => {
    const logPath = join(folder, 'log')
    const old = await openAt(logPath, { retention: 'off', nowMs: () => Date.now() - 30 * DAY_MS })
    await old.createTopics([spec('eth.dex.trades', { partitions: 3 })])
    const writer = await old.writer('w')
    await writer.commit({ records: [{ ...record('eth.dex.trades'), partition: 0 }] })
    await old.close()
    saveSchemas(join(logPath, SCHEMAS_FILE))
    const { bus, close } = await openLog(folder)
    assert.equal(await lowOf(bus, 'eth.dex.trades'), 1)
    assert.equal(bus.capacity()?.retention, 'bounded')
    await close()
  }))

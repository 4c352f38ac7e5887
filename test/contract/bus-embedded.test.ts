import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Bus, OffsetRange } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import {
  type CommitHooks,
  type CommitStep,
  makeCommitQueue,
  type RunTransaction,
} from '../../core/bus/embedded/commit-queue.ts'
import { usedBytes } from '../../core/bus/embedded/lmdb.ts'
import { openLog, openLogReadOnly } from '../../core/bus/embedded/log.ts'
import { Outage } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { busSuite, readAll } from '../support/bus/suite.ts'
import { withTempFolder } from '../support/temp-folder.ts'

const MAP_BYTES = 268_435_456
const DAY_MS = 86_400_000

const openAt = (
  path: string,
  halts: Outage[] = [],
  mapSizeBytes = MAP_BYTES,
  hooks: CommitHooks = {},
): Promise<Bus> =>
  openEmbeddedBus({
    hooks,
    path,
    mapSizeBytes,
    log: makeSilentLogger(),
    retention: 'contract',
    onHalt: (outage) => halts.push(outage),
  })

busSuite('embedded log', async () => {
  const path = mkdtempSync(join(tmpdir(), 'sluice-bus-'))
  const halts: Outage[] = []
  let bus = await openAt(path, halts)
  return {
    get bus() {
      return bus
    },
    get other() {
      return bus
    },
    halts,
    restart: async () => {
      await bus.close()
      bus = await openAt(path, halts)
    },
    expire: () => bus.sweep(Date.now() + DAY_MS),
    compact: () => bus.sweep(Date.now()),
    close: async () => {
      await bus.close()
      rmSync(path, { recursive: true, force: true })
    },
  }
})

const TOPIC = { topic: 't', partitions: 1, cleanup: 'delete', retentionMs: null } as const

test('a data folder has one owner; a closed or killed owner releases it', () =>
  withTempFolder(async (path) => {
    const bus = await openAt(path)
    await assert.rejects(openAt(path), /in use by process/)
    await bus.close()
    const child = spawnSync(
      process.execPath,
      [
        '--import',
        'tsx',
        join(import.meta.dirname, '../support/bus/embedded-child.ts'),
        'hold',
        path,
      ],
      { encoding: 'utf8' },
    )
    assert.equal(child.signal, 'SIGKILL', child.stderr)
    const again = await openAt(path)
    assert.equal((await readAll(again, 't')).length, 1)
    await again.close()
  }))

test('a live process keeps another out', () =>
  withTempFolder(async (path) => {
    const bus = await openAt(path)
    const child = spawnSync(
      process.execPath,
      [
        '--import',
        'tsx',
        join(import.meta.dirname, '../support/bus/embedded-child.ts'),
        'hold',
        path,
      ],
      { encoding: 'utf8' },
    )
    assert.equal(child.status, 1)
    assert.match(child.stderr, /in use by process/)
    await bus.close()
  }))

test('embedded bus: of 10,003 concurrent commits, 10,000 are written in transactions of 256 and the rest is refused as an outage', () =>
  withTempFolder(async (path) => {
    let transactions = 0
    const onStep = (step: CommitStep): void => {
      if (step === 'durable') transactions += 1
    }
    const bus = await openAt(path, [], MAP_BYTES, { onStep })
    await bus.createTopics([TOPIC])
    const writers = await Promise.all(['a', 'b', 'c'].map((id) => bus.writer(id)))
    const commit = (number: number) =>
      writers[number % 3]?.commit({
        records: [{ topic: 't', key: 'k', value: Buffer.from(String(number)) }],
      })
    const flood = Array.from({ length: 10_003 }, (_, number) => commit(number))
    const outcomes = await Promise.allSettled(flood)
    assert.ok(outcomes.slice(0, 10_000).every(({ status }) => status === 'fulfilled'))
    for (const outcome of outcomes.slice(10_000)) {
      assert.ok(outcome.status === 'rejected' && outcome.reason instanceof Outage)
    }
    assert.equal(transactions, Math.ceil(10_000 / 256))
    const written = (await readAll(bus, 't')).map(({ value }) =>
      Number(Buffer.from(value ?? []).toString()),
    )
    assert.deepEqual(
      written,
      Array.from({ length: 10_000 }, (_, i) => i),
    )
    const large = { records: [{ topic: 't', key: 'k', value: randomBytes(10_000_000) }] }
    const [one, two] = await Promise.all(['d', 'e'].map((id) => bus.writer(id)))
    await Promise.all([one?.commit(large), two?.commit(large)])
    assert.equal(transactions, Math.ceil(10_000 / 256) + 2)
    await bus.close()
  }))

/** A commit that lmdb refuses as it does when its list of free pages misled it: nothing of it is written. */
const refused: RunTransaction = ({ root }, steps) =>
  root.transactionSync(() => {
    for (const step of steps) step()
    throw Object.assign(new Error('MDB_BAD_TXN: reserved freelist'), { code: -30_782 })
  })
const taken: RunTransaction = ({ root }, steps) =>
  root.transactionSync(() => {
    for (const step of steps) step()
  })

test('a commit that comes while the embedded bus closes, or after, is refused with a final outage; what waited is written', () =>
  withTempFolder(async (path) => {
    const bus = await openAt(path)
    await bus.createTopics([TOPIC])
    const writers = await Promise.all(['a', 'b', 'c'].map((id) => bus.writer(id)))
    const commit = async (at: number) =>
      writers[at]?.commit({ records: [{ topic: 't', key: 'k', value: Buffer.from('x') }] })
    const isClosed = (error: unknown) =>
      error instanceof Outage && error.final && /is closed/.test(error.message)
    const waiting = commit(0)
    const closing = bus.close()
    // After the last chance to be written, before the log is closed.
    await new Promise((resolve) => process.nextTick(resolve))
    const during = assert.rejects(commit(1), isClosed)
    await closing
    await assert.rejects(commit(2), isClosed)
    assert.equal((await waiting)?.[0]?.records, 1)
    await during
    const again = await openAt(path)
    assert.equal((await readAll(again, 't')).length, 1)
    await again.close()
  }))

test('a log that cannot be read when its commits are to be written refuses them; no timer throws', () =>
  withTempFolder(async (path) => {
    const log = openLog(path, MAP_BYTES)
    const halts: Outage[] = []
    const queue = makeCommitQueue({
      log,
      limitBytes: () => MAP_BYTES,
      makeRoom: async () => true,
      onUsed: () => undefined,
      nowMs: Date.now,
      hooks: {},
      onCommitted: () => undefined,
      onRetry: () => undefined,
      onBroken: (outage) => halts.push(outage),
    })
    const waiting = [1, 2].map(() => queue.add({ records: [] }, () => undefined))
    const refused = waiting.map((each) => assert.rejects(each, Outage))
    await log.close()
    await Promise.all(refused)
    await assert.rejects(
      queue.add({ records: [] }, () => undefined),
      Outage,
    )
    assert.deepEqual(
      halts.map(({ final }) => final),
      [true],
    )
  }))

test('a transaction that lmdb refuses for its list of free pages is written again, once', () =>
  withTempFolder(async (path) => {
    const ways = [refused, refused, taken, taken]
    const halts: Outage[] = []
    const bus = await openAt(path, halts, MAP_BYTES, {
      transact: (log, steps) => (ways.shift() ?? refused)(log, steps),
    })
    await bus.createTopics([TOPIC])
    const writer = await bus.writer('w')
    const record = (value: string) => ({ topic: 't', key: 'k', value: Buffer.from(value) })
    const finalRecords = (spans: readonly OffsetRange[]) => [record(JSON.stringify(spans))]
    const spans = await writer.commit({ records: [record('one')], finalRecords })
    assert.deepEqual(spans, [
      { topic: 't', partition: spans[0]?.partition, baseOffset: 0, records: 2 },
    ])
    await writer.commit({ records: [record('two')] })
    const values = async () => (await readAll(bus, 't')).map(({ value }) => String(value))
    const written = await values()
    assert.equal(written.length, 3)
    assert.deepEqual([written[0], written[2]], ['one', 'two'])
    await assert.rejects(
      writer.commit({ records: [record('three')] }),
      (error) => error instanceof Outage && error.final && /MDB_BAD_TXN/.test(error.message),
    )
    assert.deepEqual([ways.length, halts.length], [0, 1])
    assert.deepEqual(await values(), written)
    await bus.close()
  }))

const fill = async (bus: Bus): Promise<{ readonly whole: number; readonly error: unknown }> => {
  await bus.createTopics([TOPIC])
  const writer = await bus.writer('w')
  for (let whole = 0; ; whole += 1) {
    const key = `${whole}`
    const records = Array.from({ length: 20 }, () => ({
      topic: 't',
      key,
      value: randomBytes(5_000),
    }))
    const state = [{ store: 's', partition: 0, key: 'whole', value: Buffer.from(key) }]
    try {
      await writer.commit({ records, state })
    } catch (error) {
      return { whole, error }
    }
  }
}

test('a full log that no sweep can help ends in a final outage with nothing half-written, and opens again', () =>
  withTempFolder(async (path) => {
    const halts: Outage[] = []
    const bus = await openAt(path, halts, 16_777_216)
    const { whole, error } = await fill(bus)
    assert.ok(error instanceof Outage && error.of === 'disk' && error.final, String(error))
    assert.ok(whole > 50, `only ${whole} commits fitted`)
    assert.deepEqual(halts, [error])
    const writer = await bus.writer('w')
    const more = [{ topic: 't', key: 'more', value: randomBytes(100_000) }]
    await assert.rejects(writer.commit({ records: more }), { name: 'Outage', final: true })
    await bus.close()
    const again = await openAt(path)
    assert.equal((await readAll(again, 't')).length, 20 * whole)
    await again.close()
  }))

test('a file size limit ends in a final outage with nothing half-written', () =>
  withTempFolder(async (path) => {
    const child = join(import.meta.dirname, '../support/bus/embedded-child.ts')
    const command = `ulimit -f 20000 && exec "$0" --import tsx "$1" fill "$2"`
    const { stdout, status, stderr } = spawnSync(
      'bash',
      ['-c', command, process.execPath, child, path],
      { encoding: 'utf8' },
    )
    assert.equal(status, 0, stderr)
    const { whole, of, final } = JSON.parse(stdout) as Record<string, unknown>
    assert.deepEqual([of, final], ['disk', true])
    const again = await openAt(path)
    assert.equal((await readAll(again, 't')).length, 20 * Number(whole))
    await again.close()
  }))

test('state that repeats itself takes a part of its pages, and is read as it was written', () =>
  withTempFolder(async (path) => {
    const text = (key: string) => Buffer.from(`{"held":"${key}"},`.repeat(2_000))
    const noise = randomBytes(5_000)
    const keys = Array.from({ length: 50 }, (_, index) => `h/${index}`)
    const bus = await openAt(path)
    await bus.createTopics([TOPIC])
    const writer = await bus.writer('w')
    const entries = [...keys.map((key) => [key, text(key)] as const), ['noise', noise] as const]
    const state = entries.map(([key, value]) => ({ store: 's', partition: 0, key, value }))
    await writer.commit({ records: [], state })
    await bus.close()
    const log = openLogReadOnly(path)
    for (const [key, value] of entries) assert.deepEqual(log.state.get(['s', 0, key]), value)
    const range = [...log.state.getRange({})].map(({ key, value }) => [key[2], value.length])
    assert.deepEqual(range.toSorted(), entries.map(([key, { length }]) => [key, length]).toSorted())
    const bytes = entries.reduce((sum, [, { length }]) => sum + length, 0)
    assert.ok(usedBytes([log.state]) < bytes / 3, `${usedBytes([log.state])} bytes for ${bytes}`)
    await log.close()
  }))

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { open } from 'lmdb'
import { ingestedHeight } from '../../cli/standalone/simulation-clock.ts'
import type { Bus, TopicSpec } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { openOfflineLogReader } from '../../core/bus/embedded/offline-reader.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { readAll } from '../support/bus/suite.ts'
import { withTempFolder } from '../support/temp-folder.ts'

const MB = 1_048_576
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const openAt = (path: string, mapSizeBytes = 16 * MB): Promise<Bus> =>
  openEmbeddedBus({ path, mapSizeBytes, log: makeSilentLogger(), retention: 'bounded' })

const spec = (topic: string): TopicSpec => ({
  topic,
  partitions: 1,
  cleanup: 'delete',
  retentionMs: HOUR_MS,
})

const keysOf = async (bus: Bus, topic: string): Promise<readonly string[]> =>
  (await readAll(bus, topic)).map(({ key }) => key)

const endsOf = async (bus: Bus, topic: string) => {
  const [ends] = await bus.ends(topic)
  assert.ok(ends)
  return ends
}

test('topics created in any order, repeatedly and in later processes never share an id', () =>
  withTempFolder(async (path) => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    const first = await openAt(path)
    await first.createTopics([spec('a'), spec('b')])
    await first.createTopics([spec('a'), spec('b'), spec('c')])
    await first.createTopics([spec('d')])
    await first.close()
    const bus = await openAt(path)
    await bus.createTopics([spec('b'), spec('e'), spec('a')])
    await bus.createTopics([spec('f')])
    assert.equal(new Set(await Promise.all(names.map((name) => bus.life(name)))).size, names.length)
    const writer = await bus.writer('w')
    for (const key of names) {
      await writer.commit({ records: [{ topic: key, key, value: Buffer.from(key) }] })
    }
    await bus.close()
    const again = await openAt(path)
    for (const key of names) assert.deepEqual(await keysOf(again, key), [key])
    await again.close()
  }))

test('sweep of the embedded log: a group that lags keeps the records of its own topic only', () =>
  withTempFolder(async (path) => {
    const bus = await openAt(path)
    await bus.createTopics([spec('large'), spec('small')])
    const writer = await bus.writer('w')
    const place = { topic: 'small', partition: 0, offset: 0 }
    const write = async (count: number): Promise<void> => {
      for (let left = count; left > 0; left -= 1) {
        const large = { topic: 'large', key: 'k', value: randomBytes(100_000) }
        await writer.commit({ records: [large, { topic: 'small', key: 'k', value: null }] })
      }
    }
    await write(1)
    await writer.commit({ offsets: { group: 'slow', next: [place] } })
    await write(100)
    await bus.sweep(Date.now() + DAY_MS)
    assert.deepEqual([await endsOf(bus, 'small')], [{ partition: 0, low: 0, end: 101 }])
    assert.equal((await endsOf(bus, 'large')).low, 101, 'old, and nobody waits for it')
    await write(400)
    await bus.close()
    const again = await openAt(path)
    assert.equal((await keysOf(again, 'small')).length, 501)
    const { low, end } = await endsOf(again, 'large')
    assert.ok(low > 250 && low < end, `${low} to ${end}`)
    assert.equal((await keysOf(again, 'large')).length, end - low)
    await again.close()
  }))

test('sweep of the embedded log: a commit index row that is half expired keeps its other half readable', () =>
  withTempFolder(async (path) => {
    let nowMs = Date.now()
    const log = makeSilentLogger()
    const options = { path, mapSizeBytes: 16 * MB, log, nowMs: () => nowMs }
    const bus = await openEmbeddedBus({ ...options, retention: 'bounded' })
    await bus.createTopics([spec('t')])
    const writer = await bus.writer('w')
    const write = async (count: number): Promise<void> => {
      const commit = () => writer.commit({ records: [{ topic: 't', key: 'k', value: null }] })
      for (let left = count; left > 0; left -= 100) {
        await Promise.all(Array.from({ length: 100 }, commit))
      }
    }
    await write(400)
    nowMs += HOUR_MS / 2
    await write(800)
    await bus.sweep(nowMs + HOUR_MS / 2 + 1)
    assert.deepEqual(await endsOf(bus, 't'), { partition: 0, low: 400, end: 1_200 })
    await bus.close()
    const again = await openAt(path)
    assert.equal((await keysOf(again, 't')).length, 800)
    await again.close()
  }))

test('sweeps of the embedded log: what a clock wrote that was set back afterwards brings no deleted record back', () =>
  withTempFolder(async (path) => {
    let nowMs = Date.now()
    const log = makeSilentLogger()
    const options = { path, mapSizeBytes: 12 * MB, log, nowMs: () => nowMs }
    const bus = await openEmbeddedBus({ ...options, retention: 'bounded' })
    await bus.createTopics([spec('p'), spec('q')])
    const writer = await bus.writer('w')
    const write = (topics: readonly string[], bytes = 10) =>
      writer.commit({
        records: topics.map((topic) => ({ topic, key: 'k', value: randomBytes(bytes) })),
      })
    nowMs += 60_000
    await write(['p'])
    nowMs -= 60_000
    for (let count = 0; count < 5; count += 1) {
      nowMs += 100
      await write(['q', 'p'])
    }
    nowMs += HOUR_MS + 1_000
    await write(['p', 'q'])
    await bus.sweep(nowMs)
    const swept = await endsOf(bus, 'p')
    assert.deepEqual(swept, { partition: 0, low: 6, end: 7 })
    const next = [
      { topic: 'p', partition: 0, offset: 6 },
      { topic: 'q', partition: 0, offset: 5 },
    ]
    await writer.commit({ offsets: { group: 'g', next } })
    nowMs += 2 * HOUR_MS
    for (let count = 0; count < 10; count += 1) await write(['q'], MB)
    await bus.sweep(nowMs)
    assert.ok((await endsOf(bus, 'p')).low >= swept.low)
    await bus.close()
    const again = await openAt(path, 12 * MB)
    const { low, end } = await endsOf(again, 'p')
    assert.ok(low >= swept.low)
    assert.equal((await keysOf(again, 'p')).length, end - low)
    await again.close()
  }))

test('a read of records that a sweep removes meanwhile ends with an Outage that names the offset', () =>
  withTempFolder(async (path) => {
    const bus = await openAt(path, 64 * MB)
    await bus.createTopics([spec('t')])
    const writer = await bus.writer('w')
    for (let n = 0; n < 300; n += 1) {
      await writer.commit({ records: [{ topic: 't', key: `${n}`, value: randomBytes(50_000) }] })
    }
    const seen: string[] = []
    const reading = async (): Promise<void> => {
      for await (const { key } of bus.read('t', 0, 0)) {
        if (seen.length === 0) await bus.sweep(Date.now() + DAY_MS)
        seen.push(key)
      }
    }
    await assert.rejects(reading, { name: 'Outage', message: /offset \d+ is below the log/ })
    assert.deepEqual(
      seen,
      seen.map((_, index) => `${index}`),
    )
    await bus.close()
  }))

test('the embedded bus refuses a folder of another layout or an unfinished one, and releases it', () =>
  withTempFolder(async (path) => {
    const root = open({ path, noSubdir: false, maxDbs: 8 })
    await root.close()
    assert.throws(() => openOfflineLogReader(path), { message: /incomplete log/ })
    assert.equal(await ingestedHeight(path, 'eth'), null, 'a start continues from nothing')
    const other = open({ path, noSubdir: false, maxDbs: 8 })
    await other.openDB('meta', {}).put(['format'], 1)
    await other.close()
    const refusal = { name: 'Outage', message: /a log of layout 1, not one of layout \d/ }
    assert.throws(() => openOfflineLogReader(path), refusal)
    await assert.rejects(openAt(path), refusal)
    assert.deepEqual(readdirSync(path).sort(), ['data.mdb', 'lock.mdb'])
  }))

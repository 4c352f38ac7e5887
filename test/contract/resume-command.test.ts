import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { statusReport } from '../../cli/app/status-report.ts'
import { resume } from '../../cli/commands/resume.ts'
import type { Bus } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { topicSpecs } from '../../core/bus/topic-specs.ts'
import { localCodec, SCHEMAS_FILE, saveSchemas } from '../../core/codec/local-codec.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import {
  firstPlacesSuite,
  halfOperationSuite,
  type LostLanesFixture,
  lostLanesSuite,
} from '../support/bus/lost-lanes-suite.ts'

const DAY_MS = 86_400_000
const folder = mkdtempSync(join(tmpdir(), 'sluice-resume-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const openAt = (path: string, nowMs = Date.now): Promise<Bus> =>
  openEmbeddedBus({
    path,
    mapSizeBytes: 67_108_864,
    retention: 'contract',
    log: makeSilentLogger(),
    nowMs,
  })

/** A bus whose log time is the number of the commit; retention is told how far it has come. */
const openSuiteBus = async (name: string): Promise<LostLanesFixture> => {
  let commits = 0
  const hooks = {
    onStep: (step: string) => {
      if (step === 'records') commits += 1
    },
  }
  const bus = await openEmbeddedBus({
    path: join(folder, name),
    mapSizeBytes: 67_108_864,
    retention: 'contract',
    log: makeSilentLogger(),
    nowMs: () => commits,
    hooks,
  })
  after(() => bus.close())
  return {
    bus,
    expire: async (topic, before) => {
      const [{ low = 0, end = 0 } = {}] = await bus.ends(topic)
      let beforeMs = commits + 1
      for await (const { offset, timestampMs } of bus.read(topic, 0, low, end)) {
        if (offset === before) beforeMs = timestampMs
      }
      const hours = topicSpecs({ chains: ['eth'], partitions: 2, retention: 'contract' })
      const { retentionMs } = hours.find((spec) => spec.topic === topic) ?? {}
      await bus.sweep(beforeMs + (retentionMs ?? 0))
    },
  }
}

lostLanesSuite(() => openSuiteBus('lost'))
firstPlacesSuite(() => openSuiteBus('first'))
halfOperationSuite(() => openSuiteBus('half'))

test('the resume command lists what lanes lost, changes nothing without --from, and shows where lanes continued', async () => {
  const dataDir = join(folder, 'data')
  const logPath = join(dataDir, 'log')
  const topic = 'eth.dex.trades.processed'
  const group = `sink.${topic}`
  const old = await openAt(logPath, () => Date.now() - 4 * DAY_MS)
  await old.createTopics(topicSpecs({ chains: ['eth'], partitions: 1, retention: 'contract' }))
  const writer = await old.writer('w')
  const records = Array.from({ length: 30 }, () => ({ topic, key: 'k', value: Buffer.from('v') }))
  await writer.commit({
    records,
    offsets: { group, next: [{ topic, partition: 0, offset: 10 }] },
  })
  await old.sweep(Date.now())
  const report = await statusReport({
    bus: old,
    codec: localCodec(),
    chains: ['eth'],
    nowMs: Date.now,
  })
  const row = report.chains[0]?.lanes.find((lane) => lane.group === group)
  assert.deepEqual([row?.behind, row?.lost], [[0], [20]])
  await old.close()
  saveSchemas(join(logPath, SCHEMAS_FILE))
  const printed: string[] = []
  const run = (from?: string): Promise<number> =>
    resume(
      { data: dataDir, chain: ['ethereum'], ...(from !== undefined && { from }) },
      {
        environment: { RETENTION: 'contract', LMDB_MAP_SIZE_MB: '64' },
        write: (text) => printed.push(text),
      },
    )
  assert.equal(await run(), 3)
  assert.equal(await run(), 3)
  assert.match(printed[0] ?? '', /sink\.eth\.dex\.trades\.processed\/0\n/)
  assert.match(printed[0] ?? '', /10 to 30: 20 records at most\n/)
  assert.match(printed[0] ?? '', /1 lanes are blocked/)
  await assert.rejects(run('yesterday'), { name: 'UsageError' })
  assert.equal(await run('now'), 0)
  assert.match(printed.at(-1) ?? '', /1 lanes continue/)
  assert.equal(await run(), 0)
  assert.equal(printed.at(-1), 'no lane has lost its offsets')
})

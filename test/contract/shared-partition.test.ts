import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-shared-'))
const bus = await openEmbeddedBus({
  path: folder,
  mapSizeBytes: 67_108_864,
  retention: 'off',
  log: makeSilentLogger(),
})
after(async () => {
  await bus.close()
  rmSync(folder, { recursive: true, force: true })
})

const TOPIC = 'eth.wallet-token-pnls'

test('lanes that write to one partition at the same time all commit, each record once and in the order of its lane', async () => {
  await bus.createTopics([{ topic: TOPIC, partitions: 1, cleanup: 'delete', retentionMs: null }])
  const [lanes, commits, size] = [4, 20, 50]
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      const writer = await bus.writer(`process.eth.${lane}`)
      for (let commit = 0; commit < commits; commit += 1) {
        const records = Array.from({ length: size }, (_each, index) => ({
          topic: TOPIC,
          partition: 0,
          key: String(lane),
          value: Buffer.from(String(commit * size + index)),
        }))
        await writer.commit({ records })
      }
    }),
  )
  const written = new Map<string, number[]>()
  for await (const { key, value } of bus.read(TOPIC, 0, 0)) {
    written.set(key, [...(written.get(key) ?? []), Number(Buffer.from(value ?? []).toString())])
  }
  const whole = Array.from({ length: commits * size }, (_, index) => index)
  assert.equal(written.size, lanes)
  for (const values of written.values()) assert.deepEqual(values, whole)
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { resolveWorkerModule } from '../../core/runtime/thread-pool.ts'
import type { StateReadingThreadData } from '../support/state-reading-thread.ts'
import { until } from '../support/until.ts'

const path = mkdtempSync(join(tmpdir(), 'sluice-state-readers-'))
after(() => rmSync(path, { recursive: true, force: true }))

test('a lane that joins a thread busy with another lane finds its earlier commits', async () => {
  const bus = await openEmbeddedBus({
    path,
    mapSizeBytes: 67_108_864,
    log: makeSilentLogger(),
    retention: 'off',
  })
  const writer = await bus.writer('lanes')
  const commit = (partition: number, text: string): Promise<unknown> =>
    writer.commit({
      state: [{ store: 'st', partition, key: 'progress', value: Buffer.from(text) }],
    })
  await commit(0, 'old')
  await commit(1, 'old')
  const locationOf = (partition: number) =>
    ({ kind: 'table', path, store: 'st', partition }) as const
  const turn = new Int32Array(new SharedArrayBuffer(4))
  const workerData: StateReadingThreadData = {
    locations: [locationOf(0), locationOf(1)],
    key: 'progress',
    turn,
  }
  const { url, execArgv = [] } = resolveWorkerModule(
    new URL('../support/state-reading-thread', import.meta.url),
  )
  const thread = new Worker(url, { workerData, execArgv: [...execArgv] })
  const read = once(thread, 'message')
  await until(() => Atomics.load(turn, 0) === 1, 'the first lane is read')
  await commit(1, 'new')
  Atomics.store(turn, 0, 2)
  Atomics.notify(turn, 0)
  assert.deepEqual(await read, ['new'])
  await once(thread, 'exit')
  await bus.close()
})

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import type { CommitStep } from '../../core/bus/embedded/commit-queue.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { groupedOperations, ingestGrouped } from '../support/bus/grouped-ingest.ts'
import { readBlockEvents, readDataRecords } from '../support/read-ingest-topics.ts'
import { withTempFolder } from '../support/temp-folder.ts'

const CHILD = join(import.meta.dirname, '../support/bus/grouped-ingest-child.ts')
/** One kill each, in the second commit of a process. */
const STEPS: readonly CommitStep[] = ['records', 'final-records', 'state', 'written', 'durable']

const codec = localCodec()

/** Everything that the log of a folder holds of the chain. */
const contentOf = async (path: string) => {
  const log = makeSilentLogger()
  const bus = await openEmbeddedBus({ path, mapSizeBytes: 67_108_864, log, retention: 'off' })
  try {
    const blocks = await readBlockEvents(bus, codec)
    return { blocks, records: await readDataRecords(bus, codec) }
  } finally {
    await bus.close()
  }
}

test('killed in the middle of commits of several blocks the log is that of one commit each, undisturbed', () =>
  withTempFolder(async (clean) =>
    withTempFolder(async (killed) => {
      await ingestGrouped(clean, 1)
      let held = 0
      for (const step of STEPS) {
        const { signal, stderr } = spawnSync(
          process.execPath,
          ['--import', 'tsx', CHILD, killed, step, '2'],
          { encoding: 'utf8', timeout: 120_000 },
        )
        assert.equal(signal, 'SIGKILL', stderr)
        const { blocks } = await contentOf(killed)
        // The first commit of four, and the second one only where it was durable.
        held += step === 'durable' ? 8 : 4
        assert.equal(blocks.length, held, step)
      }
      await ingestGrouped(killed, 4)
      const [got, want] = [await contentOf(killed), await contentOf(clean)]
      assert.equal(want.blocks.length, groupedOperations().length)
      assert.deepEqual(got, want)
    }),
  ))

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statusLines, statusReport } from '../../cli/app/status-report.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import type { ProcessorsHealth } from '../../processors/readiness.ts'
import { withTempFolder } from '../support/temp-folder.ts'

const NOW_MS = Date.UTC(2026, 0, 1)

test('the status report lists partitions that invalid input stopped, and partitions whose work fails', async () => {
  const lane = { seq: 7, height: 9, blockTimeMs: NOW_MS }
  const health: ProcessorsHealth = {
    groups: {
      'process.eth': [
        { partition: 0, ...lane },
        { partition: 1, ...lane, halted: 'gap: operation 8 is missing' },
      ],
    },
    failing: {
      'sink.eth.dex.trades': [{ partition: 2, sinceMs: NOW_MS - 61_400, error: 'memory limit' }],
      'finalizer.eth': [],
    },
  }
  await withTempFolder(async (path) => {
    const log = makeSilentLogger()
    const bus = await openEmbeddedBus({ path, mapSizeBytes: 67_108_864, log, retention: 'off' })
    const sources = { bus, codec: localCodec(), chains: [], nowMs: () => NOW_MS }
    const report = await statusReport({ ...sources, processors: () => health })
    assert.deepEqual(report.stopped, [
      { group: 'process.eth', partition: 1, reason: 'gap: operation 8 is missing' },
    ])
    const lines = statusLines(report)
    const runbook = 'see "Partition stopped by invalid input" in docs/runbook.md'
    assert.ok(
      lines.includes(`stopped: process.eth/1: gap: operation 8 is missing; ${runbook}`),
      lines.join('\n'),
    )
    assert.ok(lines.includes('failing: sink.eth.dex.trades/2 for 61 s: memory limit'))
    const quiet = statusLines(await statusReport(sources))
    assert.ok(!quiet.some((line) => /^(stopped|failing)/.test(line)))
    await bus.close()
  })
})

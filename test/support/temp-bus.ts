import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bus } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { topicSpecs } from '../../core/bus/topic-specs.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'

/** An embedded log in a temporary folder. */
export interface TempBus {
  readonly bus: Bus
  /** Closes the log and removes its folder. */
  stop(): Promise<void>
}

/** Opens an embedded log in a new temporary folder, with the topics that belong to no chain. */
export const openTempBus = async (): Promise<TempBus> => {
  const path = mkdtempSync(join(tmpdir(), 'sluice-bus-'))
  const bus = await openEmbeddedBus({
    path,
    mapSizeBytes: 64 << 20,
    log: makeSilentLogger(),
    retention: 'off',
  })
  await bus.createTopics(topicSpecs({ chains: [], partitions: 1, retention: 'off' }))
  return {
    bus,
    stop: async () => {
      await bus.close()
      rmSync(path, { recursive: true, force: true })
    },
  }
}

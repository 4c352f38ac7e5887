import type { Bus } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { topicSpecs } from '../../core/bus/topic-specs.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { makeRecordSigner } from '../../core/security/record-signature.ts'
import { type JobStore, openJobStore } from '../../serving/jobs/job-store.ts'

/** Jobs on the embedded log of a folder. */
export const openTestJobStore = async (
  path: string,
  nowMs: () => number = Date.now,
): Promise<{ readonly bus: Bus; readonly jobs: JobStore }> => {
  const log = makeSilentLogger()
  const bus = await openEmbeddedBus({ path, mapSizeBytes: 64 << 20, log, retention: 'off' })
  await bus.createTopics(topicSpecs({ chains: [], partitions: 1, retention: 'off' }))
  const jobs = await openJobStore({
    bus,
    codec: localCodec(),
    nowMs,
    log,
    signer: makeRecordSigner('pepper'),
    metrics: makeMetrics(),
  })
  return { bus, jobs }
}

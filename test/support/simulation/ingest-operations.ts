import { topicSpecs } from '../../../core/bus/topic-specs.ts'
import { localCodec } from '../../../core/codec/local-codec.ts'
import { makeSilentLogger } from '../../../core/ops/logger.ts'
import { makeMetrics } from '../../../core/ops/metrics.ts'
import { readTableMetadata } from '../../../ingestors/decode/metadata-reader.ts'
import type { ChainOp, Source } from '../../../ingestors/follow/contract.ts'
import { type CatchUp, startIngestor } from '../../../ingestors/start.ts'
import { CHAINS } from '../../../schemas/chains.ts'
import { POOLS, TOKENS } from '../builders/evm-block.ts'
import { openSimulatedBus } from './bus.ts'
import { type Link, SimulatedGroups } from './lanes.ts'
import { SimulatedLog } from './log.ts'

const codec = localCodec()

/** How one run commits the operations. */
interface IngestPlan {
  readonly catchUp: Partial<CatchUp>
  /** Whether the node's head is far when the operation of this number is given. */
  readonly isFar: (given: number) => boolean
  readonly link?: Link
}

/** An ingestor over the operations until all are committed; what the log holds then, and the commits that it took. */
export const ingestOperations = async (
  ops: readonly ChainOp[],
  plan: IngestPlan,
): Promise<{ readonly shared: SimulatedLog; readonly commits: number }> => {
  const shared = new SimulatedLog('groups', () => 0)
  let commits = 0
  const link: Link = async (call, work) => {
    if (call === 'commit' || call === 'group') commits += 1
    return plan.link ? plan.link(call, work) : work()
  }
  const bus = openSimulatedBus({ name: 'one', shared, groups: new SimulatedGroups(), link })
  await bus.createTopics(topicSpecs({ chains: ['eth'], partitions: 2, retention: 'off' }))
  let given = 0
  let onFatal = (_error: unknown): void => undefined
  const fatal = new Promise<never>((_, reject) => {
    onFatal = reject
  })
  const source: Source = {
    origin: 'steps',
    commitment: 'processed',
    gaps: false,
    node: null,
    head: () => ({ height: plan.isFar(given) ? 1_000_000 : 0, hash: null }),
    async *operations() {
      // A new reader continues behind what the log holds.
      for (given = shared.ends('eth.blocks')[0]?.end ?? 0; given < ops.length; ) {
        const op = ops[given]
        given += 1
        if (op) yield op
      }
    },
  }
  const ingestor = await startIngestor({
    chain: CHAINS.eth,
    source,
    bus,
    codec,
    config: { retention: 'off', pricesStatic: {} },
    metadata: {
      ...readTableMetadata(TOKENS, POOLS),
      metadataSource: 'node',
      verification: 'facts',
    },
    metrics: makeMetrics(),
    log: makeSilentLogger(),
    nowMs: () => 0,
    catchUp: plan.catchUp,
    onFatal,
  })
  await Promise.race([ingestor.done, fatal])
  await bus.close()
  return { shared, commits }
}

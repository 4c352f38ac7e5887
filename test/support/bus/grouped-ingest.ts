import { openEmbeddedBus } from '../../../core/bus/embedded/bus.ts'
import type { CommitHooks } from '../../../core/bus/embedded/commit-queue.ts'
import { topicSpecs } from '../../../core/bus/topic-specs.ts'
import { localCodec } from '../../../core/codec/local-codec.ts'
import { makeSilentLogger } from '../../../core/ops/logger.ts'
import { makeMetrics } from '../../../core/ops/metrics.ts'
import { readTableMetadata } from '../../../ingestors/decode/metadata-reader.ts'
import type { ChainOp, Source } from '../../../ingestors/follow/contract.ts'
import { startIngestor } from '../../../ingestors/start.ts'
import { CHAINS } from '../../../schemas/chains.ts'
import type { Block } from '../../../schemas/events.ts'
import {
  blockRef,
  buildEvmBlock,
  POOLS,
  TOKENS,
  tokenSwap,
  wethSwap,
} from '../builders/evm-block.ts'

const branch = (under: Block | undefined, from: number, count: number, fork: string): Block[] => {
  const blocks: Block[] = []
  for (let height = from; height < from + count; height += 1) {
    const parent = blocks.at(-1) ?? under
    const place = { height, ...(parent && { parentHash: parent.hash }) }
    blocks.push(buildEvmBlock(place, [wethSwap(2_000 + height), tokenSwap(100n)], fork))
  }
  return blocks
}

/** 31 operations, with a reorg of two blocks that lies in one commit or across two, by how many share one. */
export const groupedOperations = (): readonly ChainOp[] => {
  const first = branch(undefined, 100, 14, 'a')
  const second = branch(first[11], 112, 14, 'b')
  const apply = (blocks: readonly Block[]) =>
    blocks.map((block): ChainOp => ({ op: 'apply', block }))
  const revert = first
    .slice(12)
    .toReversed()
    .map((block): ChainOp => ({ op: 'revert', ref: blockRef(block) }))
  const [final] = first
  const finalize: ChainOp[] = final ? [{ op: 'finalize', ref: blockRef(final) }] : []
  return [...apply(first), ...finalize, ...revert, ...apply(second)]
}

/** Ingests what is missing in the log of a folder, so many operations in one commit, and closes it. */
export const ingestGrouped = async (
  path: string,
  operations: number,
  hooks: CommitHooks = {},
): Promise<void> => {
  const log = makeSilentLogger()
  const size = { path, mapSizeBytes: 67_108_864 }
  const bus = await openEmbeddedBus({ ...size, log, retention: 'off', hooks })
  await bus.createTopics(topicSpecs({ chains: ['eth'], partitions: 3, retention: 'off' }))
  const ops = groupedOperations()
  const source: Source = {
    origin: 'grouped',
    commitment: 'processed',
    gaps: false,
    node: null,
    head: () => ({ height: 1_000_000, hash: null }),
    async *operations() {
      const [{ end } = { end: 0 }] = await bus.ends('eth.blocks')
      yield* ops.slice(end)
    },
  }
  const ingestor = await startIngestor({
    chain: CHAINS.eth,
    source,
    bus,
    codec: localCodec(),
    config: { retention: 'off', pricesStatic: {} },
    metadata: {
      ...readTableMetadata(TOKENS, POOLS),
      metadataSource: 'node',
      verification: 'facts',
    },
    metrics: makeMetrics(),
    log,
    nowMs: () => 0,
    catchUp: { operations, waitMs: 60_000 },
  })
  await ingestor.done
  await ingestor.stop()
  await bus.close()
}

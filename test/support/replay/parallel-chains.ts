import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lazyNodeSource } from '../../../cli/app/node-source.ts'
import type { Bus } from '../../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../../core/bus/embedded/bus.ts'
import { topicSpecs } from '../../../core/bus/topic-specs.ts'
import type { Codec } from '../../../core/codec/contract.ts'
import { localCodec } from '../../../core/codec/local-codec.ts'
import { makeSilentLogger } from '../../../core/ops/logger.ts'
import { type Metrics, makeMetrics } from '../../../core/ops/metrics.ts'
import { type Ingestor, startIngestor } from '../../../ingestors/start.ts'
import { chainRow } from '../../../schemas/chains.ts'
import type { BlockEvent } from '../../../schemas/wire.ts'
import { readBlockEvents } from '../read-ingest-topics.ts'
import type { ReplayServer } from './servers.ts'

/** Chains that are followed side by side in this process, on one bus. */
export interface ParallelChains {
  readonly bus: Bus
  readonly codec: Codec
  readonly metrics: Metrics
  /** By chain. */
  readonly ingestors: ReadonlyMap<string, Ingestor>
  /** Height of the newest committed block of a chain; -1 before the first. */
  height(chain: string): number
  stop(): Promise<void>
}

/** What the sources of a run are opened with. */
export interface ParallelChainsOptions {
  readonly servers: readonly ReplayServer[]
  readonly from: number
  readonly rpcTimeoutMs: number
  readonly mapSizeBytes: number
  /** Partitions of every topic. Default: 2. */
  readonly lanes?: number
}

/** Starts an ingestor per server. */
export const startParallelChains = async (
  options: ParallelChainsOptions,
): Promise<ParallelChains> => {
  const { servers, from, rpcTimeoutMs, mapSizeBytes, lanes = 2 } = options
  const folder = mkdtempSync(join(tmpdir(), 'sluice-chains-'))
  const log = makeSilentLogger()
  const metrics = makeMetrics()
  const codec = localCodec()
  const bus = await openEmbeddedBus({ path: folder, mapSizeBytes, log, retention: 'off' })
  const chains = servers.map(({ chain }) => chain)
  await bus.createTopics(topicSpecs({ chains, partitions: lanes, retention: 'off' }))
  const limits = { rpcConcurrency: 8, rpcPerSecond: 0, rpcTimeoutMs, chainExtra: {}, feeds: [] }
  const start = async ({ chain: id, urls }: ReplayServer): Promise<[string, Ingestor]> => {
    const chain = chainRow(id)
    if (chain === undefined) throw new Error(`no chain ${id}`)
    const source = lazyNodeSource({ chain, urls, from, config: limits, metrics, log })
    const config = { retention: 'off', pricesStatic: {} } as const
    return [id, await startIngestor({ chain, source, bus, codec, config, metrics, log })]
  }
  const ingestors = new Map(await Promise.all(servers.map(start)))
  return {
    bus,
    codec,
    metrics,
    ingestors,
    height: (chain) => ingestors.get(chain)?.status().height ?? -1,
    stop: async () => {
      await Promise.all([...ingestors.values()].map((ingestor) => ingestor.stop()))
      await bus.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** What a reader of `{c}.blocks` holds after netting what was taken back; every step is checked. */
export const canonicalBlocks = (events: readonly BlockEvent[]): readonly BlockEvent[] => {
  const stack: BlockEvent[] = []
  let seq = 0
  for (const event of events) {
    const { meta } = event
    assert.equal(meta.seq, seq + 1, `${meta.chain}: operations follow one another`)
    seq = meta.seq
    if (meta.op === 'OP_REVERT') assert.equal(stack.pop()?.meta.hash, meta.hash)
    if (meta.op !== 'OP_APPLY') continue
    const below = stack.at(-1)
    if (below !== undefined) {
      assert.equal(meta.parent_hash, below.meta.hash, `${meta.chain} ${meta.height}`)
    }
    stack.push(event)
  }
  return stack
}

/** Asserts that a chain's log holds exactly the blocks of its server from `from` to `to`, in order; gives them. */
export const assertCompleteLog = async (
  { bus, codec }: Pick<ParallelChains, 'bus' | 'codec'>,
  server: ReplayServer,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<readonly BlockEvent[]> => {
  const stack = canonicalBlocks(await readBlockEvents(bus, codec, server.chain))
  const expected = Array.from({ length: to - from + 1 }, (_, at) => from + at).flatMap((height) => {
    const hash = server.hashAt(height)
    return hash === undefined ? [] : [`${height} ${hash}`]
  })
  const held = stack.filter(({ meta }) => meta.height <= to)
  assert.deepEqual(
    held.map(({ meta }) => `${meta.height} ${meta.hash}`),
    expected,
    `${server.chain}: every block once, in order`,
  )
  return held
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedBus } from '../core/bus/embedded/bus.ts'
import { topicSpecs } from '../core/bus/topic-specs.ts'
import { localCodec } from '../core/codec/local-codec.ts'
import { makeSilentLogger } from '../core/ops/logger.ts'
import { makeMetrics } from '../core/ops/metrics.ts'
import { readTableMetadata } from '../ingestors/decode/metadata-reader.ts'
import type { Source } from '../ingestors/follow/contract.ts'
import { type CatchUp, startIngestor } from '../ingestors/start.ts'
import { PROCESS_PIPELINE } from '../processors/process-pipeline.ts'
import { startStage } from '../processors/runtime/stage-runner.ts'
import { processorTopics } from '../processors/start.ts'
import { CHAINS } from '../schemas/chains.ts'
import type { Block } from '../schemas/events.ts'
import {
  blockRef,
  buildEvmBlock,
  POOLS,
  TOKENS,
  tokenSwap,
  wethSwap,
} from '../test/support/builders/evm-block.ts'
import { until } from '../test/support/until.ts'
import { rounded } from './fold-chain.ts'

const CHAIN = 'eth'
const FIRST_HEIGHT = 100
const PLAN = { chains: [CHAIN], partitions: 3, retention: 'off' } as const
const ALONE: Partial<CatchUp> = { operations: 1 }
const LIMIT_MS = 600_000
/** Each way is run so often, in turns: what slows the machine slows both. */
const ROUNDS = 2
const SIZES = [
  { blocks: 256, swaps: 4 },
  { blocks: 64, swaps: 50 },
] as const

/** One line of the bench: swaps per second of a past range, and of the same range with a commit for each block. */
interface CatchUpLine {
  readonly bench: 'catch-up'
  readonly node: string
  /** What is waited for: the ingestor, or the lanes behind it as well. */
  readonly through: 'ingestor' | 'lanes'
  readonly swapsPerBlock: number
  readonly perSecond: number
  readonly barePerSecond: number
  /** Ours divided by bare. */
  readonly ratio: number
  readonly bare: string
}

const pastRange = (blocks: number, swaps: number): readonly Block[] => {
  const range: Block[] = []
  for (let height = FIRST_HEIGHT; height < FIRST_HEIGHT + blocks; height += 1) {
    const parent = range.at(-1)?.hash
    const list = Array.from({ length: swaps }, (_, at) =>
      at === 0 ? wethSwap(2_000 + (height % 7)) : tokenSwap(100n + BigInt((height + at) % 50)),
    )
    range.push(buildEvmBlock({ height, ...(parent && { parentHash: parent }) }, list))
  }
  return range
}

/** A node whose head lies above the range, and that has every block of it at hand. */
const sourceOf = (range: readonly Block[]): Source => ({
  origin: 'bench',
  commitment: 'processed',
  gaps: false,
  node: null,
  head: () => ({ height: FIRST_HEIGHT + range.length - 1, hash: null }),
  async *operations() {
    for (const [at, block] of range.entries()) {
      yield { op: 'apply', block } as const
      if (at % 32 === 31) yield { op: 'finalize', ref: blockRef(block) } as const
    }
  },
})

/** Milliseconds until the ingestor, or the lanes, are through with the range on a log of their own. */
const timeOf = async (
  range: readonly Block[],
  through: CatchUpLine['through'],
  catchUp: Partial<CatchUp>,
): Promise<number> => {
  const path = mkdtempSync(join(tmpdir(), 'sluice-catch-up-'))
  const log = makeSilentLogger()
  const metrics = makeMetrics()
  const codec = localCodec()
  const bus = await openEmbeddedBus({ path, mapSizeBytes: 1_073_741_824, log, retention: 'off' })
  try {
    await bus.createTopics([...topicSpecs(PLAN), ...processorTopics(PLAN.chains, PLAN)])
    const deps = { chain: CHAIN, bus, codec, metrics, log }
    let onFatal = (_error: unknown): void => undefined
    const fatal = new Promise<never>((_, reject) => {
      onFatal = reject
    })
    const beganMs = performance.now()
    const ingestor = await startIngestor({
      chain: CHAINS[CHAIN],
      source: sourceOf(range),
      bus,
      codec,
      config: { retention: 'off', pricesStatic: {} },
      metadata: {
        ...readTableMetadata(TOKENS, POOLS),
        metadataSource: 'node',
        verification: 'facts',
      },
      metrics,
      log,
      catchUp,
      onFatal,
    })
    const stage = through === 'lanes' ? await startStage(PROCESS_PIPELINE, deps) : undefined
    await Promise.race([ingestor.done, fatal])
    const { seq: last } = ingestor.status()
    const isThrough = (): boolean => {
      const lanes = stage?.lanes()
      // Before a lane has begun the list is without it.
      return !lanes || (lanes.length === PLAN.partitions && lanes.every(({ seq }) => seq === last))
    }
    await until(isThrough, 'the lanes are through', LIMIT_MS)
    const ms = performance.now() - beganMs
    await ingestor.stop()
    await stage?.stop()
    return ms
  } finally {
    await bus.close()
    rmSync(path, { recursive: true, force: true })
  }
}

/** A past range on the embedded log: blocks that share commits against a commit for each. */
export const catchUpBench = async (): Promise<void> => {
  for (const { blocks, swaps } of SIZES) {
    const range = pastRange(blocks, swaps)
    for (const through of ['ingestor', 'lanes'] as const) {
      let [ours, bare] = [0, 0]
      await timeOf(range, through, {})
      for (let round = 0; round < ROUNDS; round += 1) {
        bare += await timeOf(range, through, ALONE)
        ours += await timeOf(range, through, {})
      }
      const rate = (ms: number): number => Math.round((1_000 * ROUNDS * blocks * swaps) / ms)
      const line: CatchUpLine = {
        bench: 'catch-up',
        node: process.version,
        through,
        swapsPerBlock: swaps,
        perSecond: rate(ours),
        barePerSecond: rate(bare),
        ratio: rounded(bare / ours),
        bare: 'the same ingestor with one commit per block',
      }
      process.stdout.write(`${JSON.stringify(line)}\n`)
    }
  }
}

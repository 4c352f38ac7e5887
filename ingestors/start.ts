import type { Bus, Lane, RunningTask, TopicSpec } from '../core/bus/contract.ts'
import { changelogSpec, deadLetterSpec } from '../core/bus/topic-specs.ts'
import type { Codec } from '../core/codec/contract.ts'
import type { ChainExtra, Config } from '../core/config/settings.ts'
import { InvalidInput, Outage } from '../core/errors.ts'
import type { Logger } from '../core/ops/logger.ts'
import type { Metrics } from '../core/ops/metrics.ts'
import { configuredSeedPrices } from '../core/prices/fold-block.ts'
import { makeQuoteAssets, type QuoteAssets } from '../core/prices/quote-assets.ts'
import type { ChainRow } from '../schemas/chains.ts'
import { toDropReason } from '../schemas/drop-reasons.ts'
import { feedsOfChain, feedTopics } from '../schemas/feeds.ts'
import { stateTopic, TOPICS, type TopicRow, topicName } from '../schemas/topics.ts'
import { ingestDeadLetterRecord, ingestDlqTopic } from './dead-letters/dead-letters.ts'
import { type MetadataReader, readTableMetadata } from './decode/metadata-reader.ts'
import { protocolRegistry } from './decode/protocol-registry.ts'
import { seedPricePools } from './decode/seed-prices.ts'
import {
  type FlashblocksFeed,
  type FlashblocksParts,
  startPendingFollower,
} from './flashblocks/start.ts'
import type { ChainOp, Source } from './follow/contract.ts'
import { followWithRetry } from './follow/follow-with-retry.ts'
import { collectRejectedResponses, type RejectedResponses } from './input/rejected-responses.ts'
import type { GroupLimits } from './publish/commit-groups.ts'
import { ALL_FAMILIES } from './publish/record-batches.ts'
import { openSession, type SessionOptions } from './publish/session.ts'
import { type IngestorStatus, liveLagOf, type StatusBoard, statusBoard } from './status-board.ts'

/** Name of the stage in groups and stores. */
const APP = 'ingest'
/**
 * Bounds of one commit while the chain's head is far. Large enough that the disk's or the broker's answer is shared by many
 * blocks, small enough that two commits are little memory and readers do not wait long for the first block of one.
 */
const COMMIT_LIMITS: GroupLimits = {
  operations: 64,
  records: 5_000,
  bytes: 4_194_304,
  waitMs: 250,
}

/** When blocks share commits. */
export interface CatchUp extends GroupLimits {
  /** Blocks that are less far behind the node's head have a commit of their own. Default: those that count as live. */
  readonly liveLag: number
}

/** What an ingestor of one chain is made of. */
export interface IngestorOptions {
  readonly chain: ChainRow
  readonly source: Source
  readonly bus: Bus
  readonly codec: Codec
  readonly config: Pick<Config, 'retention' | 'pricesStatic'> & Partial<Pick<Config, 'feeds'>>
  readonly extra?: ChainExtra
  /** Its pre-confirmed blocks are followed too, their trades published as pre-confirmations. */
  readonly flashblocks?: FlashblocksFeed
  /** Default: the source's node, or nothing where it has none. */
  readonly metadata?: MetadataReader
  readonly metrics: Metrics
  readonly log: Logger
  /** Ends once a block of this time or later is committed, epoch milliseconds of chain time. */
  readonly until?: number
  /** Default: `COMMIT_LIMITS`. */
  readonly catchUp?: Partial<CatchUp>
  /** Called once with an error after which the process must stop: a full disk, a node of another chain, a bug. */
  readonly onFatal?: (error: unknown) => void
  readonly nowMs?: () => number
}

/** A running ingestor. */
export interface Ingestor extends RunningTask {
  readonly name: string
  status(): IngestorStatus
  /** Not ok while the chain is halted or stalled; `detail` says why. */
  readiness(): { readonly ok: boolean; readonly detail?: string }
  /** Resolves when a recording has ended or `until` is reached. Never rejects. */
  readonly done: Promise<void>
}

/** Topics that the ingestor of a chain needs beside the documented ones. */
export const ingestTopics = (
  chain: string,
  { retention }: Pick<Config, 'retention'>,
): readonly TopicSpec[] => [
  changelogSpec(stateTopic(APP, chain), 1),
  deadLetterSpec(ingestDlqTopic(chain), retention),
]

/**
 * Follows a source and commits its operations: near the node's head one transaction each, below it several whole ones in one. An `Outage` starts again from what was committed. A block
 * that no endpoint returns in shape blocks the chain until one does; a reorg below finality or a recording that is not in
 * shape halts it: the status says why, nothing is skipped.
 * Throws `ConfigError` for extra rows that name no protocol, `Outage` when the bus does not answer.
 */
export const startIngestor = async (options: IngestorOptions): Promise<Ingestor> => {
  const { chain, bus, config } = options
  const store = stateTopic(APP, chain.id)
  const rejectedResponses = collectRejectedResponses(chain.id, options.metrics)
  const session = await sessionOptions(options, store, rejectedResponses)
  await bus.createTopics(ingestTopics(chain.id, config))
  const ending = new AbortController()
  const board = statusBoard(options)
  const running = await bus.subscribe({
    group: `${APP}.${chain.id}`,
    topics: [topicName('blocks', chain.id)],
    run: (lane) =>
      runLane({ options, session, board, rejectedResponses, ending: ending.signal }, lane),
  })
  return {
    name: `ingest ${chain.id}`,
    status: board.status,
    readiness: board.readiness,
    done: board.done,
    stop: async () => {
      ending.abort(new Error('the ingestor stops'))
      await running.stop()
      board.close()
      board.enter('stopped')
    },
  }
}

const sessionOptions = async (
  options: IngestorOptions,
  store: string,
  rejectedResponses: RejectedResponses,
): Promise<SessionOptions> => {
  const { chain, bus, codec, source, extra, metrics, nowMs = Date.now } = options
  const counts = new Map<string, number>()
  const { feeds = [] } = options.config
  const optional = feedTopics(chain, feeds)
  for (const family of ALL_FAMILIES) {
    const row: TopicRow = TOPICS[family]
    if (row.optional && !optional.includes(family)) continue
    const topic = topicName(family, chain.id)
    counts.set(topic, await bus.partitions(topic))
  }
  const quoteAssets = makeQuoteAssets(chain, extra)
  const protocols = protocolRegistry(chain.id, extra)
  return {
    bus,
    chainContext: {
      chain,
      quoteAssets,
      codec,
      feeds: feedsOfChain(chain, feeds),
      partitions: (topic) => counts.get(topic) ?? 1,
      store,
      nowMs,
      commitment: source.commitment,
    },
    protocols,
    metadataReader:
      options.metadata ?? source.node?.metadataReader(protocols) ?? readTableMetadata(),
    seedPrices: seedPricesOf(options, quoteAssets),
    takeRejectedResponses: () => [
      ...(source.takeRejectedResponses?.() ?? []),
      ...rejectedResponses.take(),
    ],
    limits: { ...COMMIT_LIMITS, ...options.catchUp },
    metrics,
  }
}

/** Configured prices, and over them the reference pools' state at the parent block where there is a node to ask. */
const seedPricesOf =
  (
    { chain, source, extra, config }: IngestorOptions,
    quoteAssets: QuoteAssets,
  ): SessionOptions['seedPrices'] =>
  async ({ parentHash, timeMs }, signal) => {
    const configured = configuredSeedPrices(config.pricesStatic, timeMs, quoteAssets)
    if (source.node === null) return configured
    const pools = seedPricePools(chain, extra)
    const at = { hash: parentHash, timeMs, signal }
    return [...configured, ...(await source.node.seedPrices(pools, quoteAssets, at))]
  }

interface Run {
  readonly options: IngestorOptions
  readonly session: SessionOptions
  readonly board: StatusBoard
  /** What was wrong with pre-confirmed blocks. */
  readonly rejectedResponses: RejectedResponses
  readonly ending: AbortSignal
}

/** One ownership of the chain: throws what the bus answers with a new writer, returns when nothing more is to be done. */
const runLane = async (run: Run, lane: Lane): Promise<void> => {
  const { options, board } = run
  const signal = AbortSignal.any([lane.signal, run.ending])
  try {
    board.enter('starting')
    await ingest(run, lane, signal)
  } catch (error) {
    if (signal.aborted) return
    if (error instanceof Outage && !isFatal(error)) throw error
    const reason = error instanceof InvalidInput ? error.reason : String(error)
    options.log.error({ err: error, chain: options.chain.id, reason }, 'chain halted')
    if (error instanceof InvalidInput) await writeDeadLetter(run, lane, error)
    board.enter('halted', reason)
    if (!(error instanceof InvalidInput)) options.onFatal?.(error)
  } finally {
    if (signal.aborted) board.leave()
  }
}

const ingest = async (run: Run, lane: Lane, signal: AbortSignal): Promise<void> => {
  const { options, session: sessionOf, board } = run
  const { chain, source, log, until = Number.POSITIVE_INFINITY } = options
  const { liveLag = liveLagOf(chain) } = options.catchUp ?? {}
  const session = await openSession(sessionOf, lane, board.committed)
  const { flush, pending, position } = session
  const isReached = (): boolean => (session.tip()?.timeMs ?? -1) >= until
  const isLive = (): boolean => {
    const [head, tip] = [source.head(), session.tip()]
    return head === null || tip === null || head.height - tip.height <= liveLag
  }
  board.committed(session.head())
  if (!isReached()) {
    const take = async (op: ChainOp): Promise<boolean> => {
      await session.take(op, signal)
      if (isLive()) await flush()
      return isReached()
    }
    const onStill = async (error: InvalidInput): Promise<void> => {
      await writeDeadLetter(run, lane, error)
      board.enter('halted', error.reason)
    }
    const over = new AbortController()
    const parts: FlashblocksParts = {
      protocols: sessionOf.protocols,
      quoteAssets: sessionOf.chainContext.quoteAssets,
      rejectedResponses: run.rejectedResponses,
    }
    const pendingFollower = startPendingFollower(
      options,
      parts,
      session,
      AbortSignal.any([signal, over.signal]),
    )
    try {
      await followWithRetry({ source, position, take, flush, pending, onStill, log }, signal)
    } finally {
      over.abort(new Error('the chain is not followed any more'))
      await pendingFollower
    }
  }
  if (!signal.aborted) board.enter('done')
}

/** A full disk or a node of another chain does not get better by trying again; a fenced writer does. */
const isFatal = (outage: Outage): boolean => outage.final && outage.of !== 'bus'

const writeDeadLetter = async (
  { options, board }: Run,
  lane: Lane,
  error: InvalidInput,
): Promise<void> => {
  const { height, hash, seq } = board.status()
  const { chain, metrics, nowMs = Date.now } = options
  metrics.ingestDropped.inc({
    chain: chain.id,
    protocol: 'chain',
    reason: toDropReason(error.reason),
  })
  const deadLetter = ingestDeadLetterRecord({
    chain: chain.id,
    key: chain.id,
    stage: 'decode',
    errorClass: `InvalidInput ${error.reason}`,
    message: error.message,
    body: {
      kind: 'chain',
      reason: error.reason,
      message: error.message,
      above: { height, hash, seq },
    },
    timeMs: nowMs(),
  })
  await lane.writer.commit({ records: [deadLetter] })
}

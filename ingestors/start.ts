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
import { followPatiently } from './follow/follow-with-retry.ts'
import { collectRejectedResponses, type RejectedResponses } from './input/rejected-responses.ts'
import { ALL_FAMILIES } from './publish/record-batches.ts'
import { openSession, type Session, type SessionOptions } from './publish/session.ts'

/** Name of the stage in groups and stores. */
const APP = 'ingest'
/** Blocks behind the node's head that still count as live, and how long ago the first of them may be where blocks are fast. */
const LIVE_LAG = 2
const LIVE_LAG_MS = 2_000

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
  /** Told once of an error after which the process must stop: a full disk, a node of another chain, a bug. */
  readonly onFatal?: (error: unknown) => void
  readonly nowMs?: () => number
}

/** What an ingestor is doing. */
interface IngestorStatus {
  /** Newest committed block; null before the first. */
  readonly height: number | null
  readonly hash: string | null
  readonly timeMs: number | null
  /** Newest committed block operation; 0 before the first. */
  readonly seq: number
  readonly state: 'starting' | 'catching-up' | 'live' | 'halted' | 'stopped' | 'done'
  /** Why it halted. */
  readonly reason?: string
}

/** A running ingestor. */
export interface Ingestor extends RunningTask {
  readonly name: string
  status(): IngestorStatus
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
 * Follows a source and commits its operations, one transaction each. An `Outage` starts again from what was committed. A block
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
  const book = makeQuoteAssets(chain, extra)
  const protocols = protocolRegistry(chain.id, extra)
  return {
    bus,
    workshop: {
      chain,
      book,
      codec,
      feeds: feedsOfChain(chain, feeds),
      partitions: (topic) => counts.get(topic) ?? 1,
      store,
      nowMs,
      commitment: source.commitment,
    },
    protocols,
    facts: options.metadata ?? source.node?.facts(protocols) ?? readTableMetadata(),
    primes: seedPricesOf(options, book),
    refusals: () => [...(source.refusals?.() ?? []), ...rejectedResponses.take()],
    metrics,
  }
}

/** Configured prices, and over them the reference pools' state at the parent block where there is a node to ask. */
const seedPricesOf =
  (
    { chain, source, extra, config }: IngestorOptions,
    book: QuoteAssets,
  ): SessionOptions['primes'] =>
  async ({ parentHash, timeMs }, signal) => {
    const configured = configuredSeedPrices(config.pricesStatic, timeMs, book)
    if (source.node === null) return configured
    const pools = seedPricePools(chain, extra)
    const at = { hash: parentHash, timeMs, signal }
    return [...configured, ...(await source.node.primes(pools, book, at))]
  }

interface Board {
  readonly done: Promise<void>
  readonly status: () => IngestorStatus
  readonly committed: (session: Session) => void
  readonly enter: (state: IngestorStatus['state'], reason?: string) => void
  readonly close: () => void
}

/** The status that others read, and the lag in the metrics. */
const statusBoard = ({ chain, source, metrics, nowMs = Date.now }: IngestorOptions): Board => {
  let status: IngestorStatus = {
    height: null,
    hash: null,
    timeMs: null,
    seq: 0,
    state: 'starting',
  }
  const liveLag = Math.max(LIVE_LAG, Math.ceil(LIVE_LAG_MS / chain.blockTimeMs))
  let finish = (): void => undefined
  const done = new Promise<void>((resolve) => {
    finish = resolve
  })
  const lagBlocks = (): number | null => {
    const head = source.head()
    return head === null || status.height === null ? null : Math.max(head.height - status.height, 0)
  }
  const close = metrics.watchLag(chain.id, () => ({
    blocks: lagBlocks(),
    seconds: status.timeMs === null ? null : (nowMs() - status.timeMs) / 1e3,
  }))
  return {
    done,
    status: () => status,
    close,
    committed: (session) => {
      const { seq, tip } = session.standing()
      const { height = null, hash = null, timeMs = null } = tip ?? {}
      status = { ...status, height, hash, timeMs, seq }
      const lag = lagBlocks()
      const state = lag !== null && lag <= liveLag ? 'live' : 'catching-up'
      status = { height, hash, timeMs, seq, state }
    },
    enter: (state, reason) => {
      const { reason: _before, ...rest } = status
      const ended = rest.state === 'halted' || rest.state === 'done'
      if (ended && state === 'stopped') return
      status = { ...rest, state, ...(reason !== undefined && { reason }) }
      if (state === 'done') finish()
    },
  }
}

interface Run {
  readonly options: IngestorOptions
  readonly session: SessionOptions
  readonly board: Board
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
  }
}

const ingest = async (run: Run, lane: Lane, signal: AbortSignal): Promise<void> => {
  const { options, session: sessionOf, board } = run
  const { source, log, until = Number.POSITIVE_INFINITY } = options
  const session = await openSession(sessionOf, lane)
  const isReached = (): boolean => (session.standing().tip?.timeMs ?? -1) >= until
  board.committed(session)
  if (!isReached()) {
    const take = async (op: ChainOp): Promise<boolean> => {
      await session.take(op, signal)
      board.committed(session)
      return isReached()
    }
    const onStill = async (error: InvalidInput): Promise<void> => {
      await writeDeadLetter(run, lane, error)
      board.enter('halted', error.reason)
    }
    const over = new AbortController()
    const parts: FlashblocksParts = {
      protocols: sessionOf.protocols,
      quoteAssets: sessionOf.workshop.book,
      rejectedResponses: run.rejectedResponses,
    }
    const beside = startPendingFollower(
      options,
      parts,
      session,
      AbortSignal.any([signal, over.signal]),
    )
    try {
      await followPatiently({ source, position: session.position, take, onStill, log }, signal)
    } finally {
      over.abort(new Error('the chain is not followed any more'))
      await beside
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
  const letter = ingestDeadLetterRecord({
    chain: chain.id,
    key: chain.id,
    stage: 'decode',
    errorClass: `Malformed ${error.reason}`,
    message: error.message,
    body: {
      kind: 'chain',
      reason: error.reason,
      message: error.message,
      above: { height, hash, seq },
    },
    timeMs: nowMs(),
  })
  await lane.writer.commit({ records: [letter] })
}

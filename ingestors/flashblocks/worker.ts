import type { Bus, ProducerRecord, Writer } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { InvalidInput, Outage } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { retry } from '../../core/retry.ts'
import { endpointLabel } from '../../core/rpc/endpoint.ts'
import { followWsStream } from '../../core/rpc/ws-stream.ts'
import { topicName } from '../../schemas/topics.ts'
import type { RejectedResponses } from '../input/rejected-responses.ts'
import type { EventBatch, OperationMeta } from '../publish/record-batches.ts'
import { batchesByKey, encodedRecords, revertedBatches } from '../publish/record-batches.ts'
import { type Flashblock, flashblockOf, MAX_FRAME_BYTES } from './frame.ts'
import { enter, NOTHING_READ, type Payload, type PayloadContext } from './payload.ts'
import { type PendingBase, type PendingDeps, partTrades } from './pending-trades.ts'

/** What follows the flashblocks of a chain. */
export interface FlashblocksOptions extends PendingDeps {
  readonly url: string
  readonly timeoutMs: number
  readonly bus: Bus
  readonly codec: Codec
  readonly metrics: Metrics
  readonly log: Logger
  readonly rejectedResponses: RejectedResponses
  readonly nowMs: () => number
  /** Where the chain stands; null before its first block. */
  readonly base: () => (PendingBase & { readonly seq: number }) | null
  /** Height of the node's head; null: not known. */
  readonly head: () => number | null
}

/** Pauses before a topic that does not exist yet (`sluice init`) is looked for again. */
const TOPIC_AGAIN = { firstMs: 1_000, maxMs: 30_000 } as const
/** Frames that wait; more mean that this process does not keep up, and the pre-confirmed block is given up. */
const MAX_WAITING = 64
/** Blocks whose published trades can still be taken back. */
const MAX_PUBLISHED = 16

/** Trades that were published of a payload. */
interface Published {
  readonly payload: Payload
  readonly batches: readonly EventBatch[]
}

/**
 * Follows the parts of pre-confirmed blocks and publishes their trades as pre-confirmations, until the signal aborts; what another
 * payload of the same height replaces is taken back. A frame out of shape is counted and left for the dead letters. Never rejects.
 */
export const followFlashblocks = async (
  options: FlashblocksOptions,
  signal: AbortSignal,
): Promise<void> => {
  const { url, timeoutMs, log, bus, chain } = options
  const topic = topicName('tradesPending', chain.id)
  try {
    const partitions = await retry(() => bus.partitions(topic), {
      ...TOPIC_AGAIN,
      tries: Number.POSITIVE_INFINITY,
      signal,
      onRetry: (error) =>
        log.warn({ err: error, topic }, 'topic for pre-confirmed trades is missing, retrying'),
    })
    const follower = new Follower(options, partitions, signal)
    const onFrame = (data: Buffer, isBinary: boolean): void => follower.onFrame(data, isBinary)
    await followWsStream({ url, timeoutMs, maxBytes: MAX_FRAME_BYTES, onFrame, log, signal })
    await follower.end()
  } catch (error) {
    if (!signal.aborted) log.error({ err: error }, 'flashblocks follower stopped')
  }
}

/** One follower: frames are taken one after the other. */
class Follower {
  readonly #options: FlashblocksOptions
  readonly #partitions: number
  readonly #signal: AbortSignal
  readonly #published = new Map<number, Published>()
  #reading: PayloadContext = NOTHING_READ
  #waiting = 0
  #work: Promise<void> = Promise.resolve()
  #writer: Writer | undefined

  constructor(options: FlashblocksOptions, partitions: number, signal: AbortSignal) {
    this.#options = options
    this.#partitions = partitions
    this.#signal = signal
  }

  onFrame(data: Buffer, isBinary: boolean): void {
    if (this.#waiting >= MAX_WAITING) {
      this.#refuse(
        new InvalidInput('queue-overflow', `frame queue overflow: ${this.#waiting} frames`),
      )
      return
    }
    this.#waiting += 1
    this.#work = this.#work.then(async () => {
      this.#waiting -= 1
      if (!this.#signal.aborted) await this.#take(data, isBinary)
    })
  }

  async end(): Promise<void> {
    await this.#work
    await this.#dropWriter()
  }

  async #take(data: Buffer, isBinary: boolean): Promise<void> {
    try {
      await this.#read(flashblockOf(data, isBinary))
    } catch (error) {
      if (this.#signal.aborted) return
      if (error instanceof InvalidInput) return this.#refuse(error)
      const { log } = this.#options
      if (error instanceof Outage)
        log.warn({ err: error }, 'failed to publish pre-confirmed trades')
      else log.error({ err: error }, 'failed to process flashblock')
      this.#lose()
      await this.#dropWriter()
    }
  }

  async #read(frame: Flashblock): Promise<void> {
    const state = this.#options.base()
    if (state === null) return
    const { tip } = state
    this.#dropPublished(tip.height)
    const head = this.#options.head() ?? tip.height
    const entered = enter(this.#reading, frame, { tip: tip.height, head })
    if (entered.kind === 'passed') return
    if (entered.kind === 'rejected') throw entered.error
    const begins = frame.index === 0
    this.#reading = { payload: entered.payload, lost: null }
    if (begins) await this.#takeBack(entered.payload.height, state.seq)
    const read = await partTrades(
      this.#options,
      { payload: entered.payload, frame },
      state,
      this.#signal,
    )
    const batches = this.#batchesOf(read.trades)
    if (batches.length > 0) await this.#commit('OP_APPLY', read.payload, batches, state.seq)
    const before = this.#published.get(read.payload.height)?.batches ?? []
    if (batches.length > 0) {
      this.#published.set(read.payload.height, {
        payload: read.payload,
        batches: [...before, ...batches],
      })
    }
    this.#reading = { payload: read.payload, lost: null }
    const { metrics, chain } = this.#options
    metrics.pendingTrades.inc({ chain: chain.id, op: 'apply' }, read.trades.length)
  }

  /** What was published of a height, when its block is begun anew. */
  async #takeBack(height: number, seq: number): Promise<void> {
    const published = this.#published.get(height)
    if (published === undefined) return
    await this.#commit('OP_REVERT', published.payload, revertedBatches(published.batches), seq)
    this.#published.delete(height)
    const { metrics, chain } = this.#options
    const count = published.batches.reduce((sum, { events }) => sum + events.length, 0)
    metrics.pendingTrades.inc({ chain: chain.id, op: 'revert' }, count)
  }

  #batchesOf(trades: Awaited<ReturnType<typeof partTrades>>['trades']): readonly EventBatch[] {
    const topic = topicName('tradesPending', this.#options.chain.id)
    return batchesByKey(trades, { family: 'trades', topic, partitions: this.#partitions })
  }

  async #commit(
    op: OperationMeta['op'],
    { id, height, parentHash, timeMs }: Payload,
    batches: readonly EventBatch[],
    seq: number,
  ): Promise<void> {
    const { chain, codec, nowMs } = this.#options
    const records: readonly ProducerRecord[] = encodedRecords(
      batches,
      {
        chain: chain.id,
        op,
        seq,
        commitment: 'COMMITMENT_PROCESSED',
        height,
        slot: height,
        hash: id,
        parent_hash: parentHash,
        block_time: timeMs,
        produced_at: nowMs(),
      },
      codec,
    )
    this.#writer ??= await this.#options.bus.writer(`pending.${chain.id}`)
    await this.#writer.commit({ records })
  }

  #refuse(error: InvalidInput): void {
    this.#options.rejectedResponses.add(error, endpointLabel(this.#options.url))
    this.#lose()
  }

  /** The next pre-confirmed block is waited for; what was published of this one stays until it is replaced. */
  #lose(): void {
    const { payload, lost } = this.#reading
    this.#reading = { payload: null, lost: payload?.id ?? lost }
  }

  /** A writer whose commit failed is dead. */
  async #dropWriter(): Promise<void> {
    const writer = this.#writer
    this.#writer = undefined
    await writer?.close().catch(() => undefined)
  }

  /** Blocks that came are beyond replacing. */
  #dropPublished(tip: number): void {
    for (const height of this.#published.keys()) {
      const isOver = height <= tip || this.#published.size > MAX_PUBLISHED
      if (isOver) this.#published.delete(height)
    }
  }
}

import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { LogRecord } from '../../core/bus/contract.ts'
import { partitionOf } from '../../core/bus/partitioner.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { InvalidInput, Outage } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { ChannelRow } from '../../schemas/channels.ts'
import { TOPICS, topicName, topicRow } from '../../schemas/topics.ts'
import type { EventMeta } from '../../schemas/wire.ts'
import { ArrayBatcher, type Batch } from './array-batcher.ts'
import type { Channel } from './channel-name.ts'
import { Coalescer } from './coalescer.ts'
import { toWhole } from './delta.ts'
import { Fanout, type JoinOptions, type Subscriber } from './fanout.ts'
import type { Frame } from './frame-codec.ts'
import { filterViewOf, type Payload, serializePayload } from './payload.ts'
import type { PublicationFrame } from './protocol.ts'
import type { Publication, PublishContext } from './publication.ts'
import {
  eventPosition,
  HISTORY_LIMITS,
  HistoryBudget,
  type HistoryEntry,
  type HistoryLimits,
  PublicationHistory,
  recordPosition,
} from './publication-history.ts'
import { createRenderer } from './render-publication.ts'
import type { HistoryPage, HistoryQuery, Position, Recovery } from './session.ts'
import { type SubscribedList, SubscribedLists } from './subscribed-lists.ts'
import { PLAIN_VIEW, type SubscriptionView, takesKind } from './subscription-view.ts'
import { NAME_SUFFIXES, TOKEN_CACHE, TokenNames } from './token-names.ts'
import { STREAM_BY_SUFFIX } from './topic-streams.ts'

/** What the hub is made of. */
export interface HubOptions {
  readonly codec: Codec
  /** Quote assets by chain: their token channels are fed by many partitions and stay plain. */
  readonly quotes: ReadonlyMap<string, ReadonlySet<string>>
  /** How decimals are written. */
  readonly numbers: 'string' | 'number'
  readonly metrics: Metrics
  readonly log: Logger
  readonly nowMs: () => number
  readonly publish: (topic: string, frame: Frame) => void
  /** Publications of the channels that it is true for were lost. */
  readonly onLost?: (lost: (channel: Channel) => boolean) => void
  readonly history?: HistoryLimits
}

/** One partition of a topic as the hub follows it. */
interface PartitionState {
  readonly history: PublicationHistory
  epoch: string
  /** Given out before the chain had a block; good as long as this process lives. */
  readonly firstEpoch: string
  seq: number
  part: number
}

/** A publication without its payload and its place. */
type PublicationKind = Omit<Publication, 'payload' | 'address' | 'index'>

type RecordPlace = Pick<LogRecord, 'topic' | 'partition' | 'offset'>

interface PartitionInfo {
  readonly topic: string
  readonly partition: number
  readonly partitions: number
}

/** Changes whenever positions or payloads change their meaning. */
const ENCODER_VERSION = 1
/** What the arrays of all channels have in common. */
const PLAIN_KIND = { pending: false, facet: '', bucketMs: 0 }
const NOTHING_KEPT: Recovery = { recovered: false, bytes: 0, filterSteps: 0 }
/** Making a payload's values what a filter compares takes as long as some steps of it. */
const FILTER_VIEW_STEPS = 20
/** Most payload bytes in one recovery or history reply: some clients refuse messages above 1 MiB. */
const MAX_REPLY_BYTES = 512 * 1_024

/** Turns records into publications for whoever is subscribed, and keeps the recent ones of recoverable channels. */
export class Hub {
  readonly #options: HubOptions
  readonly #budget: HistoryBudget
  readonly #fanout: Fanout
  readonly #coalescer = new Coalescer()
  readonly #batches = new ArrayBatcher()
  readonly #lanes = new Map<string, PartitionState>()
  readonly #partitions = new Map<string, number>()
  readonly #names = new TokenNames()
  readonly #contexts = new Map<string, PublishContext>()
  readonly #prices = new LRUCache<string, string>(TOKEN_CACHE)
  /** Subscriptions by the suffix of the topic that they are fed from. */
  readonly #subscriptionsBySuffix = new Map<string, number>()
  readonly #lists = new SubscribedLists()
  /** Publications sent since the last flush, by family: counting each where it is sent takes as long as writing it. */
  readonly #uncounted = new Map<string, number>()
  /** Subscriptions to candles by `chain/address`. */
  readonly #candleSubscriptions = new Map<string, number>()
  /** Subjects with a foreign publication among the refilled ones, the time of the last one; null once live. */
  #sharedSubjects: Map<
    string,
    { readonly history: PublicationHistory; readonly atMs: number }
  > | null = new Map()
  /** Topics with a refilled record that could not be read; null once live. */
  #damagedTopics: Set<string> | null = new Set()

  constructor(options: HubOptions) {
    this.#options = options
    this.#budget = new HistoryBudget(options.history ?? HISTORY_LIMITS)
    this.#fanout = new Fanout(options.publish)
  }

  /** Text bytes given to shared topics since the start. */
  get published(): number {
    return this.#fanout.published
  }

  /** Starts a partition at a record offset. */
  openLane(lane: PartitionInfo & { readonly startOffset: number; readonly origin: string }): void {
    const { topic, partition, partitions, startOffset, origin } = lane
    const history = new PublicationHistory(this.#budget, recordPosition(startOffset))
    this.#partitions.set(topic, partitions)
    const epoch = computeEpoch(lane, origin)
    this.#lanes.set(`${topic}/${partition}`, {
      history,
      epoch,
      firstEpoch: epoch,
      seq: -1,
      part: -1,
    })
  }

  /** Names the life of a topic, once it is known. */
  setOrigin(topic: string, origin: string): void {
    const partitions = this.#partitions.get(topic) ?? 0
    for (let partition = 0; partition < partitions; partition += 1) {
      const lane = this.#lanes.get(`${topic}/${partition}`)
      if (lane !== undefined) lane.epoch = computeEpoch({ topic, partition, partitions }, origin)
    }
  }

  /** Of a partition, only clients that have got something of the record at `offset`, or of a later one, can recover. */
  limitRecovery({ topic, partition, offset }: RecordPlace): void {
    this.#lanes.get(`${topic}/${partition}`)?.history.refuseBelow(recordPosition(offset) + 1)
  }

  /** Everything before the live records has been accepted. */
  goLive(): void {
    for (const [subject, { history, atMs }] of this.#sharedSubjects ?? [])
      history.invalidate(subject, atMs)
    this.#sharedSubjects = null
    for (const topic of this.#damagedTopics ?? []) this.#refuseAll(topic)
    this.#damagedTopics = null
  }

  /**
   * Takes one record of a topic that streams are made of. What cannot be decoded or mapped is counted and left out. Throws `Outage`
   * only, before anything of the record was published: the same record is given again.
   */
  accept(record: LogRecord): void {
    this.#take(record, false)
  }

  /**
   * As `accept`, where the record names no token without a name. Otherwise it is not taken: returns those tokens, once each, and
   * the record is given again.
   */
  acceptNamed(record: LogRecord): readonly string[] {
    return this.#take(record, true)
  }

  #take(record: LogRecord, named: boolean): readonly string[] {
    const row = topicRow(record.topic)
    if (row === undefined || record.value === null) return []
    try {
      const missing = this.#acceptAs(row.suffix, record, { value: record.value, named })
      if (missing.length > 0) return missing
    } catch (error) {
      if (error instanceof Outage) throw error
      this.#skip(record, error)
    }
    this.#lanes
      .get(`${record.topic}/${record.partition}`)
      ?.history.advance(recordPosition(record.offset + 1))
    return []
  }

  /** Sends what coalescing and batching held back and is due. */
  flush(): void {
    const nowMs = this.#options.nowMs()
    for (const publication of this.#coalescer.due(nowMs)) this.#send(publication, 0)
    for (const batch of this.#batches.due(nowMs)) this.#sendBatch(batch)
    for (const [family, sent] of this.#uncounted) {
      this.#options.metrics.socketPublications.inc({ family }, sent)
    }
    this.#uncounted.clear()
  }

  join(subscriber: Subscriber, channel: Channel, options: JoinOptions): void {
    this.#fanout.join(subscriber, channel, options)
    this.#count(channel, 1)
    if (channel.row.query !== null) this.#lists.join(channel, subscriber.orgId)
  }

  leave(subscriber: Subscriber, channel: Channel): void {
    this.#fanout.leave(subscriber, channel)
    this.#count(channel, -1)
    if (channel.row.query !== null) this.#lists.leave(channel, subscriber.orgId)
    if (this.#fanout.hasSubscribers(channel.subject)) return
    this.#coalescer.remove(channel.subject)
    this.#batches.remove(channel.subject)
  }

  /** Channels whose lists a query gives, as far as they have subscribers. */
  listChannels(): readonly SubscribedList[] {
    return this.#lists.all()
  }

  /** Sends the elements of such a channel: to all of its subscribers, or to those who joined since a list was sent last. */
  publishList(
    { row, subject }: Channel,
    payloads: readonly Payload[],
    to: 'all' | 'newcomers',
  ): void {
    if (!this.#fanout.hasSubscribers(subject)) return
    const render = createRenderer({ row, payloads, offset: 0 }, this.#options.numbers)
    const outgoing = { ...PLAIN_KIND, render, offset: 0, retraction: false }
    const sent =
      to === 'all'
        ? this.#fanout.publish(subject, outgoing)
        : this.#fanout.publishToNewcomers(subject, outgoing)
    this.#uncounted.set(row.prefix, (this.#uncounted.get(row.prefix) ?? 0) + sent)
  }

  /** See `Fanout.reconcile`. */
  reconcile(subscriber: Subscriber, channels: Iterable<Channel>): void {
    this.#fanout.reconcile(subscriber, channels)
  }

  /** Current top of a recoverable channel; null where the channel is plain. */
  positionOf(channel: Channel): Position | null {
    const lane = this.#laneOf(channel.row, channel.chain, channel.address)
    return lane === undefined ? null : { epoch: lane.epoch, offset: lane.history.top }
  }

  /** What a subscriber with this view has missed since a position. */
  recover(channel: Channel, since: Position, view: SubscriptionView): Recovery {
    const lane = this.#laneOf(channel.row, channel.chain, channel.address)
    if (lane === undefined) return NOTHING_KEPT
    if (since.epoch !== lane.epoch && since.epoch !== lane.firstEpoch) return NOTHING_KEPT
    const missed = lane.history.since(channel.subject, since.offset)
    if (missed === undefined) return NOTHING_KEPT
    const { wanted, filterSteps } = selectWanted(missed, channel.row, view)
    const { publications, bytes } = this.#pageOf(channel.row, wanted, view)
    if (publications.length < wanted.length) return { recovered: false, bytes, filterSteps }
    return { recovered: true, publications, bytes, filterSteps }
  }

  /** Kept publications of a recoverable channel, without retractions; undefined where some after `since` are lost. */
  historyOf(channel: Channel, { since, reverse, limit }: HistoryQuery): HistoryPage | undefined {
    const lane = this.#laneOf(channel.row, channel.chain, channel.address)
    const kept =
      since === undefined || reverse
        ? lane?.history.all(channel.subject)
        : lane?.history.since(channel.subject, since)
    if (kept === undefined) return undefined
    const wanted = kept.filter(
      ({ retraction, offset }) =>
        !retraction && (!reverse || since === undefined || offset < since),
    )
    const page = (reverse ? wanted.toReversed() : wanted).slice(0, limit)
    return this.#pageOf(channel.row, page, PLAIN_VIEW)
  }

  /** As many publications as one reply may hold. */
  #pageOf(
    row: ChannelRow,
    kept: readonly HistoryEntry[],
    { longNames, delta }: SubscriptionView,
  ): HistoryPage {
    const { numbers } = this.#options
    const publications: PublicationFrame[] = []
    let bytes = 0
    for (const one of kept) {
      const data = serializePayload(one.payload, row.keys, { numbers, longNames })
      const size = Buffer.byteLength(data)
      if (publications.length > 0 && bytes + size > MAX_REPLY_BYTES) break
      bytes += size
      const value: PublicationFrame = { data, offset: one.offset, kind: 'value' }
      publications.push(delta ? toWhole(value) : value)
    }
    return { publications, bytes }
  }

  /** Whatever is wrong with a record, the records behind it go on. */
  #skip(record: LogRecord, error: unknown): void {
    this.#names.dropMissing()
    const { topic, partition, offset } = record
    const reason = error instanceof InvalidInput ? error.reason : 'other'
    this.#options.metrics.eventsDropped.inc({ stage: 'realtime', reason })
    this.#options.log.warn(
      { err: error, topic, partition, offset },
      'skipped a record that could not be read',
    )
    this.#announceLoss(record)
  }

  /**
   * Channels with positions promise to be whole: their subscribers have to know that they are not. The record may have told of
   * tokens of every partition.
   */
  #announceLoss({ topic, partition, offset }: LogRecord): void {
    const own = this.#lanes.get(`${topic}/${partition}`)
    if (own === undefined) return
    own.history.invalidateAll(recordPosition(offset + 1))
    if (this.#damagedTopics === null) this.#refuseAll(topic, own)
    else this.#damagedTopics.add(topic)
    this.#options.onLost?.(
      ({ row, chain, address }) =>
        row.topic !== null &&
        topicName(row.topic, chain) === topic &&
        this.#isRecoverable(row, chain, address),
    )
  }

  /** Nothing of the topic can be recovered from the positions that were given out so far, but for those of one lane. */
  #refuseAll(topic: string, except?: PartitionState): void {
    for (const partition of Array(this.#partitions.get(topic) ?? 0).keys()) {
      const lane = this.#lanes.get(`${topic}/${partition}`)
      if (lane !== except) lane?.history.refuseBelow(lane.history.top + 1)
    }
  }

  #acceptAs(
    suffix: string,
    record: LogRecord,
    { value, named }: { readonly value: Uint8Array; readonly named: boolean },
  ): readonly string[] {
    const { codec } = this.#options
    const context = this.#contextOf(record.topic.slice(0, record.topic.indexOf('.')))
    if (NAME_SUFFIXES.has(suffix)) {
      for (const { token } of codec.decode('token.TokenEvents', value).events) {
        if (token) this.#names.learn(context.chain, token.address, token)
      }
      return []
    }
    if (suffix === TOPICS.tokenPrices.suffix) {
      for (const { token_price: price } of codec.decode('token.price.TokenPriceEvents', value)
        .events) {
        if (price) this.#prices.set(`${context.chain}/${price.token_address}`, price.price_in_usd)
      }
      return []
    }
    const stream = STREAM_BY_SUFFIX.get(suffix)
    if (stream === undefined) return []
    if (!stream.isKept && this.#subscriptionsTo(suffix) === 0) return []
    const { meta, publications } = stream.read(codec, value, context)
    const missing = this.#names.takeMissing()
    if (named && missing.length > 0) return missing
    if (stream.isKept && !this.#isNew(record, meta)) return []
    for (const publication of publications) {
      if (publication.row.shape === 'array') this.#collect(publication)
      else if (publication.row.delivery === 'latest') this.#coalesce(publication)
      else this.#appendToHistory(publication, record)
    }
    return []
  }

  #subscriptionsTo(suffix: string): number {
    const pending = suffix === TOPICS.tradesPending.suffix ? this.#fanout.pending : 0
    return (this.#subscriptionsBySuffix.get(suffix) ?? 0) + pending
  }

  #count({ row, chain, address }: Channel, by: number): void {
    for (const topic of [row.topic ?? [], row.moreTopics ?? []].flat()) {
      const { suffix } = TOPICS[topic]
      this.#subscriptionsBySuffix.set(suffix, (this.#subscriptionsBySuffix.get(suffix) ?? 0) + by)
    }
    if (row.candle === null) return
    const name = `${chain}/${address}`
    const subscriptions = (this.#candleSubscriptions.get(name) ?? 0) + by
    if (subscriptions === 0) this.#candleSubscriptions.delete(name)
    else this.#candleSubscriptions.set(name, subscriptions)
  }

  /** Records come again after a failed producer; `(seq, part)` only ever grows. */
  #isNew(record: LogRecord, meta: EventMeta | null): boolean {
    const lane = this.#lanes.get(`${record.topic}/${record.partition}`)
    if (lane === undefined || meta === null) return true
    if (meta.seq < lane.seq || (meta.seq === lane.seq && meta.part <= lane.part)) return false
    lane.seq = meta.seq
    lane.part = meta.part
    return true
  }

  #coalesce(publication: Publication): void {
    for (const ready of this.#coalescer.offer(publication, this.#options.nowMs())) {
      this.#send(ready, 0)
    }
  }

  #appendToHistory(publication: Publication, record: LogRecord): void {
    const { row, subject, address, payload, retraction, index } = publication
    const chain = record.topic.slice(0, record.topic.indexOf('.'))
    const lane = publication.pending ? undefined : this.#laneOf(row, chain, address)
    if (lane === undefined) {
      this.#send(publication, 0)
      return
    }
    if (lane !== this.#lanes.get(`${record.topic}/${record.partition}`)) {
      const { timestampMs: atMs } = record
      if (this.#sharedSubjects === null) lane.history.invalidate(subject, atMs)
      else this.#sharedSubjects.set(subject, { history: lane.history, atMs })
      this.#send(publication, 0)
      return
    }
    const offset = eventPosition(record.offset, index)
    lane.history.append(subject, { offset, payload, retraction, atMs: record.timestampMs })
    this.#send(publication, offset)
  }

  #collect(element: Publication): void {
    for (const batch of this.#batches.offer(element, this.#options.nowMs())) this.#sendBatch(batch)
  }

  #sendBatch({ row, subject, retraction, payloads }: Batch): void {
    this.#publish({ ...PLAIN_KIND, row, subject, retraction }, payloads, 0)
  }

  #send(publication: Publication, offset: number): void {
    this.#publish(publication, [publication.payload], offset)
  }

  #publish(
    { row, subject, retraction, pending, facet, bucketMs }: PublicationKind,
    payloads: readonly Payload[],
    offset: number,
  ): void {
    if (!this.#fanout.hasSubscribers(subject)) return
    const render = createRenderer({ row, payloads, offset }, this.#options.numbers)
    const outgoing = { render, offset, retraction, pending, facet, bucketMs }
    const sent = this.#fanout.publish(subject, outgoing)
    this.#uncounted.set(row.prefix, (this.#uncounted.get(row.prefix) ?? 0) + sent)
  }

  #isRecoverable({ recoverable }: ChannelRow, chain: string, address: string): boolean {
    return recoverable && this.#options.quotes.get(chain)?.has(address) !== true
  }

  /** The partition that alone feeds a recoverable channel. */
  #laneOf(row: ChannelRow, chain: string, address: string): PartitionState | undefined {
    if (!this.#isRecoverable(row, chain, address)) return undefined
    const topic = row.topic === null ? '' : topicName(row.topic, chain)
    const partitions = this.#partitions.get(topic)
    if (partitions === undefined) return undefined
    return this.#lanes.get(`${topic}/${partitionOf(address, partitions)}`)
  }

  #contextOf(chain: string): PublishContext {
    const context = this.#contexts.get(chain) ?? {
      chain,
      nameOf: (token: string) => this.#names.get(chain, token),
      priceOf: (token: string) => this.#prices.get(`${chain}/${token}`) ?? '',
      hasCandleSubscribers: (address: string) =>
        this.#candleSubscriptions.has(`${chain}/${address}`),
      isNeeded: (subject: string, row: ChannelRow, address: string) =>
        this.#isRecoverable(row, chain, address) || this.#fanout.hasSubscribers(subject),
    }
    this.#contexts.set(chain, context)
    return context
  }
}

/** Tells one life of a partition from another: recreated, repartitioned or written in another shape. */
const computeEpoch = ({ topic, partition, partitions }: PartitionInfo, origin: string): string =>
  createHash('sha256')
    .update([origin, topic, partitions, partition, ENCODER_VERSION].join('|'))
    .digest('base64url')
    .slice(0, 8)

/** What a subscription with the view is sent of kept publications, and the steps that it took to find out. */
const selectWanted = (
  kept: readonly HistoryEntry[],
  { keys }: ChannelRow,
  view: SubscriptionView,
): { readonly wanted: readonly HistoryEntry[]; readonly filterSteps: number } => {
  const { filter } = view
  const taken = kept.filter(({ retraction }) => takesKind(view, { retraction, pending: false }))
  if (filter === null) return { wanted: taken, filterSteps: 0 }
  return {
    wanted: taken.filter(({ payload }) => filter.matches(filterViewOf(payload, keys))),
    filterSteps: taken.length * (FILTER_VIEW_STEPS + filter.steps),
  }
}

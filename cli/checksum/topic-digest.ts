import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { Bus, LogRecord } from '../../core/bus/contract.ts'
import { candleSeriesOf, type EventCandle, expandCandles } from '../../core/candlestick-events.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { bucketEnd, isResolution } from '../../core/time.ts'
import { TOPICS, type Topic, type TopicRow, topicName } from '../../schemas/topics.ts'
import type { CandlestickEvent, EventMeta } from '../../schemas/wire.ts'
import { POSITION_FIELDS, TECHNICAL_FIELDS, type TopicRule } from './comparison-rules.ts'

/** Content of one topic or table: how many things, and one number that depends on all of them but not on their order. */
export interface Digest {
  readonly rows: number
  readonly digest: string
}

/** The block of a chain at which content is compared. */
export interface ChecksumTarget {
  readonly chain: string
  readonly height: number
  /** Block time of that height, epoch milliseconds. */
  readonly timeMs: number
}

type Fields = Readonly<Record<string, unknown>>
interface DecodedMessage extends Fields {
  readonly meta: EventMeta | null
  readonly events: readonly Fields[]
}

const DIGEST_BITS = 256
const MODULUS = 1n << BigInt(DIGEST_BITS)

const hashOf = (line: string): bigint =>
  BigInt(`0x${createHash('sha256').update(line).digest('hex')}`)

/** A sum over a group: what is added and taken away again leaves no trace, in whatever order. */
const createMultisetHash = () => {
  let rows = 0
  let sum = 0n
  return {
    add: (line: string): void => {
      rows += 1
      sum = (sum + hashOf(line)) % MODULUS
    },
    subtract: (line: string): void => {
      rows -= 1
      sum = (sum - hashOf(line) + MODULUS) % MODULUS
    },
    digest: (): Digest => ({
      rows,
      digest: sum
        .toString(16)
        .padStart(DIGEST_BITS / 4, '0')
        .slice(0, 32),
    }),
  }
}

const omitTechnicalFields = (key: string, value: unknown): unknown => {
  if (TECHNICAL_FIELDS.has(key)) return undefined
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  return typeof value === 'bigint' ? value.toString() : value
}

/** A value as one line, without what differs between runs. */
const canonicalLine = (...values: readonly unknown[]): string =>
  JSON.stringify(values, omitTechnicalFields)

const fieldAt = (event: Fields, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>((value, name) => (value as Fields | null | undefined)?.[name], event)

/** Nothing but zeros, empty texts and nulls below the key, whatever position the event names. */
const isAllZero = (value: unknown, without: ReadonlySet<unknown>): boolean => {
  if (value === null || value === undefined || value === '' || value === false) return true
  if (without.has(value)) return true
  if (typeof value === 'string') return /^-?0(\.0*)?$/.test(value)
  if (typeof value === 'object') {
    return Object.entries(value).every(
      ([name, part]) =>
        TECHNICAL_FIELDS.has(name) || POSITION_FIELDS.has(name) || isAllZero(part, without),
    )
  }
  return Number(value) === 0
}

async function* readRecords(bus: Bus, topic: string): AsyncIterable<LogRecord> {
  for (const { partition, low, end } of await bus.ends(topic)) {
    yield* bus.read(topic, partition, low, end)
  }
}

type IncludedTopicRule = Exclude<TopicRule, { readonly how: 'left out' }>

/** Every data message has this shape. */
const decodeMessage = ({ codec, topic }: TopicDigestRequest, bytes: Uint8Array): DecodedMessage => {
  const { message }: TopicRow = TOPICS[topic]
  assert(message !== null, `${topic} has no message`)
  return codec.decode(message, bytes) as unknown as DecodedMessage
}

interface TopicDigestRequest {
  readonly bus: Bus
  readonly codec: Codec
  readonly target: ChecksumTarget
  readonly topic: Topic
  readonly rule: IncludedTopicRule
}

async function* readMessages(work: TopicDigestRequest): AsyncIterable<DecodedMessage> {
  const { bus, target, topic } = work
  for await (const { value } of readRecords(bus, topicName(topic, target.chain))) {
    if (value !== null) yield decodeMessage(work, value)
  }
}

const nettedDigest = async (work: TopicDigestRequest): Promise<Digest> => {
  const sum = createMultisetHash()
  for await (const { meta, events } of readMessages(work)) {
    if (meta === null || meta.height > work.target.height) continue
    const { height, slot, hash, block_time } = meta
    for (const event of events) {
      const line = canonicalLine(height, slot, hash, block_time, event)
      if (meta.op === 'OP_REVERT') sum.subtract(line)
      else sum.add(line)
    }
  }
  return sum.digest()
}

const blocksDigest = async ({ bus, codec, target }: TopicDigestRequest): Promise<Digest> => {
  const standing = new Map<string, string>()
  for await (const { value } of readRecords(bus, topicName('blocks', target.chain))) {
    if (value === null) continue
    const { meta, ...event } = codec.decode('block.BlockEvent', value)
    const { op, height, slot, hash, parent_hash, block_time } = meta
    if (height > target.height || op === 'OP_FINALIZE') continue
    if (op === 'OP_REVERT') standing.delete(hash)
    else standing.set(hash, canonicalLine(height, slot, hash, parent_hash, block_time, event))
  }
  return multisetDigest(standing.values())
}

const multisetDigest = (lines: Iterable<string>): Digest => {
  const sum = createMultisetHash()
  for (const line of lines) sum.add(line)
  return sum.digest()
}

const keyText = (event: Fields, key: readonly string[]): string =>
  JSON.stringify(key.map((path) => fieldAt(event, path)))

/** What only events of a candle's own resolution tell; of the finest, every change is such an event. */
const ownResolutionFields = (
  event: CandlestickEvent,
  { resolution }: EventCandle,
): readonly unknown[] =>
  resolution === '1s'
    ? [event.average_price, event.volume_in_usd, event.volume_in_native, event.sells]
    : []

const candlesDigest = async ({ bus, codec, target }: TopicDigestRequest): Promise<Digest> => {
  const newest = new Map<string, string>()
  for await (const { value } of readRecords(bus, topicName('candlesticks', target.chain))) {
    if (value === null) continue
    for (const event of codec.decode('candlestick.CandlestickEvents', value).events) {
      for (const candle of expandCandles(event)) {
        const { resolution, startMs } = candle
        const ends = isResolution(resolution) ? bucketEnd(startMs, resolution) : 0
        if (ends > target.timeMs) continue
        for (const { dimension, address } of candleSeriesOf(event)) {
          const key = JSON.stringify([dimension, event.token_address, address, resolution, startMs])
          if (candle.trades > 0)
            newest.set(key, canonicalLine(key, candle, ownResolutionFields(event, candle)))
          else newest.delete(key)
        }
      }
    }
  }
  return multisetDigest(newest.values())
}

const omitFields = (event: Fields, names: readonly string[]): Fields =>
  names.length === 0
    ? event
    : Object.fromEntries(Object.entries(event).filter(([name]) => !names.includes(name)))

type NewestRule = Extract<TopicRule, { readonly how: 'newest' }>

const newestDigest = async (
  work: TopicDigestRequest,
  { key, endsByRevert, omit = [] }: NewestRule,
): Promise<Digest> => {
  const { bus, target, topic } = work
  const last = new Map<string, string>()
  const underKey = new Map<string, Set<string>>()
  for await (const record of readRecords(bus, topicName(topic, target.chain))) {
    if (record.value === null) {
      for (const name of underKey.get(record.key) ?? []) last.delete(name)
      underKey.delete(record.key)
      continue
    }
    const names = underKey.get(record.key) ?? new Set()
    underKey.set(record.key, names)
    const { meta, events } = decodeMessage(work, record.value)
    for (const event of events) {
      const name = keyText(event, key)
      names.add(name)
      const isGone = endsByRevert === true && meta?.op === 'OP_REVERT'
      if (isGone || isAllZero(event, new Set(key.map((path) => fieldAt(event, path)))))
        last.delete(name)
      else last.set(name, canonicalLine(omitFields(event, omit)))
    }
  }
  return multisetDigest(last.values())
}

/** Digest of a topic. Throws `InvalidInput` for a record that does not decode. */
export const topicDigest = (work: TopicDigestRequest): Promise<Digest> => {
  const { rule } = work
  switch (rule.how) {
    case 'netted':
      return nettedDigest(work)
    case 'blocks':
      return blocksDigest(work)
    case 'candles':
      return candlesDigest(work)
    case 'newest':
      return newestDigest(work, rule)
  }
}

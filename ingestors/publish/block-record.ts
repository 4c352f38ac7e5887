import type { OffsetRange, ProducerRecord } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { recordHeaders } from '../../core/codec/record-headers.ts'
import { InvalidInput } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import { toWireQuotePrices } from '../../core/prices/quote-assets.ts'
import type { QuoteState } from '../../core/prices/quote-state.ts'
import type { Block, EvmBlock } from '../../schemas/events.ts'
import { TOPICS, topicName } from '../../schemas/topics.ts'
import type * as Wire from '../../schemas/wire.ts'
import type { BlockRef } from '../follow/contract.ts'
import { type EventBatch, FAMILIES, FEED_FAMILIES, type OperationMeta } from './record-batches.ts'

/** Where a chain stands after an operation: the newest applied block, and the newest final one. */
export interface Cursor {
  /** null: the only applied block was taken back. */
  readonly tip: BlockRef | null
  readonly final: BlockRef | null
  /** Operation that applied the newest final block; 0 before the first. */
  readonly finalSeq: number
}

/** Header fields of a block record: what APPLY says of the block and REVERT repeats. */
export type BlockHeader = Omit<
  Wire.BlockEvent,
  'meta' | 'quote_prices' | 'counts' | 'spans' | 'final_seq' | 'final_height' | 'cursor'
>

/** Header fields of a normalized block. */
export const blockHeader = (block: Block): BlockHeader =>
  block.vm === 'evm'
    ? {
        parent_slot: Math.max(block.height - 1, 0),
        tx_count: block.transactions.length,
        coinbase: block.coinbase,
        gas_limit: String(block.gasLimitRaw),
        gas_used: String(block.gasUsedRaw),
        base_fee: String(block.baseFeeRaw),
        difficulty: String(block.difficultyRaw),
        nonce: block.nonce,
        extra: Buffer.from(block.extra.slice(2), 'hex'),
        rewards_count: 0,
        priority_fee: medianPriorityFee(block),
      }
    : { ...NO_HEADER, ...NO_GAS, ...countsOf(block) }

/** The lower median of what transactions paid per gas above the base fee; "" where none tells its price. */
const medianPriorityFee = ({ transactions, baseFeeRaw }: EvmBlock): string => {
  const fees = transactions
    .flatMap(({ gasPriceRaw }) => (gasPriceRaw === undefined ? [] : [gasPriceRaw]))
    // The protocol's own transactions may pay less than the base fee.
    .map((price) => (price > baseFeeRaw ? price - baseFeeRaw : 0n))
    .toSorted((one, other) => (one < other ? -1 : one > other ? 1 : 0))
  return String(fees[(fees.length - 1) >> 1] ?? '')
}

/** Of blocks that have no gas of their own. */
const NO_GAS = { gas_limit: '0', gas_used: '0', base_fee: '0', difficulty: '0' } as const

const countsOf = (block: Exclude<Block, { readonly vm: 'evm' }>) =>
  block.vm === 'svm'
    ? {
        parent_slot: block.parentSlot,
        tx_count: block.txCount,
        rewards_count: block.rewardsCount,
      }
    : { parent_slot: Math.max(block.height - 1, 0), tx_count: block.transactions.length }

/** Header fields of a block whose record was written before. */
export const headerOf = (event: Wire.BlockEvent): BlockHeader => ({
  parent_slot: event.parent_slot,
  tx_count: event.tx_count,
  coinbase: event.coinbase,
  gas_limit: event.gas_limit,
  gas_used: event.gas_used,
  base_fee: event.base_fee,
  difficulty: event.difficulty,
  nonce: event.nonce,
  extra: event.extra,
  rewards_count: event.rewards_count,
  priority_fee: event.priority_fee,
})

/** Header fields of an operation that brings no block. */
export const NO_HEADER: BlockHeader = {
  parent_slot: 0,
  tx_count: 0,
  coinbase: '',
  gas_limit: '',
  gas_used: '',
  base_fee: '',
  difficulty: '',
  nonce: '',
  extra: Buffer.alloc(0),
  rewards_count: 0,
  priority_fee: '',
}

/** What the record of an operation is made of, but for the places of its data records. */
export interface BlockRecordParts {
  readonly meta: OperationMeta
  readonly header: BlockHeader
  readonly quotes: QuoteState
  readonly cursor: Cursor
  readonly chunks: readonly EventBatch[]
}

/** The `{c}.blocks` event of an operation whose records lie at `spans`. */
export const blockEvent = (
  { meta, header, quotes, cursor, chunks }: BlockRecordParts,
  spans: readonly OffsetRange[],
): Wire.BlockEvent => ({
  ...header,
  meta: { ...meta, part: 0, parts: 1 },
  quote_prices: toWireQuotePrices(quotes),
  counts: Object.fromEntries(
    [
      ...FAMILIES,
      ...FEED_FAMILIES.filter((feed) => chunks.some(({ family }) => family === feed)),
    ].map((family) => [TOPICS[family].suffix, sumOf(chunks, (chunk) => chunk.family === family)]),
  ),
  spans: spans.flatMap((span) => {
    const here = (chunk: EventBatch): boolean =>
      chunk.topic === span.topic && chunk.partition === span.partition
    if (!chunks.some(here)) return []
    return [
      {
        topic: span.topic,
        partition: span.partition,
        base_offset: span.baseOffset,
        records: span.records,
        events: sumOf(chunks, here),
      },
    ]
  }),
  final_seq: cursor.finalSeq,
  final_height: cursor.final?.height ?? 0,
  cursor: JSON.stringify(cursor),
})

/** The record itself; the last of its commit. */
export const blockRecord = (event: Wire.BlockEvent, codec: Codec): ProducerRecord => ({
  topic: topicName('blocks', event.meta.chain),
  partition: 0,
  key: event.meta.chain,
  value: codec.encode('block.BlockEvent', event),
  headers: recordHeaders(event.meta),
})

/** Reads a cursor back. Throws `InvalidInput` for text that an ingestor of this product did not write. */
export const cursorOf = (event: Wire.BlockEvent): Cursor => {
  try {
    const { tip, final, finalSeq } = parseJson(event.cursor) as Readonly<Record<string, unknown>>
    if (!Number.isSafeInteger(finalSeq)) throw new TypeError('finalSeq')
    return { tip: refOf(tip), final: refOf(final), finalSeq: finalSeq as number }
  } catch (cause) {
    throw new InvalidInput('bad-cursor', `operation ${event.meta.seq} has no cursor of ours`, {
      cause,
    })
  }
}

const refOf = (value: unknown): BlockRef | null => {
  if (value === null) return null
  const { height, hash, parentHash, timeMs } = value as BlockRef
  if (!Number.isSafeInteger(height) || !Number.isSafeInteger(timeMs)) throw new TypeError('height')
  if (typeof hash !== 'string' || typeof parentHash !== 'string') throw new TypeError('hash')
  return { height, hash, parentHash, timeMs }
}

const sumOf = (chunks: readonly EventBatch[], wanted: (chunk: EventBatch) => boolean): number =>
  chunks.reduce((sum, chunk) => sum + (wanted(chunk) ? chunk.events.length : 0), 0)

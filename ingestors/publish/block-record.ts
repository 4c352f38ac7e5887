import type { OffsetRange, ProducerRecord } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { recordHeaders } from '../../core/codec/record-headers.ts'
import { InvalidInput } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import { toWireQuotePrices } from '../../core/prices/quote-assets.ts'
import type { QuoteState } from '../../core/prices/quote-state.ts'
import { TOPICS, topicName } from '../../schemas/topics.ts'
import type * as Wire from '../../schemas/wire.ts'
import type { BlockRef } from '../follow/contract.ts'
import type { BlockHeader } from '../to-wire/block-header.ts'
import { type EventBatch, FAMILIES, FEED_FAMILIES, type OperationMeta } from './record-batches.ts'

/** Where a chain stands after an operation: the newest applied block, and the newest final one. */
export interface Cursor {
  /** Of the only applied block, once it is taken back: its parent. null: no block was applied; older versions wrote it after such a revert too. */
  readonly tip: BlockRef | null
  readonly final: BlockRef | null
  /** Operation that applied the newest final block; 0 before the first. */
  readonly finalSeq: number
}

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

/** What the record of an operation is made of, but for the offsets of its data records. */
export interface BlockRecordParts {
  readonly meta: OperationMeta
  readonly header: BlockHeader
  readonly quotes: QuoteState
  readonly cursor: Cursor
  readonly batches: readonly EventBatch[]
}

/** The `{c}.blocks` event of an operation whose records lie at `ranges`. */
export const blockEvent = (
  { meta, header, quotes, cursor, batches }: BlockRecordParts,
  ranges: readonly OffsetRange[],
): Wire.BlockEvent => ({
  ...header,
  meta: { ...meta, part: 0, parts: 1 },
  quote_prices: toWireQuotePrices(quotes),
  counts: Object.fromEntries(
    [
      ...FAMILIES,
      ...FEED_FAMILIES.filter((feed) => batches.some(({ family }) => family === feed)),
    ].map((family) => [TOPICS[family].suffix, sumOf(batches, (batch) => batch.family === family)]),
  ),
  spans: ranges.flatMap((range) => {
    const here = (batch: EventBatch): boolean =>
      batch.topic === range.topic && batch.partition === range.partition
    if (!batches.some(here)) return []
    return [
      {
        topic: range.topic,
        partition: range.partition,
        base_offset: range.baseOffset,
        records: range.records,
        events: sumOf(batches, here),
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

const sumOf = (batches: readonly EventBatch[], wanted: (batch: EventBatch) => boolean): number =>
  batches.reduce((sum, batch) => sum + (wanted(batch) ? batch.events.length : 0), 0)

import { formatUnits, parseDecimal, rescaleRaw, USD_DECIMALS } from '../../core/amounts.ts'
import { InvalidInput } from '../../core/errors.ts'
import { eventVersion } from '../../core/event-version.ts'
import { chainRow } from '../../schemas/chains.ts'
import { PROTOCOLS } from '../../schemas/protocols.ts'
import type {
  Block,
  BlockEvent,
  DApp,
  EventMeta,
  Instruction,
  Transaction,
} from '../../schemas/wire.ts'
import {
  divide,
  fixedPointText,
  knownAmount,
  multiply,
  toFixedPoint,
} from '../runtime/valuation.ts'
import {
  clampUint64,
  clampUint256,
  fitsUint256,
  saturatedDecimal,
  VALUE_DECIMAL,
} from './column-limits.ts'

/** A row as `JSONEachRow` takes it; wide numbers as text, unknown as null. */
export type Row = Readonly<Record<string, unknown>>

/** The parts that every on-chain event carries, as the wire has them. */
export interface EventHead {
  readonly instruction: Instruction | null
  readonly block: Block | null
  readonly transaction: Transaction | null
  readonly d_app: DApp | null
}

/** Version and mark of an event's row; as text, because 64 bits do not fit a double. */
export const versionColumns = (meta: EventMeta, index: number): Row => ({
  _ver: eventVersion(meta, index).toString(),
  _del: meta.op === 'OP_REVERT' ? 1 : 0,
})

/** The range of a Date. Source: ECMA-262, Time Values and Time Range. */
const MAX_TIME_MS = 8.64e15

/** The rows of a block share its time. */
const lastFormattedTime = { ms: 0, text: new Date(0).toISOString() }

/** Epoch milliseconds as ClickHouse reads them. Throws `InvalidInput` beyond the range of a Date. */
export const timeText = (ms: number): string => {
  if (ms !== lastFormattedTime.ms) {
    if (!(Math.abs(ms) <= MAX_TIME_MS)) throw new InvalidInput('time', 'a value is not a time')
    lastFormattedTime.text = new Date(ms).toISOString()
    lastFormattedTime.ms = ms
  }
  return lastFormattedTime.text
}

/** Text of a USD or native value in the store's twelve places; null when unknown. */
export const valueColumn = (value: number | null): string | null => {
  const raw = toFixedPoint(value)
  return raw === null ? null : fixedPointText(raw)
}

/** A decimal of the wire as a double column; null when unknown. */
export const priceColumn = (text: string): number | null => {
  const value = parseDecimal(text)
  return value !== null && Number.isFinite(value) ? value : null
}

/** Base units as text; "" is none. */
export const amountColumn = (text: string): string => (text === '' ? '0' : text)

/** Base units as text; null when unknown, or more than the column holds. */
export const nullableAmountColumn = (text: string): string | null => {
  const raw = knownAmount(text)
  return raw !== null && fitsUint256(raw) ? raw.toString() : null
}

/** A 64-bit number of the wire in either base; "" and `0x` are none. */
const uint64Column = (text: string): string =>
  /^(0x[0-9a-f]{1,16}|\d{1,19})$/i.test(text) ? BigInt(text).toString() : '0'

/** Where an event stands. */
export const positionColumns = (meta: EventMeta, { instruction, block }: EventHead): Row => ({
  block_time: timeText(meta.block_time),
  block_slot: meta.slot,
  block_height: block?.height ?? meta.height,
  block_hash: meta.hash,
  event_index: instruction?.event_index ?? 0,
})

/** USD price of the chain's native token, where a stamp knows both: its USD by its native price. */
export const nativeTokenPrice = (usd: string, native: string): number | null =>
  divide(parseDecimal(usd), parseDecimal(native))

/** The transaction of an event, its fee in the chain's native token and, with the native token's price, in USD. */
export const transactionColumns = (
  meta: EventMeta,
  { transaction }: EventHead,
  nativeUsd: number | null,
): Row => {
  const fee = amountColumn(transaction?.fee ?? '')
  const decimals = chainRow(meta.chain)?.nativeDecimals ?? 18
  const paid = formatUnits(rescaleRaw(BigInt(fee), decimals, USD_DECIMALS), USD_DECIMALS)
  const native = saturatedDecimal(paid, VALUE_DECIMAL)
  return {
    tx_hash: transaction?.signature ?? '',
    tx_index: transaction?.index ?? 0,
    tx_signer: transaction?.signer ?? '',
    tx_fee: fee,
    tx_fee_native: native,
    tx_fee_usd: valueColumn(multiply(Number(native), nativeUsd)),
    tx_status: (transaction?.status ?? 'STATUS_UNSPECIFIED').replace('STATUS_', ''),
  }
}

const PROTOCOL_NAMES: ReadonlyMap<string, string> = new Map(
  PROTOCOLS.map(({ id, name }) => [id, name]),
)

/** Which DEX: the factory or program, its display name, and its id. */
export const protocolColumns = ({ instruction, d_app }: EventHead): Row => {
  const id = instruction?.type ?? ''
  return {
    program_address: d_app?.program_address ?? '',
    protocol_name: PROTOCOL_NAMES.get(id) ?? id,
    protocol_family: id,
  }
}

const COMMITMENTS: Readonly<Record<string, string>> = {
  COMMITMENT_CONFIRMED: 'CONFIRMED',
  COMMITMENT_SAFE: 'SAFE',
  COMMITMENT_FINALIZED: 'FINALIZED',
}

const tradesByPartition = (block: BlockEvent): readonly number[] => {
  const counts: number[] = []
  for (const { topic, partition, events } of block.spans) {
    if (!topic.endsWith('.dex.trades')) continue
    while (counts.length <= partition) counts.push(0)
    counts[partition] = (counts[partition] ?? 0) + events
  }
  return counts
}

/** Row of `{c}_blocks`; none for FINALIZE. */
export const blockRows = (block: BlockEvent): readonly Row[] => {
  const { meta } = block
  if (meta.op !== 'OP_APPLY' && meta.op !== 'OP_REVERT') return []
  const byPartition = tradesByPartition(block)
  return [
    {
      block_time: timeText(meta.block_time),
      block_slot: meta.slot,
      block_height: meta.height,
      block_hash: meta.hash,
      parent_hash: meta.parent_hash,
      parent_slot: block.parent_slot,
      tx_count: block.tx_count,
      rewards_count: block.rewards_count,
      coinbase: block.coinbase,
      gas_limit: clampUint64(block.gas_limit),
      gas_used: clampUint64(block.gas_used),
      base_fee: clampUint256(block.base_fee),
      priority_fee: block.priority_fee === '' ? null : clampUint256(block.priority_fee),
      difficulty: clampUint256(block.difficulty),
      nonce: uint64Column(block.nonce),
      extra: `0x${Buffer.from(block.extra).toString('hex')}`,
      trades_count: byPartition.reduce((sum, events) => sum + events, 0),
      trades_by_partition: byPartition,
      events_count: block.spans.reduce((sum, { events }) => sum + events, 0),
      commitment: COMMITMENTS[meta.commitment] ?? 'PROCESSED',
      seq: meta.seq,
      ...versionColumns(meta, 0),
    },
  ]
}

/** Row `final` of `{c}_chain_state`, for FINALIZE. */
export const finalityRows = ({ meta, final_height }: BlockEvent): readonly Row[] =>
  meta.op === 'OP_FINALIZE'
    ? [
        {
          key: 'final',
          final_slot: final_height,
          final_time: timeText(meta.block_time),
          hot_from: 0,
          seq: meta.seq,
          _ver: meta.seq,
        },
      ]
    : []

import { InvalidInput } from '../../core/errors.ts'
import type { EventMeta, Status } from '../../schemas/wire.ts'
import { validateAmount, validateWholeNumber } from '../runtime/validate-records.ts'
import { nullableUint64 } from './column-limits.ts'
import {
  nullableAmountColumn,
  positionColumns,
  priceColumn,
  type Row,
  timeText,
  transactionColumns,
  versionColumns,
} from './columns.ts'

/** What every event of an optional feed has. */
export interface FeedEvent {
  readonly block_height: number
  readonly event_index: number
}

/** Fields of a feed that are neither text, number nor mark as they stand. */
export interface FeedColumnTypes {
  /** Base units. */
  readonly raws?: readonly string[]
  /** Base units; '' is unknown. */
  readonly unknownRaws?: readonly string[]
  /** Counts of up to 64 bits; '' is unknown, and so is what does not fit. */
  readonly counts?: readonly string[]
  /** Base units that may be below zero. */
  readonly signed?: readonly string[]
  /** Lists of base units. */
  readonly rawLists?: readonly string[]
  /** Plain decimals that become doubles; '' is unknown. */
  readonly prices?: readonly string[]
  /** Epoch milliseconds. */
  readonly times?: readonly string[]
}

interface TransactionFields {
  readonly tx_hash: string
  readonly tx_index: number
  readonly tx_signer: string
  readonly tx_fee: string
  readonly tx_status: Status
}

const hasTransaction = (event: object): event is TransactionFields => 'tx_fee' in event

const TRANSACTION_FIELDS: ReadonlySet<string> = new Set<keyof TransactionFields>([
  ...(['tx_hash', 'tx_index', 'tx_signer', 'tx_fee', 'tx_status'] as const),
])
const POSITION_FIELDS: ReadonlySet<string> = new Set<keyof FeedEvent>([
  'block_height',
  'event_index',
])

/** Rows of a flat record: its fields are the columns. Throws `InvalidInput` for invalid amounts and decimals. */
export const feedRows = (
  { meta, events }: { readonly meta: EventMeta | null; readonly events: readonly FeedEvent[] },
  shape: FeedColumnTypes,
): readonly Row[] =>
  meta === null
    ? []
    : events.map((event) =>
        Object.assign(
          ownFieldColumns(event, shape),
          feedPositionColumns(meta, event),
          hasTransaction(event) ? feedTransactionColumns(meta, event) : undefined,
          versionColumns(meta, event.event_index),
        ),
      )

const feedPositionColumns = (meta: EventMeta, { block_height, event_index }: FeedEvent): Row => ({
  ...positionColumns(meta, { instruction: null, block: null, transaction: null, d_app: null }),
  block_height,
  event_index,
})

const feedTransactionColumns = (meta: EventMeta, event: TransactionFields): Row => {
  validateAmount('tx_fee', event.tx_fee)
  const transaction = {
    fee: event.tx_fee,
    fee_payer: event.tx_signer,
    index: event.tx_index,
    bundles: [],
    signature: event.tx_hash,
    signer: event.tx_signer,
    status: event.tx_status,
  }
  return transactionColumns(
    meta,
    { instruction: null, block: null, transaction, d_app: null },
    null,
  )
}

const ownFieldColumns = (event: FeedEvent, shape: FeedColumnTypes): Row => {
  const row: Record<string, unknown> = {}
  const skipped = hasTransaction(event) ? TRANSACTION_FIELDS : NO_FIELDS
  for (const [name, value] of Object.entries(event)) {
    if (!POSITION_FIELDS.has(name) && !skipped.has(name))
      row[name] = columnValue(name, value, shape)
  }
  return row
}

const NO_FIELDS: ReadonlySet<string> = new Set()

const columnValue = (name: string, value: unknown, shape: FeedColumnTypes): unknown => {
  if (typeof value === 'boolean') return value ? 1 : 0
  if (shape.times?.includes(name)) return timeText(Number(value))
  if (shape.prices?.includes(name)) return priceColumn(String(value))
  if (shape.raws?.includes(name)) return amountValue(name, value)
  if (shape.unknownRaws?.includes(name)) return unknownAmountValue(name, value)
  if (shape.counts?.includes(name)) return nullableUint64(String(value))
  if (shape.signed?.includes(name)) return int64Value(name, value)
  if (shape.rawLists?.includes(name) && Array.isArray(value)) {
    return value.map((each) => amountValue(name, each))
  }
  return value
}

const amountValue = (name: string, value: unknown): string => {
  const text = String(value)
  validateAmount(name, text)
  return text === '' ? '0' : text
}

const unknownAmountValue = (name: string, value: unknown): string | null => {
  const text = String(value)
  validateWholeNumber(name, text)
  return nullableAmountColumn(text)
}

/** Sixty-four bits and a sign. */
const int64Value = (name: string, value: unknown): string => {
  const text = String(value)
  if (!/^-?\d{1,18}$/.test(text))
    throw new InvalidInput('amount', `${name} is not an amount of 64 bits`)
  return text
}

import { Malformed } from '../../core/errors.ts'
import type { EventMeta, Status } from '../../schemas/wire.ts'
import { checkRaw } from '../runtime/validate-records.ts'
import {
  placeColumns,
  priceColumn,
  type Row,
  timeText,
  transactionColumns,
  versionColumns,
} from './rows.ts'

/** What every event of an optional feed has. */
export interface FlatEvent {
  readonly block_height: number
  readonly event_index: number
}

/** Fields of a feed that are no text, number or mark as they stand. */
export interface FlatShape {
  /** Base units. */
  readonly raws?: readonly string[]
  /** Base units that may be below zero. */
  readonly signed?: readonly string[]
  /** Lists of base units. */
  readonly rawLists?: readonly string[]
  /** Plain decimals that become doubles; '' is unknown. */
  readonly prices?: readonly string[]
  /** Epoch milliseconds. */
  readonly times?: readonly string[]
}

interface Paid {
  readonly tx_hash: string
  readonly tx_index: number
  readonly tx_signer: string
  readonly tx_fee: string
  readonly tx_status: Status
}

const isPaid = (event: object): event is Paid => 'tx_fee' in event

const PAID: ReadonlySet<string> = new Set<keyof Paid>([
  ...(['tx_hash', 'tx_index', 'tx_signer', 'tx_fee', 'tx_status'] as const),
])
const PLACED: ReadonlySet<string> = new Set<keyof FlatEvent>(['block_height', 'event_index'])

/** Rows of a flat record: its fields are the columns. Throws `Malformed` for amounts and decimals that are none. */
export const flatRows = (
  { meta, events }: { readonly meta: EventMeta | null; readonly events: readonly FlatEvent[] },
  shape: FlatShape,
): readonly Row[] =>
  meta === null
    ? []
    : events.map((event) =>
        Object.assign(
          ownColumns(event, shape),
          placed(meta, event),
          isPaid(event) ? paid(meta, event) : undefined,
          versionColumns(meta, event.event_index),
        ),
      )

const placed = (meta: EventMeta, { block_height, event_index }: FlatEvent): Row => ({
  ...placeColumns(meta, { instruction: null, block: null, transaction: null, d_app: null }),
  block_height,
  event_index,
})

const paid = (meta: EventMeta, event: Paid): Row => {
  checkRaw('tx_fee', event.tx_fee)
  const transaction = {
    ...{ fee: event.tx_fee, fee_payer: event.tx_signer, index: event.tx_index, bundles: [] },
    ...{ signature: event.tx_hash, signer: event.tx_signer, status: event.tx_status },
  }
  return transactionColumns(
    meta,
    { instruction: null, block: null, transaction, d_app: null },
    null,
  )
}

const ownColumns = (event: FlatEvent, shape: FlatShape): Row => {
  const row: Record<string, unknown> = {}
  const skipped = isPaid(event) ? PAID : NOTHING
  for (const [name, value] of Object.entries(event)) {
    if (!PLACED.has(name) && !skipped.has(name)) row[name] = columnOf(name, value, shape)
  }
  return row
}

const NOTHING: ReadonlySet<string> = new Set()

const columnOf = (name: string, value: unknown, shape: FlatShape): unknown => {
  if (typeof value === 'boolean') return value ? 1 : 0
  if (shape.times?.includes(name)) return timeText(Number(value))
  if (shape.prices?.includes(name)) return priceColumn(String(value))
  if (shape.raws?.includes(name)) return amount(name, value)
  if (shape.signed?.includes(name)) return signedAmount(name, value)
  if (shape.rawLists?.includes(name) && Array.isArray(value)) {
    return value.map((each) => amount(name, each))
  }
  return value
}

const amount = (name: string, value: unknown): string => {
  const text = String(value)
  checkRaw(name, text)
  return text === '' ? '0' : text
}

/** Sixty-four bits and a sign. */
const signedAmount = (name: string, value: unknown): string => {
  const text = String(value)
  if (!/^-?\d{1,18}$/.test(text)) throw new Malformed('amount', `${name} is no amount of 64 bits`)
  return text
}

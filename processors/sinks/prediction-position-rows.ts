import { InvalidInput } from '../../core/errors.ts'
import { DAY_MS } from '../../core/time.ts'
import type {
  EventMeta,
  PredictionPosition,
  PredictionPositionEvent,
  PredictionPositionEvents,
  PredictionTotals,
} from '../../schemas/wire.ts'
import { validateAmount } from '../runtime/validate-records.ts'
import { clampInt256 } from './column-limits.ts'
import {
  positionColumns,
  type Row,
  timeText,
  transactionColumns,
  versionColumns,
} from './columns.ts'
import type { TableRows } from './tables.ts'

/** Base units; unknown counts as none. */
const unsigned = (name: string, value: string): string => {
  validateAmount(name, value)
  return value === '' ? '0' : value
}

/** Base units that may be below zero. */
const signed = (name: string, value: string): string => {
  if (!/^-?\d{1,78}$/.test(value)) throw new InvalidInput('amount', `${name} is not a whole number`)
  return clampInt256(value)
}

/** The state that a change left; a retraction leaves the one before it, null where there was none. */
const standing = <State>(meta: EventMeta, after: State, before: State): State =>
  meta.op === 'OP_REVERT' ? before : after

const NOTHING: PredictionPosition = {
  quantity: '',
  known_quantity: '',
  cost: '',
  bought: '',
  paid: '',
  sold: '',
  received: '',
  redeemed: '',
  volume: '',
  realized: '0',
  entries: 0,
  first_paid: '',
  changes: 0,
  first_time: 0,
  last_time: 0,
}

const stateVersion = (meta: EventMeta, index: number, exists: boolean): Row => ({
  ...versionColumns(meta, index),
  _del: exists ? 0 : 1,
})

const changeRow = (meta: EventMeta, event: PredictionPositionEvent): Row => {
  const { tx_hash, tx_index, tx_signer, tx_fee, tx_status } = event
  const transaction = {
    fee: unsigned('tx_fee', tx_fee),
    fee_payer: tx_signer,
    index: tx_index,
    bundles: [],
    signature: tx_hash,
    signer: tx_signer,
    status: tx_status,
  }
  const head = { instruction: null, block: null, transaction, d_app: null }
  return {
    ...positionColumns(meta, head),
    ...transactionColumns(meta, head, null),
    block_height: event.block_height,
    event_index: event.event_index,
    log_index: event.log_index,
    protocol_family: event.protocol_family,
    condition_id: event.condition_id,
    outcome: event.outcome,
    outcome_token: event.outcome_token,
    wallet: event.wallet,
    change_type: event.change_type,
    quantity: signed('quantity', event.quantity),
    collateral_amount:
      event.collateral_amount === ''
        ? null
        : unsigned('collateral_amount', event.collateral_amount),
    cost: signed('cost', event.cost),
    realized: signed('realized', event.realized),
    traded_amount: unsigned('traded_amount', event.traded_amount),
    ...versionColumns(meta, event.event_index),
  }
}

const positionRow = (meta: EventMeta, event: PredictionPositionEvent): Row => {
  const state = standing(meta, event.position, event.position_before)
  const position = state ?? NOTHING
  return {
    condition_id: event.condition_id,
    outcome_token: event.outcome_token,
    wallet: event.wallet,
    outcome: event.outcome,
    quantity: unsigned('quantity', position.quantity),
    known_quantity: unsigned('known_quantity', position.known_quantity),
    cost: unsigned('cost', position.cost),
    bought: unsigned('bought', position.bought),
    paid: unsigned('paid', position.paid),
    sold: unsigned('sold', position.sold),
    received: unsigned('received', position.received),
    redeemed: unsigned('redeemed', position.redeemed),
    volume: unsigned('volume', position.volume),
    realized: signed('realized', position.realized),
    entries: position.entries,
    first_paid: unsigned('first_paid', position.first_paid),
    changes: position.changes,
    first_time: timeText(position.first_time),
    last_time: timeText(position.last_time),
    ...stateVersion(meta, event.event_index, state !== null),
  }
}

const totalsRow = (
  meta: EventMeta,
  event: PredictionPositionEvent,
  state: PredictionTotals | null,
): Row => ({
  wallet: event.wallet,
  realized: signed('realized', state?.realized ?? '0'),
  volume: unsigned('volume', state?.volume ?? ''),
  changes: state?.changes ?? 0,
  last_time: timeText(state?.last_time ?? 0),
  ...stateVersion(meta, event.event_index, state !== null),
})

const priceRow = (meta: EventMeta, event: PredictionPositionEvent): readonly Row[] => {
  if (event.price === '') return []
  const price = standing(meta, event.price, event.price_before)
  return [
    {
      outcome_token: event.outcome_token,
      price: unsigned('price', price),
      ...stateVersion(meta, event.event_index, price !== ''),
    },
  ]
}

/**
 * Rows of everything that follows from changes of positions: the changes, the positions by condition and by wallet, totals of wallets
 * ever and by day, last prices. A retraction takes the change back and leaves each state as it was before it.
 */
export const predictionPositionTables = ({
  meta,
  events,
}: PredictionPositionEvents): readonly TableRows[] => {
  if (meta === null) return []
  const positions = events.map((event) => positionRow(meta, event))
  const day = Math.floor(meta.block_time / DAY_MS)
  return [
    { table: 'prediction_position_changes', rows: events.map((event) => changeRow(meta, event)) },
    { table: 'prediction_positions', rows: positions },
    { table: 'prediction_wallet_positions', rows: positions },
    {
      table: 'prediction_wallets',
      rows: events.map((event) =>
        totalsRow(meta, event, standing(meta, event.wallet_totals, event.wallet_totals_before)),
      ),
    },
    {
      table: 'prediction_wallet_days',
      rows: events.map((event) => ({
        ...totalsRow(meta, event, standing(meta, event.day_totals, event.day_totals_before)),
        day,
      })),
    },
    { table: 'prediction_prices', rows: events.flatMap((event) => priceRow(meta, event)) },
  ]
}

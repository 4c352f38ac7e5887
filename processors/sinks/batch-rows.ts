import { tryDecode } from '../../core/bus/dead-letters.ts'
import type { JsonLines } from '../../core/clickhouse/client.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { InvalidInput } from '../../core/errors.ts'
import type { EventMeta } from '../../schemas/wire.ts'
import type { Row } from './columns.ts'
import type { Sink, TableRows } from './tables.ts'

/** Rows for one table, without the chain prefix, as they are inserted. */
export interface SerializedTable extends JsonLines {
  readonly table: string
}

/** A record that says nothing for a table. */
export interface RejectedRecord {
  /** Its index in the batch. */
  readonly index: number
  readonly reason: string
  readonly message: string
}

/** What the records of a batch say, table by table in the order of the sink. */
export interface BatchRows {
  readonly tables: readonly SerializedTable[]
  readonly refused: readonly RejectedRecord[]
  /** Of the last record that has one. */
  readonly newest: EventMeta | null
}

/** Tables of the newest state, and the columns that name what a row is the state of: a batch writes each subject once, as it left it. */
export const LATEST_STATE_KEYS: ReadonlyMap<string, readonly string[]> = new Map([
  // The view by token needs the retraction of a pool whose address a reorg gave to other tokens, beside the new row.
  ['dex_pools', ['pool_address', 'token_a', 'token_b']],
  ['tokens', ['token_address']],
  ['token_stats', ['token_address', 'resolution']],
  ['token_prices', ['token_address']],
  ['token_markets', ['token_address']],
  ['token_holders', ['token_address', 'holder']],
  ['wallet_balances', ['token_address', 'holder']],
  ['token_holdings', ['token_address', 'hour']],
  ['wallet_token_pnl', ['wallet', 'token_address']],
  ['prediction_positions', ['condition_id', 'outcome_token', 'wallet']],
  ['prediction_wallet_positions', ['wallet', 'outcome_token']],
  ['prediction_wallet_days', ['day', 'wallet']],
  ['prediction_wallets', ['wallet']],
  ['prediction_prices', ['outcome_token']],
])

type RowsByKey = Map<string | number, Row>

/** Later rows are newer. */
const addRows = (known: Map<string, RowsByKey>, { table, rows }: TableRows): void => {
  const subject = LATEST_STATE_KEYS.get(table)
  const held: RowsByKey = known.get(table) ?? new Map()
  for (const row of rows) {
    held.set(subject === undefined ? held.size : subject.map((name) => row[name]).join(), row)
  }
  known.set(table, held)
}

const serializeRows = (table: string, rows: RowsByKey): SerializedTable => {
  const lines: string[] = []
  for (const row of rows.values()) lines.push(JSON.stringify(row))
  return { table, text: lines.join('\n'), count: rows.size }
}

const mapRecord = (codec: Codec, sink: Sink, bytes: Uint8Array | null): ReturnType<Sink['map']> => {
  if (bytes === null) throw new InvalidInput('tombstone', 'unexpected tombstone')
  return sink.map(codec, bytes)
}

/**
 * Maps the values of a batch, oldest first. Only `InvalidInput` is the fault of a record. Throws everything else: an `Outage` of the
 * codec, after which the same batch maps, and what a mapper throws that has a bug, which must not put a whole topic aside.
 */
export const batchRows = (
  codec: Codec,
  sink: Sink,
  values: readonly (Uint8Array | null)[],
): BatchRows => {
  const known = new Map<string, RowsByKey>()
  const refused: RejectedRecord[] = []
  let newest: EventMeta | null = null
  for (const [index, bytes] of values.entries()) {
    const mapped = tryDecode(() => mapRecord(codec, sink, bytes))
    if (mapped instanceof InvalidInput) {
      refused.push({ index, reason: mapped.reason, message: mapped.message })
      continue
    }
    newest = mapped.value.meta ?? newest
    for (const rows of mapped.value.tables) addRows(known, rows)
  }
  const tables = [...known].flatMap(([table, rows]) =>
    rows.size === 0 ? [] : [serializeRows(table, rows)],
  )
  return { tables, refused, newest }
}

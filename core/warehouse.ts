import { type ClickHouseClient, ClickHouseError, createClient } from '@clickhouse/client'
import { Outage } from './fault.ts'

/** One SQL statement with its bound parameters. Values reach SQL only through `params`. */
export interface Query {
  readonly sql: string
  readonly params?: Readonly<Record<string, unknown>>
}

/** Rows and what they cost. */
export interface Answer<Row> {
  readonly rows: readonly Row[]
  readonly rowsRead: number
  readonly elapsedMs: number
}

/** Rows as the engine printed them, not parsed, and what they cost. */
export interface TextAnswer {
  /** The rows one after the other, each a JSON list with `, ` between its values; anything may stand between rows. */
  readonly text: string
  readonly rowCount: number
  readonly rowsRead: number
  readonly elapsedMs: number
}

/** The store behind every read. Numbers wider than a double arrive as strings (UInt64, Int64, UInt256, Decimal). */
export interface Warehouse {
  /** Rows as objects. Throws `Outage` when the store does not answer, the driver's error for wrong SQL. */
  query<Row>(query: Query, options?: { readonly signal?: AbortSignal }): Promise<Answer<Row>>
  /** Rows as arrays in the order of the SELECT list: cheaper for wide answers. */
  queryArrays(query: Query, options?: { readonly signal?: AbortSignal }): Promise<Answer<unknown[]>>
  /** Rows as JSON text, for answers that are text again: big integers and decimals as numbers, what is not finite as null. */
  queryText(query: Query, options?: { readonly signal?: AbortSignal }): Promise<TextAnswer>
  /** One insert; the same token again is dropped by the engine. Big numbers as strings. */
  insert(
    table: string,
    rows: readonly object[],
    options?: { readonly token?: string },
  ): Promise<void>
  /** DDL and maintenance. */
  command(sql: string, options?: { readonly token?: string }): Promise<void>
  close(): Promise<void>
}

/** Where the warehouse lives: a folder (chDB in this process) or a server. */
export type WarehouseTarget =
  | { readonly kind: 'embedded'; readonly path: string }
  | { readonly kind: 'server'; readonly url: string; readonly database: string }

const READ_SETTINGS = {
  output_format_json_quote_64bit_integers: 1,
  output_format_json_quote_decimals: 1,
  output_format_json_quote_denormals: 0,
  do_not_merge_across_partitions_select_final: 1,
} as const

/** Numbers are printed as numbers: the text goes to the client as it is. */
const TEXT_SETTINGS = {
  ...READ_SETTINGS,
  output_format_json_quote_64bit_integers: 0,
  output_format_json_quote_decimals: 0,
  precise_float_parsing: 1,
} as const

const INSERT_SETTINGS = {
  async_insert: 0,
  insert_deduplicate: 1,
  deduplicate_blocks_in_dependent_materialized_views: 1,
  input_format_parallel_parsing: 0,
  wait_end_of_query: 1,
  date_time_input_format: 'best_effort',
} as const

const clientOf = async (target: WarehouseTarget): Promise<ClickHouseClient> => {
  if (target.kind === 'server') {
    return createClient({
      url: target.url,
      database: target.database,
      max_open_connections: 8,
      request_timeout: 60_000,
      compression: { request: true },
    })
  }
  const { createChdbConnection } = await import('chdb/connection')
  // Both packages carry the same interface, but under two copies of the client's types.
  const connection = createChdbConnection({ path: target.path }) as never
  return createClient({ connection })
}

/** An error that the engine answered; the embedded one throws it from a copy of the client of its own. */
const isAnswer = (error: unknown): boolean =>
  error instanceof ClickHouseError ||
  (error instanceof Error && error.constructor.name === ClickHouseError.name)

/** Transport trouble is an outage; an answer of the engine is passed on as it is. */
const asOutage = (error: unknown, aborted = false): never => {
  if (isAnswer(error) || aborted) throw error
  throw new Outage('warehouse', 'the warehouse did not answer', { cause: error })
}

/** The frame of a JSONCompact answer around its rows. An unescaped `"data":` or last `"rows":` stands in the frame only. */
const rowsText = (answer: string): Omit<TextAnswer, 'elapsedMs'> => {
  const start = answer.indexOf('"data":')
  const end = answer.lastIndexOf('"rows":')
  if (start === -1 || end === -1)
    throw new Outage('warehouse', 'the answer of the store is not whole')
  const tail = JSON.parse(`{${answer.slice(end)}`) as {
    readonly rows: number
    readonly statistics?: { readonly rows_read?: number }
  }
  const open = answer.indexOf('[', start)
  const text = answer.slice(open + 1, answer.lastIndexOf(']', end))
  return { text, rowCount: tail.rows, rowsRead: tail.statistics?.rows_read ?? 0 }
}

/** Opens the warehouse. One process may hold an embedded folder; a second open throws `Outage`. */
export const openWarehouse = async (target: WarehouseTarget): Promise<Warehouse> => {
  const client = await clientOf(target).catch((error) => asOutage(error))
  const read = async <Row>(
    { sql, params }: Query,
    format: 'JSON' | 'JSONCompact',
    signal?: AbortSignal,
  ): Promise<Answer<Row>> => {
    const startedMs = performance.now()
    const result = await client
      .query({
        query: sql,
        format,
        clickhouse_settings: READ_SETTINGS,
        ...(params && { query_params: params }),
        ...(signal && { abort_signal: signal }),
      })
      .then((set) => set.json<Row>())
      .catch((error) => asOutage(error, signal?.aborted))
    return {
      rows: result.data as Row[],
      rowsRead: result.statistics?.rows_read ?? 0,
      elapsedMs: performance.now() - startedMs,
    }
  }
  return {
    query: (query, options) => read(query, 'JSON', options?.signal),
    queryArrays: (query, options) => read(query, 'JSONCompact', options?.signal),
    queryText: async ({ sql, params }, options) => {
      const startedMs = performance.now()
      const answer = await client
        .query({
          query: sql,
          format: 'JSONCompact',
          clickhouse_settings: TEXT_SETTINGS,
          ...(params && { query_params: params }),
          ...(options?.signal && { abort_signal: options.signal }),
        })
        .then((set) => set.text())
        .catch((error) => asOutage(error, options?.signal?.aborted))
      return { ...rowsText(answer), elapsedMs: performance.now() - startedMs }
    },
    insert: async (table, rows, options) => {
      if (rows.length === 0) return
      await client
        .insert({
          table,
          values: rows as object[],
          format: 'JSONEachRow',
          clickhouse_settings: {
            ...INSERT_SETTINGS,
            ...(options?.token && { insert_deduplication_token: options.token }),
          },
        })
        .catch((error) => asOutage(error))
    },
    command: async (sql, options) => {
      await client
        .command({
          query: sql,
          clickhouse_settings: {
            ...INSERT_SETTINGS,
            ...(options?.token && { insert_deduplication_token: options.token }),
          },
        })
        .catch((error) => asOutage(error))
    },
    close: () => client.close(),
  }
}

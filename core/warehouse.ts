import { type ClickHouseClient, ClickHouseError, createClient } from '@clickhouse/client'
import pLimit from 'p-limit'
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

/** Rows that are JSON already, one per line. */
export interface JsonRows {
  readonly text: string
  readonly count: number
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
    rows: readonly object[] | JsonRows,
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

/** Said of every insert that has none: an embedded connection keeps the settings of the statement before. */
const NO_TOKEN = ''

/** Many rows that the driver takes for one: it writes a line for each, and this one's text has several. */
class Lines {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

const JSON_TEXT = {
  stringify: (value: unknown): string =>
    value instanceof Lines ? value.text : JSON.stringify(value),
}

/** Does work with a client that is free for it. */
type Using = <T>(work: (client: ClickHouseClient) => Promise<T>) => Promise<T>

/** Who reads, and who writes. */
interface Clients {
  readonly reading: Using
  readonly writing: Using
  close(): Promise<void>
}

/** Connections that read from an embedded engine, beside the one that writes. */
const READERS = 2

const serverClients = (url: string, database: string): Clients => {
  const client = createClient({
    url,
    database,
    max_open_connections: 8,
    request_timeout: 60_000,
    compression: { request: true },
    json: JSON_TEXT,
  })
  const using: Using = (work) => work(client)
  return { reading: using, writing: using, close: () => client.close() }
}

/** One statement at a time for each place; who comes later waits here. */
const taking = (places: readonly ClickHouseClient[]): Using => {
  const free = [...places]
  const limit = pLimit(places.length)
  return (work) =>
    limit(async () => {
      const client = free.pop() as ClickHouseClient
      try {
        return await work(client)
      } finally {
        free.push(client)
      }
    })
}

/**
 * A connection of the embedded engine answers one statement after the other, and each that waits inside it holds a thread of
 * Node's pool: reads would stand behind inserts, and files, keys and compression behind both. So reads have connections of
 * their own, and the one that writes has one statement in hand beside the one under way, however busy this thread is.
 */
const embeddedClients = async (path: string): Promise<Clients> => {
  const { createChdbConnection } = await import('chdb/connection')
  // Both packages carry the same interface, but under two copies of the client's types.
  const connect = () =>
    createClient({ connection: createChdbConnection({ path }) as never, json: JSON_TEXT })
  const writer = connect()
  const readers = Array.from({ length: READERS }, connect)
  return {
    reading: taking(readers),
    writing: taking([writer, writer]),
    close: async () => {
      for (const client of [...readers, writer]) await client.close()
    },
  }
}

const clientsOf = async (target: WarehouseTarget): Promise<Clients> =>
  target.kind === 'server'
    ? serverClients(target.url, target.database)
    : embeddedClients(target.path)

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
  const { reading, writing, close } = await clientsOf(target).catch((error) => asOutage(error))
  const read = async <Row>(
    { sql, params }: Query,
    format: 'JSON' | 'JSONCompact',
    signal?: AbortSignal,
  ): Promise<Answer<Row>> => {
    const startedMs = performance.now()
    const result = await reading(async (client) => {
      signal?.throwIfAborted()
      const set = await client.query({
        query: sql,
        format,
        clickhouse_settings: READ_SETTINGS,
        ...(params && { query_params: params }),
        ...(signal && { abort_signal: signal }),
      })
      return set.json<Row>()
    }).catch((error) => asOutage(error, signal?.aborted))
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
      const signal = options?.signal
      const answer = await reading(async (client) => {
        signal?.throwIfAborted()
        const set = await client.query({
          query: sql,
          format: 'JSONCompact',
          clickhouse_settings: TEXT_SETTINGS,
          ...(params && { query_params: params }),
          ...(signal && { abort_signal: signal }),
        })
        return set.text()
      }).catch((error) => asOutage(error, signal?.aborted))
      return { ...rowsText(answer), elapsedMs: performance.now() - startedMs }
    },
    insert: async (table, rows, options) => {
      const values = 'text' in rows ? [new Lines(rows.text)] : rows
      if (values.length === 0) return
      await writing((client) =>
        client.insert({
          table,
          values: values as object[],
          format: 'JSONEachRow',
          clickhouse_settings: {
            ...INSERT_SETTINGS,
            insert_deduplication_token: options?.token ?? NO_TOKEN,
          },
        }),
      ).catch((error) => asOutage(error))
    },
    command: async (sql, options) => {
      await writing((client) =>
        client.command({
          query: sql,
          clickhouse_settings: {
            ...INSERT_SETTINGS,
            insert_deduplication_token: options?.token ?? NO_TOKEN,
          },
        }),
      ).catch((error) => asOutage(error))
    },
    close,
  }
}

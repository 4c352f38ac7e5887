import type { StatementBudget } from '../../schemas/plans.ts'
import { Outage } from '../errors.ts'
import { openEmbeddedEngine } from './embedded-engine.ts'
import {
  budgetSettings,
  type Engine,
  type EngineRead,
  type ReadConcurrency,
  type ReadWorkload,
} from './engine.ts'
import { missingColumnOutage } from './insert-errors.ts'
import { isEngineError, toReadError } from './read-errors.ts'
import { openServerEngine, type ServerTarget } from './server-engine.ts'
import { toSqlLiteral } from './set-statement.ts'

/** One SQL statement with its bound parameters. Values reach SQL only through `params`. */
export interface Query {
  readonly sql: string
  readonly params?: Readonly<Record<string, unknown>>
}

/** Rows and what they cost. */
export interface QueryResult<Row> {
  readonly rows: readonly Row[]
  readonly rowsRead: number
  readonly elapsedMs: number
}

/** How the engine writes rows. Source: ClickHouse, "Format Template". */
export interface RowTemplate {
  /** Before the first row; as `between` and `tail` without `$`. */
  readonly head: string
  /** A row: text with values as `${INDEX:JSON}` or `${INDEX:Raw}`, by the index of their column. */
  readonly row: string
  readonly between: string
  /** Behind the last row. */
  readonly tail: string
}

/** A statement whose rows the engine writes by a template. */
export interface TextQuery extends Query {
  readonly template: RowTemplate
  /** More rows pass the budget: below the budget's own bound, where a row of the template is long. */
  readonly maxRows?: number
  /** How often a value stands in a row at most: the engine counts the bytes of a column once. Default: 1. */
  readonly repeats?: number
}

/** Rows as the engine wrote them, and what they cost. */
export interface TextQueryResult {
  readonly body: Buffer
  readonly rowCount: number
  readonly rowsRead: number
  readonly elapsedMs: number
}

/** Rows that are JSON already, one per line. */
export interface JsonLines {
  readonly text: string
  readonly count: number
}

/** How a read is run. */
export interface ReadOptions {
  /** Ends the statement inside the engine; the read then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
  /** Default: the generous one of the product's own reads. */
  readonly budget?: StatementBudget
  /** Default: `internal`. */
  readonly share?: ReadWorkload
}

/** The store behind every read. Numbers wider than a double arrive as strings (UInt64, Int64, UInt256, Decimal). */
export interface Warehouse {
  /** Reads of each share that run at the same time; what is beyond waits. */
  readonly places: ReadConcurrency
  /** True: no other process can write to the tables while this one has them open. */
  readonly isExclusive: boolean
  /** Rows as objects. Throws what `toReadError` makes of a failure, or the reason of the signal. */
  query<Row>(query: Query, options?: ReadOptions): Promise<QueryResult<Row>>
  /** Rows as arrays in the order of the SELECT list: cheaper for wide answers. */
  queryArrays(query: Query, options?: ReadOptions): Promise<QueryResult<unknown[]>>
  /**
   * Rows written by a template, for answers that are text again: big integers and decimals as numbers, what is not finite as null, times
   * as `2026-03-01T00:39:48Z`.
   */
  queryText(query: TextQuery, options?: ReadOptions): Promise<TextQueryResult>
  /**
   * One insert; the same token again is dropped by the engine. Big numbers as strings. A field without a column is an `Outage`: the
   * table is older than the row.
   */
  insert(
    table: string,
    rows: readonly object[] | JsonLines,
    options?: { readonly token?: string },
  ): Promise<void>
  /** DDL and maintenance. */
  command(sql: string, options?: { readonly token?: string }): Promise<void>
  close(): Promise<void>
}

/** Where the warehouse lives: a folder (chDB in this process) or a server. */
export type WarehouseTarget = { readonly kind: 'embedded'; readonly path: string } | ServerTarget

/** The product's own reads: a check of whole tables takes minutes, and what cannot end is still ended. */
const INTERNAL_BUDGET: StatementBudget = {
  seconds: 300,
  memoryBytes: 2 * 1024 ** 3,
  rowsToRead: 0,
  bytesToRead: 0,
  resultRows: 0,
  resultBytes: 512 * 1024 ** 2,
}

const JSON_READ_SETTINGS = {
  output_format_json_quote_64bit_integers: 1,
  output_format_json_quote_decimals: 1,
  output_format_json_quote_denormals: 0,
  do_not_merge_across_partitions_select_final: 1,
  // Conditions on the key of a table pass before its other columns are read; the engine moves no others to before FINAL.
  optimize_move_to_prewhere_if_final: 1,
} as const

/** Longest statement that the engine reads, characters: a template stands in it. */
const MAX_TEXT_STATEMENT = 4 * 1024 * 1024

/** Numbers are printed as numbers: the text goes to the client as it is. */
const TEXT_READ_SETTINGS = {
  ...JSON_READ_SETTINGS,
  output_format_json_quote_64bit_integers: 0,
  output_format_json_quote_decimals: 0,
  precise_float_parsing: 1,
  max_query_size: String(MAX_TEXT_STATEMENT),
} as const

/** Stands between the rows and what the engine says of them: neither JSON nor a template has this byte. */
const SUMMARY_BYTE = 2
const SUMMARY_MARK = String.fromCharCode(SUMMARY_BYTE)

/** Settings of the statement alone: an embedded connection keeps what is SET. */
const templateClause = ({ head, row, between, tail }: RowTemplate): string =>
  ` SETTINGS ${Object.entries({
    format_template_row_format: row,
    format_template_rows_between_delimiter: between,
    format_template_resultset_format: `${head}\${data}${tail}${SUMMARY_MARK}\${rows:JSON} \${rows_read:JSON}`,
    date_time_output_format: 'iso',
  })
    .map(([name, text]) => `${name} = ${toSqlLiteral(text)}`)
    .join(', ')}`

/** The same budget for a statement whose rows are written by a template. */
const templateBudget = (
  budget: StatementBudget,
  { maxRows = budget.resultRows, repeats = 1 }: TextQuery,
): StatementBudget => ({
  ...budget,
  resultRows: budget.resultRows === 0 ? maxRows : Math.min(budget.resultRows, maxRows),
  resultBytes: Math.ceil(budget.resultBytes / repeats),
})

/** Of every statement that writes. */
const WRITE_SETTINGS = {
  async_insert: 0,
  insert_deduplicate: 1,
  deduplicate_blocks_in_dependent_materialized_views: 1,
  input_format_parallel_parsing: 0,
  date_time_input_format: 'best_effort',
  input_format_skip_unknown_fields: 0,
} as const

/** Said of every insert that has none: an embedded connection keeps the settings of the statement before. */
const NO_DEDUPLICATION_TOKEN = ''

/** Many rows that the driver takes for one: it writes a line for each, and this one's text has several. */
class JsonLinesRow {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

const JSON_SERIALIZER = {
  stringify: (value: unknown): string =>
    value instanceof JsonLinesRow ? value.text : JSON.stringify(value),
}

const openEngine = async (target: WarehouseTarget): Promise<Engine> =>
  target.kind === 'server'
    ? openServerEngine(target, JSON_SERIALIZER, WRITE_SETTINGS)
    : openEmbeddedEngine(target.path, JSON_SERIALIZER, WRITE_SETTINGS)

/** Transport trouble is an outage; an answer of the engine is passed on as it is. */
const throwAsOutage = (error: unknown): never => {
  if (isEngineError(error) || error instanceof Outage) throw error
  throw new Outage('warehouse', 'the warehouse did not answer', { cause: error })
}

const SUMMARY = /^(\d+) (\d+)\s*$/

/** The rows of an answer, and what the engine says of them behind the last mark. */
const extractRows = (body: Buffer): Omit<TextQueryResult, 'elapsedMs'> => {
  const end = body.lastIndexOf(SUMMARY_BYTE)
  const [, rows, rowsRead] = SUMMARY.exec(body.toString('latin1', end + 1)) ?? []
  if (end === -1 || rows === undefined)
    throw new Outage('warehouse', 'the response of the warehouse is truncated')
  return { body: body.subarray(0, end), rowCount: Number(rows), rowsRead: Number(rowsRead) }
}

interface ParsedResponse {
  readonly data: readonly unknown[]
  readonly statistics?: { readonly rows_read?: number }
}

/** Opens the warehouse. One process may hold an embedded folder; a second open throws `Outage`. */
export const openWarehouse = async (target: WarehouseTarget): Promise<Warehouse> => {
  const engine = await openEngine(target).catch(throwAsOutage)
  const run = async (
    query: Query,
    printed: Pick<EngineRead, 'format' | 'settings'>,
    { signal, budget = INTERNAL_BUDGET, share = 'internal' }: ReadOptions = {},
  ): Promise<{ readonly answer: Buffer; readonly elapsedMs: number }> => {
    const startedMs = performance.now()
    const settings = { ...printed.settings, ...budgetSettings(budget) }
    try {
      const { format } = printed
      const answer = await engine.read({ ...query, format, settings, share, signal })
      return { answer, elapsedMs: performance.now() - startedMs }
    } catch (error) {
      throw signal?.aborted ? signal.reason : toReadError(error)
    }
  }
  const read = async <Row>(
    query: Query,
    format: 'JSON' | 'JSONCompact',
    options?: ReadOptions,
  ): Promise<QueryResult<Row>> => {
    const printed = { format, settings: JSON_READ_SETTINGS }
    const { answer, elapsedMs } = await run(query, printed, options)
    const { data, statistics } = parseResponse(answer.toString())
    return { rows: data as Row[], rowsRead: statistics?.rows_read ?? 0, elapsedMs }
  }
  return {
    places: engine.places,
    isExclusive: engine.isExclusive,
    query: (query, options) => read(query, 'JSON', options),
    queryArrays: (query, options) => read(query, 'JSONCompact', options),
    queryText: async (query, options) => {
      const printed = { format: 'Template', settings: TEXT_READ_SETTINGS } as const
      const statement = { ...query, sql: query.sql + templateClause(query.template) }
      const budget = templateBudget(options?.budget ?? INTERNAL_BUDGET, query)
      const { answer, elapsedMs } = await run(statement, printed, { ...options, budget })
      return { ...extractRows(answer), elapsedMs }
    },
    ...makeWrites(engine),
    close: () => engine.close(),
  }
}

const parseResponse = (text: string): ParsedResponse => {
  try {
    return JSON.parse(text) as ParsedResponse
  } catch (error) {
    throw new Outage('warehouse', 'the response of the warehouse is truncated', { cause: error })
  }
}

const makeWrites = ({ writing }: Engine): Pick<Warehouse, 'insert' | 'command'> => {
  const settingsOf = (token = NO_DEDUPLICATION_TOKEN) => ({ insert_deduplication_token: token })
  return {
    insert: async (table, rows, options) => {
      const values = 'text' in rows ? [new JsonLinesRow(rows.text)] : rows
      if (values.length === 0) return
      await writing((client) =>
        client.insert({
          table,
          values: values as object[],
          format: 'JSONEachRow',
          clickhouse_settings: settingsOf(options?.token),
        }),
      ).catch((error: unknown) => throwAsOutage(missingColumnOutage(table, error) ?? error))
    },
    command: async (sql, options) => {
      await writing((client) =>
        client.command({ query: sql, clickhouse_settings: settingsOf(options?.token) }),
      ).catch(throwAsOutage)
    },
  }
}

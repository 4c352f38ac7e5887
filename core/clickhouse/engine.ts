import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import type { StatementBudget } from '../../schemas/plans.ts'
import type { Query } from './client.ts'

/**
 * Who reads, each with places of its own: `point` for cheap reads that are known in advance (REST), `scan` for statements
 * that callers compose (GraphQL), `internal` for the product itself.
 */
export type ReadWorkload = 'point' | 'scan' | 'internal'

/** Reads of each share that run at the same time. */
export type ReadConcurrency = Readonly<Record<ReadWorkload, number>>

/** One statement as an engine runs it. */
export interface EngineRead extends Query {
  readonly format: 'JSON' | 'JSONCompact' | 'Template'
  readonly settings: ClickHouseSettings
  readonly share: ReadWorkload
  readonly signal?: AbortSignal | undefined
}

/** Does work with a client that is free for it. */
export type WithClient = <T>(work: (client: ClickHouseClient) => Promise<T>) => Promise<T>

/** What runs statements: a server, or the engine in this process. */
export interface Engine {
  readonly places: ReadConcurrency
  /** True: no other process can write to its tables while this one has them open. */
  readonly isExclusive: boolean
  /**
   * The answer as the engine printed it, in UTF-8. A signal ends the statement inside the engine; the promise rejects once it has
   * ended, so that who counts running statements counts what really runs.
   */
  read(read: EngineRead): Promise<Buffer>
  readonly writing: WithClient
  close(): Promise<void>
}

/** Settings that make the engine enforce a budget. Source: ClickHouse, "Restrictions on query complexity". */
export const budgetSettings = (budget: StatementBudget): ClickHouseSettings => ({
  max_execution_time: budget.seconds,
  // 0: the time is measured, not estimated from the speed so far.
  timeout_before_checking_execution_speed: 0,
  timeout_overflow_mode: 'throw',
  max_memory_usage: String(budget.memoryBytes),
  max_rows_to_read: String(budget.rowsToRead),
  max_bytes_to_read: String(budget.bytesToRead),
  read_overflow_mode: 'throw',
  max_result_rows: String(budget.resultRows),
  max_result_bytes: String(budget.resultBytes),
  result_overflow_mode: 'throw',
})

/**
 * Ends the statement that carries the comment `id`, which must be one of ours: it stands in the text. Answers the statements
 * that it found. A user that may only read may end its own statements.
 */
export const killQuerySql = (id: string): string =>
  `KILL QUERY WHERE Settings['log_comment'] = '${id}' ASYNC`

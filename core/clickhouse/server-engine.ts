import { randomUUID } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type ClickHouseClient,
  ClickHouseLogLevel,
  type ClickHouseSettings,
  createClient,
} from '@clickhouse/client'
import type { Secret } from '../config/secret.ts'
import { type Engine, killQuerySql, type ReadConcurrency } from './engine.ts'

/** Statements of this process that a server runs at the same time, by who reads; inserts are beside them. */
const READ_CONCURRENCY: ReadConcurrency = { point: 8, scan: 8, internal: 4 }

const MAX_WRITE_CONNECTIONS = 8
/** Above every budget, that of the product's own reads included (300 s): the engine gives up first. */
const REQUEST_TIMEOUT_MS = 330_000
const MAX_KILL_ATTEMPTS = 50
const KILL_RETRY_MS = 100

/** Where a server is, and who asks; without a user those of the URL. */
export interface ServerTarget {
  readonly kind: 'server'
  readonly url: string
  readonly database: string
  readonly user?: string
  readonly password?: Secret
}

/**
 * Ends a statement and returns when the server no longer has it, or after a while: a closed connection ends a read as well,
 * but only when the server next looks at it.
 */
const killQuery = async (client: ClickHouseClient, id: string): Promise<void> => {
  for (let attempt = 0; attempt < MAX_KILL_ATTEMPTS; attempt += 1) {
    const found = await client
      .query({ query: killQuerySql(id), format: 'JSONEachRow' })
      .then((set) => set.json())
      .catch(() => [])
    if (found.length === 0) return
    await delay(KILL_RETRY_MS)
  }
}

/**
 * A ClickHouse server over HTTP. Reads and inserts have connections of their own. Reads are sent with `readonly` = 2, which
 * a user that may only read allows; a profile with `readonly` = 1 refuses every setting and cannot be used. `writeSettings`: of every
 * statement that writes.
 */
export const openServerEngine = (
  { url, database, user, password }: ServerTarget,
  json: object,
  writeSettings: ClickHouseSettings,
): Engine => {
  const connect = (max_open_connections: number, clickhouse_settings: ClickHouseSettings = {}) =>
    createClient({
      url,
      database,
      max_open_connections,
      clickhouse_settings,
      json: json as never,
      request_timeout: REQUEST_TIMEOUT_MS,
      // Every error reaches the caller; the driver would also print it, with the statement.
      log: { level: ClickHouseLogLevel.OFF },
      compression: { request: true },
      ...(user && { username: user, password: password?.reveal() ?? '' }),
    })
  const places = Object.values(READ_CONCURRENCY).reduce((sum, count) => sum + count, 0)
  const reader = connect(places + 1)
  // The answer of an insert comes once it is done, not with its first bytes.
  const writer = connect(MAX_WRITE_CONNECTIONS, { ...writeSettings, wait_end_of_query: 1 })
  return {
    places: READ_CONCURRENCY,
    isExclusive: false,
    read: async ({ sql, params, format, settings, signal }) => {
      signal?.throwIfAborted()
      const id = randomUUID()
      const request = {
        query_id: id,
        clickhouse_settings: {
          ...settings,
          log_comment: id,
          readonly: '2',
          cancel_http_readonly_queries_on_client_close: 1,
        } satisfies ClickHouseSettings,
        ...(params && { query_params: params }),
        ...(signal && { abort_signal: signal }),
      }
      try {
        // As bytes: the driver would make texts of them, and its formats are those that it can parse.
        const { stream } = await reader.exec({ ...request, query: `${sql}\nFORMAT ${format}` })
        return await buffer(stream)
      } catch (error) {
        if (signal?.aborted) await killQuery(reader, id)
        throw error
      }
    },
    writing: (work) => work(writer),
    close: async () => {
      await reader.close()
      await writer.close()
    },
  }
}

import type { Query } from '../../core/clickhouse/client.ts'

/** A row of `webhook_attempts` as it is read. */
export interface AttemptRow {
  readonly id: string
  readonly message_id: string
  readonly endpoint_id: string
  readonly channel: string
  readonly url: string
  readonly status: string
  readonly response_status: number
  readonly response: string
  readonly duration_ms: number
  readonly error_kind: string
  readonly error: string
  readonly trigger: string
  readonly attempt: number
  readonly at_ms: string
  readonly next_ms: string
}

/** A row of `webhook_messages` as it is read. */
export interface MessageRow {
  readonly id: string
  readonly channel: string
  readonly body: string
  readonly event_ms: string
  readonly created_ms: string
}

/** Columns of an attempt as it is read. */
export const ATTEMPT_COLUMNS = `id, message_id, endpoint_id, channel, url, status, response_status, response, duration_ms, error_kind,
  error, trigger, attempt, toUnixTimestamp64Milli(at) AS at_ms, toUnixTimestamp64Milli(next_at) AS next_ms`

/** Which attempts are asked for: those of endpoints, perhaps of one message, newest first. */
export interface AttemptSearch {
  readonly endpointIds: readonly string[]
  readonly messageId?: string
  readonly status?: string
  /** Only attempts before this place. */
  readonly before?: { readonly atMs: number; readonly id: string }
  readonly rows: number
}

/** Attempts, newest first. */
export const attemptsQuery = ({
  endpointIds,
  messageId = '',
  status = '',
  before,
  rows,
}: AttemptSearch): Query => ({
  sql: `SELECT ${ATTEMPT_COLUMNS} FROM webhook_attempts FINAL
WHERE endpoint_id IN {endpoints:Array(String)}
  AND ({message:String} = '' OR message_id = {message:String})
  AND ({status:String} = '' OR status = {status:String})
  AND ({before_ms:Int64} < 0 OR (at, id) < (fromUnixTimestamp64Milli({before_ms:Int64}), {before_id:String}))
ORDER BY at DESC, id DESC LIMIT {rows:UInt32}`,
  params: {
    endpoints: endpointIds,
    message: messageId,
    status,
    before_ms: before?.atMs ?? -1,
    before_id: before?.id ?? '',
    rows,
  },
})

/** One row where any of the endpoints has had an attempt of the message. */
export const wasAttemptedQuery = (endpointIds: readonly string[], messageId: string): Query => ({
  sql: `SELECT id FROM webhook_attempts
WHERE endpoint_id IN {endpoints:Array(String)} AND message_id = {message:String} LIMIT 1`,
  params: { endpoints: endpointIds, message: messageId },
})

/** One message by its id. */
export const messageQuery = (id: string): Query => ({
  sql: `SELECT id, channel, body, toUnixTimestamp64Milli(event_time) AS event_ms,
  toUnixTimestamp64Milli(created_at) AS created_ms FROM webhook_messages FINAL WHERE id = {id:String} LIMIT 1`,
  params: { id },
})

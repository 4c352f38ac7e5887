import type { Query } from '../../core/clickhouse/client.ts'
import { ATTEMPT_COLUMNS, type AttemptRow } from './webhook-attempts.ts'

/** How the messages of an endpoint stand, and how its attempts went, since a time. */
export interface StatsRow {
  readonly success: string
  readonly pending: string
  readonly fail: string
  readonly canceled: string
  readonly dropped: string
  readonly answered: string
  readonly p50: number
  readonly p95: number
  /** Epoch milliseconds; 0 = none. */
  readonly success_ms: string
  readonly failure_ms: string
  readonly failures_in_row: string
}

/** Counts of an endpoint since a time. */
export const endpointStatsQuery = (endpointId: string, sinceMs: number): Query => ({
  sql: `WITH attempts AS (
  SELECT message_id, status, attempt, at, duration_ms, response_status FROM webhook_attempts FINAL
  WHERE endpoint_id = {endpoint:String} AND at >= fromUnixTimestamp64Milli({since:Int64})),
messages AS (SELECT argMax(status, (at, attempt)) AS last FROM attempts GROUP BY message_id),
newest AS (SELECT maxIf(at, status = 'success') AS success_at FROM attempts)
SELECT
  (SELECT countIf(last = 'success') FROM messages) AS success,
  (SELECT countIf(last = 'pending') FROM messages) AS pending,
  (SELECT countIf(last = 'fail') FROM messages) AS fail,
  (SELECT countIf(last = 'canceled') FROM messages) AS canceled,
  (SELECT countIf(last = 'dropped') FROM messages) AS dropped,
  countIf(response_status > 0) AS answered,
  toFloat64(quantileExactIf(0.5)(duration_ms, response_status > 0)) AS p50,
  toFloat64(quantileExactIf(0.95)(duration_ms, response_status > 0)) AS p95,
  toUnixTimestamp64Milli(maxIf(at, status = 'success')) AS success_ms,
  toUnixTimestamp64Milli(maxIf(at, status IN ('pending', 'fail'))) AS failure_ms,
  countIf(status IN ('pending', 'fail') AND at > (SELECT success_at FROM newest)) AS failures_in_row
FROM attempts`,
  params: { endpoint: endpointId, since: sinceMs },
})

/** A message at an endpoint: its last attempt, and how many there were. */
export interface EndpointMessageRow extends AttemptRow {
  readonly attempts: string
}

/** Which messages of an endpoint are asked for, newest attempt first. */
export interface EndpointMessageSearch {
  readonly endpointId: string
  readonly status?: string
  /** Window of the last attempt, epoch milliseconds. */
  readonly sinceMs: number
  readonly untilMs: number
  readonly before?: { readonly atMs: number; readonly id: string }
  readonly rows: number
}

/** Messages of an endpoint with their last attempt. */
export const endpointMessagesQuery = ({
  endpointId,
  status = '',
  sinceMs,
  untilMs,
  before,
  rows,
}: EndpointMessageSearch): Query => ({
  sql: `SELECT ${ATTEMPT_COLUMNS}, toString(attempts) AS attempts FROM (
  SELECT *, count() OVER (PARTITION BY message_id) AS attempts,
    row_number() OVER (PARTITION BY message_id ORDER BY at DESC, id DESC) AS place
  FROM webhook_attempts FINAL
  WHERE endpoint_id = {endpoint:String} AND at >= fromUnixTimestamp64Milli({since:Int64}))
WHERE place = 1 AND at < fromUnixTimestamp64Milli({until:Int64})
  AND ({status:String} = '' OR status = {status:String})
  AND ({before_ms:Int64} < 0 OR (at, id) < (fromUnixTimestamp64Milli({before_ms:Int64}), {before_id:String}))
ORDER BY at DESC, id DESC LIMIT {rows:UInt32}`,
  params: {
    endpoint: endpointId,
    status,
    since: sinceMs,
    until: untilMs,
    before_ms: before?.atMs ?? -1,
    before_id: before?.id ?? '',
    rows,
  },
})

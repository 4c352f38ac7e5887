import type { Query } from '../../core/clickhouse/client.ts'

/** A message that a task may queue. */
export interface StoredMessage {
  readonly id: string
  readonly channel: string
  readonly body: string
  readonly event_ms: string
}

/** Which messages of an endpoint a task looks at, by id. */
export interface TaskSearch {
  readonly endpointId: string
  /** Epoch milliseconds. */
  readonly sinceMs: number
  readonly untilMs: number
  /** Only messages after this id. */
  readonly after: string
  readonly rows: number
}

/**
 * Messages whose last attempt in a window of time was the last of all and failed, was canceled or dropped. One that a success
 * followed or preceded since the window began is left out.
 */
export const failedMessagesQuery = ({
  endpointId,
  sinceMs,
  untilMs,
  after,
  rows,
}: TaskSearch): Query => ({
  sql: `SELECT id, channel, body, toUnixTimestamp64Milli(event_time) AS event_ms
FROM webhook_messages FINAL
WHERE id IN (
  SELECT message_id FROM webhook_attempts FINAL
  WHERE endpoint_id = {endpoint:String} AND at >= fromUnixTimestamp64Milli({since:Int64}) AND message_id > {after:String}
    AND NOT startsWith(message_id, 'msg_test_')
  GROUP BY message_id
  HAVING argMax(status, (at, attempt)) IN ('fail', 'canceled', 'dropped') AND countIf(status = 'success') = 0
    AND max(at) < fromUnixTimestamp64Milli({until:Int64})
  ORDER BY message_id LIMIT {rows:UInt32})
ORDER BY id LIMIT {rows:UInt32}`,
  params: { endpoint: endpointId, since: sinceMs, until: untilMs, after, rows },
})

/** Messages of channels in a window of time that an endpoint has had no attempt of. */
export const unattemptedMessagesQuery = (
  { endpointId, sinceMs, untilMs, after, rows }: TaskSearch,
  channels: readonly string[],
): Query => ({
  sql: `SELECT id, channel, body, toUnixTimestamp64Milli(event_time) AS event_ms
FROM webhook_messages FINAL
WHERE created_at >= fromUnixTimestamp64Milli({since:Int64}) AND created_at < fromUnixTimestamp64Milli({until:Int64})
  AND id > {after:String} AND channel IN {channels:Array(String)}
  AND id NOT IN (SELECT message_id FROM webhook_attempts
    WHERE endpoint_id = {endpoint:String} AND at >= fromUnixTimestamp64Milli({since:Int64}))
ORDER BY id LIMIT {rows:UInt32}`,
  params: { endpoint: endpointId, since: sinceMs, until: untilMs, after, rows, channels },
})

import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { DAY_MS } from '../../core/time.ts'
import {
  EndpointMessageList,
  EndpointMessageQuery,
  WebhookParams,
  WebhookStats,
} from '../../schemas/api/webhook.ts'
import type { WebhookEndpoint } from '../../schemas/wire.ts'
import type { Cursors } from '../queries/cursors-and-pages.ts'
import type { QueryReader } from '../queries/query-limiter.ts'
import {
  type EndpointMessageRow,
  endpointMessagesQuery,
  endpointStatsQuery,
  type StatsRow,
} from '../queries/webhook-stats.ts'
import type { EndpointApi } from '../webhooks/endpoint-api.ts'
import { storedFilterProblem } from '../webhooks/filter.ts'
import type { EndpointActivity } from '../webhooks/start.ts'
import { readMoment } from '../webhooks/task-api.ts'
import { pricedRoute } from './routing.ts'
import { AttemptCursor, attemptBody } from './webhook-attempts.ts'
import { requireOwner } from './webhooks.ts'

/** What statistics are read from. */
export interface WebhookStatsDeps {
  readonly endpoints: EndpointApi
  readonly reader: QueryReader
  readonly cursors: Cursors
  readonly activityOf: (endpointId: string) => EndpointActivity
  readonly nowMs: () => number
}

const READ_SCOPES = ['webhook.read']
const STATS_WINDOW_MS = DAY_MS
/** How far back the list of messages reaches. */
const MESSAGES_WINDOW_MS = 14 * DAY_MS

/** Statistics of an endpoint with its health, and its messages. */
export const webhookStatsRoutes =
  (deps: WebhookStatsDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { endpoints, activityOf, nowMs, cursors, reader } = deps
    app.get(
      '/webhook/endpoint/:id/stats',
      {
        schema: {
          summary: 'What became of the messages of the last 24 hours, and how the endpoint does',
          tags: ['webhook'],
          params: WebhookParams,
          response: { 200: WebhookStats },
        },
        config: pricedRoute('GET /webhook/endpoint/:id/stats', READ_SCOPES),
      },
      async (request) => {
        const endpoint = endpoints.read(requireOwner(request), request.params.id)
        const { endpoint_id: id } = endpoint
        const { rows } = await reader.query<StatsRow>(
          endpointStatsQuery(id, nowMs() - STATS_WINDOW_MS),
        )
        return statsBody(endpoint, rows[0], activityOf(id))
      },
    )
    app.get(
      '/webhook/endpoint/:id/message',
      {
        schema: {
          summary: 'Messages of an endpoint with their last attempt, newest first',
          tags: ['webhook'],
          params: WebhookParams,
          querystring: EndpointMessageQuery,
          response: { 200: EndpointMessageList },
        },
        config: pricedRoute('GET /webhook/endpoint/:id/message', READ_SCOPES),
      },
      async (request) => {
        const { endpoint_id: id } = endpoints.read(requireOwner(request), request.params.id)
        const { limit = 20, cursor, status, since, until } = request.query
        const codec = cursors(AttemptCursor, ['messages of endpoint', id, status ?? ''])
        const before = cursor === undefined ? undefined : codec.decode(cursor)
        const { rows } = await reader.query<EndpointMessageRow>(
          endpointMessagesQuery({
            endpointId: id,
            ...(status && { status }),
            sinceMs:
              since === undefined ? nowMs() - MESSAGES_WINDOW_MS : queryMoment(since, 'since'),
            untilMs: until === undefined ? nowMs() + 1 : queryMoment(until, 'until'),
            ...(before && { before }),
            rows: limit + 1,
          }),
        )
        return messagePage(rows, limit, codec.encode)
      },
    )
  }

/** Digits are epoch milliseconds. */
const queryMoment = (text: string, parameter: string): number =>
  readMoment(/^\d{1,15}$/.test(text) ? Number(text) : text, parameter)

const messagePage = (
  rows: readonly EndpointMessageRow[],
  limit: number,
  encode: (place: { readonly atMs: number; readonly id: string }) => string,
) => {
  const presented = rows.slice(0, limit)
  const last = presented.at(-1)
  const hasMore = rows.length > limit
  const data = presented.map((row) => {
    const lastAttempt = attemptBody(row)
    const { msgId: id, channel, status, nextAttempt } = lastAttempt
    return { id, channel, status, attempts: Number(row.attempts), lastAttempt, nextAttempt }
  })
  const nextCursor = hasMore && last ? encode({ atMs: Number(last.at_ms), id: last.id }) : ''
  return { data, items: data, nextCursor, hasMore }
}

const timeOrNull = (ms: number): string | null => (ms > 0 ? new Date(ms).toISOString() : null)

const statsBody = (
  endpoint: WebhookEndpoint,
  row: StatsRow | undefined,
  { sending, filtered, filterErrors }: EndpointActivity,
): WebhookStats => {
  const successMs = Number(row?.success_ms ?? 0)
  const failureMs = Number(row?.failure_ms ?? 0)
  const failuresInRow = Number(row?.failures_in_row ?? 0)
  const hasAnswers = Number(row?.answered ?? 0) > 0
  const { filter } = endpoint
  const filterProblem = (filter === null ? undefined : storedFilterProblem(filter)) ?? null
  const attempted = successMs + failureMs > 0
  return {
    success: Number(row?.success ?? 0),
    pending: Number(row?.pending ?? 0),
    sending,
    fail: Number(row?.fail ?? 0),
    canceled: Number(row?.canceled ?? 0),
    dropped: Number(row?.dropped ?? 0),
    filtered,
    filterErrors,
    p50Ms: hasAnswers ? Math.round(row?.p50 ?? 0) : null,
    p95Ms: hasAnswers ? Math.round(row?.p95 ?? 0) : null,
    health: {
      state: healthState(endpoint, { failuresInRow, attempted, filterProblem }),
      filterProblem,
      failuresInRow,
      lastSuccessAt: timeOrNull(successMs),
      lastFailureAt: timeOrNull(failureMs),
      firstFailureAt: timeOrNull(endpoint.first_failure_at),
    },
  }
}

const healthState = (
  { disabled }: Pick<WebhookEndpoint, 'disabled'>,
  {
    failuresInRow,
    attempted,
    filterProblem,
  }: {
    readonly failuresInRow: number
    readonly attempted: boolean
    readonly filterProblem: string | null
  },
): string => {
  if (disabled) return 'disabled'
  if (filterProblem !== null) return 'filter-invalid'
  if (!attempted) return 'idle'
  return failuresInRow > 0 ? 'failing' : 'healthy'
}

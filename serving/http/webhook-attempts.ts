import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Codec } from '../../core/codec/contract.ts'
import { Fault } from '../../core/errors.ts'
import { makeYieldIfDue } from '../../core/runtime/yield-if-due.ts'
import { Success } from '../../schemas/api/common.ts'
import {
  AttemptListQuery,
  ResendParams,
  type WebhookAttemptBody,
  WebhookAttemptList,
  WebhookMessageBody,
  WebhookMessageParams,
  WebhookParams,
} from '../../schemas/api/webhook.ts'
import { globalTopic } from '../../schemas/topics.ts'
import { isWebhookChannel } from '../../schemas/webhooks.ts'
import type { Cursors } from '../queries/cursors-and-pages.ts'
import type { QueryReader } from '../queries/query-limiter.ts'
import {
  type AttemptRow,
  type AttemptSearch,
  attemptsQuery,
  type MessageRow,
  messageQuery,
  wasAttemptedQuery,
} from '../queries/webhook-attempts.ts'
import type { EndpointApi } from '../webhooks/endpoint-api.ts'
import type { EndpointStore } from '../webhooks/endpoint-store.ts'
import { isAlwaysKept } from '../webhooks/event-mappers.ts'
import { createFilterCache } from '../webhooks/filter.ts'
import { matchStoredMessage } from '../webhooks/match-stored.ts'
import { pricedRoute } from './routing.ts'
import { requireOwner } from './webhooks.ts'

/** What the log of webhooks is read from. */
interface LimitedDeps {
  readonly endpoints: EndpointApi
  readonly store: EndpointStore
  readonly codec: Codec
  readonly warehouse: QueryReader
  readonly nowMs: () => number
  readonly cursors: Cursors
  readonly filterOf: ReturnType<typeof createFilterCache>
}

const READ_SCOPES = ['webhook.read']
const WRITE_SCOPES = ['webhook.write']
/** The last time that a date can hold. Source: ECMA-262, time values. */
const MAX_DATE_MS = 8_640_000_000_000_000
/** Place behind an attempt in a list, newest first. */
export const AttemptCursor = Type.Object(
  {
    atMs: Type.Integer({ minimum: 0, maximum: MAX_DATE_MS }),
    id: Type.String({ maxLength: 64 }),
  },
  { additionalProperties: false },
)

/** The same as it is given: what has a `warehouse` that knows no limits is not enough. */
type WebhookAttemptDeps = Omit<LimitedDeps, 'warehouse' | 'filterOf'> & {
  readonly reader: QueryReader
}

/** Attempts and messages, and sending one again by hand. */
export const webhookAttemptRoutes =
  (given: WebhookAttemptDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const deps = { ...given, warehouse: given.reader, filterOf: createFilterCache() }
    app.get(
      '/webhook/endpoint/:id/attempt',
      {
        schema: {
          summary: 'Attempts of an endpoint, newest first',
          tags: ['webhook'],
          params: WebhookParams,
          querystring: AttemptListQuery,
          response: { 200: WebhookAttemptList },
        },
        config: pricedRoute('GET /webhook/endpoint/:id/attempt', READ_SCOPES),
      },
      async (request) => {
        const { endpoint_id: id } = deps.endpoints.read(requireOwner(request), request.params.id)
        const parameters = { ...request.query, endpointIds: [id] }
        return readAttemptPage(deps, parameters, ['attempts of endpoint', id])
      },
    )
    app.get(
      '/webhook/message/:msgId/attempt',
      {
        schema: {
          summary: "Attempts of a message at the organization's endpoints, newest first",
          tags: ['webhook'],
          params: WebhookMessageParams,
          querystring: AttemptListQuery,
          response: { 200: WebhookAttemptList },
        },
        config: pricedRoute('GET /webhook/message/:msgId/attempt', READ_SCOPES),
      },
      async (request) => {
        const { orgId } = requireOwner(request)
        const own = deps.store.ofOrg(orgId)
        const endpointIds = own.map(({ endpoint_id }) => endpoint_id)
        const { msgId: messageId } = request.params
        const parameters = { ...request.query, endpointIds, messageId }
        return readAttemptPage(deps, parameters, ['attempts of message', orgId, messageId])
      },
    )
    app.get(
      '/webhook/message/:msgId',
      {
        schema: {
          summary: 'A message with its body',
          description:
            "Messages of channels that must name something are those that one of the organization's endpoints was sent, or would be sent as it is now",
          tags: ['webhook'],
          params: WebhookMessageParams,
          response: { 200: WebhookMessageBody },
        },
        config: pricedRoute('GET /webhook/message/:msgId', READ_SCOPES),
      },
      async (request) => {
        const { orgId } = requireOwner(request)
        const message = await requireMessage(deps, orgId, request.params.msgId)
        const { id, channel, body, event_ms, created_ms } = message
        const times = { timestamp: toIsoTime(event_ms), createdAt: toIsoTime(created_ms) }
        return { id, channel, payload: body, ...times }
      },
    )
    app.post(
      '/webhook/message/:msgId/endpoint/:id/resend',
      {
        schema: {
          summary: 'Sends a message once more; a failure is not repeated',
          tags: ['webhook'],
          params: ResendParams,
          response: { 200: Success },
        },
        config: pricedRoute('POST /webhook/message/:msgId/endpoint/:id/resend', WRITE_SCOPES),
      },
      async (request) => {
        const owner = requireOwner(request)
        const { endpoint_id: id } = deps.endpoints.read(owner, request.params.id)
        const message = await requireMessage(deps, owner.orgId, request.params.msgId)
        await resendMessage(deps, message, id)
        return { success: true }
      },
    )
  }

const toIsoTime = (ms: string | number): string => new Date(Number(ms)).toISOString()

/** A message that the organization may read. Throws `Fault`, the same for one that is not there. */
const requireMessage = async (
  deps: LimitedDeps,
  orgId: string,
  id: string,
): Promise<MessageRow> => {
  const { rows } = await deps.warehouse.query<MessageRow>(messageQuery(id))
  const [message] = rows
  if (!message || !(await isReadable(deps, orgId, message))) {
    throw new Fault('WEBHOOK_MESSAGE_NOT_FOUND')
  }
  return message
}

/**
 * Whether an organization may read a message. One of a channel that must name something exists only because an endpoint asked for
 * its subject, and its id can be computed: it is for who was sent it, and for who would be sent it now.
 */
const isReadable = async (
  { store, warehouse, filterOf }: LimitedDeps,
  orgId: string,
  message: MessageRow,
): Promise<boolean> => {
  if (isWebhookChannel(message.channel) && isAlwaysKept(message.channel)) return true
  const own = store.ofOrg(orgId)
  if (own.length === 0) return false
  const endpointIds = own.map(({ endpoint_id }) => endpoint_id)
  const { rows } = await warehouse.query(wasAttemptedQuery(endpointIds, message.id))
  if (rows.length > 0) return true
  const yieldIfDue = makeYieldIfDue()
  for (const endpoint of own) {
    if (matchStoredMessage(endpoint, message, filterOf)) return true
    await yieldIfDue()
  }
  return false
}

const resendMessage = async (
  { store, codec, nowMs }: LimitedDeps,
  { id: message_id, channel, body, event_ms }: MessageRow,
  endpointId: string,
): Promise<void> => {
  await store.publish(() => {
    const endpoint = store.get(endpointId)
    if (!endpoint || endpoint.disabled) {
      throw new Fault('CONFLICT', 'The endpoint is disabled', { reason: 'disabled' })
    }
    const { endpoint_id, org_id, enabled_at } = endpoint
    const at = nowMs()
    const value = codec.encode('webhook.Delivery', {
      message_id,
      endpoint_id,
      org_id,
      channel,
      body,
      enabled_at,
      event_time: Number(event_ms),
      queued_at: at,
      due_at: at,
      trigger: 'manual',
      attempt: 1,
    })
    return [{ topic: globalTopic('webhookOutbox'), key: endpoint_id, value }]
  }, store.get(endpointId)?.org_id)
}

interface AttemptPageRequest extends Pick<AttemptSearch, 'endpointIds' | 'messageId' | 'status'> {
  readonly limit?: number
  readonly cursor?: string
}

/** `list` names the list whatever endpoints the organization has by now: a cursor outlives a new one. */
const readAttemptPage = async (
  { warehouse, cursors }: LimitedDeps,
  { limit = 20, cursor, ...search }: AttemptPageRequest,
  list: readonly string[],
) => {
  const codec = cursors(AttemptCursor, [...list, search.status ?? ''])
  const before = cursor === undefined ? undefined : codec.decode(cursor)
  const { rows } = await warehouse.query<AttemptRow>(
    attemptsQuery({ ...search, ...(before && { before }), rows: limit + 1 }),
  )
  const presented = rows.slice(0, limit)
  const last = presented.at(-1)
  const hasMore = rows.length > limit
  const data = presented.map(attemptBody)
  const nextCursor = hasMore && last ? codec.encode({ atMs: Number(last.at_ms), id: last.id }) : ''
  return { data, items: data, nextCursor, hasMore }
}

/** An attempt as it is answered. */
export const attemptBody = (row: AttemptRow): WebhookAttemptBody => ({
  id: row.id,
  msgId: row.message_id,
  endpointId: row.endpoint_id,
  channel: row.channel,
  url: row.url,
  status: row.status,
  responseStatusCode: row.response_status,
  response: row.response,
  responseDurationMs: row.duration_ms,
  errorKind: row.error_kind || null,
  error: row.error || null,
  triggerType: row.trigger,
  attemptNumber: row.attempt,
  timestamp: toIsoTime(row.at_ms),
  nextAttempt: Number(row.next_ms) > 0 ? toIsoTime(row.next_ms) : null,
})

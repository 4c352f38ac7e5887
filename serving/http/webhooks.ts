import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Fault } from '../../core/errors.ts'
import { Success } from '../../schemas/api/common.ts'
import {
  CreateWebhook,
  RotateWebhook,
  UpdateWebhook,
  UpdateWebhookById,
  WebhookEndpointBody,
  WebhookList,
  WebhookListQuery,
  WebhookParams,
  WebhookSecret,
} from '../../schemas/api/webhook.ts'
import { endpointBody } from '../webhooks/endpoint.ts'
import type { EndpointApi, Owner } from '../webhooks/endpoint-api.ts'
import { pricedRoute } from './routing.ts'

const READ_SCOPES = ['webhook.read']
const WRITE_SCOPES = ['webhook.write']

/** Who calls; the guard has checked it. */
export const requireOwner = ({ principal }: Pick<FastifyRequest, 'principal'>): Owner => {
  if (principal === null) throw new Fault('UNAUTHORIZED')
  return principal
}

/** Read by hand, so that a wrong one has the error of its own. */
const IDEMPOTENCY_HEADER = {
  type: 'object',
  properties: {
    'Idempotency-Key': {
      type: 'string',
      description: 'Repeated within 24 hours, the call makes no second endpoint',
    },
  },
}

const idempotencyKey = ({ headers }: FastifyRequest): string | undefined => {
  const header = headers['idempotency-key']
  return typeof header === 'string' ? header : header?.[0]
}

/** Create, list, read, update, delete, secret and rotation of webhook endpoints. */
export const webhookRoutes =
  (endpoints: EndpointApi): FastifyPluginAsyncTypebox =>
  async (app) => {
    await app.register(writeRoutes(endpoints))
    await app.register(readRoutes(endpoints))
    await app.register(updateRoutes(endpoints))
  }

const readRoutes =
  (endpoints: EndpointApi): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get(
      '/webhook/endpoint',
      {
        schema: {
          summary: 'Webhook endpoints of the organization',
          tags: ['webhook'],
          querystring: WebhookListQuery,
          response: { 200: WebhookList },
        },
        config: pricedRoute('GET /webhook/endpoint', READ_SCOPES),
      },
      async (request) => endpoints.list(requireOwner(request), request.query),
    )
    app.get(
      '/webhook/endpoint/:id',
      {
        schema: {
          summary: 'One webhook endpoint',
          tags: ['webhook'],
          params: WebhookParams,
          response: { 200: WebhookEndpointBody },
        },
        config: pricedRoute('GET /webhook/endpoint/:id', READ_SCOPES),
      },
      async (request) => endpointBody(endpoints.read(requireOwner(request), request.params.id)),
    )
    app.get(
      '/webhook/endpoint/:id/secret',
      {
        schema: {
          summary: 'The current signing secret',
          tags: ['webhook'],
          params: WebhookParams,
          response: { 200: WebhookSecret },
        },
        config: { ...pricedRoute('GET /webhook/endpoint/:id/secret', READ_SCOPES), audit: true },
      },
      async (request, reply) => {
        reply.header('Cache-Control', 'no-store')
        return { secret: endpoints.secret(requireOwner(request), request.params.id) }
      },
    )
  }

const writeRoutes =
  (endpoints: EndpointApi): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post(
      '/webhook/endpoint',
      {
        schema: {
          summary: 'Makes a webhook endpoint',
          tags: ['webhook'],
          headers: IDEMPOTENCY_HEADER,
          body: CreateWebhook,
          response: { 200: WebhookEndpointBody },
        },
        config: pricedRoute('POST /webhook/endpoint', WRITE_SCOPES),
      },
      async (request, reply) => {
        const key = idempotencyKey(request)
        const made = await endpoints.create(requireOwner(request), request.body, key)
        if (made.replayed) reply.header('Idempotent-Replayed', 'true')
        return made.body
      },
    )
    app.delete(
      '/webhook/endpoint/:id',
      {
        schema: {
          summary: 'Deletes a webhook endpoint for good',
          tags: ['webhook'],
          params: WebhookParams,
          response: { 200: Success },
        },
        config: pricedRoute('DELETE /webhook/endpoint/:id', WRITE_SCOPES),
      },
      async (request) => {
        await endpoints.remove(requireOwner(request), request.params.id)
        return { success: true }
      },
    )
    app.post(
      '/webhook/endpoint/:id/secret/rotate',
      {
        schema: {
          summary: 'A new signing secret; the old one stays valid for a while',
          tags: ['webhook'],
          params: WebhookParams,
          body: RotateWebhook,
          response: { 200: Success },
        },
        config: pricedRoute('POST /webhook/endpoint/:id/secret/rotate', WRITE_SCOPES),
      },
      async (request) => {
        await endpoints.rotate(requireOwner(request), request.params.id, request.body ?? {})
        return { success: true }
      },
    )
  }

const updateRoutes =
  (endpoints: EndpointApi): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.patch(
      '/webhook/endpoint',
      {
        schema: {
          summary: 'Changes a webhook endpoint; absent = unchanged, null = the default',
          tags: ['webhook'],
          body: UpdateWebhook,
          response: { 200: WebhookEndpointBody },
        },
        config: pricedRoute('PATCH /webhook/endpoint', WRITE_SCOPES),
      },
      async (request) => {
        const { endpointId, ...change } = request.body
        return endpointBody(await endpoints.update(requireOwner(request), endpointId, change))
      },
    )
    for (const method of ['PATCH', 'PUT'] as const) {
      app.route({
        method,
        url: '/webhook/endpoint/:id',
        schema: {
          summary: 'Changes a webhook endpoint; absent = unchanged, null = the default',
          tags: ['webhook'],
          params: WebhookParams,
          body: UpdateWebhookById,
          response: { 200: WebhookEndpointBody },
        },
        config: pricedRoute(`${method} /webhook/endpoint/:id`, WRITE_SCOPES),
        handler: async (request) => {
          const { id } = request.params
          return endpointBody(await endpoints.update(requireOwner(request), id, request.body))
        },
      })
    }
  }

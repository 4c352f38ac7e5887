import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Fault } from '../../core/errors.ts'
import { Success } from '../../schemas/api/common.ts'
import {
  CreateWebhook,
  RotateWebhook,
  UpdateWebhook,
  UpdateWebhookAt,
  WebhookEndpointBody,
  WebhookList,
  WebhookListQuery,
  WebhookParams,
  WebhookSecret,
} from '../../schemas/api/webhook.ts'
import { endpointBody } from '../webhooks/endpoint.ts'
import type { EndpointResource, Owner } from '../webhooks/endpoint-service.ts'
import { priced } from './routing.ts'

const READ = ['webhook.read']
const WRITE = ['webhook.write']

/** Who calls; the guard let nobody else through. */
export const ownerOf = ({ principal }: Pick<FastifyRequest, 'principal'>): Owner => {
  if (principal === null) throw new Fault('UNAUTHORIZED')
  return principal
}

const idempotencyKey = ({ headers }: FastifyRequest): string | undefined => {
  const header = headers['idempotency-key']
  return typeof header === 'string' ? header : header?.[0]
}

/** Create, list, read, update, delete, secret and rotation of webhook endpoints. */
export const webhookRoutes =
  (resource: EndpointResource): FastifyPluginAsyncTypebox =>
  async (app) => {
    await app.register(writing(resource))
    await app.register(reading(resource))
    await app.register(updating(resource))
  }

const reading =
  (resource: EndpointResource): FastifyPluginAsyncTypebox =>
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
        config: priced('GET /webhook/endpoint', READ),
      },
      async (request) => resource.list(ownerOf(request), request.query),
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
        config: priced('GET /webhook/endpoint/:id', READ),
      },
      async (request) => endpointBody(resource.read(ownerOf(request), request.params.id)),
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
        config: { ...priced('GET /webhook/endpoint/:id/secret', READ), audit: true },
      },
      async (request, reply) => {
        reply.header('Cache-Control', 'no-store')
        return { secret: resource.secret(ownerOf(request), request.params.id) }
      },
    )
  }

const writing =
  (resource: EndpointResource): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post(
      '/webhook/endpoint',
      {
        schema: {
          summary: 'Makes a webhook endpoint',
          tags: ['webhook'],
          body: CreateWebhook,
          response: { 200: WebhookEndpointBody },
        },
        config: priced('POST /webhook/endpoint', WRITE),
      },
      async (request, reply) => {
        const key = idempotencyKey(request)
        const made = await resource.create(ownerOf(request), request.body, key)
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
        config: priced('DELETE /webhook/endpoint/:id', WRITE),
      },
      async (request) => {
        await resource.remove(ownerOf(request), request.params.id)
        return { success: true }
      },
    )
    app.post(
      '/webhook/endpoint/:id/secret/rotate',
      {
        schema: {
          summary: 'A new signing secret; the old one goes on signing for a while',
          tags: ['webhook'],
          params: WebhookParams,
          body: RotateWebhook,
          response: { 200: Success },
        },
        config: priced('POST /webhook/endpoint/:id/secret/rotate', WRITE),
      },
      async (request) => {
        await resource.rotate(ownerOf(request), request.params.id, request.body ?? {})
        return { success: true }
      },
    )
  }

const updating =
  (resource: EndpointResource): FastifyPluginAsyncTypebox =>
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
        config: priced('PATCH /webhook/endpoint', WRITE),
      },
      async (request) => {
        const { endpointId, ...change } = request.body
        return endpointBody(await resource.update(ownerOf(request), endpointId, change))
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
          body: UpdateWebhookAt,
          response: { 200: WebhookEndpointBody },
        },
        config: priced(`${method} /webhook/endpoint/:id`, WRITE),
        handler: async (request) => {
          const { id } = request.params
          return endpointBody(await resource.update(ownerOf(request), id, request.body))
        },
      })
    }
  }

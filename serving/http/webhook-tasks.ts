import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  RecoverWebhook,
  ReplayWebhook,
  SendWebhookExample,
  WebhookExampleSent,
  WebhookParams,
  WebhookTaskBody,
  WebhookTaskList,
  WebhookTaskParams,
} from '../../schemas/api/webhook.ts'
import type { EndpointApi } from '../webhooks/endpoint-api.ts'
import {
  requireTask,
  sendExample,
  startTask,
  type TaskApiDeps,
  taskBody,
} from '../webhooks/task-api.ts'
import { pricedRoute } from './routing.ts'
import { requireOwner } from './webhooks.ts'

const READ_SCOPES = ['webhook.read']
const WRITE_SCOPES = ['webhook.write']

/** Recovery, replay and sample sends. */
export const webhookTaskRoutes =
  (deps: TaskApiDeps & { readonly endpoints: EndpointApi }): FastifyPluginAsyncTypebox =>
  async (app) => {
    await app.register(startRoutes(deps))
    const { endpoints, store } = deps
    app.get(
      '/webhook/endpoint/:id/task',
      {
        schema: {
          summary: 'Recoveries and replays of an endpoint, newest first',
          tags: ['webhook'],
          params: WebhookParams,
          response: { 200: WebhookTaskList },
        },
        config: pricedRoute('GET /webhook/endpoint/:id/task', READ_SCOPES),
      },
      async (request) => {
        const { endpoint_id: id } = endpoints.read(requireOwner(request), request.params.id)
        const data = store.tasks.ofEndpoint(id).map(taskBody)
        return { data, items: data, nextCursor: '', hasMore: false }
      },
    )
    app.get(
      '/webhook/endpoint/:id/task/:taskId',
      {
        schema: {
          summary: 'A recovery or replay with its progress',
          tags: ['webhook'],
          params: WebhookTaskParams,
          response: { 200: WebhookTaskBody },
        },
        config: pricedRoute('GET /webhook/endpoint/:id/task/:taskId', READ_SCOPES),
      },
      async (request) => {
        const { id, taskId } = request.params
        const { endpoint_id } = endpoints.read(requireOwner(request), id)
        return taskBody(requireTask(store, endpoint_id, taskId))
      },
    )
  }

const startRoutes =
  (deps: TaskApiDeps & { readonly endpoints: EndpointApi }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { endpoints } = deps
    app.post(
      '/webhook/endpoint/:id/recover',
      {
        schema: {
          summary: 'Sends every failed message of a window of time once more, in the background',
          tags: ['webhook'],
          params: WebhookParams,
          body: RecoverWebhook,
          response: { 200: WebhookTaskBody },
        },
        config: pricedRoute('POST /webhook/endpoint/:id/recover', WRITE_SCOPES),
      },
      async (request) => {
        const { endpoint_id: id } = endpoints.read(requireOwner(request), request.params.id)
        return taskBody(await startTask(deps, id, { kind: 'recover', body: request.body }))
      },
    )
    app.post(
      '/webhook/endpoint/:id/replay',
      {
        schema: {
          summary: 'Sends messages of a window of time that were never tried, in the background',
          tags: ['webhook'],
          params: WebhookParams,
          body: ReplayWebhook,
          response: { 200: WebhookTaskBody },
        },
        config: pricedRoute('POST /webhook/endpoint/:id/replay', WRITE_SCOPES),
      },
      async (request) => {
        const { endpoint_id: id } = endpoints.read(requireOwner(request), request.params.id)
        return taskBody(await startTask(deps, id, { kind: 'replay', body: request.body }))
      },
    )
    app.post(
      '/webhook/endpoint/:id/send-example',
      {
        schema: {
          summary: 'Sends a signed sample; a failure is not repeated',
          tags: ['webhook'],
          params: WebhookParams,
          body: SendWebhookExample,
          response: { 200: WebhookExampleSent },
        },
        config: pricedRoute('POST /webhook/endpoint/:id/send-example', WRITE_SCOPES),
      },
      async (request) => {
        const endpoint = endpoints.read(requireOwner(request), request.params.id)
        const msgId = await sendExample(deps, endpoint, request.body.channel)
        return { success: true, msgId }
      },
    )
  }

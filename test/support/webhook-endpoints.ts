import assert from 'node:assert/strict'
import { Webhook } from 'standardwebhooks'
import type { WebhookChannel } from '../../schemas/webhooks.ts'
import type { AppStack } from './app-stack.ts'
import { until } from './until.ts'
import { startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.ts'

/** A webhook as the stock verifier let it through. */
export interface VerifiedDelivery {
  readonly id: string
  readonly type: string
  readonly token: string
}

/** A receiver with endpoints that were made over REST. */
export interface WebhookEndpoints {
  /** Makes an endpoint of the channels, all of them by default; what it got is known by the name. */
  register(product: AppStack, name: string, channels?: readonly WebhookChannel[]): Promise<void>
  /** What the endpoint got so far, verified. */
  delivered(name: string): readonly VerifiedDelivery[]
  /** The same, once nothing more has come for a while. */
  quiet(name: string): Promise<readonly VerifiedDelivery[]>
  stop(): Promise<void>
}

/** How long nothing comes when nothing will. */
const QUIET_MS = 1_000

interface Body {
  readonly id: string
  readonly type: string
  readonly data: { readonly a: string }
}

const ENDPOINTS = '/v2/webhook/endpoint'

const postJson = async <T>({ app, apiKey }: AppStack, path: string, body?: object): Promise<T> => {
  const response = await fetch(app.baseUrl + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      'x-api-key': apiKey,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  assert.equal(response.status, 200, `${path}: ${text}`)
  return JSON.parse(text)
}

/** Starts a receiver on loopback; the product must allow that. */
export const startWebhookEndpoints = async (): Promise<WebhookEndpoints> => {
  const receiver: WebhookReceiver = await startWebhookReceiver()
  const verifiers = new Map<string, Webhook>()
  const delivered = (name: string): readonly VerifiedDelivery[] => {
    const verifier = verifiers.get(name)
    assert.ok(verifier, `${name} was made`)
    return receiver.at(`/${name}`).map(({ body, headers }) => {
      const { id, type, data } = verifier.verify(body, headers) as Body
      assert.equal(id, headers['webhook-id'])
      return { id, type, token: data.a }
    })
  }
  return {
    register: async (product, name, channels) => {
      const url = `${receiver.base}/${name}`
      const body = { url, ...(channels && { channels }) }
      const { id } = await postJson<{ id: string }>(product, ENDPOINTS, body)
      const { secret } = await postJson<{ secret: string }>(product, `${ENDPOINTS}/${id}/secret`)
      verifiers.set(name, new Webhook(secret))
    },
    delivered,
    quiet: (name) => {
      const seen = { count: -1, sinceMs: 0 }
      return until(() => {
        const all = delivered(name)
        if (all.length !== seen.count)
          Object.assign(seen, { count: all.length, sinceMs: Date.now() })
        return Date.now() - seen.sinceMs > QUIET_MS && all
      }, 'the webhooks are quiet')
    },
    stop: () => receiver.stop(),
  }
}

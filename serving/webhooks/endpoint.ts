import { Fault } from '../../core/errors.ts'
import { toIsoTime } from '../../core/time.ts'
import type { WebhookEndpointBody } from '../../schemas/api/webhook.ts'
import { WEBHOOK_CHANNEL_NAMES } from '../../schemas/webhooks.ts'
import type { SealedKey, WebhookEndpoint } from '../../schemas/wire.ts'

/** Why an endpoint is disabled. */
export type DisabledReason = 'user' | 'failing' | 'gone' | 'receiver'

/** Stands for the user and password of a URL in answers; sent back, it leaves them as they are. */
export const MASKED_USER = '***:***'

const MAX_METADATA_BYTES = 4_096
const MAX_PREVIOUS_SECRETS = 10
const RESERVED_HEADERS =
  /^(webhook-.*|x-webhook-.*|svix-.*|content-.*|host|user-agent|authorization|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect)$/i

/** The public form of an endpoint; secrets and passwords stay out. */
export const endpointBody = (endpoint: WebhookEndpoint): WebhookEndpointBody => {
  const { channels, description, filter, filter_types, metadata, rate_limit, uid } = endpoint
  const url = endpoint.user_enc === '' ? endpoint.url : maskUrl(endpoint.url)
  return {
    id: endpoint.endpoint_id,
    url,
    ...(channels && { channels: [...channels] }),
    ...(description !== null && { description }),
    disabled: endpoint.disabled,
    ...(filter !== null && { filter }),
    ...(filter_types && { filterTypes: [...filter_types] }),
    ...(endpoint.subjects.length > 0 && { subjects: [...endpoint.subjects] }),
    ...(endpoint.price_levels.length > 0 && {
      priceLevels: endpoint.price_levels.map(({ token, usd }) => ({ token, priceInUsd: usd })),
    }),
    ...(metadata !== null && { metadata: JSON.parse(metadata) }),
    ...(rate_limit !== null && { rateLimit: rate_limit }),
    createdAt: toIsoTime(endpoint.created_at),
    updatedAt: toIsoTime(endpoint.updated_at),
    ...(uid !== '' && { uid }),
    ...(Object.keys(endpoint.headers).length > 0 && { headers: { ...endpoint.headers } }),
    version: endpoint.version,
    ...(endpoint.disabled_reason !== '' && { disabledReason: endpoint.disabled_reason }),
    ...(endpoint.disabled_at > 0 && { disabledAt: toIsoTime(endpoint.disabled_at) }),
    ...(endpoint.first_failure_at > 0 && { firstFailureAt: toIsoTime(endpoint.first_failure_at) }),
  }
}

const maskUrl = (url: string): string => url.replace('://', `://${MASKED_USER}@`)

/** Free JSON as text, or null. Throws `Fault` for more than 4 KiB. */
export const serializeMetadata = (
  metadata: Readonly<Record<string, unknown>> | null | undefined,
): string | null => {
  if (metadata === null || metadata === undefined) return null
  const text = JSON.stringify(metadata)
  if (Buffer.byteLength(text) > MAX_METADATA_BYTES) {
    throw new Fault('INVALID_PARAMETER', `metadata may have ${MAX_METADATA_BYTES} bytes`, {
      parameter: 'metadata',
    })
  }
  return text
}

/** Static headers of an endpoint. Throws `Fault` for one that is ours or the connection's. */
export const validateHeaders = (
  headers: Readonly<Record<string, string>> | null | undefined,
): Readonly<Record<string, string>> => {
  const wrong = Object.keys(headers ?? {}).find((name) => RESERVED_HEADERS.test(name))
  if (wrong === undefined) return headers ?? {}
  throw new Fault('INVALID_PARAMETER', `headers may not set ${wrong}`, { parameter: 'headers' })
}

/** Event types of an endpoint. Throws `Fault` for one that names no type and no group of types. */
export const validateEventTypes = (
  types: readonly string[] | null | undefined,
): string[] | null => {
  const wrong = types?.find(
    (type) => !WEBHOOK_CHANNEL_NAMES.some((name) => matchesEventType(type, name)),
  )
  if (wrong === undefined) return types ? [...types] : null
  throw new Fault('INVALID_PARAMETER', 'filterTypes has an unknown event type', {
    parameter: 'filterTypes',
    value: wrong,
    allowed_values: WEBHOOK_CHANNEL_NAMES,
  })
}

/** True when a wanted type covers an event's; `*` stands for the last segment. */
export const matchesEventType = (wanted: string, type: string): boolean => {
  if (!wanted.endsWith('*')) return wanted === type
  const start = wanted.slice(0, -1)
  if (start !== '' && !start.endsWith('.')) return false
  return type.startsWith(start) && !type.slice(start.length).includes('.')
}

/** The endpoint disabled; the sender cancels its queued messages. */
export const disableEndpoint = (
  endpoint: WebhookEndpoint,
  reason: DisabledReason,
  nowMs: number,
): WebhookEndpoint => ({
  ...endpoint,
  disabled: true,
  disabled_reason: reason,
  disabled_at: nowMs,
})

/** The endpoint enabled, with its failures reset. */
export const enableEndpoint = (endpoint: WebhookEndpoint, nowMs: number): WebhookEndpoint => ({
  ...endpoint,
  disabled: false,
  disabled_reason: '',
  disabled_at: 0,
  first_failure_at: 0,
  enabled_at: nowMs,
})

/** A new current secret; the one before it keeps signing for `graceMs`. */
export const rotateSecrets = (
  secrets: readonly SealedKey[],
  sealed: string,
  { nowMs, graceMs }: { readonly nowMs: number; readonly graceMs: number },
): readonly SealedKey[] => {
  const endMs = nowMs + graceMs
  const old = secrets
    .map((key) => ({ ...key, expires_at: key.expires_at === 0 ? endMs : key.expires_at }))
    .filter(({ expires_at }) => expires_at > nowMs)
  return [{ sealed, created_at: nowMs, expires_at: 0 }, ...old.slice(0, MAX_PREVIOUS_SECRETS)]
}

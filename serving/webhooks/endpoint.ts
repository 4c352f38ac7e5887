import { Fault } from '../../core/errors.ts'
import type { WebhookEndpointBody } from '../../schemas/api/webhook.ts'
import { WEBHOOK_CHANNEL_NAMES } from '../../schemas/webhooks.ts'
import type { SealedKey, WebhookEndpoint } from '../../schemas/wire.ts'

/** Why an endpoint gets nothing. */
export type DisabledReason = 'user' | 'failing' | 'gone' | 'receiver'

/** Stands for the user and password of a URL in answers; sent back, it leaves them as they are. */
export const MASKED_USER = '***:***'

const MOST_METADATA_BYTES = 4_096
const MOST_OLD_SECRETS = 10
const OWN_HEADERS =
  /^(webhook-.*|x-webhook-.*|svix-.*|content-.*|host|user-agent|authorization|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect)$/i

const isoOf = (atMs: number): string => new Date(atMs).toISOString()

/** The public form of an endpoint; secrets and passwords stay out. */
export const endpointBody = (endpoint: WebhookEndpoint): WebhookEndpointBody => {
  const { channels, description, filter, filter_types, metadata, rate_limit, uid } = endpoint
  const url = endpoint.user_enc === '' ? endpoint.url : masked(endpoint.url)
  return {
    id: endpoint.endpoint_id,
    url,
    ...(channels && { channels: [...channels] }),
    ...(description !== null && { description }),
    disabled: endpoint.disabled,
    ...(filter !== null && { filter }),
    ...(filter_types && { filterTypes: [...filter_types] }),
    ...(metadata !== null && { metadata: JSON.parse(metadata) }),
    ...(rate_limit !== null && { rateLimit: rate_limit }),
    createdAt: isoOf(endpoint.created_at),
    updatedAt: isoOf(endpoint.updated_at),
    ...(uid !== '' && { uid }),
    ...(Object.keys(endpoint.headers).length > 0 && { headers: { ...endpoint.headers } }),
    version: endpoint.version,
    ...(endpoint.disabled_reason !== '' && { disabledReason: endpoint.disabled_reason }),
    ...(endpoint.disabled_at > 0 && { disabledAt: isoOf(endpoint.disabled_at) }),
    ...(endpoint.first_failure_at > 0 && { firstFailureAt: isoOf(endpoint.first_failure_at) }),
  }
}

const masked = (url: string): string => url.replace('://', `://${MASKED_USER}@`)

/** Free JSON as text, or null. Throws `Fault` for more than 4 KiB. */
export const metadataText = (
  metadata: Readonly<Record<string, unknown>> | null | undefined,
): string | null => {
  if (metadata === null || metadata === undefined) return null
  const text = JSON.stringify(metadata)
  if (Buffer.byteLength(text) > MOST_METADATA_BYTES) {
    throw new Fault('INVALID_PARAMETER', `metadata may have ${MOST_METADATA_BYTES} bytes`, {
      parameter: 'metadata',
    })
  }
  return text
}

/** Static headers of an endpoint. Throws `Fault` for one that is ours or the connection's. */
export const staticHeaders = (
  headers: Readonly<Record<string, string>> | null | undefined,
): Readonly<Record<string, string>> => {
  const wrong = Object.keys(headers ?? {}).find((name) => OWN_HEADERS.test(name))
  if (wrong === undefined) return headers ?? {}
  throw new Fault('INVALID_PARAMETER', `headers may not set ${wrong}`, { parameter: 'headers' })
}

/** Event types of an endpoint. Throws `Fault` for one that names no type and no group of types. */
export const knownTypes = (types: readonly string[] | null | undefined): string[] | null => {
  const wrong = types?.find((type) => !WEBHOOK_CHANNEL_NAMES.some((name) => fitsType(type, name)))
  if (wrong === undefined) return types ? [...types] : null
  throw new Fault('INVALID_PARAMETER', 'filterTypes names no event type', {
    parameter: 'filterTypes',
    value: wrong,
    allowed_values: WEBHOOK_CHANNEL_NAMES,
  })
}

/** True when a wanted type covers an event's; `*` stands for the last segment. */
export const fitsType = (wanted: string, type: string): boolean => {
  if (!wanted.endsWith('*')) return wanted === type
  const start = wanted.slice(0, -1)
  if (start !== '' && !start.endsWith('.')) return false
  return type.startsWith(start) && !type.slice(start.length).includes('.')
}

/** The endpoint turned off; what was waiting for it is cancelled by whoever sends. */
export const disabledAs = (
  endpoint: WebhookEndpoint,
  reason: DisabledReason,
  nowMs: number,
): WebhookEndpoint => ({
  ...endpoint,
  disabled: true,
  disabled_reason: reason,
  disabled_at: nowMs,
})

/** The endpoint turned on, with a clean record of failures. */
export const enabledAgain = (endpoint: WebhookEndpoint, nowMs: number): WebhookEndpoint => ({
  ...endpoint,
  disabled: false,
  disabled_reason: '',
  disabled_at: 0,
  first_failure_at: 0,
  enabled_at: nowMs,
})

/** A new current secret; the one before it keeps signing for `graceMs`. */
export const rotatedSecrets = (
  secrets: readonly SealedKey[],
  sealed: string,
  { nowMs, graceMs }: { readonly nowMs: number; readonly graceMs: number },
): readonly SealedKey[] => {
  const endMs = nowMs + graceMs
  const old = secrets
    .map((key) => ({ ...key, expires_at: key.expires_at === 0 ? endMs : key.expires_at }))
    .filter(({ expires_at }) => expires_at > nowMs)
  return [{ sealed, created_at: nowMs, expires_at: 0 }, ...old.slice(0, MOST_OLD_SECRETS)]
}

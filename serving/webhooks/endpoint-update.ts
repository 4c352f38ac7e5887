import { Fault } from '../../core/errors.ts'
import type { ResolveHost } from '../../core/http/guarded-client.ts'
import type { SecretCipher } from '../../core/security/encryption.ts'
import type { UpdateWebhookById } from '../../schemas/api/webhook.ts'
import type { WebhookEndpoint } from '../../schemas/wire.ts'
import type { AddressRulesFor } from './address-rules.ts'
import {
  disableEndpoint,
  enableEndpoint,
  MASKED_USER,
  serializeMetadata,
  validateEventTypes,
  validateHeaders,
} from './endpoint.ts'
import { assertChannelsAreNamed, readPriceLevels, readSubjects } from './endpoint-subjects.ts'
import { compileFilter } from './filter.ts'
import { validateWebhookUrl, type WebhookUrl } from './validate-url.ts'

/** Dependencies of checking an update. */
export interface EndpointUpdateDeps {
  readonly cipher: SecretCipher
  readonly rulesOf: AddressRulesFor
  readonly resolve: ResolveHost
  readonly nowMs: () => number
}

/**
 * Validates an update and returns the step that applies it. Absent = unchanged, null = the default. Queued messages stay
 * valid unless the endpoint was disabled. Throws `Fault`, the step too.
 */
export const prepareUpdate = async (
  { rulesOf, resolve, cipher, nowMs }: EndpointUpdateDeps,
  orgId: string,
  body: UpdateWebhookById,
): Promise<(current: WebhookEndpoint) => WebhookEndpoint> => {
  const { url } = body
  const target =
    url === undefined ? undefined : await validateWebhookUrl(url, rulesOf(orgId), resolve)
  if (body.filter !== undefined && body.filter !== null) compileFilter(body.filter)
  const types = validateEventTypes(body.filterTypes)
  const metadata = serializeMetadata(body.metadata)
  const headers = validateHeaders(body.headers)
  return (current) => {
    const changed: WebhookEndpoint = {
      ...current,
      ...(target && urlChanges(current, target, cipher)),
      ...(body.channels !== undefined && { channels: body.channels }),
      ...(body.description !== undefined && { description: body.description }),
      ...(body.filter !== undefined && { filter: body.filter }),
      ...(body.filterTypes !== undefined && { filter_types: types }),
      ...(body.metadata !== undefined && { metadata }),
      ...(body.rateLimit !== undefined && { rate_limit: body.rateLimit }),
      ...(body.uid !== undefined && { uid: body.uid ?? '' }),
      ...(body.headers !== undefined && { headers }),
    }
    const withSubjects: WebhookEndpoint = {
      ...changed,
      ...(body.subjects !== undefined && { subjects: readSubjects(changed, body.subjects) }),
      ...(body.priceLevels !== undefined && {
        price_levels: readPriceLevels(changed, body.priceLevels),
      }),
    }
    assertChannelsAreNamed(withSubjects)
    return body.disabled === undefined
      ? withSubjects
      : withDisabled(withSubjects, body.disabled, nowMs())
  }
}

/** URL and user of a change; a URL that stays the same leaves the failure clock alone. */
const urlChanges = (
  current: WebhookEndpoint,
  { url, user }: WebhookUrl,
  cipher: SecretCipher,
): Partial<WebhookEndpoint> => {
  const isMasked = user === MASKED_USER
  if (isMasked && !isSameOrigin(url, current.url)) {
    throw new Fault(
      'WEBHOOK_URL_NOT_ALLOWED',
      'url has another origin: repeat the user and password of the new URL',
      {
        parameter: 'url',
        reason: 'the masked user belongs to another origin',
      },
    )
  }
  const isSameUser = isMasked || (user === '' && current.user_enc === '')
  if (isSameUser && url === current.url) return {}
  if (isMasked) return { url, first_failure_at: 0 }
  const sealed = user === '' ? '' : cipher.seal(user, current.endpoint_id)
  return { url, user_enc: sealed, first_failure_at: 0 }
}

const isSameOrigin = (url: string, current: string): boolean =>
  current !== '' && new URL(url).origin === new URL(current).origin

/** Enables a disabled endpoint only: enabling cancels the messages queued before. */
const withDisabled = (
  endpoint: WebhookEndpoint,
  disabled: boolean | null,
  nowMs: number,
): WebhookEndpoint => {
  if (disabled) return endpoint.disabled ? endpoint : disableEndpoint(endpoint, 'user', nowMs)
  return endpoint.disabled ? enableEndpoint(endpoint, nowMs) : { ...endpoint, first_failure_at: 0 }
}

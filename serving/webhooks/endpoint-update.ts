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

/** What a change of an endpoint is checked with. */
export interface EndpointUpdateDeps {
  readonly sealer: SecretCipher
  readonly rulesOf: AddressRulesFor
  readonly resolve: ResolveHost
  readonly nowMs: () => number
}

/**
 * Checks what is asked for and gives the step that applies it. Absent = unchanged, null = the default. What waits stays
 * good unless the endpoint was off. Throws `Fault`, the step too.
 */
export const prepareUpdate = async (
  { rulesOf, resolve, sealer, nowMs }: EndpointUpdateDeps,
  orgId: string,
  body: UpdateWebhookById,
): Promise<(known: WebhookEndpoint) => WebhookEndpoint> => {
  const { url } = body
  const target =
    url === undefined ? undefined : await validateWebhookUrl(url, rulesOf(orgId), resolve)
  if (body.filter !== undefined && body.filter !== null) compileFilter(body.filter)
  const types = validateEventTypes(body.filterTypes)
  const metadata = serializeMetadata(body.metadata)
  const headers = validateHeaders(body.headers)
  return (known) => {
    const changed: WebhookEndpoint = {
      ...known,
      ...(target && urlChanges(known, target, sealer)),
      ...(body.channels !== undefined && { channels: body.channels }),
      ...(body.description !== undefined && { description: body.description }),
      ...(body.filter !== undefined && { filter: body.filter }),
      ...(body.filterTypes !== undefined && { filter_types: types }),
      ...(body.metadata !== undefined && { metadata }),
      ...(body.rateLimit !== undefined && { rate_limit: body.rateLimit }),
      ...(body.uid !== undefined && { uid: body.uid ?? '' }),
      ...(body.headers !== undefined && { headers }),
    }
    const named: WebhookEndpoint = {
      ...changed,
      ...(body.subjects !== undefined && { subjects: readSubjects(changed, body.subjects) }),
      ...(body.priceLevels !== undefined && {
        price_levels: readPriceLevels(changed, body.priceLevels),
      }),
    }
    assertChannelsAreNamed(named)
    return body.disabled === undefined ? named : withDisabled(named, body.disabled, nowMs())
  }
}

/** URL and user of a change; a URL that stays the same leaves the failure clock alone. */
const urlChanges = (
  known: WebhookEndpoint,
  { url, user }: WebhookUrl,
  sealer: SecretCipher,
): Partial<WebhookEndpoint> => {
  const isMasked = user === MASKED_USER
  if (isMasked && !isSameOrigin(url, known.url)) {
    throw new Fault('WEBHOOK_URL_NOT_ALLOWED', 'url leads elsewhere: name its user again', {
      parameter: 'url',
      reason: 'the masked user belongs to another origin',
    })
  }
  const isSameUser = isMasked || (user === '' && known.user_enc === '')
  if (isSameUser && url === known.url) return {}
  if (isMasked) return { url, first_failure_at: 0 }
  const sealed = user === '' ? '' : sealer.seal(user, known.endpoint_id)
  return { url, user_enc: sealed, first_failure_at: 0 }
}

const isSameOrigin = (url: string, known: string): boolean =>
  known !== '' && new URL(url).origin === new URL(known).origin

/** On again only where it was off: turning on cancels what waited before. */
const withDisabled = (
  endpoint: WebhookEndpoint,
  disabled: boolean | null,
  nowMs: number,
): WebhookEndpoint => {
  if (disabled) return endpoint.disabled ? endpoint : disableEndpoint(endpoint, 'user', nowMs)
  return endpoint.disabled ? enableEndpoint(endpoint, nowMs) : { ...endpoint, first_failure_at: 0 }
}

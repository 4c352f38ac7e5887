import type { WebhookEndpoint } from '../../schemas/wire.ts'
import type { EndpointFate } from './attempt.ts'
import { isSameTarget } from './delivery.ts'
import { disabledAs } from './endpoint.ts'
import type { Change } from './endpoints.ts'

/**
 * The step that brings an attempt's fate upon its endpoint. An endpoint that was changed or is off since the attempt
 * began is left as it is: what was asked then says nothing of what it is now.
 */
export const fateStep =
  (attempted: WebhookEndpoint, fate: EndpointFate, nowMs: number) =>
  (known: WebhookEndpoint | undefined): Change => {
    if (!known || known.disabled || !isSameTarget(attempted, known)) return undefined
    if (fate.kind === 'none') return undefined
    if (fate.kind === 'disable') {
      const endpoint = disabledAs(known, fate.reason, nowMs)
      return { event: 'endpoint.disabled', endpoint: { ...endpoint, version: known.version + 1 } }
    }
    const sinceMs = fate.kind === 'start-clock' ? nowMs : 0
    if (sinceMs > 0 === known.first_failure_at > 0) return undefined
    return { event: 'endpoint.updated', endpoint: { ...known, first_failure_at: sinceMs } }
  }

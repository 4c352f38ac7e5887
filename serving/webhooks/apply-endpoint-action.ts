import type { WebhookEndpoint } from '../../schemas/wire.ts'
import type { EndpointAction } from './attempt.ts'
import { isSameEndpointTarget } from './delivery-eligibility.ts'
import { disableEndpoint } from './endpoint.ts'
import type { EndpointChange } from './endpoint-store.ts'

/**
 * The step that brings an attempt's fate upon its endpoint. An endpoint that was changed or is off since the attempt
 * began is left as it is: what was asked then says nothing of what it is now.
 */
export const applyEndpointAction =
  (attempted: WebhookEndpoint, fate: EndpointAction, nowMs: number) =>
  (known: WebhookEndpoint | undefined): EndpointChange => {
    if (!known || known.disabled || !isSameEndpointTarget(attempted, known)) return undefined
    if (fate.kind === 'none') return undefined
    if (fate.kind === 'disable') {
      const endpoint = disableEndpoint(known, fate.reason, nowMs)
      return { event: 'endpoint.disabled', endpoint: { ...endpoint, version: known.version + 1 } }
    }
    const sinceMs = fate.kind === 'start-clock' ? nowMs : 0
    if (sinceMs > 0 === known.first_failure_at > 0) return undefined
    return { event: 'endpoint.updated', endpoint: { ...known, first_failure_at: sinceMs } }
  }

import type { WebhookEndpoint } from '../../schemas/wire.ts'
import type { EndpointAction } from './attempt.ts'
import { isSameEndpointTarget } from './delivery-eligibility.ts'
import { disableEndpoint } from './endpoint.ts'
import type { EndpointChange } from './endpoint-store.ts'

/**
 * The store step that applies an attempt's action to its endpoint. An endpoint that was changed or disabled since the attempt
 * began stays as it is: the attempt's result says nothing about the new target.
 */
export const applyEndpointAction =
  (attempted: WebhookEndpoint, action: EndpointAction, nowMs: number) =>
  (current: WebhookEndpoint | undefined): EndpointChange => {
    if (!current || current.disabled || !isSameEndpointTarget(attempted, current)) return undefined
    if (action.kind === 'none') return undefined
    if (action.kind === 'disable') {
      const endpoint = disableEndpoint(current, action.reason, nowMs)
      return { event: 'endpoint.disabled', endpoint: { ...endpoint, version: current.version + 1 } }
    }
    const sinceMs = action.kind === 'start-clock' ? nowMs : 0
    if (sinceMs > 0 === current.first_failure_at > 0) return undefined
    return { event: 'endpoint.updated', endpoint: { ...current, first_failure_at: sinceMs } }
  }

import type { Codec } from '../../core/codec/contract.ts'
import type { Health, WebhookEndpoint } from '../../schemas/wire.ts'
import { updateHealth } from './attempt.ts'
import type { RetryDecision } from './retry-policy.ts'

/** One row of the due store. */
export interface HealthRow {
  readonly key: string
  readonly value: Uint8Array | null
}

const HEALTH_KEY_SUFFIX = '/health'

/** Consecutive failures per endpoint of a lane; the rows are in the due store and are removed with their endpoint. */
export interface EndpointHealth {
  /** True when the row was a health row. */
  load(key: string, bytes: Uint8Array): boolean
  /** An endpoint's health after an attempt, and the row to store where it changed. */
  after(
    endpoint: Pick<WebhookEndpoint, 'endpoint_id' | 'enabled_at'>,
    decision: RetryDecision,
    nowMs: number,
  ): { readonly health: Health; readonly rows: readonly HealthRow[] }
  /** Tombstones of rows whose endpoint was deleted, or enabled again since. */
  expired(endpointOf: (endpointId: string) => WebhookEndpoint | undefined): readonly HealthRow[]
}

/** Starts empty; it holds an entry per endpoint whose last attempt failed. */
export const createEndpointHealth = (codec: Codec): EndpointHealth => {
  const failing = new Map<string, Health>()
  const healthOf = (endpointId: string, enabledAtMs: number): Health | undefined => {
    const health = failing.get(endpointId)
    return health && health.last_failed_at >= enabledAtMs ? health : undefined
  }
  return {
    load: (key, bytes) => {
      if (!key.endsWith(HEALTH_KEY_SUFFIX)) return false
      failing.set(key.slice(0, -HEALTH_KEY_SUFFIX.length), codec.decode('webhook.Health', bytes))
      return true
    },
    after: ({ endpoint_id: endpointId, enabled_at }, decision, nowMs) => {
      const key = endpointId + HEALTH_KEY_SUFFIX
      const health = updateHealth(healthOf(endpointId, enabled_at), decision, nowMs)
      if (health.failed_attempts > 0) {
        failing.set(endpointId, health)
        return { health, rows: [{ key, value: codec.encode('webhook.Health', health) }] }
      }
      return { health, rows: failing.delete(endpointId) ? [{ key, value: null }] : [] }
    },
    expired: (endpointOf) => {
      const rows: HealthRow[] = []
      for (const [endpointId, { last_failed_at }] of failing) {
        const endpoint = endpointOf(endpointId)
        if (endpoint && endpoint.enabled_at <= last_failed_at) continue
        failing.delete(endpointId)
        rows.push({ key: endpointId + HEALTH_KEY_SUFFIX, value: null })
      }
      return rows
    },
  }
}

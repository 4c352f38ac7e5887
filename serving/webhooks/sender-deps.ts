import type { Codec } from '../../core/codec/contract.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { RequestOptions } from './attempt.ts'
import type { ConcurrencyLimiter } from './concurrency-limiter.ts'
import type { DeliveryTarget, FindOrg } from './delivery-eligibility.ts'
import type { OpenCredentials } from './endpoint-credentials.ts'
import type { EndpointStore } from './endpoint-store.ts'
import type { WebhookClient } from './http-client.ts'

/** What the lanes of a sender share. */
export interface SenderDeps {
  readonly codec: Codec
  readonly store: EndpointStore
  readonly orgOf: FindOrg
  readonly credentialsOf: OpenCredentials
  readonly poster: Pick<WebhookClient, 'post'>
  readonly places: ConcurrencyLimiter
  readonly style: RequestOptions
  /** Pause before each attempt, milliseconds. */
  readonly scheduleMs: readonly number[]
  /** Attempts at the same time per endpoint. */
  readonly inFlight: number
  readonly metrics: Metrics
  readonly log: Logger
  readonly nowMs: () => number
  readonly random: () => number
}

/** Whom deliveries of an endpoint go to, as it is known now. */
export const findTarget = (
  { store, orgOf }: Pick<SenderDeps, 'store' | 'orgOf'>,
  endpointId: string,
): DeliveryTarget => {
  const endpoint = store.get(endpointId)
  return { endpoint, org: endpoint && orgOf(endpoint.org_id) }
}

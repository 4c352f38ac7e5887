import type { Codec } from '../../core/codec/contract.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { RequestOptions } from './attempt.ts'
import type { BacklogLimits } from './backlog-limits.ts'
import type { ConcurrencyLimiter } from './concurrency-limiter.ts'
import type { DeliveryTarget, FindOrg } from './delivery-eligibility.ts'
import type { CredentialsOf } from './endpoint-credentials.ts'
import type { EndpointStore } from './endpoint-store.ts'
import type { WebhookClient } from './http-client.ts'

/** Dependencies that the lanes of a sender share. */
export interface SenderDeps {
  readonly codec: Codec
  readonly store: EndpointStore
  readonly orgOf: FindOrg
  readonly credentialsOf: CredentialsOf
  readonly client: Pick<WebhookClient, 'post'>
  readonly concurrency: ConcurrencyLimiter
  readonly style: RequestOptions
  /** Delay before each attempt, milliseconds. */
  readonly scheduleMs: readonly number[]
  /** Attempts in flight per endpoint. */
  readonly inFlight: number
  readonly backlogLimits: BacklogLimits
  /** Longest queue of an endpoint of each organization, by what waits in all lanes of this process now. */
  readonly queueLimits: () => (orgId: string) => number
  readonly metrics: Metrics
  readonly log: Logger
  readonly nowMs: () => number
  readonly random: () => number
}

/** The current endpoint and its organization. */
export const findTarget = (
  { store, orgOf }: Pick<SenderDeps, 'store' | 'orgOf'>,
  endpointId: string,
): DeliveryTarget => {
  const endpoint = store.get(endpointId)
  return { endpoint, org: endpoint && orgOf(endpoint.org_id) }
}

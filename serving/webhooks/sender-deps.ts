import type { Codec } from '../../core/codec/contract.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { SendStyle } from './attempt.ts'
import type { Poster } from './client.ts'
import type { Places } from './concurrency.ts'
import type { CredentialsOf } from './credentials.ts'
import type { Addressee, OrgOf } from './delivery.ts'
import type { EndpointStore } from './endpoints.ts'

/** What the lanes of a sender share. */
export interface SenderDeps {
  readonly codec: Codec
  readonly store: EndpointStore
  readonly orgOf: OrgOf
  readonly credentialsOf: CredentialsOf
  readonly poster: Pick<Poster, 'post'>
  readonly places: Places
  readonly style: SendStyle
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
export const addresseeOf = (
  { store, orgOf }: Pick<SenderDeps, 'store' | 'orgOf'>,
  endpointId: string,
): Addressee => {
  const endpoint = store.get(endpointId)
  return { endpoint, org: endpoint && orgOf(endpoint.org_id) }
}

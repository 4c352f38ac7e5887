import { Fault } from '../../core/errors.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { Guard } from '../interfaces.ts'

/** Where a credential is asked for. */
export type AuthSurface = 'rest' | 'graphql' | 'streams' | 'oauth' | 'admin'

/** Reasons that the metric names; what a fault says beyond them is `other`, so that no caller makes a label. */
const METRIC_REASONS: ReadonlySet<string> = new Set([
  ...['missing_credential', 'unsupported_credential', 'invalid_api_key', 'invalid_token'],
  ...['expired_token', 'revoked', 'suspended', 'missing_scope', 'missing_role', 'rate_limited'],
  ...['invalid_client', 'unavailable', 'malformed_message', 'oversized_message', 'wrong_domain'],
  ...['wrong_uri', 'unsupported_version', 'wrong_chain', 'not_yet_valid', 'lifetime_too_long'],
  ...['bad_signature', 'no_subscription'],
])

/** Counts one refused request. */
export const countAuthFailure = (
  { authFailures }: Pick<Metrics, 'authFailures'>,
  surface: AuthSurface,
  reason: string,
): void => authFailures.inc({ surface, reason: METRIC_REASONS.has(reason) ? reason : 'other' })

/** Why a guard rejected a request; undefined = there was no credential. */
export const authFailureReason = (fault: Fault | undefined): string => {
  if (fault === undefined) return 'missing_credential'
  if (fault.faultName === 'RATE_LIMIT') return 'rate_limited'
  if (fault.status >= 500) return 'unavailable'
  const reason = fault.details?.reason
  return typeof reason === 'string' ? reason : 'other'
}

/** The guard of the streams, with every refusal counted: a connection without a credential is refused at its connect. */
export const createCountingStreamGuard = (
  guard: Guard,
  metrics: Pick<Metrics, 'authFailures'>,
): Guard => ({
  authenticate: (credentials) => {
    const found = guard.authenticate(credentials)
    if (found === undefined) countAuthFailure(metrics, 'streams', authFailureReason(found))
    return found
  },
  identify: async (credentials) => {
    const found = await guard.identify(credentials)
    if (found instanceof Fault) countAuthFailure(metrics, 'streams', authFailureReason(found))
    return found
  },
  onRevoked: (listener) => guard.onRevoked(listener),
})

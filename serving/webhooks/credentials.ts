import type { Sealer } from '../../core/security/encryption.ts'
import type { WebhookEndpoint } from '../../schemas/wire.ts'

/** What a request is signed with, in the clear. */
export interface Credentials {
  /** `user:password` of the URL; "" = none. */
  readonly user: string
  /** Live secrets, the current one first. */
  readonly secrets: readonly string[]
}

type Sealed = Pick<WebhookEndpoint, 'endpoint_id' | 'user_enc' | 'secrets'>

/** Credentials of an endpoint at a time. Throws `Malformed` when they were sealed under another key. */
export type CredentialsOf = (endpoint: Sealed, nowMs: number) => Credentials

interface Opened {
  readonly credentials: Credentials
  /** The first of its secrets ends then, epoch milliseconds. */
  readonly untilMs: number
}

/** Opens credentials once per record of an endpoint and lets go of them with it. */
export const makeCredentials = (sealer: Sealer): CredentialsOf => {
  const kept = new WeakMap<Sealed, Opened>()
  return (endpoint, nowMs) => {
    const known = kept.get(endpoint)
    if (known && nowMs < known.untilMs) return known.credentials
    const opened = openedOf(endpoint, sealer, nowMs)
    kept.set(endpoint, opened)
    return opened.credentials
  }
}

const openedOf = (endpoint: Sealed, sealer: Sealer, nowMs: number): Opened => {
  const { endpoint_id: endpointId, user_enc } = endpoint
  const live = endpoint.secrets.filter(({ expires_at }) => expires_at === 0 || expires_at > nowMs)
  const ends = live.flatMap(({ expires_at }) => (expires_at === 0 ? [] : [expires_at]))
  return {
    credentials: {
      user: user_enc === '' ? '' : sealer.open(user_enc, endpointId),
      secrets: liveSecrets(endpoint, sealer, nowMs),
    },
    untilMs: Math.min(Number.POSITIVE_INFINITY, ...ends),
  }
}

/** Live secrets in the clear, the current one first. */
export const liveSecrets = (
  { endpoint_id, secrets }: Omit<Sealed, 'user_enc'>,
  sealer: Sealer,
  nowMs: number,
): readonly string[] =>
  secrets
    .filter(({ expires_at }) => expires_at === 0 || expires_at > nowMs)
    .map(({ sealed }) => sealer.open(sealed, endpoint_id))

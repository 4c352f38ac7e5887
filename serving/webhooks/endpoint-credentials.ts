import type { SecretCipher } from '../../core/security/encryption.ts'
import type { WebhookEndpoint } from '../../schemas/wire.ts'

/** What a request is signed with, in the clear. */
export interface EndpointCredentials {
  /** `user:password` of the URL; "" = none. */
  readonly user: string
  /** Live secrets, the current one first. */
  readonly secrets: readonly string[]
}

type SealedCredentials = Pick<WebhookEndpoint, 'endpoint_id' | 'user_enc' | 'secrets'>

/** Credentials of an endpoint at a time. Throws `InvalidInput` when they were sealed under another key. */
export type OpenCredentials = (endpoint: SealedCredentials, nowMs: number) => EndpointCredentials

interface CachedCredentials {
  readonly credentials: EndpointCredentials
  /** The first of its secrets ends then, epoch milliseconds. */
  readonly untilMs: number
}

/** Opens credentials once per record of an endpoint and lets go of them with it. */
export const createCredentialCache = (sealer: SecretCipher): OpenCredentials => {
  const kept = new WeakMap<SealedCredentials, CachedCredentials>()
  return (endpoint, nowMs) => {
    const known = kept.get(endpoint)
    if (known && nowMs < known.untilMs) return known.credentials
    const opened = decryptCredentials(endpoint, sealer, nowMs)
    kept.set(endpoint, opened)
    return opened.credentials
  }
}

const decryptCredentials = (
  endpoint: SealedCredentials,
  sealer: SecretCipher,
  nowMs: number,
): CachedCredentials => {
  const { endpoint_id: endpointId, user_enc } = endpoint
  const live = endpoint.secrets.filter(({ expires_at }) => expires_at === 0 || expires_at > nowMs)
  const ends = live.flatMap(({ expires_at }) => (expires_at === 0 ? [] : [expires_at]))
  return {
    credentials: {
      user: user_enc === '' ? '' : sealer.open(user_enc, endpointId),
      secrets: activeSecrets(endpoint, sealer, nowMs),
    },
    untilMs: Math.min(Number.POSITIVE_INFINITY, ...ends),
  }
}

/** Live secrets in the clear, the current one first. */
export const activeSecrets = (
  { endpoint_id, secrets }: Omit<SealedCredentials, 'user_enc'>,
  sealer: SecretCipher,
  nowMs: number,
): readonly string[] =>
  secrets
    .filter(({ expires_at }) => expires_at === 0 || expires_at > nowMs)
    .map(({ sealed }) => sealer.open(sealed, endpoint_id))

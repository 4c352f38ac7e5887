import type { SecretCipher } from '../../core/security/encryption.ts'
import type { WebhookEndpoint } from '../../schemas/wire.ts'

/** Decrypted credentials of an endpoint. */
export interface EndpointCredentials {
  /** `user:password` of the URL; "" = none. */
  readonly user: string
  /** Active secrets, the current one first. */
  readonly secrets: readonly string[]
}

type SealedCredentials = Pick<WebhookEndpoint, 'endpoint_id' | 'user_enc' | 'secrets'>

/** Credentials of an endpoint at a time. Throws `InvalidInput` when they were encrypted under another key. */
export type CredentialsOf = (endpoint: SealedCredentials, nowMs: number) => EndpointCredentials

interface CachedCredentials {
  readonly credentials: EndpointCredentials
  /** Expiry of the first secret, epoch milliseconds. */
  readonly untilMs: number
}

/** Decrypts credentials once per record of an endpoint; the cache entry is collected with the record. */
export const createCredentialCache = (cipher: SecretCipher): CredentialsOf => {
  const cache = new WeakMap<SealedCredentials, CachedCredentials>()
  return (endpoint, nowMs) => {
    const cached = cache.get(endpoint)
    if (cached && nowMs < cached.untilMs) return cached.credentials
    const opened = decryptCredentials(endpoint, cipher, nowMs)
    cache.set(endpoint, opened)
    return opened.credentials
  }
}

const decryptCredentials = (
  endpoint: SealedCredentials,
  cipher: SecretCipher,
  nowMs: number,
): CachedCredentials => {
  const { endpoint_id: endpointId, user_enc } = endpoint
  const live = endpoint.secrets.filter(({ expires_at }) => expires_at === 0 || expires_at > nowMs)
  const ends = live.flatMap(({ expires_at }) => (expires_at === 0 ? [] : [expires_at]))
  return {
    credentials: {
      user: user_enc === '' ? '' : cipher.open(user_enc, endpointId),
      secrets: activeSecrets(endpoint, cipher, nowMs),
    },
    untilMs: Math.min(Number.POSITIVE_INFINITY, ...ends),
  }
}

/** Active secrets, decrypted, the current one first. */
export const activeSecrets = (
  { endpoint_id, secrets }: Omit<SealedCredentials, 'user_enc'>,
  cipher: SecretCipher,
  nowMs: number,
): readonly string[] =>
  secrets
    .filter(({ expires_at }) => expires_at === 0 || expires_at > nowMs)
    .map(({ sealed }) => cipher.open(sealed, endpoint_id))

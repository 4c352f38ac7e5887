import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { rateLimitAddress } from '../../core/http/network-address.ts'
import { isScope, type Scope } from '../../schemas/scopes.ts'
import { newTokenId, type SignToken, type TokenParties } from './jwt.ts'
import type { ClientLookup } from './organization-registry.ts'

/** Errors of the token endpoint by their OAuth name. Sources: RFC 6749 5.2. */
const OAUTH_STATUS = {
  invalid_request: 400,
  invalid_client: 401,
  unsupported_grant_type: 400,
  invalid_scope: 400,
  access_denied: 403,
  temporarily_unavailable: 429,
} as const

/** Name of an error of the token endpoint. */
export type OAuthErrorCode = keyof typeof OAUTH_STATUS

/** A refused token request, in the shape that OAuth clients read. */
export class TokenRequestError extends Error {
  readonly error: OAuthErrorCode
  readonly status: number
  /** 429 only. */
  readonly retryAfterSeconds: number | undefined

  constructor(error: OAuthErrorCode, description: string, retryAfterSeconds?: number) {
    super(description)
    this.name = 'OAuthFault'
    this.error = error
    this.status = OAUTH_STATUS[error]
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** A request for a token as it was sent; absent = not sent. */
export interface TokenRequest {
  readonly grantType: string | undefined
  readonly clientId: string | undefined
  readonly clientSecret: string | undefined
  readonly audience: string | undefined
  readonly scope: string | undefined
  /** Address of the caller: guesses are counted per client and address. */
  readonly ip: string
  /** Of the HTTP request, for the log. */
  readonly requestId?: string
}

/** An access token with what its owner sees of it. */
export interface IssuedToken {
  readonly accessToken: string
  readonly expiresInSeconds: number
  readonly scopes: readonly Scope[]
}

/** Issues access tokens for client credentials. */
export interface TokenIssuer {
  /** Throws `OAuthFault`. */
  issue(request: TokenRequest): Promise<IssuedToken>
}

/** Dependencies of issuing tokens. */
export interface TokenIssuerDeps {
  /** Looks a client up by its id and the secret it showed. */
  readonly client: (clientId: string, secret: string) => ClientLookup
  readonly signer: () => Promise<SignToken>
  readonly parties: () => TokenParties
  readonly ttlSeconds: number
  readonly requireAudience: boolean
  readonly nowMs: () => number
  readonly onRefused: (clientId: string, request: Pick<TokenRequest, 'ip' | 'requestId'>) => void
}

/** Wrong secrets of one client from one address per minute, then a minute's lock of guesses. */
const FAILURE_LIMIT = { keyPrefix: 'fail', points: 5, duration: 60 } as const
const LOCK_SECONDS = 60
/** Wrong secrets of one address per minute, whatever clients it names: each is remembered, and is a line of the log. */
const ADDRESS_FAILURE_LIMIT = { keyPrefix: 'guess', points: 60, duration: 60 } as const
/** Tokens of one application per minute. */
const ISSUE_LIMIT = { keyPrefix: 'issue', points: 60, duration: 60 } as const
const MAX_CLIENT_ID_LENGTH = 128

/** The token endpoint without HTTP. */
export const createTokenIssuer = (deps: TokenIssuerDeps): TokenIssuer => {
  const failures = new RateLimiterMemory(FAILURE_LIMIT)
  const failuresByAddress = new RateLimiterMemory(ADDRESS_FAILURE_LIMIT)
  const issues = new RateLimiterMemory(ISSUE_LIMIT)
  return {
    issue: async (request) => {
      const { clientId, clientSecret } = validateTokenRequest(request)
      // The secret is checked before the lock: guesses of another client behind the same address do not lock out the owner.
      const answer = deps.client(clientId, clientSecret)
      if (answer.kind === 'unknown') {
        const name = clientId.slice(0, MAX_CLIENT_ID_LENGTH)
        await failuresByAddress.consume(rateLimitAddress(request.ip)).catch((refusal: unknown) => {
          rethrowLimiterError(refusal)
          throw tooManyRequests(refusal as RateLimiterRes)
        })
        deps.onRefused(name, request)
        throw await countFailedSecret(failures, `${rateLimitAddress(request.ip)} ${name}`)
      }
      if (answer.kind === 'suspended') {
        throw new TokenRequestError('access_denied', 'The organization is suspended')
      }
      validateAudience(request.audience, deps)
      const scopes = grantedScopes(request.scope, answer.application.scopes)
      await issues.consume(answer.application.app_id).catch((refusal: unknown) => {
        rethrowLimiterError(refusal)
        throw tooManyRequests(refusal as RateLimiterRes)
      })
      return issueToken(answer.application, scopes, deps)
    },
  }
}

/** The answer to a wrong secret: the sixth within a minute starts a lock in which no guess is told apart. */
const countFailedSecret = async (
  failures: RateLimiterMemory,
  addressKey: string,
): Promise<TokenRequestError> => {
  const past = await failures.get(addressKey)
  if (past !== null && past.consumedPoints > FAILURE_LIMIT.points) return tooManyRequests(past)
  const { remainingPoints } = await failures.penalty(addressKey)
  if (remainingPoints <= 0) await failures.block(addressKey, LOCK_SECONDS)
  return new TokenRequestError('invalid_client', 'The client or its secret is not known')
}

/** The limiter refuses with its state; a failure of its own is an `Error`. */
const rethrowLimiterError = (refusal: unknown): void => {
  if (refusal instanceof Error) throw refusal
}

const tooManyRequests = ({ msBeforeNext }: RateLimiterRes): TokenRequestError =>
  new TokenRequestError(
    'temporarily_unavailable',
    'Too many token requests',
    Math.max(1, Math.ceil(msBeforeNext / 1_000)),
  )

const validateTokenRequest = ({ grantType, clientId, clientSecret }: TokenRequest) => {
  if (!grantType) throw new TokenRequestError('invalid_request', 'grant_type is required')
  if (grantType !== 'client_credentials') {
    throw new TokenRequestError('unsupported_grant_type', 'Only client_credentials is served')
  }
  if (!clientId) throw new TokenRequestError('invalid_request', 'client_id is required')
  if (!clientSecret) throw new TokenRequestError('invalid_request', 'client_secret is required')
  return { clientId, clientSecret }
}

const validateAudience = (audience: string | undefined, deps: TokenIssuerDeps): void => {
  if (!audience) {
    if (deps.requireAudience) throw new TokenRequestError('invalid_request', 'audience is required')
  } else if (audience !== deps.parties().audience) {
    throw new TokenRequestError('access_denied', 'The audience is not served here')
  }
}

/** The scopes asked for; one that does not exist, or that the application may not have, is refused and not dropped. */
const grantedScopes = (text: string | undefined, allowed: readonly string[]): readonly Scope[] => {
  const requested = new Set((text ?? '').split(' ').filter((name) => name !== ''))
  const granted = [...requested].filter(isScope).filter((scope) => allowed.includes(scope))
  if (granted.length < requested.size) {
    throw new TokenRequestError('invalid_scope', 'A scope is unknown, or not of this application')
  }
  return granted
}

/** Issued at a moment that the application still honours: its revocation counts whole seconds. */
const issueToken = async (
  { client_id, org_id, tokens_valid_after }: Extract<ClientLookup, { kind: 'good' }>['application'],
  scopes: readonly Scope[],
  { signer, parties, ttlSeconds, nowMs }: TokenIssuerDeps,
): Promise<IssuedToken> => {
  const signToken = await signer()
  const now = nowMs()
  const issuedAt = Math.max(Math.floor(now / 1_000), Math.ceil(tokens_valid_after / 1_000))
  const claims = {
    clientId: client_id,
    orgId: org_id,
    tokenId: newTokenId(now),
    scopes,
    issuedAt,
    expiresAt: issuedAt + ttlSeconds,
  }
  const accessToken = await signToken(claims, parties())
  return { accessToken, expiresInSeconds: ttlSeconds, scopes }
}

import { LRUCache } from 'lru-cache'
import { Fault } from '../../core/errors.ts'
import type { Credentials, Guard, Principal } from '../interfaces.ts'
import type { CredentialLookup } from './account-registry.ts'
import { isWellFormedApiKey } from './api-keys.ts'
import type { TokenClaims, VerifyToken } from './jwt.ts'

/** Seconds that clocks may differ. */
const CLOCK_TOLERANCE_MS = 30_000
/** Longest access token that is looked at. */
const MAX_TOKEN_LENGTH = 4_096
/** Tokens whose signature is remembered to be good; others are checked again. */
const MAX_CACHED_TOKENS = 10_000

/** What the guard asks of the accounts. */
export interface GuardDeps {
  /** False: the accounts are older than they may be, so every request is rejected. */
  isFresh(): boolean
  findKey(apiKey: string): CredentialLookup
  findToken(claims: TokenClaims, toleranceMs: number): CredentialLookup
  /** Checks everything of a token but its time and revocation; another function whenever the keys changed. */
  verifier(): VerifyToken
  /** Checks with `verify` for the place that tokens are issued at. */
  verify(verify: VerifyToken, token: string): Promise<TokenClaims | undefined>
}

type PresentedCredential =
  | { readonly kind: 'key'; readonly text: string }
  | { readonly kind: 'token'; readonly text: string }
  | { readonly kind: 'other' }

const BEARER_PATTERN = /^bearer +/i

/** The first credential that is present decides; a wrong one never falls through to the next. */
const parseCredential = ({
  authorization,
  apiKey,
  token,
}: Credentials): PresentedCredential | undefined => {
  const header = authorization?.trim() ?? ''
  if (/^siwx /i.test(header)) return { kind: 'other' }
  if (apiKey !== undefined) return { kind: 'key', text: apiKey }
  if (header !== '') {
    return BEARER_PATTERN.test(header)
      ? parseBearer(header.replace(BEARER_PATTERN, ''))
      : { kind: 'other' }
  }
  return token === undefined ? undefined : parseBearer(token)
}

/** A value with two dots is an access token; anything else is an API key. */
const parseBearer = (text: string): PresentedCredential => ({
  kind: text.split('.').length === 3 ? 'token' : 'key',
  text,
})

const invalidCredential = (reason: string): Fault =>
  new Fault('UNAUTHORIZED', 'The credential is not valid', { reason })

/** A guard over the accounts. Signatures of tokens are checked once and remembered; everything else on each call. */
export const createGuard = (deps: GuardDeps): Omit<Guard, 'onRevoked'> => {
  const seen = new LRUCache<string, TokenClaims>({ max: MAX_CACHED_TOKENS })
  let verify: VerifyToken | undefined
  /** Whatever was signed by a key that is gone is forgotten with it. */
  const currentVerify = (): VerifyToken => {
    const current = deps.verifier()
    if (current !== verify) seen.clear()
    verify = current
    return current
  }
  const authenticate: Guard['authenticate'] = (credentials) => {
    const shown = parseCredential(credentials)
    if (shown === undefined) return undefined
    if (shown.kind === 'other') return invalidCredential('unsupported_credential')
    if (shown.kind === 'key') {
      if (!isWellFormedApiKey(shown.text)) return invalidCredential('invalid_api_key')
      if (!deps.isFresh()) return accountsUnavailable()
      return toPrincipal(deps.findKey(shown.text), 'invalid_api_key')
    }
    if (!deps.isFresh()) return accountsUnavailable()
    currentVerify()
    const claims = seen.get(shown.text)
    if (claims === undefined) return invalidCredential('invalid_token')
    return toPrincipal(deps.findToken(claims, CLOCK_TOLERANCE_MS), 'invalid_token')
  }
  return {
    authenticate,
    identify: async (credentials) => {
      const shown = parseCredential(credentials)
      if (shown?.kind === 'token' && shown.text.length <= MAX_TOKEN_LENGTH) {
        const check = currentVerify()
        const claims = seen.has(shown.text) ? undefined : await deps.verify(check, shown.text)
        if (claims !== undefined && check === verify) seen.set(shown.text, claims)
      }
      return authenticate(credentials)
    },
  }
}

const accountsUnavailable = (): Fault =>
  new Fault('DATABASE_ERROR', 'Accounts cannot be checked at the moment')

const toPrincipal = (answer: CredentialLookup, unknown: string): Principal | Fault => {
  switch (answer.kind) {
    case 'good':
      return answer.principal
    case 'suspended':
      return new Fault('FORBIDDEN', 'The organization is suspended', { reason: 'suspended' })
    case 'expired':
      return invalidCredential('expired_token')
    case 'revoked':
      return invalidCredential('revoked')
    case 'unknown':
      return invalidCredential(unknown)
  }
}

import { LRUCache } from 'lru-cache'
import { Fault } from '../../core/errors.ts'
import type { Credentials, Guard, Principal } from '../interfaces.ts'
import type { TokenClaims, Verify } from './jwt.ts'
import { isKeyShaped } from './keys.ts'
import type { Answer } from './registry.ts'

/** Seconds that clocks may differ. */
const CLOCK_TOLERANCE_MS = 30_000
/** Longest access token that is looked at. */
const MAX_TOKEN_LENGTH = 4_096
/** Tokens whose signature is remembered to be good; others are checked again. */
const REMEMBERED_TOKENS = 10_000

/** What the guard asks of the accounts. */
export interface GuardDeps {
  /** False: the accounts are older than they may be, so nobody is let in. */
  isFresh(): boolean
  findKey(apiKey: string): Answer
  findToken(claims: TokenClaims, toleranceMs: number): Answer
  /** Checks everything of a token but its time and revocation; another function whenever the keys changed. */
  verifier(): Verify
  /** Checks with `verify` for the place that tokens are issued at. */
  verify(verify: Verify, token: string): Promise<TokenClaims | undefined>
}

type Presented =
  | { readonly kind: 'key'; readonly text: string }
  | { readonly kind: 'token'; readonly text: string }
  | { readonly kind: 'other' }

const BEARER = /^bearer +/i

/** The first credential that is present decides; a wrong one never falls through to the next. */
const presented = ({ authorization, apiKey, token }: Credentials): Presented | undefined => {
  const header = authorization?.trim() ?? ''
  if (/^siwx /i.test(header)) return { kind: 'other' }
  if (apiKey !== undefined) return { kind: 'key', text: apiKey }
  if (header !== '') {
    return BEARER.test(header) ? bearer(header.replace(BEARER, '')) : { kind: 'other' }
  }
  return token === undefined ? undefined : bearer(token)
}

/** A value with two dots is an access token; anything else is an API key. */
const bearer = (text: string): Presented => ({
  kind: text.split('.').length === 3 ? 'token' : 'key',
  text,
})

const refused = (reason: string): Fault =>
  new Fault('UNAUTHORIZED', 'The credential is not valid', { reason })

/** A guard over the accounts. Signatures of tokens are checked once and remembered; everything else on each call. */
export const makeGuard = (deps: GuardDeps): Omit<Guard, 'onRevoked'> => {
  const seen = new LRUCache<string, TokenClaims>({ max: REMEMBERED_TOKENS })
  let verify: Verify | undefined
  /** Whatever was signed by a key that is gone is forgotten with it. */
  const currentVerify = (): Verify => {
    const current = deps.verifier()
    if (current !== verify) seen.clear()
    verify = current
    return current
  }
  const authenticate: Guard['authenticate'] = (credentials) => {
    const shown = presented(credentials)
    if (shown === undefined) return undefined
    if (shown.kind === 'other') return refused('unsupported_credential')
    if (shown.kind === 'key') {
      if (!isKeyShaped(shown.text)) return refused('invalid_api_key')
      if (!deps.isFresh()) return stale()
      return admitted(deps.findKey(shown.text), 'invalid_api_key')
    }
    if (!deps.isFresh()) return stale()
    currentVerify()
    const claims = seen.get(shown.text)
    if (claims === undefined) return refused('invalid_token')
    return admitted(deps.findToken(claims, CLOCK_TOLERANCE_MS), 'invalid_token')
  }
  return {
    authenticate,
    identify: async (credentials) => {
      const shown = presented(credentials)
      if (shown?.kind === 'token' && shown.text.length <= MAX_TOKEN_LENGTH) {
        const check = currentVerify()
        const claims = seen.has(shown.text) ? undefined : await deps.verify(check, shown.text)
        if (claims !== undefined && check === verify) seen.set(shown.text, claims)
      }
      return authenticate(credentials)
    },
  }
}

const stale = (): Fault => new Fault('DATABASE_ERROR', 'Accounts cannot be checked at the moment')

const admitted = (answer: Answer, unknown: string): Principal | Fault => {
  switch (answer.kind) {
    case 'good':
      return answer.principal
    case 'suspended':
      return new Fault('FORBIDDEN', 'The organization is suspended', { reason: 'suspended' })
    case 'expired':
      return refused('expired_token')
    case 'revoked':
      return refused('revoked')
    case 'unknown':
      return refused(unknown)
  }
}

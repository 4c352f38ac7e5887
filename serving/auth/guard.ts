import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { Fault } from '../../core/errors.ts'
import type { Credentials, Guard, Principal } from '../interfaces.ts'
import type { CredentialLookup } from './account-registry.ts'
import { isWellFormedApiKey } from './api-keys.ts'
import type { TokenClaims, VerifyToken } from './jwt.ts'
import { createSignatureLimit } from './signature-limit.ts'
import type { SignInClaim, SignInProblem } from './siwx.ts'
import { walletKey } from './wallet-link-rows.ts'
import { isSignedBy } from './wallet-signature.ts'

/** Seconds that clocks may differ. */
const CLOCK_TOLERANCE_MS = 30_000
/** Longest access token that is looked at. */
const MAX_TOKEN_LENGTH = 4_096
/** Tokens whose signature is remembered to be good; others are checked again. */
const MAX_CACHED_TOKENS = 10_000
/** Wrong access tokens that one address may show in a second, as many as requests without a credential. */
const WRONG_TOKENS_PER_SECOND = 100
/** Wrong wallet signatures that one address may show in a second: each costs a millisecond of computing. */
const WRONG_SIGNATURES_PER_SECOND = 20

/** What the guard asks of the accounts. */
export interface GuardDeps {
  /** False: the accounts are older than they may be, so every request is rejected. */
  isFresh(): boolean
  findKey(apiKey: string): CredentialLookup
  findToken(claims: TokenClaims, toleranceMs: number): CredentialLookup
  findWallet(key: string, expiresAtMs: number): CredentialLookup
  /** Checks all of a wallet's token but its signature. */
  readSignIn(token: string): SignInClaim | SignInProblem
  /** Checks everything of a token but its time and revocation; another function whenever the keys changed. */
  verifier(): VerifyToken
  /** Checks with `verify` for the place that tokens are issued at. */
  verify(verify: VerifyToken, token: string): Promise<TokenClaims | undefined>
}

type PresentedCredential =
  | { readonly kind: 'key'; readonly text: string }
  | { readonly kind: 'token'; readonly text: string }
  | { readonly kind: 'wallet'; readonly text: string }
  | { readonly kind: 'other' }

const BEARER_PATTERN = /^bearer +/i
const SIWX_PATTERN = /^siwx +/i

/** The first credential that is present decides; a wrong one never falls through to the next. */
const parseCredential = ({
  authorization,
  apiKey,
  token,
}: Credentials): PresentedCredential | undefined => {
  const header = authorization?.trim() ?? ''
  if (SIWX_PATTERN.test(header)) return { kind: 'wallet', text: header.replace(SIWX_PATTERN, '') }
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
  const wallets = createWalletCheck(deps)
  const tokens = createSignatureLimit(WRONG_TOKENS_PER_SECOND)
  /** Checks the signature of a token that was not seen before; the fault of an address that showed too many wrong ones. */
  const checkToken = async (text: string, address: string): Promise<Fault | undefined> => {
    const check = currentVerify()
    if (seen.has(text)) return undefined
    return tokens.check(address, async () => {
      const claims = await deps.verify(check, text)
      if (claims !== undefined && check === verify) seen.set(text, claims)
      return claims !== undefined
    })
  }
  const authenticate: Guard['authenticate'] = (credentials) => {
    const shown = parseCredential(credentials)
    if (shown === undefined) return undefined
    if (shown.kind === 'other') return invalidCredential('unsupported_credential')
    if (shown.kind === 'wallet') return wallets.authenticate(shown.text)
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
      if (shown?.kind === 'wallet') return wallets.identify(shown.text, credentials.address ?? '')
      if (shown?.kind === 'token' && shown.text.length <= MAX_TOKEN_LENGTH) {
        const refused = await checkToken(shown.text, credentials.address ?? '')
        if (refused !== undefined) return refused
      }
      return authenticate(credentials)
    },
  }
}

interface WalletCheck {
  authenticate(token: string): Principal | Fault
  identify(token: string, address: string): Promise<Principal | Fault>
}

/** Wallets that sign their own tokens. A good signature is remembered by a digest of the token; everything else is checked on each call. */
const createWalletCheck = ({ readSignIn, findWallet, isFresh }: GuardDeps): WalletCheck => {
  const signed = new LRUCache<string, true>({ max: MAX_CACHED_TOKENS })
  const signatures = createSignatureLimit(WRONG_SIGNATURES_PER_SECOND)
  const digest = (token: string): string => createHash('sha256').update(token).digest('base64')
  const authenticate = (token: string): Principal | Fault => {
    const claim = readSignIn(token)
    if (typeof claim === 'string') return invalidCredential(claim)
    if (!signed.has(digest(token))) return invalidCredential('bad_signature')
    if (!isFresh()) return accountsUnavailable()
    const { kind, address, expiresAtMs } = claim
    return toPrincipal(findWallet(walletKey(kind, address), expiresAtMs), 'invalid_token')
  }
  return {
    authenticate,
    identify: async (token, address) => {
      const claim = readSignIn(token)
      if (typeof claim !== 'string' && !signed.has(digest(token))) {
        const refused = await signatures.check(address, async () => {
          const isGood = await isSignedBy(claim)
          if (isGood) signed.set(digest(token), true)
          return isGood
        })
        if (refused !== undefined) return refused
      }
      return authenticate(token)
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
    case 'unlinked':
      return new Fault('PAYMENT_REQUIRED', 'The wallet is linked to no organization', {
        reason: 'no_subscription',
        link: '/x402/link-address',
        purchase: '/x402/purchase',
      })
    case 'ended':
      return new Fault('PAYMENT_REQUIRED', 'The plan of the organization has ended', {
        reason: 'no_subscription',
        purchase: '/x402/purchase',
      })
    case 'unknown':
      return invalidCredential(unknown)
  }
}

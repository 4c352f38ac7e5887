import { LRUCache } from 'lru-cache'
import { Fault } from '../../core/errors.ts'
import type { Credentials, Guard, Principal } from '../interfaces.ts'
import { isWellFormedApiKey } from './api-keys.ts'
import type { ContractSignatures } from './contract-signatures.ts'
import type { TokenClaims, VerifyToken } from './jwt.ts'
import type { CredentialLookup, SignedTimes } from './organization-registry.ts'
import { createSignatureLimit } from './signature-limit.ts'
import { CHAIN_IDS, type SignInClaim, type SignInProblem } from './siwx.ts'
import { walletKey } from './wallet-link-rows.ts'
import { signatureDigest, verifyKeySignature } from './wallet-signature.ts'

/** Seconds that clocks may differ. */
const CLOCK_TOLERANCE_MS = 30_000
/** Longest access token that is looked at. */
const MAX_TOKEN_LENGTH = 4_096
/** Tokens whose signature is remembered to be good; others are checked again. */
const MAX_CACHED_TOKENS = 10_000
/** Wrong access tokens that one address may show in a second, as many as requests without a credential. */
const WRONG_TOKENS_PER_SECOND = 100
/** How long a good answer of a contract counts: its owners may change. A key's counts as long as its token. */
const CONTRACT_ANSWER_MS = 300_000
/**
 * Wallet signatures that are wrong or of no account which one address may show in a second: each costs milliseconds of computing, or a
 * call of a node.
 */
const COUNTED_SIGNATURES_PER_SECOND = 20

/** What the guard needs of the organizations. */
export interface GuardDeps {
  /** False: the control topics are stale, so every request is rejected. */
  isFresh(): boolean
  findKey(apiKey: string): CredentialLookup
  findToken(claims: TokenClaims, toleranceMs: number): CredentialLookup
  findWallet(key: string, signed: SignedTimes): CredentialLookup
  /** Checks all of a wallet's token but its signature. */
  readSignIn(token: string): SignInClaim | SignInProblem
  /** Asks the contracts of wallets that have one. */
  readonly contracts: ContractSignatures
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

const invalidCredential = (reason: string): Fault => {
  const details = { reason, ...(reason === 'wrong_chain' && { allowed_values: CHAIN_IDS }) }
  return new Fault('UNAUTHORIZED', 'The credential is not valid', details)
}

/** A guard over the organizations. Signatures of tokens are checked once and remembered; everything else on each call. */
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
    const answer = await tokens.check(address, {
      local: async () => {
        const claims = await deps.verify(check, text)
        if (claims !== undefined && check === verify) seen.set(text, claims)
        return claims === undefined ? 'wrong' : 'good'
      },
    })
    return answer instanceof Fault ? answer : undefined
  }
  const authenticate: Guard['authenticate'] = (credentials) => {
    const presented = parseCredential(credentials)
    if (presented === undefined) return undefined
    if (presented.kind === 'other') return invalidCredential('unsupported_credential')
    if (presented.kind === 'wallet') return wallets.authenticate(presented.text)
    if (presented.kind === 'key') {
      if (!isWellFormedApiKey(presented.text)) return invalidCredential('invalid_api_key')
      if (!deps.isFresh()) return accountsUnavailable()
      return toPrincipal(deps.findKey(presented.text), 'invalid_api_key')
    }
    if (!deps.isFresh()) return accountsUnavailable()
    currentVerify()
    const claims = seen.get(presented.text)
    if (claims === undefined) return invalidCredential('invalid_token')
    return toPrincipal(deps.findToken(claims, CLOCK_TOLERANCE_MS), 'invalid_token')
  }
  return {
    authenticate,
    identify: async (credentials) => {
      const presented = parseCredential(credentials)
      if (presented?.kind === 'wallet')
        return wallets.identify(presented.text, credentials.address ?? '')
      if (presented?.kind === 'token' && presented.text.length <= MAX_TOKEN_LENGTH) {
        const refused = await checkToken(presented.text, credentials.address ?? '')
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

/** Wallets that sign their own tokens. A good signature is remembered, however it is written; everything else is checked on each call. */
const createWalletCheck = ({
  readSignIn,
  findWallet,
  isFresh,
  contracts,
}: GuardDeps): WalletCheck => {
  /** Until when, epoch milliseconds, a signed message counts as good, by its digest. */
  const signed = new LRUCache<string, number>({ max: MAX_CACHED_TOKENS })
  const signatures = createSignatureLimit(COUNTED_SIGNATURES_PER_SECOND)
  const isSigned = (digest: string): boolean => (signed.get(digest) ?? 0) > Date.now()
  const lookUp = (claim: SignInClaim): CredentialLookup =>
    findWallet(walletKey(claim.kind, claim.address), claim)
  /** Remembers a good signature, and says whether it is of an account. */
  const remember = (claim: SignInClaim, digest: string, untilMs: number) => {
    signed.set(digest, untilMs)
    return lookUp(claim).kind === 'good' ? 'good' : 'stranger'
  }
  const check = (claim: SignInClaim, digest: string, address: string) =>
    signatures.check(address, {
      local: async () => {
        // While it waited for its turn, the same message may have been checked.
        if (isSigned(digest)) return 'good'
        const answer = await verifyKeySignature(claim)
        return answer === 'good' ? remember(claim, digest, Number.POSITIVE_INFINITY) : answer
      },
      remote: async () => {
        const answer = await contracts.check(claim, address)
        return answer === 'good' ? remember(claim, digest, Date.now() + CONTRACT_ANSWER_MS) : answer
      },
    })
  const toOwner = (claim: SignInClaim, digest: string): Principal | Fault => {
    if (!isSigned(digest)) return invalidCredential('bad_signature')
    if (!isFresh()) return accountsUnavailable()
    return toPrincipal(lookUp(claim), 'invalid_token')
  }
  return {
    authenticate: (token) => {
      const claim = readSignIn(token)
      if (typeof claim === 'string') return invalidCredential(claim)
      return toOwner(claim, signatureDigest(claim))
    },
    identify: async (token, address) => {
      const claim = readSignIn(token)
      if (typeof claim === 'string') return invalidCredential(claim)
      const digest = signatureDigest(claim)
      if (!isSigned(digest)) {
        const answer = await check(claim, digest, address)
        if (answer instanceof Fault) return answer
      }
      return toOwner(claim, digest)
    },
  }
}

const accountsUnavailable = (): Fault =>
  new Fault('DATABASE_ERROR', 'Credentials cannot be checked at the moment: try again later')

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
      return new Fault('PAYMENT_REQUIRED', 'The wallet is not linked to an organization', {
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

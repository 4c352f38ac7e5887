import { signInChains } from '../../schemas/chains.ts'
import {
  MAX_MESSAGE_BYTES,
  parseSignInMessage,
  type SignInMessage,
  type WalletKind,
} from './siwx-message.ts'
import { MAX_SIGNATURE_LENGTH, type SignedMessage } from './wallet-signature.ts'

/** What messages are signed for. */
export interface SignInRules {
  /** Hosts with port that a message may name, lower case. */
  readonly domains: readonly string[]
  /** Origins that its URI may have. */
  readonly origins: readonly string[]
  readonly maxLifetimeMs: number
}

/** Why a message is refused. */
export type SignInProblem =
  | 'malformed_message'
  | 'oversized_message'
  | 'wrong_domain'
  | 'wrong_uri'
  | 'unsupported_version'
  | 'wrong_chain'
  | 'not_yet_valid'
  | 'expired_token'
  | 'lifetime_too_long'
  | 'bad_signature'

/** A message that holds but for its signature, which is still to be checked. */
export interface SignInClaim extends SignedMessage {
  readonly issuedAtMs: number
  readonly expiresAtMs: number
}

/** Chains that a message may name. */
export const CHAIN_IDS: Readonly<Record<WalletKind, readonly string[]>> = {
  evm: signInChains('evm').flatMap(({ signInNames }) => signInNames),
  solana: signInChains('svm').flatMap(({ signInNames }) => signInNames),
}
/** How far a client's clock may be ahead. */
const MAX_CLOCK_LEAD_MS = 300_000
/** Longest token: a message of the greatest length in base 64, a dot and a signature. */
const MAX_TOKEN_LENGTH = Math.ceil(MAX_MESSAGE_BYTES / 3) * 4 + 1 + MAX_SIGNATURE_LENGTH
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/

/** Reads `<base64(message)>.<signature>` and checks all but the signature. */
export const readSignInToken = (
  token: string,
  rules: SignInRules,
  nowMs: number,
): SignInClaim | SignInProblem => {
  if (token.length > MAX_TOKEN_LENGTH) return 'oversized_message'
  const dot = token.lastIndexOf('.')
  const encoded = token.slice(0, Math.max(0, dot))
  if (!BASE64.test(encoded)) return 'malformed_message'
  const message = decodeUtf8(Buffer.from(encoded, 'base64'))
  if (message === undefined) return 'malformed_message'
  return readSignIn({ message, signature: token.slice(dot + 1) }, rules, nowMs)
}

/** Checks a message but its signature: form, place, version, chain and time, in this order. */
export const readSignIn = (
  { message, signature }: Pick<SignedMessage, 'message' | 'signature'>,
  rules: SignInRules,
  nowMs: number,
): SignInClaim | SignInProblem => {
  if (Buffer.byteLength(message) > MAX_MESSAGE_BYTES) return 'oversized_message'
  const read = parseSignInMessage(message)
  if (read === undefined) return 'malformed_message'
  const { kind, address, issuedAtMs, expiresAtMs } = read
  return (
    problemOf(read, rules, nowMs) ?? { kind, address, message, signature, issuedAtMs, expiresAtMs }
  )
}

const problemOf = (
  { domain, uri, version, chainId, kind, issuedAtMs, expiresAtMs, notBeforeMs }: SignInMessage,
  { domains, origins, maxLifetimeMs }: SignInRules,
  nowMs: number,
): SignInProblem | undefined => {
  if (!domains.includes(domain)) return 'wrong_domain'
  if (!URL.canParse(uri) || !origins.includes(new URL(uri).origin)) return 'wrong_uri'
  if (version !== '1') return 'unsupported_version'
  if (!CHAIN_IDS[kind].includes(chainId)) return 'wrong_chain'
  if (issuedAtMs > nowMs + MAX_CLOCK_LEAD_MS) return 'not_yet_valid'
  if (notBeforeMs !== null && notBeforeMs > nowMs) return 'not_yet_valid'
  if (expiresAtMs <= nowMs) return 'expired_token'
  return expiresAtMs - issuedAtMs > maxLifetimeMs ? 'lifetime_too_long' : undefined
}

const decodeUtf8 = (bytes: Uint8Array): string | undefined => {
  const text = Buffer.from(bytes).toString('utf8')
  return Buffer.from(text).equals(bytes) ? text : undefined
}

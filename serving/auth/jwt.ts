import { randomUUID } from 'node:crypto'
import {
  type CryptoKey,
  calculateJwkThumbprint,
  createLocalJWKSet,
  errors,
  exportJWK,
  exportPKCS8,
  generateKeyPair,
  importPKCS8,
  jwtVerify,
  SignJWT,
} from 'jose'
import { InvalidInput } from '../../core/errors.ts'

const ALGORITHM = 'RS256'
/** Media type of an access token (RFC 9068 2.1): no other JWT of the same key passes for one. */
const TOKEN_TYPE = 'at+jwt'
const MIN_MODULUS_BITS = 2_048
const GRANT_TYPE = 'client-credentials'

/** The public half of a signing key as the key set shows it (RFC 7517). */
export interface PublicKey {
  readonly kty: 'RSA'
  readonly kid: string
  readonly use: 'sig'
  readonly alg: typeof ALGORITHM
  readonly n: string
  readonly e: string
}

/** A signing key; the private half as PKCS 8 text. */
export interface KeyPair {
  readonly publicKey: PublicKey
  readonly privatePem: string
}

/** What an access token says. */
export interface TokenClaims {
  readonly clientId: string
  readonly orgId: string
  readonly tokenId: string
  readonly scopes: readonly string[]
  /** Unix seconds. */
  readonly issuedAt: number
  /** Unix seconds. */
  readonly expiresAt: number
}

/** Who issues tokens, and for whom. */
export interface TokenParties {
  /** With a slash at its end. */
  readonly issuer: string
  readonly audience: string
}

/** A new RSA key of 2048 bits. */
export const generateKeyPairPem = async (): Promise<KeyPair> => {
  const { privateKey } = await generateKeyPair(ALGORITHM, {
    modulusLength: MIN_MODULUS_BITS,
    extractable: true,
  })
  return toKeyPair(privateKey, await exportPKCS8(privateKey))
}

/** Reads a PKCS 8 PEM. Throws `InvalidInput` for anything but an RSA key of 2048 bits or more. */
export const readKeyPair = async (privatePem: string): Promise<KeyPair> => {
  try {
    return await toKeyPair(
      await importPKCS8(privatePem, ALGORITHM, { extractable: true }),
      privatePem,
    )
  } catch (error) {
    if (error instanceof InvalidInput) throw error
    throw new InvalidInput('signing_key', 'the signing key is not an RSA key in PKCS 8 PEM', {
      cause: error,
    })
  }
}

const toKeyPair = async (privateKey: CryptoKey, privatePem: string): Promise<KeyPair> => {
  const { n = '', e = '' } = await exportJWK(privateKey)
  if (Buffer.from(n, 'base64url').length * 8 < MIN_MODULUS_BITS) {
    throw new InvalidInput('signing_key', `the signing key has less than ${MIN_MODULUS_BITS} bits`)
  }
  const kid = await calculateJwkThumbprint({ kty: 'RSA', n, e })
  return { publicKey: { kty: 'RSA', kid, use: 'sig', alg: ALGORITHM, n, e }, privatePem }
}

/** Signs tokens of one key. */
export type SignToken = (claims: TokenClaims, parties: TokenParties) => Promise<string>

/** A signer of one key. Claims: RFC 9068 2.2. */
export const createSigner = async ({ publicKey, privatePem }: KeyPair): Promise<SignToken> => {
  const privateKey = await importPKCS8(privatePem, ALGORITHM)
  return (claims, { issuer, audience }) =>
    new SignJWT({
      azp: claims.clientId,
      client_id: claims.clientId,
      gty: GRANT_TYPE,
      org_id: claims.orgId,
      ...(claims.scopes.length > 0 && { scope: claims.scopes.join(' ') }),
    })
      .setProtectedHeader({ alg: ALGORITHM, kid: publicKey.kid, typ: TOKEN_TYPE })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(`${claims.clientId}@clients`)
      .setIssuedAt(claims.issuedAt)
      .setExpirationTime(claims.expiresAt)
      .setJti(claims.tokenId)
      .sign(privateKey)
}

/**
 * Checks signature, type, issuer and audience; undefined for a token that fails. One whose time is over is returned as
 * well: the caller checks time and revocation.
 */
export type VerifyToken = (token: string, parties: TokenParties) => Promise<TokenClaims | undefined>

const REQUIRED_CLAIMS = ['iss', 'exp', 'aud', 'sub', 'client_id', 'iat', 'jti']

/** A verifier over a set of public keys. */
export const createVerifier = (keys: readonly PublicKey[]): VerifyToken => {
  const keySet = createLocalJWKSet({ keys: keys.map((key) => ({ ...key })) })
  return async (token, { issuer, audience }) => {
    try {
      const { payload } = await jwtVerify(token, keySet, {
        algorithms: [ALGORITHM],
        typ: TOKEN_TYPE,
        issuer,
        audience,
        requiredClaims: REQUIRED_CLAIMS,
      })
      return toTokenClaims(payload)
    } catch (error) {
      if (error instanceof errors.JWTExpired) return toTokenClaims(error.payload)
      if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined
      throw error
    }
  }
}

const toTokenClaims = (payload: Readonly<Record<string, unknown>>): TokenClaims => ({
  clientId: String(payload.client_id),
  orgId: String(payload.org_id ?? ''),
  tokenId: String(payload.jti),
  scopes: typeof payload.scope === 'string' ? payload.scope.split(' ') : [],
  issuedAt: Number(payload.iat),
  expiresAt: Number(payload.exp),
})

/** A token id that sorts by time: UUID version 7 (RFC 9562 5.7). */
export const newTokenId = (nowMs: number): string => {
  const time = nowMs.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}

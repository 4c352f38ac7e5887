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
import { Malformed } from '../../core/errors.ts'

const ALGORITHM = 'RS256'
/** Media type of an access token (RFC 9068 2.1): no other JWT of the same key passes for one. */
const TYPE = 'at+jwt'
const MIN_MODULUS_BITS = 2_048
const GRANT = 'client-credentials'

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
export interface TokenPlace {
  /** With a slash at its end. */
  readonly issuer: string
  readonly audience: string
}

/** A new RSA key of 2048 bits. */
export const generatePair = async (): Promise<KeyPair> => {
  const { privateKey } = await generateKeyPair(ALGORITHM, {
    modulusLength: MIN_MODULUS_BITS,
    extractable: true,
  })
  return pairOf(privateKey, await exportPKCS8(privateKey))
}

/** Reads a PKCS 8 PEM. Throws `Malformed` for anything but an RSA key of 2048 bits or more. */
export const readPair = async (privatePem: string): Promise<KeyPair> => {
  try {
    return await pairOf(await importPKCS8(privatePem, ALGORITHM, { extractable: true }), privatePem)
  } catch (error) {
    if (error instanceof Malformed) throw error
    throw new Malformed('signing_key', 'the signing key is not an RSA key in PKCS 8 PEM', {
      cause: error,
    })
  }
}

const pairOf = async (privateKey: CryptoKey, privatePem: string): Promise<KeyPair> => {
  const { n = '', e = '' } = await exportJWK(privateKey)
  if (Buffer.from(n, 'base64url').length * 8 < MIN_MODULUS_BITS) {
    throw new Malformed('signing_key', `the signing key has less than ${MIN_MODULUS_BITS} bits`)
  }
  const kid = await calculateJwkThumbprint({ kty: 'RSA', n, e })
  return { publicKey: { kty: 'RSA', kid, use: 'sig', alg: ALGORITHM, n, e }, privatePem }
}

/** Signs tokens of one key. */
export type Sign = (claims: TokenClaims, place: TokenPlace) => Promise<string>

/** A signer of one key. Claims: RFC 9068 2.2. */
export const signerOf = async ({ publicKey, privatePem }: KeyPair): Promise<Sign> => {
  const privateKey = await importPKCS8(privatePem, ALGORITHM)
  return (claims, { issuer, audience }) =>
    new SignJWT({
      azp: claims.clientId,
      client_id: claims.clientId,
      gty: GRANT,
      org_id: claims.orgId,
      ...(claims.scopes.length > 0 && { scope: claims.scopes.join(' ') }),
    })
      .setProtectedHeader({ alg: ALGORITHM, kid: publicKey.kid, typ: TYPE })
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
 * well: time and revocation are the caller's to judge.
 */
export type Verify = (token: string, place: TokenPlace) => Promise<TokenClaims | undefined>

const REQUIRED = ['iss', 'exp', 'aud', 'sub', 'client_id', 'iat', 'jti']

/** A verifier over a set of public keys. */
export const verifierOf = (keys: readonly PublicKey[]): Verify => {
  const keySet = createLocalJWKSet({ keys: keys.map((key) => ({ ...key })) })
  return async (token, { issuer, audience }) => {
    try {
      const { payload } = await jwtVerify(token, keySet, {
        algorithms: [ALGORITHM],
        typ: TYPE,
        issuer,
        audience,
        requiredClaims: REQUIRED,
      })
      return claimsOf(payload)
    } catch (error) {
      if (error instanceof errors.JWTExpired) return claimsOf(error.payload)
      if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined
      throw error
    }
  }
}

const claimsOf = (payload: Readonly<Record<string, unknown>>): TokenClaims => ({
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

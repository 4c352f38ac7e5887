import { SCOPES } from '../../schemas/scopes.ts'
import type {
  AdminToken,
  ApiKey,
  Application,
  Org,
  PlanPurchase,
  SigningKey,
  WalletLink,
} from '../../schemas/wire.ts'
import type { Principal, RevokedCredential } from '../interfaces.ts'
import { equalsInConstantTime } from './api-keys.ts'
import { type BoughtPlans, createBoughtPlans, type EffectivePlan } from './bought-plans.ts'
import type { TokenClaims } from './jwt.ts'
import type { SignInClaim } from './siwx.ts'
import { countsForLink, isLinked } from './wallet-link-rows.ts'

/** Result of looking a credential up. */
export type CredentialLookup =
  | { readonly kind: 'good'; readonly principal: Principal }
  | { readonly kind: 'suspended' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'expired' }
  | { readonly kind: 'revoked' }
  /** A wallet that signed well, and that no organization has linked. */
  | { readonly kind: 'unlinked' }
  /** Of an organization that has only what it buys, and whose bought plan has ended. */
  | { readonly kind: 'ended' }

/** When a wallet signed a token, and until when it is good; epoch milliseconds. */
export type SignedTimes = Pick<SignInClaim, 'issuedAtMs' | 'expiresAtMs'>

/** Result of looking up a client that requests a token. */
export type ClientLookup =
  | { readonly kind: 'good'; readonly application: Application }
  | { readonly kind: 'suspended' }
  | { readonly kind: 'unknown' }

/** The control topics as maps; `put…` returns the credentials that the change revoked. */
export interface OrganizationRegistry extends Omit<BoughtPlans, 'put'> {
  putOrg(orgId: string, org: Org | null): readonly RevokedCredential[]
  putApplication(clientId: string, application: Application | null): readonly RevokedCredential[]
  putKey(keyId: string, key: ApiKey | null): readonly RevokedCredential[]
  putSigningKey(kid: string, key: SigningKey | null): readonly RevokedCredential[]
  putAdminToken(tokenId: string, token: AdminToken | null): readonly RevokedCredential[]
  putWalletLink(key: string, link: WalletLink | null): readonly RevokedCredential[]
  putPurchase(paymentId: string, purchase: PlanPurchase | null): readonly RevokedCredential[]
  /** Looks a key up by the hash of its text. */
  findKey(hash: string, nowMs: number): CredentialLookup
  /** Looks up who a verified token was issued to; tokens are good `toleranceMs` longer than they say. */
  findToken(claims: TokenClaims, nowMs: number, toleranceMs: number): CredentialLookup
  /** Looks up the organization of a wallet, by its key; the caller checks the signature. Revoked: signed before an end of its link. */
  findWallet(key: string, signed: SignedTimes, nowMs: number): CredentialLookup
  /** Looks up a client by its id and the hash of the secret it showed; as long for an unknown id as for a known one. */
  findClient(clientId: string, secretHash: string, nowMs: number): ClientLookup
  org(orgId: string): Org | undefined
  orgs(): readonly Org[]
  application(appId: string): Application | undefined
  applications(): readonly Application[]
  key(keyId: string): ApiKey | undefined
  keysOf(appId: string): readonly ApiKey[]
  /** Also of a wallet that is linked no more. */
  walletLink(key: string): WalletLink | undefined
  walletLinks(): readonly WalletLink[]
  walletsOf(appId: string): readonly WalletLink[]
  signingKeys(): readonly SigningKey[]
  adminTokens(): readonly AdminToken[]
  /** Looks an admin token up by the hash of its text; the caller checks its expiry. */
  findAdminToken(hash: string): AdminToken | undefined
}

/** Empty maps. Later records win: the topics are compacted and read in order. */
export const createOrganizationRegistry = (): OrganizationRegistry => {
  const orgs = new Map<string, Org>()
  const applications = new Map<string, Application>()
  const clientIdByApp = new Map<string, string>()
  const keys = new Map<string, ApiKey>()
  const keyIdByHash = new Map<string, string>()
  const signingKeys = new Map<string, SigningKey>()
  const adminTokens = new Map<string, AdminToken>()
  const walletLinks = new Map<string, WalletLink>()
  const { put: putPurchase, ...bought } = createBoughtPlans()
  const application = (appId: string): Application | undefined =>
    applications.get(clientIdByApp.get(appId) ?? '')

  return {
    ...createFinders({
      org: (orgId) => orgs.get(orgId),
      application,
      client: (clientId) => applications.get(clientId),
      keyByHash: (hash) => keys.get(keyIdByHash.get(hash) ?? ''),
      walletLink: (key) => walletLinks.get(key),
      planOf: bought.planOf,
    }),
    ...bought,
    org: (orgId) => orgs.get(orgId),
    orgs: () => [...orgs.values()],
    application,
    applications: () => [...applications.values()],
    key: (keyId) => keys.get(keyId),
    keysOf: (appId) => [...keys.values()].filter(({ app_id }) => app_id === appId),
    walletLink: (key) => walletLinks.get(key),
    walletLinks: () => [...walletLinks.values()],
    walletsOf: (appId) => [...walletLinks.values()].filter(({ app_id }) => app_id === appId),
    signingKeys: () => [...signingKeys.values()],
    adminTokens: () => [...adminTokens.values()],
    findAdminToken: (hash) =>
      [...adminTokens.values()].find((row) => equalsInConstantTime(row.hash, hash)),
    putOrg: (orgId, org) => {
      setOrDelete(orgs, orgId, org)
      if (org && !org.suspended) return []
      const own = [...applications.values()].filter(({ org_id }) => org_id === orgId)
      return own.map(({ app_id }) => ({ appId: app_id }))
    },
    putApplication: (clientId, next) => {
      const before = applications.get(clientId)
      if (before) clientIdByApp.delete(before.app_id)
      if (next) clientIdByApp.set(next.app_id, clientId)
      setOrDelete(applications, clientId, next)
      return revokedBy(before, next)
    },
    putKey: (keyId, next) => {
      const before = keys.get(keyId)
      if (before) keyIdByHash.delete(before.hash)
      if (next) keyIdByHash.set(next.hash, keyId)
      setOrDelete(keys, keyId, next)
      const gone = before && before.hash !== next?.hash
      return gone ? [{ appId: before.app_id, credentialId: keyId }] : []
    },
    putWalletLink: (key, next) => {
      const before = walletLinks.get(key)
      setOrDelete(walletLinks, key, next)
      const isGone = before && before.app_id !== '' && before.app_id !== next?.app_id
      return isGone ? [{ appId: before.app_id, credentialId: key }] : []
    },
    putPurchase: (paymentId, purchase) => {
      putPurchase(paymentId, purchase)
      return []
    },
    putAdminToken: (tokenId, token) => {
      setOrDelete(adminTokens, tokenId, token)
      return []
    },
    putSigningKey: (kid, key) => {
      setOrDelete(signingKeys, kid, key)
      return []
    },
  }
}

const setOrDelete = <Row>(map: Map<string, Row>, key: string, row: Row | null): void => {
  if (row) map.set(key, row)
  else map.delete(key)
}

const revokedBy = (
  before: Application | undefined,
  next: Application | null,
): readonly RevokedCredential[] => {
  const appId = next?.app_id ?? before?.app_id
  if (appId === undefined) return []
  if (next === null || next.disabled) return [{ appId }]
  const ended = next.tokens_valid_after > (before?.tokens_valid_after ?? 0)
  return ended ? [{ appId, kind: 'jwt' }] : []
}

interface OrganizationMaps {
  org(orgId: string): Org | undefined
  application(appId: string): Application | undefined
  client(clientId: string): Application | undefined
  keyByHash(hash: string): ApiKey | undefined
  walletLink(key: string): WalletLink | undefined
  planOf(org: Org, atMs: number): EffectivePlan | undefined
}

const createFinders = (
  maps: OrganizationMaps,
): Pick<OrganizationRegistry, 'findKey' | 'findToken' | 'findWallet' | 'findClient'> => ({
  findKey: (hash, nowMs) => {
    const key = maps.keyByHash(hash)
    const alive =
      key &&
      equalsInConstantTime(key.hash, hash) &&
      (key.expires_at === 0 || key.expires_at > nowMs)
    if (!alive) return { kind: 'unknown' }
    const application = maps.application(key.app_id)
    const org = maps.org(key.org_id)
    if (!application || application.disabled || !org) return { kind: 'unknown' }
    return toLookup(org, maps.planOf(org, nowMs), {
      kind: 'api-key',
      appId: key.app_id,
      credentialId: key.key_id,
      scopes: key.scopes,
      expiresAtMs: key.expires_at === 0 ? null : key.expires_at,
    })
  },
  findToken: ({ clientId, tokenId, scopes, issuedAt, expiresAt }, nowMs, toleranceMs) => {
    const expiresAtMs = expiresAt * 1_000
    if (expiresAtMs + toleranceMs <= nowMs) return { kind: 'expired' }
    const application = maps.client(clientId)
    const org = application && maps.org(application.org_id)
    if (!application || application.disabled || !org) return { kind: 'revoked' }
    if (issuedAt * 1_000 < application.tokens_valid_after) return { kind: 'revoked' }
    return toLookup(org, maps.planOf(org, nowMs), {
      kind: 'jwt',
      appId: application.app_id,
      credentialId: tokenId,
      scopes: scopes.filter((scope) => application.scopes.includes(scope)),
      expiresAtMs,
    })
  },
  findWallet: (key, { issuedAtMs, expiresAtMs }, nowMs) => {
    const link = maps.walletLink(key)
    if (link === undefined || !isLinked(link)) return { kind: 'unlinked' }
    if (!countsForLink(link, issuedAtMs)) return { kind: 'revoked' }
    const application = maps.application(link.app_id)
    const org = maps.org(link.org_id)
    if (!application || application.disabled || !org) return { kind: 'revoked' }
    return toLookup(org, maps.planOf(org, nowMs), {
      kind: 'siwx',
      appId: link.app_id,
      credentialId: key,
      scopes: SCOPES,
      expiresAtMs,
    })
  },
  findClient: (clientId, secretHash, nowMs) => {
    const application = maps.client(clientId)
    const hashes = application ? activeSecretHashes(application, nowMs) : [DUMMY_HASH]
    const matching = hashes.filter((hash) => equalsInConstantTime(hash, secretHash)).length > 0
    const org = application && maps.org(application.org_id)
    if (!matching || !application || application.disabled || !org) return { kind: 'unknown' }
    return org.suspended ? { kind: 'suspended' } : { kind: 'good', application }
  },
})

/** Compared with where there is no client, so that an unknown id takes as long as a wrong secret. */
const DUMMY_HASH = '0'.repeat(64)

/** Hashes of the secrets that open an application: the newest, and the one before it while the overlap lasts. */
export const activeSecretHashes = (
  { secret_hashes, previous_secret_until }: Application,
  nowMs: number,
): readonly string[] =>
  previous_secret_until > nowMs ? secret_hashes.slice(0, 2) : secret_hashes.slice(0, 1)

const toLookup = (
  org: Org,
  held: EffectivePlan | undefined,
  credential: Omit<Principal, 'orgId' | 'plan'>,
): CredentialLookup => {
  if (org.suspended) return { kind: 'suspended' }
  if (held === undefined) return { kind: 'ended' }
  const { plan, endsAtMs, countsFrom } = held
  const ends = [credential.expiresAtMs, endsAtMs].filter((each) => each !== null)
  return {
    kind: 'good',
    principal: {
      ...credential,
      orgId: org.org_id,
      plan,
      ...(countsFrom && { countsFrom }),
      // What is open when a bought plan ends is asked again whether it may go on.
      expiresAtMs: ends.length === 0 ? null : Math.min(...ends),
    },
  }
}

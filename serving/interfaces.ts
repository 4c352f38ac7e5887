import type { Fault } from '../core/errors.ts'
import type { PlanName } from '../schemas/plans.ts'

/** Where a bought plan counts its units from: what was used of the calendar month until then does not count. */
export interface CountStart {
  /** Epoch milliseconds. */
  readonly atMs: number
  /** Used of that month before, thousandths of a CU. */
  readonly milliUnits: number
}

/** Who is calling, once the credential was found good. */
export interface Principal {
  readonly kind: 'api-key' | 'jwt' | 'siwx' | 'x402'
  /** Owner of plan, quota and webhooks. */
  readonly orgId: string
  readonly appId: string
  /** Key id of an API key, `jti` of an access token, kind and address of a wallet; of a payment its network and payer. */
  readonly credentialId: string
  readonly plan: PlanName
  /** Where the units of a bought plan are counted from; absent: the start of the month. */
  readonly countsFrom?: CountStart
  readonly scopes: readonly string[]
  /** null = does not expire. */
  readonly expiresAtMs: number | null
}

/** Organization under which all calls that were paid one by one are counted. */
export const PAID_CALLS_ORG = 'x402'

/** To whom the statements of a call are counted: all payers share the places of one organization, since anybody can have many wallets. */
export const statementOrgId = ({ kind, orgId }: Pick<Principal, 'kind' | 'orgId'>): string =>
  kind === 'x402' ? PAID_CALLS_ORG : orgId

/** Where a request carried a credential; the first one present decides. */
export interface Credentials {
  readonly authorization?: string | undefined
  readonly apiKey?: string | undefined
  /** `token` query parameter or connect token of a socket. */
  readonly token?: string | undefined
  /** Address of the caller: who shows many wrong signatures is slowed by it. */
  readonly address?: string | undefined
}

/** Credentials that can no longer be used. */
export interface RevokedCredential {
  readonly appId: string
  /** Only this one; absent: every credential of the application. */
  readonly credentialId?: string
  /** Only those of this kind. */
  readonly kind?: Principal['kind']
}

/** The one guard of HTTP, GraphQL and sockets. Organizations are maps over the compacted control topics. */
export interface Guard {
  /** A principal, or the fault to answer; `undefined` when no credential is present at all. */
  identify(credentials: Credentials): Promise<Principal | Fault | undefined>
  /** The same at once, for credentials that `identify` has seen: an access token it has not seen is not good here. */
  authenticate(credentials: Credentials): Principal | Fault | undefined
  /** Called when a credential that may be in use was revoked, disabled or deleted; returns the way to stop listening. */
  onRevoked(listener: (gone: RevokedCredential) => void): () => void
}

/** Answer of the limiter for one request. */
export interface RateLimitState {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  /** Unix seconds when the bucket is full again. */
  readonly resetAt: number
  readonly retryAfterSeconds: number
}

/** Rate limits per organization, quota and charges. Units are thousandths of a CU. */
export interface Meter {
  /** One request of an organization, or of an address without a credential. */
  take(
    subject: { readonly principal: Principal } | { readonly ip: string },
  ): Promise<RateLimitState>
  /**
   * Holds the worst case before the work; throws `Fault` FORBIDDEN (`reason: quota_exhausted`) when the quota is used up.
   * `route` is the name under which the charge is shown: method and path without version, `graphql`, `streams`.
   */
  reserve(principal: Principal, milliUnits: number, route?: string): Reservation
}

/** A held charge: settled with what it cost, or given back. */
export interface Reservation {
  settle(milliUnits: number): void
  release(): void
}

/** How far the store has followed the log. */
export interface StoreProgress {
  /**
   * Block operation of a chain up to which every row is in the store, as of the call; Infinity where the store has all that
   * the log holds. undefined: not known yet, because much was to be read; another call continues the reading.
   */
  storedSeq(chain: string): Promise<number | undefined>
}

/** Newest and first block of a chain in the store: their heights, where a chain counts slots their slots. */
export interface ChainFreshness {
  readonly head: number
  readonly headTimeMs: number
  readonly headSlot: number
  readonly since: number
  readonly sinceTimeMs: number
  readonly sinceSlot: number
}

/** Reads freshness, at most a second old. null: nothing ingested yet. */
export interface FreshnessReader {
  of(chain: string): Promise<ChainFreshness | null>
}

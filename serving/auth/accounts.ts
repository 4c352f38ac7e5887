import { readFile } from 'node:fs/promises'
import type { Bus, LogRecord } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import type { Config } from '../../core/config/settings.ts'
import { Fault, Malformed } from '../../core/errors.ts'
import type { Check } from '../../core/ops/health.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { makeSealer } from '../../core/security/encryption.ts'
import { makeRecordSigner } from '../../core/security/record-signature.ts'
import type { PlanName } from '../../schemas/plans.ts'
import { SCOPES, type Scope } from '../../schemas/scopes.ts'
import type { Gone, Guard } from '../interfaces.ts'
import { type AdminTokens, makeAdminTokens } from './admin-tokens.ts'
import {
  type Administration,
  type AdministrationDeps,
  makeAdministration,
  type NewApplication,
} from './administration.ts'
import { openControlLog } from './control-log.ts'
import { makeGuard } from './guard.ts'
import type { PublicKey, TokenPlace } from './jwt.ts'
import { readPair } from './jwt.ts'
import { startKeyKeeper } from './key-keeper.ts'
import { hashSecret, type KeyMode } from './keys.ts'
import { type Actor, CONTROL, makeRecordWriter } from './records.ts'
import { makeRegistry, type Registry } from './registry.ts'
import { makeKeyRing } from './signing-keys.ts'
import { makeTokenService, type TokenService } from './tokens.ts'

/** An organization with an application and a key, made at once. */
interface FirstKeyRequest {
  readonly name: string
  readonly plan?: PlanName
  readonly scopes?: readonly Scope[]
  readonly expiresAtMs?: number
  readonly mode?: KeyMode
  /** Refused with `Fault` CONFLICT when there is an organization already. */
  readonly isFirst?: true
}

/** Credentials of the demo as they were written down. */
export interface DemoCredentials {
  readonly apiKey: string
  readonly clientId: string
  readonly clientSecret: string
}

/** Organizations, applications, keys and tokens of the installation. */
export interface Accounts {
  readonly guard: Guard
  /** Holds while the maps are fresh enough to let anybody in. */
  readonly check: Check
  readonly admin: Administration
  /** The same in the name of somebody, whom the audit log names. */
  adminAs(by: Actor): Administration
  /** Tokens of the admin API. */
  readonly adminTokens: AdminTokens
  adminTokensAs(by: Actor): AdminTokens
  readonly tokens: TokenService
  /** The maps, to be read only. */
  readonly registry: Registry
  /** Keys that verify access tokens; makes the first one. Throws `Outage`. */
  keySet(): Promise<readonly PublicKey[]>
  /** Issuer and audience of access tokens. */
  tokenPlace(): TokenPlace
  /** Makes an organization with an application and a key; all of it is usable when this returns. */
  createKey(request: FirstKeyRequest): Promise<NewApplication>
  /** Credentials of the demo: the known ones while they are good, else new ones on the plan `selfhost`. */
  createDemo(known?: Partial<DemoCredentials>): Promise<DemoCredentials>
  /** Dead at once here, within a second everywhere. Throws `Fault` NOT_FOUND for an unknown id. */
  revokeKey(keyId: string): Promise<void>
  /** Kills or revives every credential of an organization. Throws `Fault` NOT_FOUND. */
  setSuspended(orgId: string, suspended: boolean): Promise<void>
  stop(): Promise<void>
}

/** What accounts need of the process. */
export interface AccountsDeps {
  readonly bus: Bus
  readonly codec: Codec
  readonly config: Pick<
    Config,
    | 'apiKeyBrand'
    | 'keyPepper'
    | 'apiAudience'
    | 'authTokenTtlSeconds'
    | 'authRequireAudience'
    | 'authSigningKeyFile'
  >
  /** Address of the token service, without a slash at its end. */
  readonly authUrl: () => string
  readonly nowMs: () => number
  readonly log: Logger
  readonly metrics: Pick<Metrics, 'controlRecordsRefused'>
  /** How often the maps are compared with the log's end; default 5 s. */
  readonly checkEveryMs?: number
}

/** The signing key that an operator mounted; null = keys are made and kept sealed. */
const mountedPair = async (path: string) =>
  path === '' ? null : readPair(await readFile(path, 'utf8'))

const createRevocations = () => {
  const listeners = new Set<(gone: Gone) => void>()
  return {
    publish: (gone: Gone): void => {
      for (const listener of listeners) listener(gone)
    },
    subscribe: (listener: (gone: Gone) => void) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** An application with one key. */
const applicationWith = ({
  name,
  plan,
  scopes,
  expiresAtMs,
  mode,
  isFirst,
}: Parameters<Accounts['createKey']>[0]) => ({
  name,
  ...(plan && { plan }),
  ...(isFirst && { isFirst }),
  key: {
    ...(scopes && { scopes }),
    ...(expiresAtMs && { expiresAtMs }),
    ...(mode && { mode }),
  },
})

/** Opens the accounts; returns when the control topics have been read to their end. The topics must exist. */
export const createAccounts = async (deps: AccountsDeps): Promise<Accounts> => {
  const { config, nowMs, log } = deps
  const pepper = config.keyPepper.reveal()
  const mounted = await mountedPair(config.authSigningKeyFile)
  const registry = makeRegistry()
  const revocations = createRevocations()
  const control = await openControlLog({
    ...deps,
    signer: makeRecordSigner(pepper),
    topics: Object.values(CONTROL),
    apply: (record) => {
      for (const gone of applyRecord(registry, deps, record)) revocations.publish(gone)
    },
  })
  const sealer = makeSealer(pepper, 'signing-keys')
  const records = makeRecordWriter(deps.codec, nowMs)
  const ring = makeKeyRing({ keys: registry.signingKeys, sealer, mounted, nowMs, log })
  const keeper = startKeyKeeper({ registry, control, records, ring, sealer, mounted, nowMs, log })
  const place = (): TokenPlace => ({ issuer: `${deps.authUrl()}/`, audience: config.apiAudience })
  const guard: Guard = {
    ...makeGuard({
      isFresh: control.isFresh,
      findKey: (apiKey) => registry.findKey(hashSecret(apiKey, pepper), nowMs()),
      findToken: (claims, toleranceMs) => registry.findToken(claims, nowMs(), toleranceMs),
      verifier: ring.verifier,
      verify: (verify, token) => verify(token, place()),
    }),
    onRevoked: revocations.subscribe,
  }
  const changes = changesOf({
    registry,
    control,
    records,
    sealer,
    pepper,
    nowMs,
    isFresh: control.isFresh,
    brand: config.apiKeyBrand,
    mountedKey: mounted !== null,
    onChange: (entry) => log.info(entry, 'audit'),
  })
  const { admin } = changes
  const tokens = makeTokenService({
    client: (clientId, secret) =>
      registry.findClient(clientId, hashSecret(secret, pepper), nowMs()),
    signer: async () => {
      await keeper.ready()
      return ring.signer()
    },
    place,
    ttlSeconds: config.authTokenTtlSeconds,
    requireAudience: config.authRequireAudience,
    nowMs,
    onRefused: (clientId, { ip, requestId = '' }) =>
      log.info({ clientId, address: ip, requestId }, 'token refused'),
  })
  return {
    guard,
    ...changes,
    tokens,
    registry,
    tokenPlace: place,
    keySet: async () => {
      await keeper.ready()
      return ring.published()
    },
    createKey: (key) => admin.createApplication(applicationWith(key)),
    createDemo: (known = {}) => demoCredentials({ guard, admin, registry, pepper, nowMs }, known),
    revokeKey: (keyId) => admin.revokeKey(keyId),
    setSuspended: async (orgId, suspended) => {
      await admin.updateOrg(orgId, { suspended })
    },
    check: {
      name: 'accounts',
      run: () => (control.isFresh() ? { ok: true } : { ok: false, detail: 'control topics stale' }),
    },
    stop: async () => {
      await keeper.stop()
      await control.stop()
    },
  }
}

/** Everything that operators change, in the name of the process or of somebody. */
const changesOf = (
  deps: AdministrationDeps & { readonly isFresh: () => boolean },
): Pick<Accounts, 'admin' | 'adminAs' | 'adminTokens' | 'adminTokensAs'> => ({
  admin: makeAdministration(deps),
  adminAs: (by) => makeAdministration({ ...deps, by }),
  adminTokens: makeAdminTokens(deps),
  adminTokensAs: (by) => makeAdminTokens({ ...deps, by }),
})

/** A record that cannot be read changes nothing and is named: the value before it stays in force. */
const applyRecord = (
  registry: Registry,
  { codec, log }: Pick<AccountsDeps, 'codec' | 'log'>,
  { topic, key, value, offset }: LogRecord,
): readonly Gone[] => {
  try {
    if (topic === CONTROL.orgs) {
      return registry.putOrg(key, value && codec.decode('control.Org', value))
    }
    if (topic === CONTROL.applications) {
      return registry.putApplication(key, value && codec.decode('control.Application', value))
    }
    if (topic === CONTROL.signingKeys) {
      return registry.putSigningKey(key, value && codec.decode('control.SigningKey', value))
    }
    if (topic === CONTROL.adminTokens) {
      return registry.putAdminToken(key, value && codec.decode('control.AdminToken', value))
    }
    return registry.putKey(key, value && codec.decode('control.ApiKey', value))
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    log.error({ err: error, topic, offset }, 'invalid control record')
    return []
  }
}

interface DemoDeps {
  readonly guard: Guard
  readonly admin: Administration
  readonly registry: Registry
  readonly pepper: string
  readonly nowMs: () => number
}

/** A key that is good is kept; its application gets a secret where the known one does not open it, and every scope. */
const demoCredentials = async (
  { guard, admin, registry, pepper, nowMs }: DemoDeps,
  { apiKey = '', clientId = '', clientSecret = '' }: Partial<DemoCredentials>,
): Promise<DemoCredentials> => {
  const known = guard.authenticate({ apiKey })
  const good = known !== undefined && !(known instanceof Fault)
  const application = good ? registry.application(known.appId) : undefined
  if (application === undefined) {
    const made = await admin.createApplication({ name: 'demo', plan: 'selfhost' })
    return { apiKey: made.apiKey, clientId: made.clientId, clientSecret: made.clientSecret }
  }
  const { app_id: appId, client_id, scopes } = application
  if (scopes.length < SCOPES.length) await admin.updateApplication(appId, { scopes: SCOPES })
  const client = registry.findClient(clientId, hashSecret(clientSecret, pepper), nowMs())
  if (client.kind === 'good' && client.application.app_id === appId) {
    return { apiKey, clientId, clientSecret }
  }
  return { apiKey, clientId: client_id, clientSecret: await admin.rotateSecret(appId, 0) }
}

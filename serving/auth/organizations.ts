import { readFile } from 'node:fs/promises'
import type { Bus, LogRecord } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import type { Config } from '../../core/config/settings.ts'
import { Fault, InvalidInput } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { ReadinessCheck } from '../../core/ops/probes.ts'
import type { ChainNodes } from '../../core/rpc/chain-nodes.ts'
import { makeSecretCipher } from '../../core/security/encryption.ts'
import { makeRecordSigner } from '../../core/security/record-signature.ts'
import type { PlanName } from '../../schemas/plans.ts'
import { SCOPES, type Scope } from '../../schemas/scopes.ts'
import type { Guard, RevokedCredential } from '../interfaces.ts'
import { type AdminTokens, createAdminTokens } from './admin-tokens.ts'
import {
  type Administration,
  type AdministrationDeps,
  createAdministration,
  type NewApplication,
} from './administration.ts'
import { hashSecret, type KeyMode } from './api-keys.ts'
import {
  type ContractSignatures,
  createContractSignatures,
  WALLET_CHAIN,
} from './contract-signatures.ts'
import { openControlLog } from './control-log.ts'
import { type Actor, CONTROL_TOPICS, createControlRecords } from './control-records.ts'
import { createGuard } from './guard.ts'
import type { PublicKey, TokenParties } from './jwt.ts'
import { readKeyPair } from './jwt.ts'
import { createOrganizationRegistry, type OrganizationRegistry } from './organization-registry.ts'
import { createPlanPurchases, type PlanPurchases } from './plan-purchases.ts'
import { createSigningKeyRing } from './signing-key-ring.ts'
import { type SigningKeyRotationDeps, startSigningKeyRotation } from './signing-key-rotation.ts'
import {
  readSignIn,
  readSignInToken,
  type SignInClaim,
  type SignInProblem,
  type SignInRules,
} from './siwx.ts'
import { createTokenIssuer, type TokenIssuer } from './token-issuer.ts'
import { createWalletLinks, type WalletLinks } from './wallet-links.ts'
import type { SignedMessage } from './wallet-signature.ts'

/** A message of a wallet with its signature. */
type WalletProof = Pick<SignedMessage, 'message' | 'signature'>

/** An organization with an application and a key, made at once. */
interface FirstKeyRequest {
  readonly name: string
  readonly plan?: PlanName
  readonly scopes?: readonly Scope[]
  readonly expiresAtMs?: number
  readonly mode?: KeyMode
  /** True: throws `Fault` CONFLICT when there is an organization already. */
  readonly isFirst?: true
}

/** Credentials of the demo as they were written down. */
export interface DemoCredentials {
  readonly apiKey: string
  readonly clientId: string
  readonly clientSecret: string
}

/** Organizations, applications, keys and tokens of the installation. */
export interface Organizations {
  readonly guard: Guard
  /** Passes while the maps are fresh enough to accept credentials. */
  readonly check: ReadinessCheck
  readonly admin: Administration
  /** The same, with the actor of the audit log. `writeAs`: the organization in whose queue the write waits. */
  adminAs(by: Actor, writeAs?: string): Administration
  /** Tokens of the admin API. */
  readonly adminTokens: AdminTokens
  adminTokensAs(by: Actor): AdminTokens
  /** Wallets that sign in, in the name of whoever links them. */
  walletsAs(by: Actor, writeAs?: string): WalletLinks
  /** Plans that wallets buy, in the name of whoever buys. */
  purchasesAs(by: Actor, writeAs?: string): PlanPurchases
  /** Checks a wallet's message but its signature. */
  readProof(proof: WalletProof): SignInClaim | SignInProblem
  readonly tokens: TokenIssuer
  /** The maps, to be read only. */
  readonly registry: OrganizationRegistry
  /** Keys that verify access tokens; makes the first one. Throws `Outage`. */
  keySet(): Promise<readonly PublicKey[]>
  /** Issuer and audience of access tokens. */
  tokenPlace(): TokenParties
  /** Makes an organization with an application and a key; all of it is usable when this returns. */
  createKey(request: FirstKeyRequest): Promise<NewApplication>
  /** Credentials of the demo: the known ones while they are good, else new ones on the plan `selfhost`. */
  createDemo(known?: Partial<DemoCredentials>): Promise<DemoCredentials>
  /** Revokes a key: at once here, within a second everywhere. Throws `Fault` NOT_FOUND for an unknown id. */
  revokeKey(keyId: string): Promise<void>
  /** Suspends or restores every credential of an organization. Throws `Fault` NOT_FOUND. */
  setSuspended(orgId: string, suspended: boolean): Promise<void>
  stop(): Promise<void>
}

/** Dependencies of the organizations. */
export interface OrganizationsDeps {
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
    | 'siwxDomains'
    | 'siwxUris'
    | 'siwxMaxLifetimeSeconds'
  >
  /** Address of the token service, without a slash at its end. */
  readonly authUrl: () => string
  readonly nowMs: () => number
  readonly log: Logger
  readonly metrics: Pick<Metrics, 'controlRecordsRefused'>
  /** Nodes that contract wallets are looked up at; absent: there are none. */
  readonly walletNodes?: Pick<ChainNodes, 'of'>
  /** How often the maps are compared with the log's end; default 5 s. */
  readonly checkEveryMs?: number
}

/** The signing key that an operator mounted; null = keys are made and kept sealed. */
const readMountedKey = async (path: string) =>
  path === '' ? null : readKeyPair(await readFile(path, 'utf8'))

const createRevocations = () => {
  const listeners = new Set<(gone: RevokedCredential) => void>()
  return {
    publish: (gone: RevokedCredential): void => {
      for (const listener of listeners) listener(gone)
    },
    subscribe: (listener: (gone: RevokedCredential) => void) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** An application with one key. */
const firstApplicationRequest = ({
  name,
  plan,
  scopes,
  expiresAtMs,
  mode,
  isFirst,
}: Parameters<Organizations['createKey']>[0]) => ({
  name,
  ...(plan && { plan }),
  ...(isFirst && { isFirst }),
  key: {
    ...(scopes && { scopes }),
    ...(expiresAtMs && { expiresAtMs }),
    ...(mode && { mode }),
  },
})

/** The signing keys and their rotation; a caller that needs a key waits for the first one. */
const openSigningKeys = (
  { nowMs, log }: OrganizationsDeps,
  parts: Omit<SigningKeyRotationDeps, 'signingKeys' | 'nowMs' | 'log'>,
) => {
  const { registry, cipher, mounted } = parts
  const signingKeys = createSigningKeyRing({
    keys: registry.signingKeys,
    cipher,
    mounted,
    nowMs,
    log,
  })
  const rotation = startSigningKeyRotation({ ...parts, signingKeys, nowMs, log })
  return {
    verifier: signingKeys.verifier,
    signer: async () => {
      await rotation.ready()
      return signingKeys.signer()
    },
    keySet: async () => {
      await rotation.ready()
      return signingKeys.published()
    },
    stop: () => rotation.stop(),
  }
}

/** A guard that finds keys, tokens and wallets in the registry. */
const createRegistryGuard = ({
  registry,
  pepper,
  nowMs,
  signInRules,
  parties,
  ...rest
}: Pick<Parameters<typeof createGuard>[0], 'isFresh' | 'contracts' | 'verifier'> & {
  readonly registry: OrganizationRegistry
  readonly pepper: string
  readonly nowMs: () => number
  readonly signInRules: () => SignInRules
  readonly parties: () => TokenParties
}) =>
  createGuard({
    ...rest,
    findKey: (apiKey) => registry.findKey(hashSecret(apiKey, pepper), nowMs()),
    findToken: (claims, toleranceMs) => registry.findToken(claims, nowMs(), toleranceMs),
    findWallet: (key, signed) => registry.findWallet(key, signed, nowMs()),
    readSignIn: (token) => readSignInToken(token, signInRules(), nowMs()),
    verify: (verify, token) => verify(token, parties()),
  })

/** Issues access tokens to the applications of the registry, and logs who was refused one. */
const createClientTokenIssuer = (
  { config, nowMs, log }: Pick<OrganizationsDeps, 'config' | 'nowMs' | 'log'>,
  {
    registry,
    pepper,
    signer,
    parties,
  }: Pick<Parameters<typeof createTokenIssuer>[0], 'signer' | 'parties'> & {
    readonly registry: OrganizationRegistry
    readonly pepper: string
  },
) =>
  createTokenIssuer({
    client: (clientId, secret) =>
      registry.findClient(clientId, hashSecret(secret, pepper), nowMs()),
    signer,
    parties,
    ttlSeconds: config.authTokenTtlSeconds,
    requireAudience: config.authRequireAudience,
    nowMs,
    onRefused: (clientId, { ip, requestId = '' }) =>
      log.info({ clientId, address: ip, requestId }, 'access token request rejected'),
  })

/** Opens the organizations; returns when the control topics have been read to their end. The topics must exist. */
export const createOrganizations = async (deps: OrganizationsDeps): Promise<Organizations> => {
  const { config, nowMs, log } = deps
  const pepper = config.keyPepper.reveal()
  const mounted = await readMountedKey(config.authSigningKeyFile)
  const registry = createOrganizationRegistry()
  const revocations = createRevocations()
  const control = await openControlLog({
    ...deps,
    signer: makeRecordSigner(pepper),
    topics: Object.values(CONTROL_TOPICS),
    apply: (record) => {
      for (const gone of applyControlRecord(registry, deps, record)) revocations.publish(gone)
    },
  })
  const cipher = makeSecretCipher(pepper, 'signing-keys')
  const records = createControlRecords(deps.codec, nowMs)
  const signing = openSigningKeys(deps, { registry, control, records, cipher, mounted })
  const parties = (): TokenParties => ({
    issuer: `${deps.authUrl()}/`,
    audience: config.apiAudience,
  })
  const contracts = createContractSignatures({
    nodes: () => (WALLET_CHAIN === undefined ? undefined : deps.walletNodes?.of(WALLET_CHAIN)),
  })
  const signInRules = (): SignInRules => createSignInRules(config, deps.authUrl())
  const guard: Guard = {
    ...createRegistryGuard({
      registry,
      pepper,
      nowMs,
      signInRules,
      contracts,
      verifier: signing.verifier,
      parties,
      isFresh: control.isFresh,
    }),
    onRevoked: revocations.subscribe,
  }
  const changes = createAdminOperations({
    registry,
    control,
    records,
    cipher,
    pepper,
    nowMs,
    contracts,
    isFresh: control.isFresh,
    brand: config.apiKeyBrand,
    mountedKey: mounted !== null,
    maxLifetimeMs: config.siwxMaxLifetimeSeconds * 1_000,
    onChange: (entry) => log.info(entry, 'audit'),
  })
  const { admin } = changes
  const tokens = createClientTokenIssuer(deps, {
    registry,
    pepper,
    signer: signing.signer,
    parties,
  })
  return {
    guard,
    ...changes,
    tokens,
    registry,
    tokenPlace: parties,
    readProof: (proof) => readSignIn(proof, signInRules(), nowMs()),
    keySet: signing.keySet,
    createKey: (key) => admin.createApplication(firstApplicationRequest(key)),
    createDemo: (known = {}) =>
      ensureDemoCredentials({ guard, admin, registry, pepper, nowMs }, known),
    revokeKey: (keyId) => admin.revokeKey(keyId),
    setSuspended: async (orgId, suspended) => {
      await admin.updateOrg(orgId, { suspended })
    },
    check: {
      name: 'accounts',
      run: () => (control.isFresh() ? { ok: true } : { ok: false, detail: 'control topics stale' }),
    },
    stop: async () => {
      await signing.stop()
      await control.stop()
    },
  }
}

/** Hosts and origins of the settings, or else those of the token service. */
const createSignInRules = (
  { siwxDomains, siwxUris, siwxMaxLifetimeSeconds }: OrganizationsDeps['config'],
  authUrl: string,
): SignInRules => {
  const own = URL.canParse(authUrl) ? new URL(authUrl) : undefined
  const [domains, origins] = own ? [[own.host], [own.origin]] : [[], []]
  return {
    domains: siwxDomains.length > 0 ? siwxDomains : domains,
    origins: siwxUris.length > 0 ? siwxUris : origins,
    maxLifetimeMs: siwxMaxLifetimeSeconds * 1_000,
  }
}

/** Everything that operators change, in the name of the process or of an operator. */
const createAdminOperations = (
  deps: AdministrationDeps & {
    readonly isFresh: () => boolean
    readonly maxLifetimeMs: number
    readonly contracts: ContractSignatures
  },
): Pick<
  Organizations,
  'admin' | 'adminAs' | 'adminTokens' | 'adminTokensAs' | 'walletsAs' | 'purchasesAs'
> => ({
  admin: createAdministration(deps),
  adminAs: (by, writeAs) =>
    createAdministration({ ...deps, by, ...(writeAs !== undefined && { writeAs }) }),
  adminTokens: createAdminTokens(deps),
  adminTokensAs: (by) => createAdminTokens({ ...deps, by }),
  walletsAs: (by, writeAs) =>
    createWalletLinks({ ...deps, by, ...(writeAs !== undefined && { writeAs }) }),
  purchasesAs: (by, writeAs) =>
    createPlanPurchases({ ...deps, by, ...(writeAs !== undefined && { writeAs }) }),
})

type ControlTable = keyof typeof CONTROL_TOPICS

/** Puts a record of one table into the registry; the credentials that end with it. Throws `InvalidInput` for one that cannot be read. */
type PutRecord = (
  registry: OrganizationRegistry,
  codec: Codec,
  record: Pick<LogRecord, 'key' | 'value'>,
) => readonly RevokedCredential[]

const PUT_BY_TABLE: { readonly [Table in ControlTable]: PutRecord } = {
  orgs: (registry, codec, { key, value }) =>
    registry.putOrg(key, value && codec.decode('control.Org', value)),
  applications: (registry, codec, { key, value }) =>
    registry.putApplication(key, value && codec.decode('control.Application', value)),
  keys: (registry, codec, { key, value }) =>
    registry.putKey(key, value && codec.decode('control.ApiKey', value)),
  signingKeys: (registry, codec, { key, value }) =>
    registry.putSigningKey(key, value && codec.decode('control.SigningKey', value)),
  adminTokens: (registry, codec, { key, value }) =>
    registry.putAdminToken(key, value && codec.decode('control.AdminToken', value)),
  walletLinks: (registry, codec, { key, value }) =>
    registry.putWalletLink(key, value && codec.decode('control.WalletLink', value)),
  purchases: (registry, codec, { key, value }) =>
    registry.putPurchase(key, value && codec.decode('control.PlanPurchase', value)),
}

const PUT_BY_TOPIC: ReadonlyMap<string, PutRecord> = new Map(
  (Object.keys(CONTROL_TOPICS) as ControlTable[]).map((table) => [
    CONTROL_TOPICS[table],
    PUT_BY_TABLE[table],
  ]),
)

/** A record that cannot be read is logged and skipped: the value before it stays in force. */
const applyControlRecord = (
  registry: OrganizationRegistry,
  { codec, log }: Pick<OrganizationsDeps, 'codec' | 'log'>,
  record: LogRecord,
): readonly RevokedCredential[] => {
  const { topic, offset } = record
  try {
    return PUT_BY_TOPIC.get(topic)?.(registry, codec, record) ?? []
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    log.error({ err: error, topic, offset }, 'skipped invalid control record')
    return []
  }
}

interface DemoCredentialDeps {
  readonly guard: Guard
  readonly admin: Administration
  readonly registry: OrganizationRegistry
  readonly pepper: string
  readonly nowMs: () => number
}

/** A key that is good is kept; its application gets a secret where the known one does not open it, and every scope. */
const ensureDemoCredentials = async (
  { guard, admin, registry, pepper, nowMs }: DemoCredentialDeps,
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

import { ulid } from 'ulid'
import type { Bus, LogRecord, OutRecord } from '../../core/bus-contract.ts'
import type { Codec } from '../../core/codec-contract.ts'
import type { Config } from '../../core/config.ts'
import { Fault, Malformed } from '../../core/fault.ts'
import type { Logger } from '../../core/log.ts'
import type { Check } from '../../core/ops.ts'
import type { PlanName } from '../../schemas/plans.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type { Guard } from '../contract.ts'
import { openControlLog } from './control-log.ts'
import { authenticate } from './guard.ts'
import { hashSecret, type KeyMode, makeKey, PREFIX_LENGTH } from './keys.ts'
import { type Gone, makeRegistry, type Registry } from './registry.ts'

/** Every scope; a key has all of them unless it was made with fewer (contract/auth.md 5). */
const SCOPES = ['webhook.read', 'webhook.write', 'kyt.read', 'kyt.write'] as const
type Scope = (typeof SCOPES)[number]

/** A key as its owner gets it: the only time its text is seen. */
export interface NewKey {
  readonly orgId: string
  readonly appId: string
  readonly keyId: string
  readonly apiKey: string
}

/** What a new key is for. */
interface KeyRequest {
  readonly name: string
  readonly plan?: PlanName
  readonly scopes?: readonly Scope[]
  readonly expiresAtMs?: number
  readonly mode?: KeyMode
}

/** Organizations, applications and keys of the installation. */
export interface Accounts {
  readonly guard: Guard
  /** Holds while the maps are fresh enough to let anybody in. */
  readonly check: Check
  /** Makes an organization with an application and a key; all three are usable when this returns. */
  createKey(request: KeyRequest): Promise<NewKey>
  /** The key of the demo: `previous` while it is good, else a new one on the plan `selfhost`. */
  createDemo(previous?: string): Promise<NewKey>
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
  readonly config: Pick<Config, 'apiKeyBrand' | 'keyPepper'>
  readonly nowMs: () => number
  readonly log: Logger
  /** How often the maps are compared with the log's end; default 5 s. */
  readonly checkEveryMs?: number
}

const ORGS = globalTopic('controlOrgs')
const APPLICATIONS = globalTopic('controlApplications')
const KEYS = globalTopic('controlApiKeys')

/** Opens the accounts; returns when the control topics have been read to their end. The topics must exist. */
export const createAccounts = async (deps: AccountsDeps): Promise<Accounts> => {
  const { config, nowMs, log } = deps
  const registry = makeRegistry()
  const listeners = new Set<(gone: Gone) => void>()
  const control = await openControlLog({
    ...deps,
    topics: [ORGS, APPLICATIONS, KEYS],
    apply: (record) => {
      for (const gone of applyRecord(registry, deps, record))
        for (const tell of listeners) tell(gone)
    },
  })
  const pepper = config.keyPepper.reveal()
  const guard: Guard = {
    authenticate: (credentials) =>
      authenticate(credentials, (apiKey) =>
        control.isFresh()
          ? registry.find(hashSecret(apiKey, pepper), nowMs())
          : { kind: 'unusable' },
      ),
    onRevoked: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  const createKey = async (request: KeyRequest): Promise<NewKey> => {
    const made = newKey(request, config.apiKeyBrand, pepper, nowMs())
    await control.write(keyRecords(deps.codec, made, request))
    log.info({ keyId: made.key.keyId, orgId: made.key.orgId }, 'key created')
    return made.key
  }
  return {
    guard,
    createKey,
    createDemo: async (previous = '') => {
      const known = guard.authenticate({ apiKey: previous })
      if (known === undefined || known instanceof Fault) {
        return createKey({ name: 'demo', plan: 'selfhost' })
      }
      const { orgId, appId, credentialId } = known
      return { orgId, appId, keyId: credentialId, apiKey: previous }
    },
    revokeKey: async (keyId) => {
      if (!registry.key(keyId)) throw new Fault('NOT_FOUND', 'No such key')
      await control.write([{ topic: KEYS, partition: 0, key: keyId, value: null }])
      log.info({ keyId }, 'key revoked')
    },
    setSuspended: async (orgId, suspended) => {
      const org = registry.org(orgId)
      if (!org) throw new Fault('NOT_FOUND', 'No such organization')
      const value = deps.codec.encode('control.Org', {
        ...org,
        suspended,
        version: org.version + 1,
      })
      await control.write([{ topic: ORGS, partition: 0, key: orgId, value }])
    },
    check: {
      name: 'accounts',
      run: () => (control.isFresh() ? { ok: true } : { ok: false, detail: 'control topics stale' }),
    },
    stop: () => control.stop(),
  }
}

/** A record that cannot be read changes nothing and is named: the value before it stays in force. */
const applyRecord = (
  registry: Registry,
  { codec, log }: Pick<AccountsDeps, 'codec' | 'log'>,
  { topic, key, value, offset }: LogRecord,
): readonly Gone[] => {
  try {
    if (topic === ORGS) return registry.putOrg(key, value && codec.decode('control.Org', value))
    if (topic === APPLICATIONS) {
      return registry.putApplication(key, value && codec.decode('control.Application', value))
    }
    return registry.putKey(key, value && codec.decode('control.ApiKey', value))
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    log.error({ err: error, topic, offset }, 'control record cannot be read')
    return []
  }
}

interface MadeKey {
  readonly key: NewKey
  readonly clientId: string
  readonly hash: string
  readonly atMs: number
}

const newKey = (
  { mode = 'live' }: KeyRequest,
  brand: string,
  pepper: string,
  atMs: number,
): MadeKey => {
  const apiKey = makeKey(brand, mode)
  return {
    key: {
      orgId: `org_${ulid(atMs)}`,
      appId: `app_${ulid(atMs)}`,
      keyId: `key_${ulid(atMs)}`,
      apiKey,
    },
    clientId: `client_${ulid(atMs)}`,
    hash: hashSecret(apiKey, pepper),
    atMs,
  }
}

const keyRecords = (
  codec: Codec,
  { key, clientId, hash, atMs }: MadeKey,
  { name, plan = 'free', scopes = SCOPES, expiresAtMs = 0 }: KeyRequest,
): readonly OutRecord[] => {
  const { orgId: org_id, appId: app_id, keyId: key_id, apiKey } = key
  const common = { org_id, created_at: atMs, version: 1 }
  const org = codec.encode('control.Org', { ...common, name, plan })
  const application = codec.encode('control.Application', {
    ...common,
    client_id: clientId,
    app_id,
    name,
    scopes: [...SCOPES],
    updated_at: atMs,
  })
  const record = codec.encode('control.ApiKey', {
    ...common,
    key_id,
    app_id,
    prefix: apiKey.slice(0, PREFIX_LENGTH),
    hash,
    scopes: [...scopes],
    expires_at: expiresAtMs,
  })
  return [
    { topic: ORGS, partition: 0, key: org_id, value: org },
    { topic: APPLICATIONS, partition: 0, key: clientId, value: application },
    { topic: KEYS, partition: 0, key: key_id, value: record },
  ]
}

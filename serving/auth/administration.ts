import { randomInt } from 'node:crypto'
import { ulid } from 'ulid'
import type { ProducerRecord } from '../../core/bus/contract.ts'
import { Fault } from '../../core/errors.ts'
import type { SecretCipher } from '../../core/security/encryption.ts'
import type { NO_PLAN, PlanName } from '../../schemas/plans.ts'
import { SCOPES, type Scope } from '../../schemas/scopes.ts'
import type { ApiKey, Application, Org, SigningKey } from '../../schemas/wire.ts'
import { ALPHABET, generateApiKey, hashSecret, type KeyMode, visiblePrefix } from './api-keys.ts'
import type { ControlLog } from './control-log.ts'
import type { Actor, AuditEntry, ControlRecords } from './control-records.ts'
import { activeSecretHashes, type OrganizationRegistry } from './organization-registry.ts'
import { createKeyRecord, DEFAULT_LEAD_MS, MIN_LEAD_MS } from './signing-key-ring.ts'
import { unlinkedRow } from './wallet-link-rows.ts'

/** A key as its owner gets it: the only time its text is seen. */
export interface NewKey {
  readonly orgId: string
  readonly appId: string
  readonly keyId: string
  readonly apiKey: string
}

/** An application with its first key as its owner gets them: the only time that the secrets are seen. */
export interface NewApplication extends NewKey {
  readonly clientId: string
  readonly clientSecret: string
}

/** What a key is for. */
export interface KeyRequest {
  /** For the owner, to tell keys apart; default: none. */
  readonly name?: string
  /** Default: all. */
  readonly scopes?: readonly Scope[]
  /** Epoch milliseconds; default: never. */
  readonly expiresAtMs?: number
  readonly mode?: KeyMode
  /** Refused with `Fault` CONFLICT where the application has so many keys that have not ended; those that have are forgotten. */
  readonly maxKeys?: number
}

/** What an application is for. */
export interface ApplicationRequest {
  readonly name: string
  /** An organization that exists; absent: a new one. */
  readonly orgId?: string
  /** Name of the new organization; default: the application's. */
  readonly newOrg?: string
  /** Plan of the new organization. */
  readonly plan?: PlanName | typeof NO_PLAN
  /** Scopes that its tokens may have; default: all. */
  readonly scopes?: readonly Scope[]
  readonly key?: KeyRequest
  /** Refused with `Fault` CONFLICT when there is an organization already. */
  readonly isFirst?: true
}

/** Changes of an application; absent = as it is. */
export interface ApplicationChange {
  readonly name?: string
  readonly disabled?: boolean
  readonly scopes?: readonly Scope[]
}

/** Changes of an organization; absent = as it is. */
export interface OrgChange {
  readonly name?: string
  readonly plan?: PlanName
  readonly suspended?: boolean
}

/**
 * Everything that an operator changes. A change is in force here when its call returns and within a second everywhere;
 * it is audited in the same commit. Unknown ids throw `Fault` NOT_FOUND; `Outage` when the outcome is not known.
 */
export interface Administration {
  createOrg(name: string, plan: PlanName): Promise<Org>
  updateOrg(orgId: string, change: OrgChange): Promise<Org>
  /** With its applications and their keys. */
  deleteOrg(orgId: string): Promise<void>
  createApplication(request: ApplicationRequest): Promise<NewApplication>
  updateApplication(appId: string, change: ApplicationChange): Promise<Application>
  /** With its keys; tokens that were issued are dead too. */
  deleteApplication(appId: string): Promise<void>
  /** The old secret stays good for the overlap; issued tokens stay good. */
  rotateSecret(appId: string, overlapSeconds: number): Promise<string>
  /** Kills every token that was issued so far. */
  revokeTokens(appId: string): Promise<void>
  createKey(appId: string, request: KeyRequest): Promise<NewKey>
  /** `appId` given: only a key of that application. */
  revokeKey(keyId: string, appId?: string): Promise<void>
  /** The new key signs after the lead; tokens of the old ones stay good. */
  rotateSigningKey(leadSeconds?: number): Promise<SigningKey>
}

/** What administration works on. */
export interface AdministrationDeps {
  readonly registry: OrganizationRegistry
  readonly control: Pick<ControlLog, 'update'>
  readonly records: ControlRecords
  readonly cipher: SecretCipher
  readonly brand: string
  /** True: an operator mounted the signing key, so it is not rotated here. */
  readonly mountedKey: boolean
  readonly pepper: string
  readonly nowMs: () => number
  /** Who changes; absent = the process itself. */
  readonly by?: Actor
  /** The organization whose own call it is, which waits for its turn; absent = the installation's. */
  readonly writeAs?: string
  /** Called for each change once it is in force. */
  readonly onChange: (entry: AuditEntry) => void
}
/** Characters of a client secret: 381 bits. */
const SECRET_LENGTH = 64

const generateClientSecret = (): string =>
  Array.from({ length: SECRET_LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('')

/** Administration over the control log. */
export const createAdministration = (deps: AdministrationDeps): Administration => ({
  ...orgOperations(deps),
  ...applicationOperations(deps),
  ...secretOperations(deps),
  ...keyOperations(deps),
})

/** The process itself, or a command on its machine. */
export const SYSTEM_ACTOR: Actor = { actor: 'system', address: '', requestId: '' }

type ComputeRecords = () => readonly ProducerRecord[] | Promise<readonly ProducerRecord[]>

/** One change with its audit entry. */
export const commitAudited = async (
  { control, records, by, writeAs, onChange }: AdministrationDeps,
  what: AuditEntry,
  compute: ComputeRecords,
): Promise<void> => {
  const entry: AuditEntry = { ...what, ...(by ?? SYSTEM_ACTOR) }
  await control.update(async () => {
    const changed = await compute()
    return changed.length === 0 ? [] : [...changed, records.audit(entry)]
  }, writeAs)
  onChange(entry)
}

const orgOperations = (
  deps: AdministrationDeps,
): Pick<Administration, 'createOrg' | 'updateOrg' | 'deleteOrg'> => {
  const { registry, records, nowMs } = deps
  return {
    createOrg: async (name, plan) => {
      const org = createOrgRow(name, plan, nowMs())
      const entry = { action: 'org.create', subject: org.org_id, orgId: org.org_id, detail: plan }
      await commitAudited(deps, entry, () => [records.org(org)])
      return org
    },
    updateOrg: async (orgId, { name, plan, suspended }) => {
      const detail = JSON.stringify({ name, plan, suspended })
      await commitAudited(deps, { action: 'org.update', subject: orgId, orgId, detail }, () => {
        const org = requireRow(registry.org(orgId), 'organization')
        const next = {
          ...org,
          ...definedFields({ name, plan, suspended }),
          version: org.version + 1,
        }
        return [records.org(next)]
      })
      return requireRow(registry.org(orgId), 'organization')
    },
    deleteOrg: async (orgId) => {
      await commitAudited(deps, { action: 'org.delete', subject: orgId, orgId }, () => {
        requireRow(registry.org(orgId), 'organization')
        const own = registry.applications().filter(({ org_id }) => org_id === orgId)
        return [...own.flatMap((each) => deletionRecords(deps, each)), records.gone('orgs', orgId)]
      })
    },
  }
}

const applicationOperations = (
  deps: AdministrationDeps,
): Pick<Administration, 'createApplication' | 'updateApplication' | 'deleteApplication'> => {
  const { registry, records, nowMs } = deps
  return {
    createApplication: async (request) => {
      const made = createApplicationRows(request, deps)
      const { appId, orgId } = made.presented
      await commitAudited(deps, { action: 'app.create', subject: appId, orgId }, () => {
        if (request.orgId !== undefined) requireRow(registry.org(request.orgId), 'organization')
        if (request.isFirst && registry.orgs().length > 0)
          throw new Fault('CONFLICT', 'An organization exists already')
        return made.records
      })
      return made.presented
    },
    updateApplication: async (appId, { name, disabled, scopes }) => {
      const detail = JSON.stringify({ name, disabled, scopes })
      await commitAudited(deps, { action: 'app.update', subject: appId, detail }, () => {
        const row = requireRow(registry.application(appId), 'application')
        const changes = definedFields({ name, disabled, scopes })
        return [records.application(updateApplicationRow(row, changes, nowMs()))]
      })
      return requireRow(registry.application(appId), 'application')
    },
    deleteApplication: async (appId) => {
      await commitAudited(deps, { action: 'app.delete', subject: appId }, () =>
        deletionRecords(deps, requireRow(registry.application(appId), 'application')),
      )
    },
  }
}

const secretOperations = (
  deps: AdministrationDeps,
): Pick<Administration, 'rotateSecret' | 'revokeTokens' | 'rotateSigningKey'> => {
  const { registry, records, cipher, pepper, nowMs } = deps
  return {
    rotateSecret: async (appId, overlapSeconds) => {
      const secret = generateClientSecret()
      const hash = hashSecret(secret, pepper)
      const detail = `overlap ${overlapSeconds} s`
      await commitAudited(deps, { action: 'secret.rotate', subject: appId, detail }, () => {
        const row = requireRow(registry.application(appId), 'application')
        const before = activeSecretHashes(row, nowMs()).slice(0, 1)
        const secrets = { secret_hashes: overlapSeconds > 0 ? [hash, ...before] : [hash] }
        const until = { previous_secret_until: nowMs() + overlapSeconds * 1_000 }
        return [records.application(updateApplicationRow(row, { ...secrets, ...until }, nowMs()))]
      })
      return secret
    },
    revokeTokens: async (appId) => {
      await commitAudited(deps, { action: 'tokens.revoke', subject: appId }, () => {
        const row = requireRow(registry.application(appId), 'application')
        const after = { tokens_valid_after: Math.ceil((nowMs() + 1) / 1_000) * 1_000 }
        return [records.application(updateApplicationRow(row, after, nowMs()))]
      })
    },
    rotateSigningKey: async (leadSeconds = DEFAULT_LEAD_MS / 1_000) => {
      if (deps.mountedKey)
        throw new Fault(
          'CONFLICT',
          'The signing key is a mounted file: replace the file to rotate it',
        )
      const leadMs = Math.max(MIN_LEAD_MS, leadSeconds * 1_000)
      const key = await createKeyRecord(cipher, nowMs() + leadMs, nowMs())
      const detail = `signs after ${leadMs / 1_000} s`
      await commitAudited(deps, { action: 'signing-key.rotate', subject: key.kid, detail }, () => [
        records.signingKey(key),
      ])
      return key
    },
  }
}

const keyOperations = (
  deps: AdministrationDeps,
): Pick<Administration, 'createKey' | 'revokeKey'> => {
  const { registry, records, nowMs } = deps
  return {
    createKey: async (appId, request) => {
      const { org_id: orgId } = requireRow(registry.application(appId), 'application')
      const { row, apiKey } = createKeyRow(request, { appId, orgId }, deps)
      await commitAudited(deps, { action: 'key.create', subject: row.key_id, orgId }, () => {
        requireRow(registry.application(appId), 'application')
        return [...rowsBeyond(request.maxKeys, deps, appId), records.key(row)]
      })
      return { orgId, appId, keyId: row.key_id, apiKey }
    },
    revokeKey: async (keyId, appId) => {
      const detail = new Date(nowMs()).toISOString()
      await commitAudited(deps, { action: 'key.revoke', subject: keyId, detail }, () => {
        const key = registry.key(keyId)
        requireRow(appId === undefined || key?.app_id === appId ? key : undefined, 'key')
        return [records.gone('keys', keyId)]
      })
    },
  }
}

/** Ends keys that are over, where there is a limit. Throws `Fault` CONFLICT when the others reach it. */
const rowsBeyond = (
  maxKeys: number | undefined,
  { registry, records, nowMs }: AdministrationDeps,
  appId: string,
): readonly ProducerRecord[] => {
  if (maxKeys === undefined) return []
  const keys = registry.keysOf(appId)
  const over = keys.filter(({ expires_at }) => expires_at !== 0 && expires_at <= nowMs())
  if (keys.length - over.length >= maxKeys) {
    throw new Fault('CONFLICT', `The application has ${maxKeys} keys already`, {
      reason: 'too_many_keys',
      max_allowed: maxKeys,
    })
  }
  return over.map(({ key_id }) => records.gone('keys', key_id))
}

/** The row; throws `Fault` NOT_FOUND where there is none. */
export const requireRow = <Row>(row: Row | undefined, what: string): Row => {
  if (row === undefined) throw new Fault('NOT_FOUND', `No such ${what}`)
  return row
}

/** The fields that are there. */
const definedFields = <Fields extends object>(fields: Fields): Partial<Fields> =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Partial<Fields>

const updateApplicationRow = (
  row: Application,
  changes: { readonly [Key in keyof Application]?: Application[Key] | undefined },
  nowMs: number,
): Application =>
  ({
    ...row,
    ...definedFields(changes),
    updated_at: nowMs,
    version: row.version + 1,
  }) as Application

/** Records that end an application, its keys and the sign-in of its wallets. */
const deletionRecords = (
  { registry, records, nowMs }: AdministrationDeps,
  { app_id, client_id }: Application,
): readonly ProducerRecord[] => [
  ...registry.keysOf(app_id).map(({ key_id }) => records.gone('keys', key_id)),
  ...registry.walletsOf(app_id).map((row) => records.walletLink(unlinkedRow(row, nowMs()))),
  records.gone('applications', client_id),
]

const createOrgRow = (name: string, plan: Org['plan'], atMs: number): Org => ({
  org_id: `org_${ulid(atMs)}`,
  name,
  plan,
  suspended: false,
  created_at: atMs,
  version: 1,
})

const createKeyRow = (
  { name = '', scopes = SCOPES, expiresAtMs = 0, mode = 'live' }: KeyRequest,
  { appId, orgId }: { readonly appId: string; readonly orgId: string },
  { brand, pepper, nowMs }: AdministrationDeps,
): { readonly row: ApiKey; readonly apiKey: string } => {
  const apiKey = generateApiKey(brand, mode)
  const row = {
    key_id: `key_${ulid(nowMs())}`,
    prefix: visiblePrefix(apiKey),
    hash: hashSecret(apiKey, pepper),
    app_id: appId,
    org_id: orgId,
    scopes,
    expires_at: expiresAtMs,
    created_at: nowMs(),
    version: 1,
    name,
  }
  return { row, apiKey }
}

/** A new application with its first key, and the records that make them; nothing is written. */
export const createApplicationRows = (
  request: ApplicationRequest,
  deps: AdministrationDeps,
): { readonly presented: NewApplication; readonly records: readonly ProducerRecord[] } => {
  const { records, pepper, nowMs } = deps
  const { name, plan = 'free', scopes = SCOPES } = request
  const atMs = nowMs()
  const org = request.orgId === undefined ? createOrgRow(request.newOrg ?? name, plan, atMs) : null
  const orgId = request.orgId ?? org?.org_id ?? ''
  const ids = { orgId, appId: `app_${ulid(atMs)}`, clientId: `client_${ulid(atMs)}` }
  const clientSecret = generateClientSecret()
  const { row, apiKey } = createKeyRow(request.key ?? {}, ids, deps)
  const application: Application = {
    client_id: ids.clientId,
    app_id: ids.appId,
    org_id: orgId,
    name,
    secret_hashes: [hashSecret(clientSecret, pepper)],
    scopes,
    disabled: false,
    tokens_valid_after: 0,
    previous_secret_until: 0,
    created_at: atMs,
    updated_at: atMs,
    version: 1,
  }
  return {
    presented: { ...ids, clientSecret, keyId: row.key_id, apiKey },
    records: [
      ...(org === null ? [] : [records.org(org)]),
      records.application(application),
      records.key(row),
    ],
  }
}

import { randomInt } from 'node:crypto'
import { ulid } from 'ulid'
import type { OutRecord } from '../../core/bus/contract.ts'
import { Fault } from '../../core/errors.ts'
import type { Sealer } from '../../core/security/encryption.ts'
import type { PlanName } from '../../schemas/plans.ts'
import { SCOPES, type Scope } from '../../schemas/scopes.ts'
import type { ApiKey, Application, Org, SigningKey } from '../../schemas/wire.ts'
import type { ControlLog } from './control-log.ts'
import { hashSecret, type KeyMode, makeKey, PREFIX_LENGTH } from './keys.ts'
import type { Actor, AuditEntry, RecordWriter } from './records.ts'
import { type Registry, secretsInForce } from './registry.ts'
import { LEAD_MS, MIN_LEAD_MS, newKeyRecord } from './signing-keys.ts'

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
  /** Default: all. */
  readonly scopes?: readonly Scope[]
  /** Epoch milliseconds; default: never. */
  readonly expiresAtMs?: number
  readonly mode?: KeyMode
}

/** What an application is for. */
export interface ApplicationRequest {
  readonly name: string
  /** An organization that exists; absent: a new one. */
  readonly orgId?: string
  /** Name of the new organization; default: the application's. */
  readonly newOrg?: string
  /** Plan of the new organization. */
  readonly plan?: PlanName
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
  readonly registry: Registry
  readonly control: Pick<ControlLog, 'update'>
  readonly records: RecordWriter
  readonly sealer: Sealer
  readonly brand: string
  /** True: an operator mounted the signing key, so it is not rotated here. */
  readonly mountedKey: boolean
  readonly pepper: string
  readonly nowMs: () => number
  /** Who changes; absent = the process itself. */
  readonly by?: Actor
  /** Told of each change once it is in force. */
  readonly onChange: (entry: AuditEntry) => void
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** Characters of a client secret: 381 bits. */
const SECRET_LENGTH = 64

const newSecret = (): string =>
  Array.from({ length: SECRET_LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('')

/** Administration over the control log. */
export const makeAdministration = (deps: AdministrationDeps): Administration => ({
  ...orgChanges(deps),
  ...applicationChanges(deps),
  ...secretChanges(deps),
  ...keyChanges(deps),
})

/** The process itself, or a command on its machine. */
const SYSTEM: Actor = { actor: 'system', address: '', requestId: '' }

type Compute = () => readonly OutRecord[] | Promise<readonly OutRecord[]>

/** One change with its audit entry. A repeated `compute` sees what the first run wrote, so rows are found once. */
export const change = async (
  { control, records, by, onChange }: AdministrationDeps,
  what: AuditEntry,
  compute: Compute,
): Promise<void> => {
  const entry: AuditEntry = { ...what, ...(by ?? SYSTEM) }
  await control.update(async () => {
    const changed = await compute()
    return changed.length === 0 ? [] : [...changed, records.audit(entry)]
  })
  onChange(entry)
}

/** The row at the first look; a later look may miss it, when a first try to delete it went through after all. */
const findOnce = <Row>(find: () => Row | undefined, what: string): (() => Row | undefined) => {
  let found = false
  return () => {
    const row = find()
    if (row === undefined && !found) throw new Fault('NOT_FOUND', `No such ${what}`)
    found = true
    return row
  }
}

const orgChanges = (
  deps: AdministrationDeps,
): Pick<Administration, 'createOrg' | 'updateOrg' | 'deleteOrg'> => {
  const { registry, records, nowMs } = deps
  return {
    createOrg: async (name, plan) => {
      const org = newOrg(name, plan, nowMs())
      const entry = { action: 'org.create', subject: org.org_id, orgId: org.org_id, detail: plan }
      await change(deps, entry, () => [records.org(org)])
      return org
    },
    updateOrg: async (orgId, { name, plan, suspended }) => {
      const detail = JSON.stringify({ name, plan, suspended })
      const find = findOnce(() => registry.org(orgId), 'organization')
      await change(deps, { action: 'org.update', subject: orgId, orgId, detail }, () => {
        const org = find()
        if (!org) return []
        const next = { ...org, ...given({ name, plan, suspended }), version: org.version + 1 }
        return [records.org(next)]
      })
      return found(registry.org(orgId), 'organization')
    },
    deleteOrg: async (orgId) => {
      const find = findOnce(() => registry.org(orgId), 'organization')
      await change(deps, { action: 'org.delete', subject: orgId, orgId }, () => {
        if (!find()) return []
        const own = registry.applications().filter(({ org_id }) => org_id === orgId)
        return [...own.flatMap((each) => endOf(deps, each)), records.gone('orgs', orgId)]
      })
    },
  }
}

const applicationChanges = (
  deps: AdministrationDeps,
): Pick<Administration, 'createApplication' | 'updateApplication' | 'deleteApplication'> => {
  const { registry, records, nowMs } = deps
  return {
    createApplication: async (request) => {
      const made = newApplication(request, deps)
      const { appId, orgId } = made.shown
      await change(deps, { action: 'app.create', subject: appId, orgId }, () => {
        if (request.orgId !== undefined) found(registry.org(request.orgId), 'organization')
        const others = registry.orgs().some(({ org_id }) => org_id !== orgId)
        if (request.isFirst && others)
          throw new Fault('CONFLICT', 'There is an organization already')
        return made.records
      })
      return made.shown
    },
    updateApplication: async (appId, { name, disabled, scopes }) => {
      const find = findOnce(() => registry.application(appId), 'application')
      const detail = JSON.stringify({ name, disabled, scopes })
      await change(deps, { action: 'app.update', subject: appId, detail }, () => {
        const row = find()
        return row
          ? [records.application(touched(row, given({ name, disabled, scopes }), nowMs()))]
          : []
      })
      return found(registry.application(appId), 'application')
    },
    deleteApplication: async (appId) => {
      const find = findOnce(() => registry.application(appId), 'application')
      await change(deps, { action: 'app.delete', subject: appId }, () => {
        const row = find()
        return row ? endOf(deps, row) : []
      })
    },
  }
}

const secretChanges = (
  deps: AdministrationDeps,
): Pick<Administration, 'rotateSecret' | 'revokeTokens' | 'rotateSigningKey'> => {
  const { registry, records, sealer, pepper, nowMs } = deps
  return {
    rotateSecret: async (appId, overlapSeconds) => {
      const secret = newSecret()
      const hash = hashSecret(secret, pepper)
      const find = findOnce(() => registry.application(appId), 'application')
      const detail = `overlap ${overlapSeconds} s`
      await change(deps, { action: 'secret.rotate', subject: appId, detail }, () => {
        const row = find()
        if (!row || row.secret_hashes[0] === hash) return []
        const before = secretsInForce(row, nowMs()).slice(0, 1)
        const secrets = { secret_hashes: overlapSeconds > 0 ? [hash, ...before] : [hash] }
        const until = { previous_secret_until: nowMs() + overlapSeconds * 1_000 }
        return [records.application(touched(row, { ...secrets, ...until }, nowMs()))]
      })
      return secret
    },
    revokeTokens: async (appId) => {
      const find = findOnce(() => registry.application(appId), 'application')
      await change(deps, { action: 'tokens.revoke', subject: appId }, () => {
        const row = find()
        if (!row) return []
        const after = { tokens_valid_after: Math.ceil((nowMs() + 1) / 1_000) * 1_000 }
        return [records.application(touched(row, after, nowMs()))]
      })
    },
    rotateSigningKey: async (leadSeconds = LEAD_MS / 1_000) => {
      if (deps.mountedKey) throw new Fault('CONFLICT', 'The signing key is a mounted file')
      const leadMs = Math.max(MIN_LEAD_MS, leadSeconds * 1_000)
      const key = await newKeyRecord(sealer, nowMs() + leadMs, nowMs())
      const detail = `signs after ${leadMs / 1_000} s`
      await change(deps, { action: 'signing-key.rotate', subject: key.kid, detail }, () => [
        records.signingKey(key),
      ])
      return key
    },
  }
}

const keyChanges = (deps: AdministrationDeps): Pick<Administration, 'createKey' | 'revokeKey'> => {
  const { registry, records, nowMs } = deps
  return {
    createKey: async (appId, request) => {
      const { org_id: orgId } = found(registry.application(appId), 'application')
      const { row, apiKey } = newKey(request, { appId, orgId }, deps)
      await change(deps, { action: 'key.create', subject: row.key_id, orgId }, () => {
        found(registry.application(appId), 'application')
        return [records.key(row)]
      })
      return { orgId, appId, keyId: row.key_id, apiKey }
    },
    revokeKey: async (keyId, appId) => {
      const own = () => {
        const key = registry.key(keyId)
        return appId === undefined || key?.app_id === appId ? key : undefined
      }
      const find = findOnce(own, 'key')
      const detail = new Date(nowMs()).toISOString()
      await change(deps, { action: 'key.revoke', subject: keyId, detail }, () =>
        find() ? [records.gone('keys', keyId)] : [],
      )
    },
  }
}

const found = <Row>(row: Row | undefined, what: string): Row => {
  if (row === undefined) throw new Fault('NOT_FOUND', `No such ${what}`)
  return row
}

/** The fields that are there. */
const given = <Fields extends object>(fields: Fields): Partial<Fields> =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Partial<Fields>

const touched = (
  row: Application,
  changes: { readonly [Key in keyof Application]?: Application[Key] | undefined },
  nowMs: number,
): Application =>
  ({ ...row, ...given(changes), updated_at: nowMs, version: row.version + 1 }) as Application

/** Records that end an application and its keys. */
const endOf = (
  { registry, records }: AdministrationDeps,
  { app_id, client_id }: Application,
): readonly OutRecord[] => [
  ...registry.keysOf(app_id).map(({ key_id }) => records.gone('keys', key_id)),
  records.gone('applications', client_id),
]

const newOrg = (name: string, plan: PlanName, atMs: number): Org => ({
  org_id: `org_${ulid(atMs)}`,
  name,
  plan,
  suspended: false,
  created_at: atMs,
  version: 1,
})

const newKey = (
  { scopes = SCOPES, expiresAtMs = 0, mode = 'live' }: KeyRequest,
  { appId, orgId }: { readonly appId: string; readonly orgId: string },
  { brand, pepper, nowMs }: AdministrationDeps,
): { readonly row: ApiKey; readonly apiKey: string } => {
  const apiKey = makeKey(brand, mode)
  const row = {
    key_id: `key_${ulid(nowMs())}`,
    prefix: apiKey.slice(0, PREFIX_LENGTH),
    hash: hashSecret(apiKey, pepper),
    app_id: appId,
    org_id: orgId,
    scopes,
    expires_at: expiresAtMs,
    created_at: nowMs(),
    version: 1,
  }
  return { row, apiKey }
}

const newApplication = (
  request: ApplicationRequest,
  deps: AdministrationDeps,
): { readonly shown: NewApplication; readonly records: readonly OutRecord[] } => {
  const { records, pepper, nowMs } = deps
  const { name, plan = 'free', scopes = SCOPES } = request
  const atMs = nowMs()
  const org = request.orgId === undefined ? newOrg(request.newOrg ?? name, plan, atMs) : null
  const orgId = request.orgId ?? org?.org_id ?? ''
  const ids = { orgId, appId: `app_${ulid(atMs)}`, clientId: `client_${ulid(atMs)}` }
  const clientSecret = newSecret()
  const { row, apiKey } = newKey(request.key ?? {}, ids, deps)
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
    shown: { ...ids, clientSecret, keyId: row.key_id, apiKey },
    records: [
      ...(org === null ? [] : [records.org(org)]),
      records.application(application),
      records.key(row),
    ],
  }
}

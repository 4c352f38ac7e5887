import { isPlanName } from '../../schemas/plans.ts'
import type { ApiKey, Application, Org } from '../../schemas/wire.ts'
import type { KeyAnswer } from './guard.ts'
import { sameHash } from './keys.ts'

/** A credential that can no longer be used; without `credentialId`: every credential of the application. */
export interface Gone {
  readonly appId: string
  readonly credentialId?: string
}

/** The control topics as maps; `put` and `drop` answer what went out of use by the change. */
export interface Registry {
  putOrg(orgId: string, org: Org | null): readonly Gone[]
  putApplication(clientId: string, application: Application | null): readonly Gone[]
  putKey(keyId: string, key: ApiKey | null): readonly Gone[]
  /** Looks a key up by the hash of its text. */
  find(hash: string, nowMs: number): KeyAnswer
  org(orgId: string): Org | undefined
  key(keyId: string): ApiKey | undefined
}

/** Empty maps. Later records win: the topics are compacted and read in order. */
export const makeRegistry = (): Registry => {
  const orgs = new Map<string, Org>()
  const applications = new Map<string, Application>()
  const clientIdByApp = new Map<string, string>()
  const keys = new Map<string, ApiKey>()
  const keyIdByHash = new Map<string, string>()

  const applicationsOf = (orgId: string): readonly Gone[] =>
    [...applications.values()]
      .filter((application) => application.org_id === orgId)
      .map(({ app_id }) => ({ appId: app_id }))

  return {
    org: (orgId) => orgs.get(orgId),
    key: (keyId) => keys.get(keyId),
    putOrg: (orgId, org) => {
      if (org) orgs.set(orgId, org)
      else orgs.delete(orgId)
      return org && !org.suspended ? [] : applicationsOf(orgId)
    },
    putApplication: (clientId, application) => {
      const before = applications.get(clientId)
      if (before) clientIdByApp.delete(before.app_id)
      if (application) {
        applications.set(clientId, application)
        clientIdByApp.set(application.app_id, clientId)
      } else applications.delete(clientId)
      const appId = application?.app_id ?? before?.app_id
      return appId === undefined || (application && !application.disabled) ? [] : [{ appId }]
    },
    putKey: (keyId, key) => {
      const before = keys.get(keyId)
      if (before) keyIdByHash.delete(before.hash)
      if (key) {
        keys.set(keyId, key)
        keyIdByHash.set(key.hash, keyId)
      } else keys.delete(keyId)
      const gone = before && before.hash !== key?.hash
      return gone ? [{ appId: before.app_id, credentialId: keyId }] : []
    },
    find: (hash, nowMs) => {
      const key = keys.get(keyIdByHash.get(hash) ?? '')
      const alive =
        key && sameHash(key.hash, hash) && (key.expires_at === 0 || key.expires_at > nowMs)
      if (!alive) return { kind: 'unknown' }
      const application = applications.get(clientIdByApp.get(key.app_id) ?? '')
      const org = orgs.get(key.org_id)
      if (!application || application.disabled || !org) return { kind: 'unknown' }
      if (org.suspended) return { kind: 'suspended' }
      return {
        kind: 'good',
        principal: {
          kind: 'api-key',
          orgId: key.org_id,
          appId: key.app_id,
          credentialId: key.key_id,
          plan: isPlanName(org.plan) ? org.plan : 'free',
          scopes: key.scopes,
          expiresAtMs: key.expires_at === 0 ? null : key.expires_at,
        },
      }
    },
  }
}

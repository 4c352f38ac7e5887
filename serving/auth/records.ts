import { ulid } from 'ulid'
import type { OutRecord } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type { AdminToken, ApiKey, Application, Org, SigningKey } from '../../schemas/wire.ts'

/** Control topics that every serving process reads into memory. */
export const CONTROL = {
  orgs: globalTopic('controlOrgs'),
  applications: globalTopic('controlApplications'),
  keys: globalTopic('controlApiKeys'),
  signingKeys: globalTopic('controlSigningKeys'),
  adminTokens: globalTopic('controlAdminTokens'),
} as const

const AUDIT = globalTopic('controlAudit')

/** Who changes something, from where, in which request. */
export interface Actor {
  /** Id of a credential; `system` = the process itself, or a command on its machine. */
  readonly actor: string
  readonly address: string
  readonly requestId: string
}

/** One change for the audit log. */
export interface AuditEntry extends Partial<Actor> {
  readonly action: string
  /** Id of what was changed. */
  readonly subject: string
  readonly orgId?: string
  readonly detail?: string
}

/** Writes rows as records of the control topics; every record replaces the one before it under its id. */
export interface RecordWriter {
  org(row: Org): OutRecord
  application(row: Application): OutRecord
  key(row: ApiKey): OutRecord
  signingKey(row: SigningKey): OutRecord
  adminToken(row: AdminToken): OutRecord
  /** The end of a row. */
  gone(table: keyof typeof CONTROL, id: string): OutRecord
  audit(entry: AuditEntry): OutRecord
}

const record = (topic: string, key: string, value: Uint8Array | null): OutRecord => ({
  topic,
  partition: 0,
  key,
  value,
})

/** Records in the wire's encoding. */
export const makeRecordWriter = (codec: Codec, nowMs: () => number): RecordWriter => ({
  org: (row) => record(CONTROL.orgs, row.org_id, codec.encode('control.Org', row)),
  application: (row) =>
    record(CONTROL.applications, row.client_id, codec.encode('control.Application', row)),
  key: (row) => record(CONTROL.keys, row.key_id, codec.encode('control.ApiKey', row)),
  signingKey: (row) =>
    record(CONTROL.signingKeys, row.kid, codec.encode('control.SigningKey', row)),
  adminToken: (row) =>
    record(CONTROL.adminTokens, row.token_id, codec.encode('control.AdminToken', row)),
  gone: (table, id) => record(CONTROL[table], id, null),
  audit: ({ action, subject, orgId = '', detail = '', ...by }) => {
    const { actor = 'system', address = '', requestId = '' } = by
    const at = nowMs()
    const id = `audit_${ulid(at)}`
    const what = { id, at, action, subject, org_id: orgId, detail }
    const event = { ...what, request_id: requestId, actor, address }
    return record(AUDIT, id, codec.encode('control.AuditEvent', event))
  },
})

import { ulid } from 'ulid'
import type { OutRecord } from '../../core/bus-contract.ts'
import type { Codec } from '../../core/codec-contract.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type { ApiKey, Application, Org, SigningKey } from '../../schemas/wire.ts'

/** Control topics that every serving process reads into memory. */
export const CONTROL = {
  orgs: globalTopic('controlOrgs'),
  applications: globalTopic('controlApplications'),
  keys: globalTopic('controlApiKeys'),
  signingKeys: globalTopic('controlSigningKeys'),
} as const

const AUDIT = globalTopic('controlAudit')

/** One change for the audit log. */
export interface AuditEntry {
  readonly action: string
  /** Id of what was changed. */
  readonly subject: string
  readonly orgId?: string
  readonly detail?: string
  readonly requestId?: string
}

/** Writes rows as records of the control topics; every record replaces the one before it under its id. */
export interface RecordWriter {
  org(row: Org): OutRecord
  application(row: Application): OutRecord
  key(row: ApiKey): OutRecord
  signingKey(row: SigningKey): OutRecord
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
  gone: (table, id) => record(CONTROL[table], id, null),
  audit: ({ action, subject, orgId = '', detail = '', requestId = '' }) => {
    const at = nowMs()
    const id = `audit_${ulid(at)}`
    const event = { id, at, action, subject, org_id: orgId, detail, request_id: requestId }
    return record(AUDIT, id, codec.encode('control.AuditEvent', event))
  },
})

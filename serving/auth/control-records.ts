import { ulid } from 'ulid'
import type { ProducerRecord } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type {
  AdminToken,
  ApiKey,
  Application,
  Org,
  PlanPurchase,
  SigningKey,
  WalletLink,
} from '../../schemas/wire.ts'
import { walletKey } from './wallet-link-rows.ts'

/** Control topics that every serving process reads into memory. */
export const CONTROL_TOPICS = {
  orgs: globalTopic('controlOrgs'),
  applications: globalTopic('controlApplications'),
  keys: globalTopic('controlApiKeys'),
  signingKeys: globalTopic('controlSigningKeys'),
  adminTokens: globalTopic('controlAdminTokens'),
  walletLinks: globalTopic('controlWalletLinks'),
  purchases: globalTopic('controlPlanPurchases'),
} as const

const AUDIT_TOPIC = globalTopic('controlAudit')

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
export interface ControlRecords {
  org(row: Org): ProducerRecord
  application(row: Application): ProducerRecord
  key(row: ApiKey): ProducerRecord
  signingKey(row: SigningKey): ProducerRecord
  adminToken(row: AdminToken): ProducerRecord
  walletLink(row: WalletLink): ProducerRecord
  purchase(row: PlanPurchase): ProducerRecord
  /** The end of a row. */
  gone(table: keyof typeof CONTROL_TOPICS, id: string): ProducerRecord
  audit(entry: AuditEntry): ProducerRecord
}

const controlRecord = (topic: string, key: string, value: Uint8Array | null): ProducerRecord => ({
  topic,
  partition: 0,
  key,
  value,
})

/** Records in the wire's encoding. */
export const createControlRecords = (codec: Codec, nowMs: () => number): ControlRecords => ({
  org: (row) => controlRecord(CONTROL_TOPICS.orgs, row.org_id, codec.encode('control.Org', row)),
  application: (row) =>
    controlRecord(
      CONTROL_TOPICS.applications,
      row.client_id,
      codec.encode('control.Application', row),
    ),
  key: (row) => controlRecord(CONTROL_TOPICS.keys, row.key_id, codec.encode('control.ApiKey', row)),
  signingKey: (row) =>
    controlRecord(CONTROL_TOPICS.signingKeys, row.kid, codec.encode('control.SigningKey', row)),
  adminToken: (row) =>
    controlRecord(
      CONTROL_TOPICS.adminTokens,
      row.token_id,
      codec.encode('control.AdminToken', row),
    ),
  walletLink: (row) =>
    controlRecord(
      CONTROL_TOPICS.walletLinks,
      walletKey(row.chain, row.address),
      codec.encode('control.WalletLink', row),
    ),
  purchase: (row) =>
    controlRecord(
      CONTROL_TOPICS.purchases,
      row.payment_id,
      codec.encode('control.PlanPurchase', row),
    ),
  gone: (table, id) => controlRecord(CONTROL_TOPICS[table], id, null),
  audit: ({ action, subject, orgId = '', detail = '', ...by }) => {
    const { actor = 'system', address = '', requestId = '' } = by
    const at = nowMs()
    const id = `audit_${ulid(at)}`
    const what = { id, at, action, subject, org_id: orgId, detail }
    const event = { ...what, request_id: requestId, actor, address }
    return controlRecord(AUDIT_TOPIC, id, codec.encode('control.AuditEvent', event))
  },
})

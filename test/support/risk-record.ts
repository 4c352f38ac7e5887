import type { RiskAssessment } from '../../schemas/wire.ts'

/** A record of risk screening that was registered at `atMs` and never screened, with other fields where they are given. */
export const riskRecord = (atMs: number, fields: Partial<RiskAssessment> = {}): RiskAssessment => ({
  id: 'a record',
  org_id: 'an organization',
  kind: 'transfer',
  status: 'PENDING',
  request: '{}',
  result: null,
  labels_version: 0,
  created_at: atMs,
  updated_at: atMs,
  next_at: atMs,
  ...fields,
})

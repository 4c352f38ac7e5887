import type { Bus } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { Fault, InvalidInput } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { ReadinessCheck } from '../../core/ops/probes.ts'
import type { RecordSigner } from '../../core/security/record-signature.ts'
import { MAX_ASSESSMENTS_PER_ORG } from '../../schemas/risk.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type { RiskAssessment } from '../../schemas/wire.ts'
import { openControlLog } from '../auth/control-log.ts'
import { type AssessmentRequest, afterRepeat, assessmentId } from './assessment.ts'
import { createDueRecords, type DueAges } from './due-records.ts'

const TOPIC = globalTopic('riskAssessments')

/** Registrations and their results, in memory as the log tells; writes can be read when they return. */
export interface AssessmentStore {
  get(orgId: string, id: string): RiskAssessment | undefined
  ofOrg(orgId: string): readonly RiskAssessment[]
  /**
   * The next record to be screened: those that were never screened first, organizations in turn. It is not taken again before it is
   * changed or given back.
   */
  takeDue(labelsVersion: number, nowMs: number): RiskAssessment | undefined
  /** Puts back a record that was taken and could not be screened. */
  giveBack(record: RiskAssessment): void
  dueAges(nowMs: number): DueAges
  /** The record of a request, made where there is none, and screened again where it had failed. Throws `Fault` KYT_USAGE_LIMIT_EXCEEDED where an organization has too many. */
  register(orgId: string, request: AssessmentRequest): Promise<RiskAssessment>
  /** One atomic step of a record that is still there. */
  change(record: RiskAssessment, step: (known: RiskAssessment) => RiskAssessment): Promise<void>
  readonly check: ReadinessCheck
  stop(): Promise<void>
}

/** What the store needs. */
export interface AssessmentStoreDeps {
  readonly bus: Bus
  readonly codec: Codec
  readonly nowMs: () => number
  readonly log: Logger
  readonly signer: RecordSigner
  readonly metrics: Pick<Metrics, 'controlRecordsRefused'>
  /** Registrations that one organization keeps. Default: the product's bound. */
  readonly maxPerOrg?: number
}

/** Opens the store; returns when the topic has been read to its end. The topic must exist. */
export const openAssessmentStore = async (deps: AssessmentStoreDeps): Promise<AssessmentStore> => {
  const { codec, nowMs, log, maxPerOrg = MAX_ASSESSMENTS_PER_ORG } = deps
  const byOrg = new Map<string, Map<string, RiskAssessment>>()
  const due = createDueRecords()
  const get = (orgId: string, id: string): RiskAssessment | undefined => byOrg.get(orgId)?.get(id)
  const control = await openControlLog({
    ...deps,
    topics: [TOPIC],
    writerId: 'control-risk-writer',
    apply: ({ key, value, offset }) => {
      const [orgId = '', id = ''] = key.split('/')
      if (value === null) {
        byOrg.get(orgId)?.delete(id)
        due.remove(orgId, id)
        return
      }
      try {
        const own = byOrg.get(orgId) ?? new Map<string, RiskAssessment>()
        const record = codec.decode('control.RiskAssessment', value)
        byOrg.set(orgId, own.set(id, record))
        due.set(record)
      } catch (error) {
        if (!(error instanceof InvalidInput)) throw error
        log.error({ err: error, key, offset }, 'invalid risk assessment record')
      }
    },
  })
  const write = (record: RiskAssessment) => ({
    topic: TOPIC,
    partition: 0,
    key: `${record.org_id}/${record.id}`,
    value: codec.encode('control.RiskAssessment', record),
  })
  return {
    get,
    ofOrg: (orgId) => [...(byOrg.get(orgId)?.values() ?? [])],
    takeDue: due.take,
    giveBack: due.giveBack,
    dueAges: due.ages,
    register: async (orgId, request) => {
      const id = assessmentId(orgId, request)
      const at = nowMs()
      const known = get(orgId, id)
      if (known !== undefined && afterRepeat(known, request, at) === known) return known
      const made: RiskAssessment = {
        id,
        org_id: orgId,
        kind: request.kind,
        status: 'PENDING',
        request: JSON.stringify(request),
        result: null,
        labels_version: 0,
        created_at: at,
        updated_at: at,
        next_at: at,
      }
      await control.update(() => {
        const held = get(orgId, id)
        if (held !== undefined) {
          const repeated = afterRepeat(held, request, at)
          return repeated === held ? [] : [write(repeated)]
        }
        if ((byOrg.get(orgId)?.size ?? 0) >= maxPerOrg) {
          throw new Fault('KYT_USAGE_LIMIT_EXCEEDED', undefined, { max_allowed: maxPerOrg })
        }
        return [write(made)]
      }, orgId)
      return get(orgId, id) ?? made
    },
    change: (record, step) =>
      control.update(() => {
        const known = get(record.org_id, record.id)
        return known === undefined ? [] : [write(step(known))]
      }),
    check: {
      name: 'risk assessments',
      run: () => (control.isFresh() ? { ok: true } : { ok: false, detail: 'risk topic stale' }),
    },
    stop: () => control.stop(),
  }
}

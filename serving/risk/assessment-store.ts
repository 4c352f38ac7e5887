import { LRUCache } from 'lru-cache'
import type { Bus } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { Fault, InvalidInput, Outage } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { ReadinessCheck } from '../../core/ops/probes.ts'
import type { RecordSigner } from '../../core/security/record-signature.ts'
import { MAX_ASSESSMENTS_PER_ORG } from '../../schemas/risk.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type { RiskAssessment } from '../../schemas/wire.ts'
import { openControlLog } from '../auth/control-log.ts'
import { dueForChains } from './address-chains.ts'
import {
  type AssessmentRequest,
  type AssessmentRow,
  afterRepeat,
  assessmentId,
} from './assessment.ts'
import { createDueRecords, type DueAges } from './due-records.ts'
import { createWithdrawalTargets, type WithdrawalTarget } from './look-alikes.ts'

const TOPIC = globalTopic('riskAssessments')
/** A result has up to 150 kB: of one organization all would be more than a gigabyte. */
const MAX_RESULT_BYTES = 64 * 1_048_576

/** Registrations in memory as the log tells, results up to a bound; writes can be read when they return. */
export interface AssessmentStore {
  get(orgId: string, id: string): AssessmentRow | undefined
  /** The record with its result, which may be read back from the topic. Throws `Outage`. */
  read(orgId: string, id: string): Promise<RiskAssessment | undefined>
  /** As of `WithdrawalTargets`. */
  lookAlikesOf(record: AssessmentRow, target: WithdrawalTarget): readonly string[]
  /**
   * The next record to be screened: those that were never screened first, organizations in turn. It is not taken again before it is
   * changed or given back.
   */
  takeDue(labelsVersion: number, nowMs: number): AssessmentRow | undefined
  /** Puts back a record that was taken and could not be screened. */
  giveBack(record: AssessmentRow): void
  dueAges(nowMs: number): DueAges
  /** The record of a request, made where there is none, and screened again where it had failed. Throws `Fault` KYT_USAGE_LIMIT_EXCEEDED where an organization has too many. */
  register(orgId: string, request: AssessmentRequest): Promise<RiskAssessment>
  /** One atomic step of a record that is still there. */
  change(record: AssessmentRow, step: (known: RiskAssessment) => RiskAssessment): Promise<void>
  readonly check: ReadinessCheck
  stop(): Promise<void>
}

/** What the store needs. */
export interface AssessmentStoreDeps {
  readonly bus: Bus
  readonly codec: Codec
  readonly nowMs: () => number
  /** Enabled chains, by internal id: addresses that were not screened on one of them are due. */
  readonly chains: readonly string[]
  readonly log: Logger
  readonly signer: RecordSigner
  readonly metrics: Pick<Metrics, 'controlRecordsRefused'>
  /** Registrations that one organization keeps. Default: the product's bound. */
  readonly maxPerOrg?: number
  /** Memory for results of all organizations. Default: 64 MiB. */
  readonly maxResultBytes?: number
}

interface HeldRow {
  readonly row: AssessmentRow
  /** Where its record stands on the topic. */
  readonly offset: number
  readonly hasResult: boolean
}

/** Results that were written or read last, in memory up to a bound; the others on the topic. */
const createResults = (
  { bus, codec, maxResultBytes = MAX_RESULT_BYTES }: AssessmentStoreDeps,
  held: (orgId: string, id: string) => HeldRow | undefined,
) => {
  const texts = new LRUCache<string, string>({
    maxSize: maxResultBytes,
    // Characters outside of Latin-1 make a text two bytes wide.
    sizeCalculation: ({ length }) => Math.max(1, 2 * length),
  })
  const readBack = async (offset: number): Promise<string | undefined> => {
    for await (const { value } of bus.read(TOPIC, 0, offset, offset + 1)) {
      if (value !== null) return codec.decode('control.RiskAssessment', value).result ?? undefined
    }
    return undefined
  }
  return {
    keep: (key: string, result: string | null): void => {
      texts.delete(key)
      if (result !== null) texts.set(key, result)
    },
    withResult: async (orgId: string, id: string): Promise<RiskAssessment | undefined> => {
      for (;;) {
        const now = held(orgId, id)
        if (now === undefined) return undefined
        if (!now.hasResult) return { ...now.row, result: null }
        const key = keyOf(now.row)
        const result = texts.get(key) ?? (await readBack(now.offset))
        // A newer record takes the place of an older one on the topic.
        if (held(orgId, id) !== now) continue
        if (result === undefined)
          throw new Outage('bus', 'the result of a risk assessment could not be read back')
        texts.set(key, result)
        return { ...now.row, result }
      }
    },
  }
}

const createRows = () => {
  const byOrg = new Map<string, Map<string, HeldRow>>()
  return {
    get: (orgId: string, id: string): HeldRow | undefined => byOrg.get(orgId)?.get(id),
    ofOrg: (orgId: string): ReadonlyMap<string, HeldRow> => byOrg.get(orgId) ?? new Map(),
    delete: (orgId: string, id: string): void => {
      byOrg.get(orgId)?.delete(id)
    },
    set: (held: HeldRow): void => {
      const { org_id, id } = held.row
      const own = byOrg.get(org_id) ?? new Map<string, HeldRow>()
      byOrg.set(org_id, own.set(id, held))
    },
  }
}

const keyOf = ({ org_id, id }: AssessmentRow): string => `${org_id}/${id}`

const newAssessment = (
  orgId: string,
  request: AssessmentRequest,
  atMs: number,
): RiskAssessment => ({
  id: assessmentId(orgId, request),
  org_id: orgId,
  kind: request.kind,
  status: 'PENDING',
  request: JSON.stringify(request),
  result: null,
  labels_version: 0,
  created_at: atMs,
  updated_at: atMs,
  next_at: atMs,
})

/** Opens the store; returns when the topic has been read to its end. The topic must exist. */
export const openAssessmentStore = async (deps: AssessmentStoreDeps): Promise<AssessmentStore> => {
  const { codec, nowMs, log, chains, maxPerOrg = MAX_ASSESSMENTS_PER_ORG } = deps
  const rows = createRows()
  const due = createDueRecords()
  const targets = createWithdrawalTargets()
  const results = createResults(deps, rows.get)
  const control = await openControlLog({
    ...deps,
    topics: [TOPIC],
    writerId: 'control-risk-writer',
    apply: ({ key, value, offset }) => {
      const [orgId = '', id = ''] = key.split('/')
      if (value === null) {
        rows.delete(orgId, id)
        results.keep(key, null)
        due.remove(orgId, id)
        targets.remove(orgId, id)
        return
      }
      try {
        const { result, ...row } = codec.decode('control.RiskAssessment', value)
        rows.set({ row, offset, hasResult: result !== null })
        results.keep(keyOf(row), result)
        due.set(dueForChains(row, chains))
        targets.set(row)
      } catch (error) {
        if (!(error instanceof InvalidInput)) throw error
        log.error({ err: error, key, offset }, 'invalid risk assessment record')
      }
    },
  })
  const write = (record: RiskAssessment) => ({
    topic: TOPIC,
    partition: 0,
    key: keyOf(record),
    value: codec.encode('control.RiskAssessment', record),
  })
  return {
    get: (orgId, id) => rows.get(orgId, id)?.row,
    read: results.withResult,
    lookAlikesOf: targets.lookAlikesOf,
    takeDue: due.take,
    giveBack: due.giveBack,
    dueAges: due.ages,
    register: async (orgId, request) => {
      const id = assessmentId(orgId, request)
      const at = nowMs()
      const known = await results.withResult(orgId, id)
      if (known !== undefined && afterRepeat(known, request, at) === known) return known
      const made = newAssessment(orgId, request, at)
      await control.update(async () => {
        const held = await results.withResult(orgId, id)
        if (held !== undefined) {
          const repeated = afterRepeat(held, request, at)
          return repeated === held ? [] : [write(repeated)]
        }
        if (rows.ofOrg(orgId).size >= maxPerOrg) {
          throw new Fault('KYT_USAGE_LIMIT_EXCEEDED', undefined, { max_allowed: maxPerOrg })
        }
        return [write(made)]
      }, orgId)
      return (await results.withResult(orgId, id)) ?? made
    },
    change: (record, step) =>
      control.update(async () => {
        const known = await results.withResult(record.org_id, record.id)
        return known === undefined ? [] : [write(step(known))]
      }),
    check: {
      name: 'risk assessments',
      run: () => (control.isFresh() ? { ok: true } : { ok: false, detail: 'risk topic stale' }),
    },
    stop: () => control.stop(),
  }
}

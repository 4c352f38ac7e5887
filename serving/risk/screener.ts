import type { RunningTask } from '../../core/bus/contract.ts'
import { Fault, Outage } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { pause } from '../../core/retry.ts'
import type { RiskAssessment } from '../../schemas/wire.ts'
import { countRejectedReads } from '../queries/limited-reads.ts'
import { type AssessmentRequest, afterScreening, type Screening } from './assessment.ts'
import type { AssessmentStore } from './assessment-store.ts'
import { lookAlikesOf } from './look-alikes.ts'
import { readLabelsVersion, type ScreenDeps, screen } from './screen.ts'

/** Pause between two looks for what is due, and after an outage. */
const IDLE_MS = 500
const OUTAGE_PAUSE_MS = 5_000
/** Records of one round. */
const PER_ROUND = 20

/** What the screener works with. */
export interface ScreenerDeps extends ScreenDeps {
  readonly store: AssessmentStore
  readonly metrics: Pick<Metrics, 'queryRejected'>
  readonly log: Logger
}

/** Earlier targets of the organization's withdrawals on the chain. */
const earlierTargets = (
  store: AssessmentStore,
  record: RiskAssessment,
  chain: string,
): readonly string[] =>
  store
    .ofOrg(record.org_id)
    .filter(({ kind, created_at }) => kind === 'withdrawal' && created_at < record.created_at)
    .map(({ request }) => JSON.parse(request) as AssessmentRequest)
    .flatMap((request) =>
      request.kind === 'withdrawal' && request.chain === chain ? [request.address] : [],
    )

const isPassing = (error: unknown): boolean =>
  error instanceof Outage || (error instanceof Fault && error.status === 503)

/**
 * Screens registered records one after the other, and again when their time comes or labels change. Several processes may do the
 * same record: its result is the same. What fails for another reason than an outage ends that record only; an error around the
 * records is logged and the round comes again.
 */
export const startScreener = (deps: ScreenerDeps): RunningTask => {
  const { store, nowMs, log } = deps
  const warehouse = countRejectedReads(deps.warehouse, deps.metrics, 'risk')
  const controller = new AbortController()
  const { signal } = controller
  const screenOne = async (record: RiskAssessment, labelsVersion: number): Promise<void> => {
    const request = JSON.parse(record.request) as AssessmentRequest
    const lookAlikes =
      request.kind === 'withdrawal'
        ? lookAlikesOf(request.address, earlierTargets(store, record, request.chain))
        : []
    const screening = await screen({ ...deps, warehouse }, request, lookAlikes).catch(
      (error: unknown): Screening => {
        if (isPassing(error)) throw error
        log.error({ err: error, id: record.id }, 'risk screening failed')
        return { outcome: 'failed', reason: 'internal' }
      },
    )
    await store.change(record, (known) =>
      afterScreening(known, screening, { nowMs: nowMs(), labelsVersion }),
    )
  }
  const round = async (): Promise<void> => {
    const version = await readLabelsVersion(warehouse)
    for (const record of store.due(version, nowMs(), PER_ROUND)) {
      if (signal.aborted) return
      await screenOne(record, version)
    }
  }
  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      const wait = await round().then(
        () => IDLE_MS,
        (error: unknown) => {
          if (isPassing(error))
            log.warn({ err: error }, 'risk screening postponed, dependency unavailable')
          else log.error({ err: error }, 'risk screening round failed')
          return OUTAGE_PAUSE_MS
        },
      )
      await pause(wait, signal)
    }
  }
  const done = loop().catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
  return {
    stop: async () => {
      controller.abort(new Error('the screener stopped'))
      await done
    },
  }
}

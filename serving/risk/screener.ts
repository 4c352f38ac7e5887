import type { RunningTask } from '../../core/bus/contract.ts'
import type { Warehouse } from '../../core/clickhouse/client.ts'
import { Fault, Outage } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { pause } from '../../core/retry.ts'
import { countRejectedReads } from '../queries/limited-reads.ts'
import { type AssessmentRow, afterScreening, type Screening, storedTransfer } from './assessment.ts'
import type { AssessmentStore } from './assessment-store.ts'
import { requestOf } from './look-alikes.ts'
import { readLabelsVersion, type ScreenDeps, screen } from './screen.ts'

/** Pause between two looks for what is due, and after an outage. */
const IDLE_MS = 500
const OUTAGE_PAUSE_MS = 5_000

/** What the screener works with. */
export interface ScreenerDeps extends ScreenDeps {
  readonly warehouse: Pick<Warehouse, 'query' | 'places'>
  readonly store: AssessmentStore
  readonly metrics: Pick<Metrics, 'queryRejected' | 'observe'>
  readonly log: Logger
}

const screenRecord = async (deps: ScreenerDeps, record: AssessmentRow): Promise<Screening> => {
  const request = requestOf(record)
  if (request === undefined) return { outcome: 'failed', reason: 'internal' }
  const lookAlikes = request.kind === 'withdrawal' ? deps.store.lookAlikesOf(record, request) : []
  return screen(deps, request, lookAlikes, {
    askedMs: record.created_at,
    storedTransfer: async () => {
      const known = await deps.store.read(record.org_id, record.id)
      return known && storedTransfer(known)
    },
  })
}

const isPassing = (error: unknown): boolean =>
  error instanceof Outage || (error instanceof Fault && error.status === 503)

/** Version of the labels, read again when the last reading is as old as the pause between two looks. */
const createVersionReader = ({ warehouse, nowMs }: ScreenDeps): (() => Promise<number>) => {
  let readMs = Number.NEGATIVE_INFINITY
  let version = Promise.resolve(0)
  return () => {
    const now = nowMs()
    if (now - readMs >= IDLE_MS) {
      readMs = now
      version = readLabelsVersion(warehouse)
    }
    return version
  }
}

/** Screens a record and writes what came of it. An outage gives it back; of another error only this record has the damage. */
const screenAndStore = async (
  deps: ScreenerDeps,
  record: AssessmentRow,
  labelsVersion: number,
): Promise<void> => {
  const { store, log, nowMs } = deps
  try {
    const screening = await screenRecord(deps, record).catch((error: unknown): Screening => {
      if (isPassing(error)) throw error
      log.error({ err: error, id: record.id }, 'risk screening failed')
      return { outcome: 'error' }
    })
    await store.change(record, (known) =>
      afterScreening(known, screening, { nowMs: nowMs(), labelsVersion }),
    )
  } catch (error) {
    // What cannot be written for another reason would come again at once, before all others: it is left for the next start.
    if (isPassing(error)) store.giveBack(record)
    throw error
  }
}

/**
 * Screens registered records, and again when their time comes or labels change; as many at a time as half of the scans that the
 * warehouse runs at once. Several processes may do the same record: its result is the same. What fails for another reason than an
 * outage ends that record only; an error around the records is logged and the work continues after a pause.
 */
export const startScreener = (given: ScreenerDeps): RunningTask => {
  const { store, metrics, nowMs, log } = given
  const deps = { ...given, warehouse: countRejectedReads(given.warehouse, metrics, 'risk') }
  const controller = new AbortController()
  const { signal } = controller
  const labelsVersion = createVersionReader(deps)
  const stopObserving = metrics.observe('riskQueueAge', () =>
    Object.entries(store.dueAges(nowMs())).map(([kind, value]) => ({ labels: { kind }, value })),
  )
  /** Answers how long to wait for the next one. */
  const screenNext = async (): Promise<number> => {
    const version = await labelsVersion()
    const record = store.takeDue(version, nowMs())
    if (record === undefined) return IDLE_MS
    await screenAndStore(deps, record, version)
    return 0
  }
  const onError = (error: unknown): number => {
    if (isPassing(error))
      log.warn({ err: error }, 'risk screening postponed, dependency unavailable')
    else log.error({ err: error }, 'risk screening round failed')
    return OUTAGE_PAUSE_MS
  }
  const work = async (): Promise<void> => {
    while (!signal.aborted) {
      const waitMs = await screenNext().catch(onError)
      if (waitMs > 0) await pause(waitMs, signal)
    }
  }
  const workers = Array.from({ length: Math.max(1, deps.warehouse.places.scan >> 1) }, () =>
    work().catch((error: unknown) => {
      if (!signal.aborted) throw error
    }),
  )
  return {
    stop: async () => {
      controller.abort(new Error('the screener stopped'))
      stopObserving()
      await Promise.all(workers)
    },
  }
}

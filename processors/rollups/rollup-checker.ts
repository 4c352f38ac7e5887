import type { Warehouse } from '../../core/clickhouse/client.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { checkAndRepairRollups } from './check-and-repair.ts'

/** What checks of the rollups work with. */
export interface RollupCheckerDeps {
  readonly chain: string
  readonly warehouse: Warehouse
  readonly log: Logger
  readonly metrics?: Metrics
  /** Pause between two checks of the rollups. Default 60 s. */
  readonly checkMs?: number
  /** Whether this process may rebuild rollups: two that do so at the same time would double them. Default: it may. */
  readonly mayRepair?: () => boolean
}

/** Time between two checks; one that left something is followed at once. */
const CHECK_INTERVAL_MS = 60_000
/** How often the repair of one minute may leave it wrong before it is left to an operator. */
const MAX_FAILED_REPAIRS = 3
/** Minutes whose failed repairs are remembered. */
const MAX_TRACKED_REPAIRS = 1_000

/** Every minute before was checked, epoch seconds; 0: none was. Outlives the process: what it rolled up last is checked by the next. */
const readCheckedTo = async ({ warehouse, chain }: RollupCheckerDeps): Promise<number> => {
  const { rows } = await warehouse.query<{ readonly checked: number }>({
    sql: `SELECT toUInt32(argMax(hot_from, _ver)) AS checked FROM ${chain}_chain_state WHERE key = 'rollup-check'`,
  })
  return rows[0]?.checked ?? 0
}

const saveCheckedTo = ({ warehouse, chain }: RollupCheckerDeps, minute: number): Promise<void> => {
  const row = { final_slot: 0, final_time: 0, hot_from: minute, seq: 0, _ver: minute }
  return warehouse.insert(`${chain}_chain_state`, [{ key: 'rollup-check', ...row }], {
    token: `checked:${chain}:${minute}`,
  })
}

/**
 * Checks now and then what was rolled up since the last check, the newest minutes before it, and minutes that were closed without
 * all of their trades. The function takes the start of the first minute that is not rolled up, epoch seconds.
 */
export const createRollupChecker = (
  deps: RollupCheckerDeps,
): ((hotFrom: number) => Promise<void>) => {
  const { chain, log, metrics, checkMs = CHECK_INTERVAL_MS, mayRepair = () => true } = deps
  const failures = new Map<number, number>()
  let gapsAfter: number | null = null
  let nextMs = Number.NEGATIVE_INFINITY
  const noteRepaired = (minute: number): void => {
    metrics?.rollupRepairs.inc({ chain })
    failures.delete(minute)
    log.warn({ chain, minute }, 'rollup of a minute rebuilt from its trades')
  }
  const noteFailed = (minute: number): void => {
    metrics?.rollupRepairs.inc({ chain })
    const count = (failures.get(minute) ?? 0) + 1
    if (failures.size >= MAX_TRACKED_REPAIRS) failures.clear()
    failures.set(minute, count)
    const fields = { chain, minute, tries: count }
    if (count < MAX_FAILED_REPAIRS)
      log.warn(fields, 'rollup of a minute still differs after repair')
    else log.error(fields, 'rollup of a minute still differs from its trades, giving up')
  }
  return async (hotFrom) => {
    const nowMs = Date.now()
    // Counted from when this process may: whoever could before has ended its last repair by then.
    if (!mayRepair()) nextMs = nowMs + checkMs
    if (nowMs < nextMs) return
    nextMs = nowMs + checkMs
    const from = await readCheckedTo(deps)
    const done = await checkAndRepairRollups({
      ...deps,
      from,
      to: hotFrom,
      gapsAfter,
      nowMs,
      isGivenUp: (minute) => (failures.get(minute) ?? 0) >= MAX_FAILED_REPAIRS,
    })
    done.repaired.forEach(noteRepaired)
    done.failed.forEach(noteFailed)
    gapsAfter = done.gapsCheckedTo
    if (done.checkedTo > from) await saveCheckedTo(deps, done.checkedTo)
    if (done.hasMore) nextMs = nowMs
  }
}

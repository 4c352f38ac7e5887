import { randomUUID } from 'node:crypto'
import type { RunningTask } from '../../core/bus/contract.ts'
import type { Query, Warehouse } from '../../core/clickhouse/client.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { pause, retry } from '../../core/retry.ts'
import type { FailingLane } from '../runtime/lane-activity.ts'
import { recordGap } from './gaps.ts'
import {
  createIncompleteMinutes,
  type GapReason,
  type IncompleteMinutes,
} from './incomplete-minutes.ts'
import { removeRollupsFrom } from './rebuild-minute.ts'
import { createRollupChecker, type RollupCheckerDeps } from './rollup-checker.ts'
import {
  canonicalTradesSql,
  MINUTE_SECONDS,
  type MinuteRow,
  minuteCompletenessQuery,
  startOfMinute,
  storedTradesSql,
  tradeRetentionDays,
} from './trade-queries.ts'
import { runTransferEdges } from './transfer-edges.ts'

/** What a finalizer works with. */
export interface FinalizerDeps extends RollupCheckerDeps {
  /** Pause when there is nothing to do. Default 5 s: readers see a minute's trades before it is rolled up as well. */
  readonly idleMs?: number
  /** How long a minute waits for missing trades after the last that came. Default 5 minutes. */
  readonly graceMs?: number
  /** True: no other process rolls up this chain, so rows above the watermark are those of a round that was interrupted. */
  readonly isOnlyFinalizer?: boolean
}

/** What one round did. */
export interface FinalizationRun {
  /** Minutes written to the rollups. */
  readonly minutes: number
  /** Start of the first minute that is not rolled up, epoch seconds; null before the first block. */
  readonly hotFrom: number | null
  /** The minute that is final but whose trades are not all there and are waited for; null: none. */
  readonly waitingFor: number | null
}

/** A running finalizer. */
export interface RunningFinalizer extends RunningTask {
  last(): FinalizationRun | undefined
  /** Since when every round fails; nothing while rounds succeed. */
  failing(): readonly FailingLane[]
}

const DAY_SECONDS = 86_400
const IDLE_MS = 5_000
/** Minutes with trades of one round: far below the window in which the engine remembers insert tokens. */
const MINUTES_PER_RUN = 500
const FINALIZATION_RETRY = { firstMs: 200, maxMs: 10_000, tries: Number.POSITIVE_INFINITY }

interface WatermarkRow {
  readonly hot_from: number
  readonly final_time: number
}

/** Watermark and final time in epoch seconds; 0 = none. The final row is written after the blocks it names. */
const watermarkQuery = (chain: string): Query => ({
  sql: `SELECT toUInt32(argMaxIf(hot_from, _ver, key = 'rollup')) AS hot_from,
  toUInt32(intDiv(toUnixTimestamp64Milli(argMaxIf(final_time, _ver, key = 'final')), 1000)) AS final_time
FROM ${chain}_chain_state WHERE key IN ('rollup', 'final')`,
})

/** Time of the first block in epoch seconds; 0 = none. Asked for until there is a watermark. */
const firstBlockTime = async (warehouse: Warehouse, chain: string): Promise<number> => {
  const { rows } = await warehouse.query<{ readonly first_block: number }>({
    sql: `SELECT toUInt32(toUnixTimestamp(min(block_time))) AS first_block FROM ${chain}_blocks FINAL`,
  })
  return rows[0]?.first_block ?? 0
}

/** Columns of the table that feeds the rollups; a migration that adds one adds it here. */
export const FINAL_TRADE_COLUMNS = [
  ...['block_time', 'block_slot', 'block_height', 'block_hash', 'tx_hash', 'tx_index', 'tx_signer'],
  ...['tx_fee', 'tx_fee_native', 'tx_fee_usd', 'tx_status', 'event_index', 'is_base', 'side'],
  ...['token_address', 'decimals', 'amount', 'amount_usd', 'amount_native', 'price_usd'],
  ...['price_native', 'owner', 'side_token', 'side_decimals', 'side_amount', 'side_amount_usd'],
  ...['side_price_usd', 'program_address', 'protocol_name', 'protocol_family', 'pool_address'],
  'is_suspect',
] as const
const TRADE_COLUMN_LIST = FINAL_TRADE_COLUMNS.join(', ')

/**
 * Hands one minute to the rollups: a Null table, so that one insert reaches them all under one token. Of a minute that is not
 * complete only trades of blocks that stand: a removed block's may be among the stored ones.
 */
export const rollUpMinuteSql = (chain: string, minute: number, isComplete = true): string => {
  const [from, to] = [minute, minute + MINUTE_SECONDS]
  const source = isComplete ? storedTradesSql(chain, from, to) : canonicalTradesSql(chain, from, to)
  return `INSERT INTO ${chain}_trades_final (${TRADE_COLUMN_LIST}) SELECT ${TRADE_COLUMN_LIST} FROM ${source} ORDER BY ALL`
}

/**
 * Token of a minute's insert: the grid is fixed, so a repeat after a crash has the same one. Where rows of an interrupted round were
 * removed before, the insert must not pass for a repeat: it has a token of its own.
 */
const minuteInsertToken = (chain: string, minute: number, isRemoved = false): string =>
  `fin:${chain}:${minute}${isRemoved ? `:${randomUUID()}` : ''}`

/** What a round knows beside the tables. */
export interface FinalizationOptions {
  /** Default: no minute is given up for its missing trades. */
  readonly openMinutes?: IncompleteMinutes
  readonly metrics?: Metrics
  readonly nowMs?: number
  /** True: the round before may have ended in the middle, and no other process rolls up this chain. */
  readonly mayFollowInterrupted?: boolean
}

type GapReasons = ReadonlyMap<number, GapReason>

/** Open minutes that wait no longer: their trades have expired, or are dead letters. */
const findGapReasons = async (
  warehouse: Warehouse,
  chain: string,
  { rows, openMinutes, nowMs }: FinalizationOptions & { rows: readonly MinuteRow[]; nowMs: number },
): Promise<GapReasons> => {
  const overdue = openMinutes?.overdue(rows, nowMs)
  const open = rows.filter((row) => row.open > 0)
  if (open.length === 0) return new Map()
  const days = await tradeRetentionDays(warehouse, chain)
  const expired = days === null ? Number.NEGATIVE_INFINITY : nowMs / 1_000 - days * DAY_SECONDS
  return new Map(
    open.flatMap(({ minute }): readonly (readonly [number, GapReason])[] => {
      if (minute + MINUTE_SECONDS <= expired) return [[minute, 'expired']]
      return overdue?.has(minute) ? [[minute, 'trades-missing']] : []
    }),
  )
}

/**
 * Removes what an interrupted round left above the watermark: whether the engine still knows the tokens of its inserts is not relied
 * on. False: the trades of those minutes expire, so the rollups could not be built again, and nothing was removed.
 */
const removeInterrupted = async (
  warehouse: Warehouse,
  chain: string,
  from: number,
  nowMs: number,
): Promise<boolean> => {
  const days = await tradeRetentionDays(warehouse, chain)
  if (days !== null && from < nowMs / 1_000 - (days - 1) * DAY_SECONDS) return false
  await removeRollupsFrom({ warehouse, chain }, from)
  return true
}

/**
 * One round: every minute up to the first that is not complete, then the watermark. Minutes that can never be complete are rolled
 * up with the trades that are stored, and marked in `{c}_rollup_gaps`. Safe to repeat and to interrupt.
 */
export const runFinalization = async (
  warehouse: Warehouse,
  chain: string,
  options: FinalizationOptions = {},
): Promise<FinalizationRun> => {
  const { metrics, nowMs = Date.now() } = options
  const [ends] = (await warehouse.query<WatermarkRow>(watermarkQuery(chain))).rows
  const begun = ends?.hot_from || (await firstBlockTime(warehouse, chain))
  if (ends === undefined || begun === 0) return { minutes: 0, hotFrom: null, waitingFor: null }
  const from = startOfMinute(begun)
  const to = startOfMinute(ends.final_time)
  const isRemoved =
    options.mayFollowInterrupted === true &&
    (await removeInterrupted(warehouse, chain, from, nowMs))
  if (to <= from) return { minutes: 0, hotFrom: from, waitingFor: null }
  const query = minuteCompletenessQuery(chain, from, to, MINUTES_PER_RUN)
  const { rows } = await warehouse.query<MinuteRow>(query)
  const gaps = await findGapReasons(warehouse, chain, { ...options, rows, nowMs })
  const open = rows.find((row) => row.open > 0 && !gaps.has(row.minute))
  const ready = open === undefined ? rows : rows.slice(0, rows.indexOf(open))
  for (const row of ready) {
    const { minute } = row
    const reason = gaps.get(minute)
    if (reason !== undefined) await recordGap(warehouse, chain, { row, reason, nowMs })
    await warehouse.command(rollUpMinuteSql(chain, minute, reason === undefined), {
      token: minuteInsertToken(chain, minute, isRemoved),
    })
    if (reason !== undefined) metrics?.rollupIncomplete.inc({ chain, reason })
  }
  const more = rows.length === MINUTES_PER_RUN
  const hotFrom = open?.minute ?? (more ? (rows.at(-1)?.minute ?? from) + MINUTE_SECONDS : to)
  if (hotFrom > from) await advanceWatermark(warehouse, chain, hotFrom)
  return { minutes: ready.length, hotFrom, waitingFor: open?.minute ?? null }
}

const advanceWatermark = async (
  warehouse: Warehouse,
  chain: string,
  hotFrom: number,
): Promise<void> => {
  const row = {
    key: 'rollup',
    final_slot: 0,
    final_time: 0,
    hot_from: hotFrom,
    seq: 0,
    _ver: hotFrom,
  }
  await warehouse.insert(`${chain}_chain_state`, [row], { token: `hot:${chain}:${hotFrom}` })
}

/**
 * Rolls up finalized minutes as they become complete, many at once when it is behind, and checks beside it that the rollups are
 * what their trades sum to.
 */
export const startFinalizer = (deps: FinalizerDeps): RunningFinalizer => {
  const { chain, warehouse, log, metrics, idleMs = IDLE_MS, isOnlyFinalizer = false } = deps
  const controller = new AbortController()
  const { signal } = controller
  const openMinutes = createIncompleteMinutes(deps.graceMs)
  const check = createRollupChecker(deps)
  let last: FinalizationRun | undefined
  let failing: FailingLane | undefined
  let mayFollowInterrupted = isOnlyFinalizer
  const round = async (): Promise<FinalizationRun> => {
    const done = await runFinalization(warehouse, chain, {
      openMinutes,
      mayFollowInterrupted,
      ...(metrics && { metrics }),
    })
    if (done.hotFrom !== null) mayFollowInterrupted = false
    if (done.hotFrom !== null) await check(done.hotFrom)
    await runTransferEdges(warehouse, chain, Date.now()).catch((err: unknown) => {
      log.warn({ chain, err }, 'transfer edges could not be summed')
      throw err
    })
    return done
  }
  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      last = await retry(round, {
        ...FINALIZATION_RETRY,
        signal,
        onRetry: (error, attempt, waitMs) => {
          mayFollowInterrupted = isOnlyFinalizer
          const sinceMs = failing?.sinceMs ?? Date.now()
          failing = { partition: 0, sinceMs, error: String(error) }
          log.warn({ chain, err: error, attempt, waitMs }, 'finalization failed, retrying')
        },
      })
      failing = undefined
      if (last.minutes < MINUTES_PER_RUN) await pause(idleMs, signal)
    }
  }
  const done = loop().catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
  return {
    last: () => last,
    failing: () => (failing === undefined ? [] : [failing]),
    stop: async () => {
      controller.abort(new Error('the finalizer stopped'))
      await done
    },
  }
}

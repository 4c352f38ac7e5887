import type { Running } from '../core/bus/contract.ts'
import type { Query, Warehouse } from '../core/clickhouse/client.ts'
import type { Logger } from '../core/ops/logger.ts'
import type { Metrics } from '../core/ops/metrics.ts'
import { pause, retry } from '../core/retry.ts'
import { checkRollups, MOST_REPAIRS } from './rollups/check.ts'
import { markGap } from './rollups/gaps.ts'
import { type GapReason, makeOpenMinutes, type OpenMinutes } from './rollups/open-minutes.ts'
import {
  allTradesOf,
  floorMinute,
  keptDays,
  MINUTE,
  type MinuteRow,
  minutesQuery,
  tradesOf,
} from './rollups/source.ts'
import type { Failing } from './runtime/stage-runner.ts'

/** What a finalizer works with. */
export interface FinalizeDeps {
  readonly chain: string
  readonly warehouse: Warehouse
  readonly log: Logger
  /** Pause when there is nothing to do. Default 5 s: readers see a minute's trades before it is rolled up as well. */
  readonly idleMs?: number
  /** Pause between two checks of the rollups. Default 60 s. */
  readonly checkMs?: number
  /** How long a minute waits for missing trades after the last that came. Default 5 minutes. */
  readonly graceMs?: number
  readonly metrics?: Metrics
  /** Whether this process may rebuild rollups: two that do so at the same time would double them. Default: it may. */
  readonly mayRepair?: () => boolean
}

/** What one round did. */
export interface FinalizeRound {
  /** Minutes written to the rollups. */
  readonly minutes: number
  /** Start of the first minute that is not rolled up, epoch seconds; null before the first block. */
  readonly hotFrom: number | null
  /** The minute that is final but whose trades are not all there and are waited for; null: none. */
  readonly waitingFor: number | null
}

/** A running finalizer. */
export interface FinalizerRunning extends Running {
  last(): FinalizeRound | undefined
  /** Since when every round fails; nothing while rounds succeed. */
  failing(): readonly Failing[]
}

const DAY = 86_400
const IDLE_MS = 5_000
/** Minutes with trades of one round: far below the window in which the engine remembers insert tokens. */
const MINUTES_PER_ROUND = 500
/** Time between two checks, and the minutes that each looks at again. */
const CHECK_MS = 60_000
const CHECK_MINUTES = 30
const AGAIN = { firstMs: 200, maxMs: 10_000, tries: Number.POSITIVE_INFINITY }

interface Ends {
  readonly hot_from: number
  readonly final_time: number
}

/** Watermark and final time in epoch seconds; 0 = none. The final row is written after the blocks it names. */
const endsQuery = (chain: string): Query => ({
  sql: `SELECT toUInt32(argMaxIf(hot_from, _ver, key = 'rollup')) AS hot_from,
  toUInt32(intDiv(toUnixTimestamp64Milli(argMaxIf(final_time, _ver, key = 'final')), 1000)) AS final_time
FROM ${chain}_chain_state WHERE key IN ('rollup', 'final')`,
})

/** Time of the first block in epoch seconds; 0 = none. Asked for until there is a watermark. */
const firstBlock = async (warehouse: Warehouse, chain: string): Promise<number> => {
  const { rows } = await warehouse.query<{ readonly first_block: number }>({
    sql: `SELECT toUInt32(toUnixTimestamp(min(block_time))) AS first_block FROM ${chain}_blocks FINAL`,
  })
  return rows[0]?.first_block ?? 0
}

const FINAL_COLUMNS = `block_time, block_slot, block_height, block_hash, tx_hash, tx_index, tx_signer, tx_fee, tx_fee_native,
  tx_fee_usd, tx_status, event_index, is_base, side, token_address, decimals, amount, amount_usd, amount_native, price_usd,
  price_native, owner, side_token, side_decimals, side_amount, side_amount_usd, side_price_usd, program_address,
  protocol_name, protocol_family, pool_address, is_suspect`

/**
 * Hands one minute to the rollups: a Null table, so that one insert reaches them all under one token. Of a minute that is not
 * complete only trades of blocks that stand: a removed block's may be among the stored ones.
 */
export const fanOutSql = (chain: string, minute: number, isComplete = true): string => {
  const [from, to] = [minute, minute + MINUTE]
  const source = isComplete ? allTradesOf(chain, from, to) : tradesOf(chain, from, to)
  return `INSERT INTO ${chain}_trades_final (${FINAL_COLUMNS}) SELECT ${FINAL_COLUMNS} FROM ${source} ORDER BY ALL`
}

/** Token of a minute's insert: the grid is fixed, so a repeat after a crash has the same one. */
const minuteToken = (chain: string, minute: number): string => `fin:${chain}:${minute}`

/** What a round knows beside the tables. */
export interface RoundOptions {
  /** Default: no minute is given up for its missing trades. */
  readonly openMinutes?: OpenMinutes
  readonly metrics?: Metrics
  readonly nowMs?: number
}

type Gaps = ReadonlyMap<number, GapReason>

/** Open minutes that wait no longer: their trades have expired, or are dead letters. */
const gapsOf = async (
  warehouse: Warehouse,
  chain: string,
  { rows, openMinutes, nowMs }: RoundOptions & { rows: readonly MinuteRow[]; nowMs: number },
): Promise<Gaps> => {
  const overdue = openMinutes?.overdue(rows, nowMs)
  const open = rows.filter((row) => row.open > 0)
  if (open.length === 0) return new Map()
  const days = await keptDays(warehouse, chain)
  const expired = days === null ? Number.NEGATIVE_INFINITY : nowMs / 1_000 - days * DAY
  return new Map(
    open.flatMap(({ minute }): readonly (readonly [number, GapReason])[] => {
      if (minute + MINUTE <= expired) return [[minute, 'expired']]
      return overdue?.has(minute) ? [[minute, 'trades-missing']] : []
    }),
  )
}

/**
 * One round: every minute up to the first that is not complete, then the watermark. Minutes that can never be complete are rolled
 * up with the trades that are stored, and marked in `{c}_rollup_gaps`. Safe to repeat and to interrupt.
 */
export const finalizeRound = async (
  warehouse: Warehouse,
  chain: string,
  options: RoundOptions = {},
): Promise<FinalizeRound> => {
  const { metrics, nowMs = Date.now() } = options
  const [ends] = (await warehouse.query<Ends>(endsQuery(chain))).rows
  const begun = ends?.hot_from || (await firstBlock(warehouse, chain))
  if (ends === undefined || begun === 0) return { minutes: 0, hotFrom: null, waitingFor: null }
  const from = floorMinute(begun)
  const to = floorMinute(ends.final_time)
  if (to <= from) return { minutes: 0, hotFrom: from, waitingFor: null }
  const query = minutesQuery(chain, from, to, MINUTES_PER_ROUND)
  const { rows } = await warehouse.query<MinuteRow>(query)
  const gaps = await gapsOf(warehouse, chain, { ...options, rows, nowMs })
  const open = rows.find((row) => row.open > 0 && !gaps.has(row.minute))
  const ready = open === undefined ? rows : rows.slice(0, rows.indexOf(open))
  for (const row of ready) {
    const { minute } = row
    const reason = gaps.get(minute)
    if (reason !== undefined) await markGap(warehouse, chain, { row, reason, nowMs })
    await warehouse.command(fanOutSql(chain, minute, reason === undefined), {
      token: minuteToken(chain, minute),
    })
    if (reason !== undefined) metrics?.rollupIncomplete.inc({ chain, reason })
  }
  const more = rows.length === MINUTES_PER_ROUND
  const hotFrom = open?.minute ?? (more ? (rows.at(-1)?.minute ?? from) + MINUTE : to)
  if (hotFrom > from) await moveWatermark(warehouse, chain, hotFrom)
  return { minutes: ready.length, hotFrom, waitingFor: open?.minute ?? null }
}

const moveWatermark = async (
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

/** How often the repair of one minute is tried before it is left to an operator. */
const MOST_TRIES = 3
/** Tries that are remembered. */
const TRIES_KEPT = 1_000

/** Checks now and then what was rolled up since the last check, and the newest minutes before it. */
const makeChecker = (deps: FinalizeDeps) => {
  const { chain, warehouse, log, metrics, checkMs = CHECK_MS, mayRepair = () => true } = deps
  const tries = new Map<number, number>()
  let checkedTo: number | undefined
  let lastMs = Number.NEGATIVE_INFINITY
  const repaired = (minute: number): void => {
    metrics?.rollupRepairs.inc({ chain })
    const count = (tries.get(minute) ?? 0) + 1
    if (tries.size >= TRIES_KEPT) tries.clear()
    tries.set(minute, count)
    const facts = { chain, minute, tries: count }
    if (count < MOST_TRIES) log.warn(facts, 'rollup of a minute rebuilt from its trades')
    else log.error(facts, 'rollup of a minute still differs from its trades, giving up')
  }
  return async ({ hotFrom }: FinalizeRound): Promise<void> => {
    const nowMs = Date.now()
    // Counted from when this process may: whoever could before has ended its last repair by then.
    if (!mayRepair()) lastMs = nowMs
    if (hotFrom === null || nowMs - lastMs < checkMs) return
    lastMs = nowMs
    const minutes = await checkRollups({
      ...{ warehouse, chain, to: hotFrom, nowMs },
      from: Math.min(checkedTo ?? hotFrom, hotFrom - CHECK_MINUTES * MINUTE),
      isGivenUp: (minute) => (tries.get(minute) ?? 0) >= MOST_TRIES,
    })
    for (const minute of minutes) repaired(minute)
    if (minutes.length < MOST_REPAIRS) checkedTo = hotFrom
  }
}

/**
 * Rolls up finalized minutes as they become complete, many at once when it is behind, and checks beside it that the rollups are
 * what their trades sum to.
 */
export const startFinalizer = (deps: FinalizeDeps): FinalizerRunning => {
  const { chain, warehouse, log, metrics, idleMs = IDLE_MS } = deps
  const controller = new AbortController()
  const { signal } = controller
  const openMinutes = makeOpenMinutes(deps.graceMs)
  const check = makeChecker(deps)
  let last: FinalizeRound | undefined
  let failing: Failing | undefined
  const round = async (): Promise<FinalizeRound> => {
    const done = await finalizeRound(warehouse, chain, { openMinutes, ...(metrics && { metrics }) })
    await check(done)
    return done
  }
  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      last = await retry(round, {
        ...AGAIN,
        signal,
        onRetry: (error, attempt, waitMs) => {
          const sinceMs = failing?.sinceMs ?? Date.now()
          failing = { partition: 0, sinceMs, error: String(error) }
          log.warn({ chain, err: error, attempt, waitMs }, 'finalization failed, retrying')
        },
      })
      failing = undefined
      if (last.minutes < MINUTES_PER_ROUND) await pause(idleMs, signal)
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

import type { Running } from '../core/bus-contract.ts'
import type { Logger } from '../core/log.ts'
import { pause, retry } from '../core/retry.ts'
import type { Query, Warehouse } from '../core/warehouse.ts'
import type { Failing } from './run.ts'

/** What a finalizer works with. */
export interface FinalizeDeps {
  readonly chain: string
  readonly warehouse: Warehouse
  readonly log: Logger
  /** Pause when there is nothing to do. Default 1 s. */
  readonly idleMs?: number
}

/** What one round did. */
export interface FinalizeRound {
  /** Minutes written to the rollups. */
  readonly minutes: number
  /** Start of the first minute that is not rolled up, epoch seconds; null before the first block. */
  readonly hotFrom: number | null
  /** The minute that is final but whose trades are not all there; null: none. */
  readonly waitingFor: number | null
}

/** A running finalizer. */
export interface FinalizerRunning extends Running {
  last(): FinalizeRound | undefined
  /** Since when every round fails; nothing while rounds succeed. */
  failing(): readonly Failing[]
}

const MINUTE = 60
/** Minutes with trades of one round: far below the window in which the engine remembers insert tokens. */
const MINUTES_PER_ROUND = 500
const AGAIN = { firstMs: 200, maxMs: 10_000, tries: Number.POSITIVE_INFINITY }

interface Ends {
  readonly hot_from: number
  readonly first_block: number
  readonly final_time: number
}

/** Watermark, first block and final time in epoch seconds; 0 = none. The final row is written after the blocks it names. */
const endsQuery = (chain: string): Query => ({
  sql: `SELECT
  (SELECT toUInt32(argMax(hot_from, _ver)) FROM ${chain}_chain_state WHERE key = 'rollup') AS hot_from,
  (SELECT toUInt32(toUnixTimestamp(min(block_time))) FROM ${chain}_blocks FINAL) AS first_block,
  (SELECT toUInt32(intDiv(toUnixTimestamp64Milli(argMax(final_time, _ver)), 1000)) FROM ${chain}_chain_state WHERE key = 'final') AS final_time`,
})

interface MinuteRow {
  readonly minute: number
  readonly trades: string
  /** Blocks whose trades are not exactly those that the block announced. */
  readonly open: string
}

/**
 * Minutes in `[from, to)` with trades or announced trades, oldest first. Counted block by block: equal sums could hide
 * a removed block's trades beside the missing ones of its successor.
 */
const minutesQuery = (chain: string, from: number, to: number): Query => ({
  sql: `SELECT minute, sum(actual) AS trades, countIf(expected != actual) AS open FROM (
  SELECT minute, block_hash, sum(expected_trades) AS expected, sum(actual_trades) AS actual FROM (
    SELECT toUnixTimestamp(toStartOfMinute(block_time)) AS minute, block_hash, toUInt64(trades_count) AS expected_trades, toUInt64(0) AS actual_trades
    FROM ${chain}_blocks FINAL WHERE block_time >= toDateTime64({from:UInt32}, 3, 'UTC') AND block_time < toDateTime64({to:UInt32}, 3, 'UTC') AND trades_count > 0
    UNION ALL
    SELECT toUnixTimestamp(toStartOfMinute(block_time)) AS minute, block_hash, toUInt64(0) AS expected_trades, count() AS actual_trades
    FROM ${chain}_dex_trades FINAL WHERE block_time >= toDateTime64({from:UInt32}, 3, 'UTC') AND block_time < toDateTime64({to:UInt32}, 3, 'UTC')
    GROUP BY minute, block_hash
  ) GROUP BY minute, block_hash
) GROUP BY minute ORDER BY minute LIMIT ${MINUTES_PER_ROUND}`,
  params: { from, to },
})

const FINAL_COLUMNS = `block_time, block_slot, block_height, block_hash, tx_hash, tx_index, tx_signer, tx_fee, tx_fee_native,
  tx_fee_usd, tx_status, event_index, is_base, side, token_address, decimals, amount, amount_usd, amount_native, price_usd,
  price_native, owner, side_token, side_decimals, side_amount, side_amount_usd, side_price_usd, program_address,
  protocol_name, protocol_family, pool_address, is_suspect`

/** Hands one minute to the rollups: a Null table, so that one insert reaches them all under one token. */
export const fanOutSql = (chain: string, minute: number): string =>
  `INSERT INTO ${chain}_trades_final (${FINAL_COLUMNS}) SELECT ${FINAL_COLUMNS} FROM ${chain}_dex_trades_enriched FINAL
  WHERE block_time >= toDateTime64(${minute}, 3, 'UTC') AND block_time < toDateTime64(${minute + MINUTE}, 3, 'UTC') ORDER BY ALL`

/** Token of a minute's insert: the grid is fixed, so a repeat after a crash has the same one. */
const minuteToken = (chain: string, minute: number): string => `fin:${chain}:${minute}`

const floorMinute = (seconds: number): number => Math.floor(seconds / MINUTE) * MINUTE

/** One round: every minute up to the first that is not complete, then the watermark. Safe to repeat and to interrupt. */
export const finalizeRound = async (
  warehouse: Warehouse,
  chain: string,
): Promise<FinalizeRound> => {
  const [ends] = (await warehouse.query<Ends>(endsQuery(chain))).rows
  if (!ends?.first_block) return { minutes: 0, hotFrom: null, waitingFor: null }
  const from = ends.hot_from || floorMinute(ends.first_block)
  const to = floorMinute(ends.final_time)
  if (to <= from) return { minutes: 0, hotFrom: from, waitingFor: null }
  const { rows } = await warehouse.query<MinuteRow>(minutesQuery(chain, from, to))
  const open = rows.find((row) => Number(row.open) > 0)
  const ready = open === undefined ? rows : rows.slice(0, rows.indexOf(open))
  for (const { minute } of ready) {
    await warehouse.command(fanOutSql(chain, minute), { token: minuteToken(chain, minute) })
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

/** Rolls up finalized minutes as they become complete, many at once when it is behind. */
export const startFinalizer = (deps: FinalizeDeps): FinalizerRunning => {
  const { chain, warehouse, log, idleMs = 1_000 } = deps
  const controller = new AbortController()
  const { signal } = controller
  let last: FinalizeRound | undefined
  let failing: Failing | undefined
  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      last = await retry(() => finalizeRound(warehouse, chain), {
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

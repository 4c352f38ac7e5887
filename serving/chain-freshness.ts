import type { Warehouse } from '../core/clickhouse/client.ts'
import { chainRow } from '../schemas/chains.ts'
import type { ChainFreshness, FreshnessReader } from './interfaces.ts'
import { type FreshnessRow, freshnessQuery } from './queries/chain-freshness.ts'

/** How long an answer is good for, from the start of its reading. */
const CACHE_TTL_MS = 1_000
/** When an answer that was asked for again is replaced: before it is too old, so that no request waits for the next. */
const REFRESH_AFTER_MS = 750

/** One reading: under way, or with its answer. */
interface Reading<Value> {
  readonly startedMs: number
  readonly answer: Promise<Value>
}

/**
 * Gives the answer of `read` that is good, at once. Where there is none, requests share the reading that is under way. While it is asked
 * for, the next answer is read before the last one is too old; a failure of that fails no request: the next one reads again.
 */
const createCachedRead = <Value>(
  read: () => Promise<Value>,
  nowMs: () => number,
): (() => Promise<Value>) => {
  let latest: Reading<Value> | undefined
  let running: Reading<Value> | undefined
  let isAsked = false
  let refresh: NodeJS.Timeout | undefined
  const isGood = (reading: Reading<Value> | undefined): reading is Reading<Value> =>
    reading !== undefined && nowMs() - reading.startedMs < CACHE_TTL_MS
  const start = (): Promise<Value> => {
    const reading = { startedMs: nowMs(), answer: read() }
    running = reading
    isAsked = false
    const ended = (): void => {
      if (running === reading) running = undefined
    }
    reading.answer.then(() => {
      ended()
      if (latest && latest.startedMs > reading.startedMs) return
      latest = reading
      clearTimeout(refresh)
      refresh = setTimeout(
        () => {
          if (isAsked && !running) start().catch(() => undefined)
        },
        Math.max(0, reading.startedMs + REFRESH_AFTER_MS - nowMs()),
      )
      refresh.unref()
    }, ended)
    return reading.answer
  }
  return () => {
    const good = isGood(latest) ? latest : isGood(running) ? running : undefined
    if (!good) return start()
    isAsked = true
    return good.answer
  }
}

/** Reads the ends of the chains that this installation holds: see `FreshnessReader`. */
export const createFreshnessReader = (
  warehouse: Pick<Warehouse, 'query'>,
  chains: readonly string[],
  nowMs: () => number = Date.now,
): FreshnessReader => {
  const reads = new Map(
    chains.map((chain) => [chain, createCachedRead(() => readFreshness(warehouse, chain), nowMs)]),
  )
  return { of: (chain) => reads.get(chain)?.() ?? Promise.resolve(null) }
}

const readFreshness = async (
  warehouse: Pick<Warehouse, 'query'>,
  chain: string,
): Promise<ChainFreshness | null> => {
  const row = chainRow(chain)
  if (row === undefined) return null
  const { rows } = await warehouse.query<FreshnessRow>(freshnessQuery(row))
  const [head, first] = rows
  if (!head || !first) return null
  return {
    head: Number(head.position),
    headTimeMs: Number(head.time_ms),
    headSlot: Number(head.slot),
    since: Number(first.position),
    sinceTimeMs: Number(first.time_ms),
    sinceSlot: Number(first.slot),
  }
}

import type { Warehouse } from '../core/clickhouse/client.ts'
import { chainRow } from '../schemas/chains.ts'
import type { ChainFreshness, FreshnessReader } from './interfaces.ts'
import { type FreshnessRow, freshnessQuery } from './queries/chain-freshness.ts'

/** How long an answer is good for. */
const CACHE_TTL_MS = 1_000

interface CachedFreshness {
  readonly atMs: number
  readonly answer: Promise<ChainFreshness | null>
}

/** Reads the ends of the chains that this installation holds; concurrent askers share one query. */
export const createFreshnessReader = (
  warehouse: Warehouse,
  chains: readonly string[],
  nowMs: () => number = Date.now,
): FreshnessReader => {
  const cache = new Map<string, CachedFreshness>()
  return {
    of: (chain) => {
      if (!chains.includes(chain)) return Promise.resolve(null)
      const known = cache.get(chain)
      if (known && nowMs() - known.atMs < CACHE_TTL_MS) return known.answer
      const answer = readFreshness(warehouse, chain)
      cache.set(chain, { atMs: nowMs(), answer })
      answer.catch(() => cache.delete(chain))
      return answer
    },
  }
}

const readFreshness = async (
  warehouse: Warehouse,
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

import type { Warehouse } from '../core/clickhouse/client.ts'
import { chainRow } from '../schemas/chains.ts'
import type { ChainFreshness, Freshness } from './interfaces.ts'
import { type FreshnessRow, freshnessQuery } from './queries/chains.ts'

/** How long an answer is good for. */
const CACHE_MS = 1_000

interface Cached {
  readonly atMs: number
  readonly answer: Promise<ChainFreshness | null>
}

/** Reads the ends of the chains that this installation holds; concurrent askers share one query. */
export const makeFreshness = (
  warehouse: Warehouse,
  chains: readonly string[],
  nowMs: () => number = Date.now,
): Freshness => {
  const cache = new Map<string, Cached>()
  return {
    of: (chain) => {
      if (!chains.includes(chain)) return Promise.resolve(null)
      const known = cache.get(chain)
      if (known && nowMs() - known.atMs < CACHE_MS) return known.answer
      const answer = read(warehouse, chain)
      cache.set(chain, { atMs: nowMs(), answer })
      answer.catch(() => cache.delete(chain))
      return answer
    },
  }
}

const read = async (warehouse: Warehouse, chain: string): Promise<ChainFreshness | null> => {
  const counts = chainRow(chain)?.vm === 'svm' ? 'slot' : 'height'
  const { rows } = await warehouse.query<FreshnessRow>(freshnessQuery(chain, counts))
  const [head, first] = rows
  if (!head || !first) return null
  return {
    head: Number(head.position),
    headTimeMs: Number(head.time_ms),
    since: Number(first.position),
    sinceTimeMs: Number(first.time_ms),
  }
}

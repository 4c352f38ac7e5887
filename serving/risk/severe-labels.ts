import { LRUCache } from 'lru-cache'
import type { Warehouse } from '../../core/clickhouse/client.ts'
import { PLANS } from '../../schemas/plans.ts'
import { RISK_CATEGORIES } from '../../schemas/risk.ts'
import { labelledQuery } from '../queries/risk-graph.ts'

/** How long an answer about an address is used again, and how many are kept. */
const KEPT_MS = 60_000
const MAX_KEPT = 10_000

const SEVERE_CATEGORIES: readonly string[] = Object.entries(RISK_CATEGORIES)
  .filter(([, row]) => row.class === 'Severe')
  .map(([name]) => name)

/**
 * Whether an address is itself labelled with a category of class Severe, on any chain: the same key signs on all of them. What money it met is
 * not looked at. Answers are up to a minute old. Throws `Outage` while labels cannot be read.
 */
export const createSevereLabelCheck = (
  warehouse: Pick<Warehouse, 'query'>,
  nowMs: () => number,
): ((address: string) => Promise<boolean>) => {
  const known = new LRUCache<string, boolean>({
    max: MAX_KEPT,
    ttl: KEPT_MS,
    perf: { now: nowMs },
    ttlResolution: 0,
  })
  return async (address) => {
    const kept = known.get(address)
    if (kept !== undefined) return kept
    const query = labelledQuery(address, SEVERE_CATEGORIES, nowMs())
    const { rows } = await warehouse.query(query, { budget: PLANS.starter.budget })
    const isSevere = rows.length > 0
    known.set(address, isSevere)
    return isSevere
  }
}

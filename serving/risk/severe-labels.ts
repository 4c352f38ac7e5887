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

interface KnownAddress {
  readonly isSevere: boolean
  readonly atMs: number
}

/**
 * Whether an address is itself labelled with a category of class Severe, on any chain: the same key signs on all of them. What money it met is
 * not looked at. Answers are up to a minute old. Throws `Outage` while labels cannot be read.
 */
export const createSevereLabelCheck = (
  warehouse: Pick<Warehouse, 'query'>,
  nowMs: () => number,
): ((address: string) => Promise<boolean>) => {
  const known = new LRUCache<string, KnownAddress>({ max: MAX_KEPT })
  return async (address) => {
    const kept = known.get(address)
    const atMs = nowMs()
    if (kept !== undefined && atMs >= kept.atMs && atMs < kept.atMs + KEPT_MS) return kept.isSevere
    const query = labelledQuery(address, SEVERE_CATEGORIES, atMs)
    const { rows } = await warehouse.query(query, { budget: PLANS.starter.budget })
    const isSevere = rows.length > 0
    known.set(address, { isSevere, atMs })
    return isSevere
  }
}

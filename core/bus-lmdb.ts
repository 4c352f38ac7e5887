import type { Database, Key } from 'lmdb'
import { Outage } from './fault.ts'

interface TreeStats {
  readonly pageSize: number
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
}

/** Bytes of the pages that the tables use. lmdb-js grows a full map by itself, so limits are kept by who writes. */
export const usedBytes = (tables: readonly Pick<Database<unknown, Key>, 'getStats'>[]): number =>
  tables
    .map((table) => table.getStats() as TreeStats)
    .reduce(
      (sum, { pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages }) =>
        sum + pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages),
      0,
    )

/** What lmdb refused, as the outage that ends its writer: a full or failing disk. */
export const diskOutage = (path: string, cause: unknown): Outage => {
  const message = cause instanceof Error ? cause.message : String(cause)
  return new Outage('disk', `${path}: ${message}`, { final: true, cause })
}

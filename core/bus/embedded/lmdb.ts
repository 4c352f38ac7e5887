import type { Database, Key, RootDatabase, TransactionFlags } from 'lmdb'
import { Outage } from '../../errors.ts'

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

/**
 * MDB_BAD_TXN, MDB_BAD_VALSIZE and MDB_PROBLEM: lmdb-js (3.5) keeps the list of free pages in memory between transactions
 * and refuses to commit, rarely, because that list and the stored one differ. The refused transaction is undone whole, and
 * the next one reads the list from the file.
 */
const FREE_LIST_CODES: ReadonlySet<unknown> = new Set([-30_782, -30_781, -30_779])

/** How often a transaction is written before its error counts. */
export const MAX_ATTEMPTS = 3

/** True for an error after which the same transaction, written again, can be right. */
export const isRetryable = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && FREE_LIST_CODES.has(error.code)

/** One transaction, on disk before it returns unless `flags` say otherwise. `work` may run several times; only its last run counts. */
export const runTransaction = <T, V>(
  root: RootDatabase<V, Key>,
  work: () => T,
  flags?: TransactionFlags,
): T => {
  for (let tries = 1; ; tries += 1) {
    try {
      return root.transactionSync(work, flags)
    } catch (error) {
      if (tries >= MAX_ATTEMPTS || !isRetryable(error)) throw error
    }
  }
}

/** What lmdb refused, as the outage that ends its writer: a full or failing disk. */
export const diskOutage = (path: string, cause: unknown): Outage => {
  const message = cause instanceof Error ? cause.message : String(cause)
  return new Outage('disk', `${path}: ${message}`, { final: true, cause })
}

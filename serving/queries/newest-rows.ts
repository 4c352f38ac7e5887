/** Columns by which a table of current states keeps the newest row of a key. `deleted`: rows whose newest says so are gone. */
interface StateTable {
  readonly version: string
  readonly deleted?: string
}

/** By the table's name behind the chain prefix, as `schemas/tables` makes them. */
const STATE_TABLES = {
  tokens: { version: '_ver', deleted: '_del' },
  token_prices: { version: '_ver' },
  token_documents: { version: 'fetched_at' },
  dex_pool_births: { version: '_ver', deleted: '_del' },
} as const satisfies Readonly<Record<string, StateTable>>

/**
 * Newest rows of a table of current states for a few keys among many, as `FINAL` gives them, as a SELECT of the key and `columns`. The engine reads these
 * columns for rows of those keys alone; `FINAL` reads them of all rows that are stored beside them. `where` tests nothing but the key.
 */
export const newestRowsSql = (
  chain: string,
  name: keyof typeof STATE_TABLES,
  {
    key,
    columns,
    where,
  }: { readonly key: string; readonly columns: string; readonly where: string },
): string => {
  const { version, deleted }: StateTable = STATE_TABLES[name]
  const newest = `SELECT ${[key, columns, ...(deleted === undefined ? [] : [deleted])].join(', ')} FROM ${chain}_${name} PREWHERE ${where}
    ORDER BY ${version} DESC LIMIT 1 BY ${key}`
  return deleted === undefined
    ? newest
    : `SELECT * EXCEPT (${deleted}) FROM (${newest}) WHERE ${deleted} = 0`
}

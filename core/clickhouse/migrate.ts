import { readdirSync, readFileSync } from 'node:fs'
import { GLOBAL_TABLE_RETENTION, TABLE_RETENTION } from '../../schemas/table-retention.ts'
import type { RetentionPolicy } from '../bus/contract.ts'
import type { Warehouse } from './client.ts'

const MIGRATIONS_FOLDER = new URL('../../schemas/tables/', import.meta.url)

/** Statements of one migration file; a `;` at a line's end closes one. */
const splitStatements = (text: string): readonly string[] =>
  text
    .split(/;\s*$/m)
    .map((part) => part.replace(/^\s*--.*$/gm, '').trim())
    .filter((part) => part !== '')

/**
 * Settings of every table. A part is on disk before its insert is answered, because the offsets that say so are: a power cut would
 * otherwise take rows of the last half minute that no retry inserts again. A merged part is on disk before those that it replaced go, which they do
 * after seconds: by the engine's own times (8 minutes, looked for every five) nine of ten files belonged to them. The engine remembers so many insert
 * tokens, of a server's replicas for a week.
 */
const STORAGE_SETTINGS = {
  fsync_after_insert: 1,
  fsync_part_directory: 1,
  min_rows_to_fsync_after_merge: 1,
  old_parts_lifetime: 5,
  cleanup_delay_period: 4,
  cleanup_delay_period_random_add: 1,
  max_cleanup_delay_period: 8,
  non_replicated_deduplication_window: 10_000,
  replicated_deduplication_window: 10_000,
  replicated_deduplication_window_seconds: 604_800,
}

/**
 * Settings that newer engines have: the indexes of a small part are one file, not two each, since making files is what a small insert
 * costs; and merges keep no statistics of every column, which takes a quarter of their processor time and a file of each part.
 */
const NEWER_STORAGE_SETTINGS = {
  packed_skip_index_max_bytes: 1_048_576,
  auto_statistics_types: "''",
}

/** What `{storage}` in a table's SETTINGS stands for, as far as the engine knows the settings. */
const storageSettingsSql = async (warehouse: Warehouse): Promise<string> => {
  const { rows } = await warehouse.query<{ readonly name: string }>({
    sql: 'SELECT name FROM system.merge_tree_settings WHERE name IN {names:Array(String)}',
    params: { names: Object.keys(NEWER_STORAGE_SETTINGS) },
  })
  const known = new Set(rows.map(({ name }) => name))
  const newer = Object.entries(NEWER_STORAGE_SETTINGS).filter(([name]) => known.has(name))
  return [...Object.entries(STORAGE_SETTINGS), ...newer].map((pair) => pair.join('=')).join(', ')
}

/** Stands for the chain of a file that names none. */
const NO_CHAIN = ''

/**
 * Brings the warehouse to the newest tables: each `NNNN_name.sql` once per chain, or once where it names no chain, in
 * order, recorded in `migrations`. Safe to repeat and to interrupt: statements say IF NOT EXISTS, and rows that are
 * inserted once more replace themselves.
 */
export const migrate = async (warehouse: Warehouse, chains: readonly string[]): Promise<void> => {
  await warehouse.command(
    'CREATE TABLE IF NOT EXISTS migrations (name String, chain String, applied_at DateTime DEFAULT now()) ENGINE = MergeTree ORDER BY (name, chain)',
  )
  const { rows } = await warehouse.query<{ name: string; chain: string }>({
    sql: 'SELECT name, chain FROM migrations',
  })
  const done = new Set(rows.map(({ name, chain }) => `${name}/${chain}`))
  const storage = await storageSettingsSql(warehouse)
  const files = readdirSync(MIGRATIONS_FOLDER).filter((name) => /^\d{4}_.*\.sql$/.test(name))
  for (const name of files.toSorted()) {
    const text = readFileSync(new URL(name, MIGRATIONS_FOLDER), 'utf8').replaceAll(
      '{storage}',
      storage,
    )
    for (const chain of text.includes('{chain}') ? chains : [NO_CHAIN]) {
      if (done.has(`${name}/${chain}`)) continue
      for (const statement of splitStatements(text.replaceAll('{chain}', chain))) {
        await warehouse.command(statement)
      }
      await warehouse.insert('migrations', [{ name, chain }])
    }
  }
}

interface TableRow {
  readonly name: string
  readonly engine_full: string
}

/**
 * Sets how long tables keep their rows: the contract's days with `contract`, else for ever. Tables that are set already are left
 * alone; the engine drops expired rows with its next merges. With `contract`, rows older than their days vanish at insert.
 */
export const applyTableRetention = async (
  warehouse: Warehouse,
  chains: readonly string[],
  retention: RetentionPolicy,
): Promise<void> => {
  const { rows } = await warehouse.query<TableRow>({
    sql: 'SELECT name, engine_full FROM system.tables WHERE database = currentDatabase()',
  })
  const engines = new Map(rows.map(({ name, engine_full }) => [name, engine_full]))
  const limits = [
    ...GLOBAL_TABLE_RETENTION,
    ...chains.flatMap((chain) =>
      TABLE_RETENTION.map((row) => ({ ...row, table: `${chain}_${row.table}` })),
    ),
  ]
  for (const { table: name, column, days } of limits) {
    const engine = engines.get(name)
    if (engine === undefined) continue
    const limited = / TTL /.test(engine)
    if (retention !== 'contract' && limited)
      await warehouse.command(`ALTER TABLE ${name} REMOVE TTL`)
    if (retention !== 'contract' || engine.includes(`toIntervalDay(${days})`)) continue
    await warehouse.command(
      `ALTER TABLE ${name} MODIFY TTL toDateTime(${column}) + toIntervalDay(${days}) DELETE SETTINGS materialize_ttl_after_modify = 0`,
    )
  }
}

import { readdirSync, readFileSync } from 'node:fs'
import { GLOBAL_RETENTION, TABLE_RETENTION } from '../schemas/retention.ts'
import type { Retention } from './bus-contract.ts'
import type { Warehouse } from './warehouse.ts'

const FOLDER = new URL('../schemas/tables/', import.meta.url)

/** Statements of one migration file; a `;` at a line's end closes one. */
const statementsOf = (text: string): readonly string[] =>
  text
    .split(/;\s*$/m)
    .map((part) => part.replace(/^\s*--.*$/gm, '').trim())
    .filter((part) => part !== '')

/** Stands for the chain of a file that names none. */
const NO_CHAIN = ''

/**
 * Brings the warehouse to the newest tables: each `NNNN_name.sql` once per chain, or once where it names no chain, in
 * order, recorded in `migrations`. Safe to repeat and to interrupt: every statement says IF NOT EXISTS.
 */
export const migrate = async (warehouse: Warehouse, chains: readonly string[]): Promise<void> => {
  await warehouse.command(
    'CREATE TABLE IF NOT EXISTS migrations (name String, chain String, applied_at DateTime DEFAULT now()) ENGINE = MergeTree ORDER BY (name, chain)',
  )
  const { rows } = await warehouse.query<{ name: string; chain: string }>({
    sql: 'SELECT name, chain FROM migrations',
  })
  const done = new Set(rows.map(({ name, chain }) => `${name}/${chain}`))
  const files = readdirSync(FOLDER).filter((name) => /^\d{4}_.*\.sql$/.test(name))
  for (const name of files.toSorted()) {
    const text = readFileSync(new URL(name, FOLDER), 'utf8')
    for (const chain of text.includes('{chain}') ? chains : [NO_CHAIN]) {
      if (done.has(`${name}/${chain}`)) continue
      for (const statement of statementsOf(text.replaceAll('{chain}', chain))) {
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
 * Sets how long tables keep their rows (R36): the contract's days with `contract`, else for ever. Tables that are set already are left
 * alone; the engine drops expired rows with its next merges. With `contract`, rows older than their days vanish at insert.
 */
export const applyRetention = async (
  warehouse: Warehouse,
  chains: readonly string[],
  retention: Retention,
): Promise<void> => {
  const { rows } = await warehouse.query<TableRow>({
    sql: 'SELECT name, engine_full FROM system.tables WHERE database = currentDatabase()',
  })
  const engines = new Map(rows.map(({ name, engine_full }) => [name, engine_full]))
  const limits = [
    ...GLOBAL_RETENTION,
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

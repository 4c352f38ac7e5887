import { readdirSync, readFileSync } from 'node:fs'
import type { Warehouse } from './warehouse.ts'

const FOLDER = new URL('../schemas/tables/', import.meta.url)

/** Statements of one migration file; a `;` at a line's end closes one. */
const statementsOf = (text: string): readonly string[] =>
  text
    .split(/;\s*$/m)
    .map((part) => part.replace(/^\s*--.*$/gm, '').trim())
    .filter((part) => part !== '')

/**
 * Brings the warehouse to the newest tables: each `NNNN_name.sql` once per chain, in order, recorded in `migrations`.
 * Safe to repeat and to interrupt: every statement says IF NOT EXISTS.
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
  for (const chain of chains) {
    for (const name of files.toSorted()) {
      if (done.has(`${name}/${chain}`)) continue
      const text = readFileSync(new URL(name, FOLDER), 'utf8').replaceAll('{chain}', chain)
      for (const statement of statementsOf(text)) await warehouse.command(statement)
      await warehouse.insert('migrations', [{ name, chain }])
    }
  }
}

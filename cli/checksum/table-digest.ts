import type { Warehouse } from '../../core/clickhouse/client.ts'
import { type TableRule, TECHNICAL_COLUMNS } from './comparison-rules.ts'
import type { ChecksumTarget, Digest } from './topic-digest.ts'

interface ColumnRow {
  readonly table: string
  readonly name: string
}

/** Columns of every table and view of the database, in their order. */
export const columnsByTable = async (
  warehouse: Warehouse,
): Promise<ReadonlyMap<string, readonly string[]>> => {
  const { rows } = await warehouse.query<ColumnRow>({
    sql: 'SELECT table, name FROM system.columns WHERE database = currentDatabase() ORDER BY table, position',
  })
  const columns = new Map<string, string[]>()
  for (const { table, name } of rows) {
    const known = columns.get(table)
    if (known === undefined) columns.set(table, [name])
    else known.push(name)
  }
  return columns
}

type IncludedTableRule = Exclude<TableRule, { readonly how: 'left out' }>

/** Which rows count, and whether the table must be read as `FINAL` shows it. */
const rowFilter = ({ rule, columns }: TableDigestRequest, { height, timeMs }: ChecksumTarget) => {
  switch (rule.how) {
    case 'blocks': {
      // The height of an operation is the slot on Solana, where blocks have another number beside it.
      const heightColumn = columns.includes('block_slot') ? 'block_slot' : 'block_height'
      return { final: 'FINAL', where: `${heightColumn} <= {height:UInt64}`, params: { height } }
    }
    case 'buckets': {
      const last = Math.max(0, Math.floor(timeMs / 1_000) - rule.seconds)
      return { final: '', where: 'bucket <= toDateTime({last:UInt32})', params: { last } }
    }
    case 'newest':
      return { final: 'FINAL', where: `NOT (${rule.absent ?? '0'})`, params: {} }
  }
}

/** A table or view with its columns. */
export interface TableDigestRequest {
  /** With the chain prefix. */
  readonly name: string
  readonly columns: readonly string[]
  readonly rule: IncludedTableRule
}

/**
 * Digest of a table or view. Rows are hashed as text, because a hash of columns is NULL where one of them is, and summed,
 * so that neither order nor parts matter.
 */
export const tableDigest = async (
  warehouse: Warehouse,
  compared: TableDigestRequest,
  target: ChecksumTarget,
): Promise<Digest> => {
  const { name, columns, rule } = compared
  const { final, where, params } = rowFilter(compared, target)
  const omitted = new Set('omit' in rule ? rule.omit : [])
  const hashed = columns.filter((each) => !TECHNICAL_COLUMNS.has(each) && !omitted.has(each))
  const { rows } = await warehouse.query<{ rows: string; digest: string }>({
    sql: `SELECT count() AS rows,
      lower(hex(sum(toUInt256(reinterpretAsUInt128(sipHash128(toString(tuple(${hashed.join(', ')})))))))) AS digest
      FROM ${name} ${final} WHERE ${where}`,
    params,
  })
  const { rows: count = '0', digest = '' } = rows[0] ?? {}
  return { rows: Number(count), digest: digest.padStart(32, '0').slice(-32) }
}

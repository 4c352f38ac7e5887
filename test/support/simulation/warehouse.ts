import { readdirSync, readFileSync } from 'node:fs'
import {
  TABLE_RULES,
  type TableRule,
  TECHNICAL_COLUMNS,
} from '../../../cli/checksum/comparison-rules.ts'
import type { JsonLines, Warehouse } from '../../../core/clickhouse/client.ts'

type Row = Readonly<Record<string, unknown>>

/** How the engine replaces rows of a table. */
interface ReplacingTable {
  readonly key: readonly string[]
  /** Rows of different partitions never replace one another. */
  readonly partition: (row: Row) => string
  readonly version: string
  readonly deleted: string | undefined
}

const FOLDER = new URL('../../../schemas/tables/', import.meta.url)
const TABLE_PATTERN =
  /CREATE TABLE IF NOT EXISTS \{chain\}_(\w+) \([\s\S]*?\n\) ENGINE=ReplacingMergeTree\((\w+)(?:, (\w+))?\)\n(?:PARTITION BY (\w+)\((\w+)\)\n)?ORDER BY (?:\(([^)]*)\)|(\w+))/g

/** Length of the part of an ISO time that a partition goes by. */
const PARTITIONS: Readonly<Record<string, number>> = { toYYYYMM: 7, toYYYYMMDD: 10 }

/** Every replacing table of a chain by its name without the prefix, as `schemas/tables` makes it. */
export const replacingTables = (): ReadonlyMap<string, ReplacingTable> => {
  const tables = new Map<string, ReplacingTable>()
  for (const file of readdirSync(FOLDER)) {
    const text = readFileSync(new URL(file, FOLDER), 'utf8')
    for (const [, name = '', version = '', deleted, by, column = '', list, one = ''] of [
      ...text.matchAll(TABLE_PATTERN),
    ]) {
      const digits = by === undefined ? 0 : PARTITIONS[by]
      if (digits === undefined) throw new Error(`${name}: how ${by} partitions is not known`)
      const key = (list ?? one).split(',').map((each) => each.trim())
      const partition = (row: Row): string => String(row[column] ?? '').slice(0, digits)
      tables.set(name, { key, partition, version, deleted })
    }
  }
  return tables
}

/** Versions are 64 bits wide, as numbers or as text. */
const isOlder = (one: unknown, other: unknown): boolean => {
  const [a, b] = [String(one), String(other)]
  return a.length === b.length ? a < b : a.length < b.length
}

/** Rows that say nothing any more, by the condition of `TABLE_FACTS`. */
const ABSENT_ROW_TESTS: Readonly<Record<string, (row: Row) => boolean>> = {
  'price_usd IS NULL AND price_native IS NULL': (row) =>
    row.price_usd === null && row.price_native === null,
  'total_supply IS NULL AND market_cap_usd IS NULL': (row) =>
    row.total_supply === null && row.market_cap_usd === null,
  'buys + sells = 0': (row) => Number(row.buys) + Number(row.sells) === 0,
}

const isAbsentRow = (facts: TableRule, row: Row): boolean => {
  if (facts.how !== 'newest' || facts.absent === undefined) return false
  const test = ABSENT_ROW_TESTS[facts.absent]
  if (test === undefined) throw new Error(`what "${facts.absent}" means is not known here`)
  return test(row)
}

interface Table {
  readonly facts: TableRule
  readonly replacing: ReplacingTable
  readonly rows: Map<string, Row>
}

/**
 * Tables that keep the newest version of each key, as `FINAL` shows them, and drop an insert whose token came before. Views
 * and what they feed are not here: they are the engine's own.
 */
export class SimulatedWarehouse {
  readonly #chain: string
  readonly #known: ReadonlyMap<string, ReplacingTable>
  readonly #tables = new Map<string, Table>()
  readonly #texts = new Map<string, string>()
  /** Inserts that the engine would not have told apart although they held other rows. */
  readonly clashes: string[] = []

  constructor(chain: string, known: ReadonlyMap<string, ReplacingTable>) {
    this.#chain = chain
    this.#known = known
  }

  insert(...[table, rows, { token = '' } = {}]: Parameters<Warehouse['insert']>): void {
    const text = 'text' in rows ? (rows as JsonLines).text : rows.map(toJson).join('\n')
    const lines = text.split('\n')
    if (token !== '' && this.#isKnown(`${table} ${token}`, lines)) return
    const held = this.#tableOf(table)
    for (const line of lines) upsertRow(held, JSON.parse(line) as Row)
  }

  /** Names of the tables that are compared, without the chain prefix. */
  static compared(): readonly string[] {
    return Object.entries(TABLE_RULES).flatMap(([name, { how }]) =>
      how === 'blocks' || how === 'newest' ? [name] : [],
    )
  }

  /** The rows of a table that `sluice checksum` compares, as sorted lines. */
  content(name: string): readonly string[] {
    const table = this.#tables.get(`${this.#chain}_${name}`)
    if (table === undefined) return []
    const { facts, replacing, rows } = table
    const left = new Set([...TECHNICAL_COLUMNS, ...('omit' in facts ? (facts.omit ?? []) : [])])
    const lines: string[] = []
    for (const row of rows.values()) {
      if (replacing.deleted !== undefined && Number(row[replacing.deleted]) === 1) continue
      if (isAbsentRow(facts, row)) continue
      lines.push(JSON.stringify(row, (key, value) => (left.has(key) ? undefined : value)))
    }
    return lines.sort()
  }

  /** Whether the token came before; lanes whose rows share a statement come in any order. */
  #isKnown(named: string, lines: readonly string[]): boolean {
    const text = lines.toSorted().join('\n')
    const before = this.#texts.get(named)
    this.#texts.set(named, before ?? text)
    if (before !== undefined && before !== text) {
      this.clashes.push(`two contents under one token: ${named}`)
    }
    return before !== undefined
  }

  #tableOf(table: string): Table {
    const held = this.#tables.get(table)
    if (held) return held
    const name = table.slice(this.#chain.length + 1)
    const replacing = this.#known.get(name)
    const facts = TABLE_RULES[name]
    if (replacing === undefined || facts === undefined) throw new Error(`no table ${table}`)
    const made: Table = { facts, replacing, rows: new Map() }
    this.#tables.set(table, made)
    return made
  }
}

const toJson = (row: object): string => JSON.stringify(row)

const upsertRow = ({ replacing, rows }: Table, row: Row): void => {
  const { key, version, partition } = replacing
  const name = `${partition(row)}|${key.map((column) => String(row[column])).join('|')}`
  const held = rows.get(name)
  if (held === undefined || !isOlder(row[version], held[version])) rows.set(name, row)
}

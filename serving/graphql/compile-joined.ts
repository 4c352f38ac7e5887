import { isListType, type Leaf } from '../../schemas/cubes/types.ts'
import {
  createRecordLayout,
  type OutputColumn,
  optionalListColumn,
  type RecordLayout,
  selectList,
  storedColumn,
  storedLeaf,
} from './record-layout.ts'
import { type JoinField, joinFields, type ValueField, valueFields } from './selection.ts'
import {
  createStatement,
  fromClause,
  limitByClause,
  lookupsClause,
  namesOfPageOnly,
  orderByClause,
  orderKeys,
  PAGE,
  pageClause,
  rowsClause,
  type StatementContext,
  whereClause,
} from './sql-clauses.ts'

/** Rows that one transaction or block may bring into a join. */
const MAX_JOINED_ROWS = 10_000
/** What a join compares unless the other cube says otherwise. */
const TRANSACTION_KEY: readonly string[] = ['block_slot', 'tx_hash']

/** Columns of a SELECT: an expression stands there once, under a name of its own. */
interface NamedColumns {
  readonly add: (sql: string) => string
  readonly text: () => string
}

const namedColumns = (prefix: string): NamedColumns => {
  const names = new Map<string, string>()
  return {
    add: (sql) => {
      const name = names.get(sql) ?? `${prefix}${names.size}`
      names.set(sql, name)
      return name
    },
    text: () => [...names].map(([sql, name]) => `${sql} AS ${name}`).join(', '),
  }
}

/** The rows of one joined cube: a list per transaction, in chain order. */
interface JoinedRows extends JoinField {
  readonly index: number
  readonly statement: StatementContext
  /** Values of one row, each nullable: what a list does not hold is null. */
  readonly values: string[]
}

/** A value of the row that stands beside the n-th copy of the main row. */
const joinedColumn = ({ statement, values, index }: JoinedRows, leaf: Leaf): OutputColumn => {
  const elementOf = (sql: string): string => {
    const at = values.indexOf(sql)
    const place = at === -1 ? values.push(sql) : at + 1
    return `tupleElement(arrayElement(r${index}, n), ${place + 1})`
  }
  const sql = statement.use(leaf)
  if (isListType(leaf.type)) return optionalListColumn(elementOf(`[${sql}]`))
  return storedColumn(leaf, sql, (text) => elementOf(`toNullable(${text})`))
}

/** One LEFT JOIN of the statement. Only rows of transactions that the main rows name are read. */
const joinClause = (
  { cube, statement, values, index }: JoinedRows,
  main: NamedColumns,
  hasPage: boolean,
): string => {
  const keys = cube.joinKey ?? TRANSACTION_KEY
  const columns = keys.map((key, place) => ({ key, name: `j${index}_${place}`, of: main.add(key) }))
  const last = columns.at(-1)
  if (!last) throw new Error(`cube without a join key: ${cube.name}`)
  const row = [`tuple(${cube.order.join(', ')})`, ...values].join(', ')
  const rows = `arraySort(row -> row.1, groupArray(${MAX_JOINED_ROWS})(tuple(${row})))`
  const names = columns.map(({ key, name }) => `${key} AS ${name}`).join(', ')
  const wanted = hasPage ? `${last.key} FROM ${PAGE}` : `${last.of} FROM main`
  const where = `${last.key} IN (SELECT ${wanted})`
  const tokenRows = (): string => `${rowsClause(statement)} WHERE ${where}`
  const from = rowsClause(statement) + lookupsClause(statement, tokenRows)
  const select = `SELECT ${names}, ${rows} AS r${index} FROM ${from} WHERE ${where} GROUP BY ${columns.map(({ key }) => key).join(', ')}`
  const on = columns.map(({ name, of }) => `${name} = ${of}`).join(' AND ')
  return ` LEFT ANY JOIN (${select}) AS j${index} ON ${on}`
}

/**
 * Statement of a record with joins: a row is repeated once per row of another cube in its transaction; of several joins the n-th rows stand
 * beside its n-th copy. The limit counts the copies.
 */
export const compileJoined = (
  statement: StatementContext,
): { readonly sql: string; readonly shape: RecordLayout } => {
  const { selection, use, binder } = statement
  const { limit, limitBy } = selection
  const main = namedColumns('m')
  const joins = joinFields(selection.fields).map((join, index): JoinedRows => {
    const joined = { ...selection, cube: join.cube }
    return {
      ...join,
      index,
      statement: createStatement(joined, binder),
      values: [],
    }
  })
  const rowsOf = new Map<ValueField, JoinedRows>(
    joins.flatMap((join) => valueFields(join.fields).map((field) => [field, join])),
  )
  const shape = createRecordLayout(selection.fields, (field) => {
    const leaf = storedLeaf(field)
    const rows = rowsOf.get(field)
    return rows ? joinedColumn(rows, leaf) : storedColumn(leaf, use(leaf), main.add)
  })
  const keys = orderKeys(statement)
  const by = (limitBy?.by ?? []).map(({ leaf }) => use(leaf))
  const hasPage = namesOfPageOnly(statement)
  const clauses = joins.map((join) => joinClause(join, main, hasPage))
  const outerKeys = keys.map(({ sql, descending }) => ({ sql: main.add(sql), descending }))
  const unique = selection.cube.order.map((sql) => main.add(sql))
  const order = orderByClause(keys, selection.cube.order)
  const reach = binder.bind(String(limit.count + limit.offset), 'UInt64')
  const where = whereClause(statement)
  const kept = `WHERE ${where}${order}${limitByClause(statement, by)} LIMIT ${reach}`
  const rows = hasPage
    ? `${PAGE} AS (SELECT * FROM ${rowsClause(statement)} ${kept}), main AS (SELECT ${main.text()} FROM ${PAGE}${lookupsClause(statement, () => PAGE)})`
    : `main AS (SELECT ${main.text()} FROM ${fromClause(statement, where)} ${kept})`
  const lengths = joins.map(({ index }) => `length(r${index})`).join(', ')
  const copies = `ARRAY JOIN range(1, greatest(1, ${lengths}) + 1) AS n`
  const tail = `${orderByClause(outerKeys, unique)}, n ASC${pageClause(statement)}`
  const columns = selectList(shape)
  return {
    shape,
    sql: `WITH ${rows} SELECT ${columns} FROM main${clauses.join('')} ${copies}${tail}`,
  }
}

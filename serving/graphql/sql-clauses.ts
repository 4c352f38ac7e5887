import { DAY_MS } from '../../core/time.ts'
import { chainRow } from '../../schemas/chains.ts'
import type { Cube, Leaf } from '../../schemas/cubes/types.ts'
import { type BlockScope, scopeCondition } from './block-scope.ts'
import { compileCondition } from './compile-condition.ts'
import { createQueryParameters, type QueryParameters } from './query-parameters.ts'
import {
  type CubeSelection,
  lookupsOfCondition,
  type ValueField,
  withoutLookups,
} from './selection.ts'

/** What the parts of one statement share. */
export interface StatementContext {
  readonly selection: CubeSelection
  readonly binder: QueryParameters
  readonly hex: boolean
  readonly lookups: Set<string>
  /** Present: only what these blocks brought. */
  readonly scope?: BlockScope | undefined
  /** SQL of a leaf; notes the lookup it needs. */
  readonly use: (leaf: Leaf) => string
}

/** An empty statement for a selection; a part of another one shares its parameters. */
export const createStatement = (
  selection: CubeSelection,
  binder = createQueryParameters(),
  scope?: BlockScope,
): StatementContext => {
  const lookups = new Set<string>()
  return {
    selection,
    binder,
    hex: selection.chains.every((chain) => chainRow(chain)?.vm === 'evm'),
    lookups,
    scope,
    use: (leaf) => {
      if (leaf.needs) lookups.add(leaf.needs)
      return leaf.sql
    },
  }
}

const WATERMARK_SQL = `ifNull((SELECT argMax(hot_from, _ver) FROM {chain}_chain_state WHERE key = 'rollup'), toDateTime(0, 'UTC'))`

/**
 * The lookup `name` on a chain: those of its tokens that `addresses`, a SELECT, gives, and its native token, of which no table has
 * a row unless it is a token too.
 */
const tokenNamesSql = (name: string, chain: string, addresses: string): readonly string[] => {
  const tokens = `SELECT '${chain}' AS ${name}_chain, token_address AS ${name}_key, symbol AS ${name}_symbol, name AS ${name}_name, decimals AS ${name}_places FROM ${chain}_tokens FINAL WHERE token_address IN (${addresses})`
  const row = chainRow(chain)
  if (row === undefined || row.nativeAddress === row.wrappedNative) return [tokens]
  const { nativeAddress, nativeSymbol, nativeName, nativeDecimals } = row
  return [
    tokens,
    `SELECT '${chain}', '${nativeAddress}', '${nativeSymbol}', '${nativeName}', ${nativeDecimals}`,
  ]
}

const union = (parts: readonly string[]): string => `(${parts.join(' UNION ALL ')})`

/** SQL with placeholders as it reads on each chain of a selection. */
const onChains = ({ cube, chains, aggregates }: CubeSelection, text: string): readonly string[] => {
  const watermark = aggregates === 'no' ? `toDateTime(0, 'UTC')` : WATERMARK_SQL
  return chains.map((chain) => {
    const wrappedNative = chainRow(chain)?.wrappedNative ?? ''
    const constants = Object.entries(cube.constants ?? {})
    return constants
      .reduce((sql, [name, values]) => sql.replaceAll(`{${name}}`, values[chain] ?? ''), text)
      .replaceAll('{watermark}', watermark)
      .replaceAll('{coin}', wrappedNative)
      .replaceAll('{chain}', chain)
  })
}

/** The cube's rows on each chain, without lookups. */
export const rowsClause = ({ selection, scope }: StatementContext): string => {
  const { cube } = selection
  const sources = onChains(selection, (scope && cube.liveSource) ?? cube.source)
  const [only = ''] = sources
  const united = sources.length > 1 ? union(sources.map((text) => `SELECT * FROM ${text}`)) : only
  const rows = cube.merged?.replace('{union}', () => united) ?? united
  return rows.startsWith('(') ? `${rows} AS t` : rows
}

/**
 * Joins of the lookups that the leaves of a statement need. Of a chain's tokens, of which there are millions, those are read alone
 * whose addresses stand in `tokenRows`: what follows FROM in a SELECT of all rows whose names the statement reads.
 */
export const lookupsClause = (
  { selection, lookups }: StatementContext,
  tokenRows: () => string,
): string => {
  const { cube, chains } = selection
  const joins = [...lookups].map((name) => {
    const lookup = cube.lookups[name]
    if (!lookup) throw new Error(`unknown lookup in the cube: ${name}`)
    if ('select' in lookup)
      return ` LEFT ANY JOIN ${union(onChains(selection, lookup.select))} AS ${name} ON ${lookup.on}`
    const { key } = lookup
    const addresses = `SELECT ${key} FROM ${tokenRows()}`
    const tokens = chains.flatMap((id) => tokenNamesSql(name, id, addresses))
    const chain = cube.chainColumn ? ` AND ${name}_chain = ${cube.chainColumn}` : ''
    return ` LEFT ANY JOIN ${union(tokens)} AS ${name} ON ${name}_key = ${key}${chain}`
  })
  return joins.join('')
}

/** FROM of a statement, by its WHERE: the cube's rows with the lookups that its leaves need. */
export const fromClause = (statement: StatementContext, where: string): string => {
  let rows: string | undefined
  const tokenRows = (): string => {
    rows ??= filteredRows(statement, where)
    return rows
  }
  return rowsClause(statement) + lookupsClause(statement, tokenRows)
}

/** The rows that a statement filters, without names: where these are filtered by, all that the rest of the filter keeps. */
const filteredRows = (statement: StatementContext, where: string): string => {
  const { selection, binder, scope } = statement
  if (lookupsOfCondition(selection.where).length === 0)
    return `${rowsClause(statement)} WHERE ${where}`
  const isName = (name: string): boolean => isTokenLookup(selection.cube, name)
  const weaker = withoutLookups(selection.where, isName)
  const part = createStatement({ ...selection, where: weaker }, binder, scope)
  const filter = whereClause(part)
  return `${rowsClause(part)}${lookupsClause(part, () => '')} WHERE ${filter}`
}

/** The name under which `WITH` gives the rows of the page, see `namesOfPageOnly`. */
export const PAGE = 'page'

/**
 * True where a statement of rows as they are stored reads names of tokens but neither filters, orders nor limits by a lookup: it
 * makes the page first and looks up the names of its rows.
 */
export const namesOfPageOnly = ({ selection, lookups }: StatementContext): boolean => {
  const { cube, where, order, limitBy } = selection
  const leaves = [
    ...order.map((key) => ('leaf' in key ? key.leaf : leafOfField(key.field))),
    ...(limitBy?.by ?? []).map(({ leaf }) => leaf),
  ]
  return (
    [...lookups].some((name) => isTokenLookup(cube, name)) &&
    lookupsOfCondition(where).length === 0 &&
    leaves.every((leaf) => leaf?.needs === undefined)
  )
}

const leafOfField = (field: ValueField): Leaf | undefined =>
  field.kind === 'dimension' ? field.leaf : undefined

const isTokenLookup = ({ lookups }: Cube, name: string): boolean => {
  const lookup = lookups[name]
  return lookup !== undefined && 'key' in lookup
}

/** WHERE of a selection, the window of its dataset included. */
export const whereClause = (statement: StatementContext): string => {
  const { selection, binder, scope } = statement
  const { cube, dataset } = selection
  const wanted = compileCondition(selection.where, statement)
  const filter = scope ? `(${wanted}) AND ${scopeCondition(selection, scope, binder)}` : wanted
  if (dataset === 'combined' || cube.timeless) return filter
  const edge = binder.bindMoment((nowMs) => nowMs - DAY_MS)
  return `(${filter}) AND ${cube.time} ${dataset === 'realtime' ? '>' : '<='} ${edge}`
}

/** Rows that are kept per value. */
export const limitByClause = (
  { selection: { limitBy }, binder }: StatementContext,
  by: readonly string[],
): string => {
  if (!limitBy) return ''
  const number = (value: number): string => binder.bind(String(value), 'UInt64')
  return ` LIMIT ${number(limitBy.offset)}, ${number(limitBy.count)} BY ${by.join(', ')}`
}

/** The page of a selection. */
export const pageClause = ({ selection: { limit }, binder }: StatementContext): string => {
  const number = (value: number): string => binder.bind(String(value), 'UInt64')
  return ` LIMIT ${number(limit.count)} OFFSET ${number(limit.offset)}`
}

/** Keys by which rows of a plain record are ordered. */
export const orderKeys = ({
  selection,
  use,
}: StatementContext): readonly { readonly sql: string; readonly descending: boolean }[] =>
  selection.order.map((key) => {
    const leaf = 'leaf' in key ? key.leaf : leafOfField(key.field)
    if (!leaf) throw new Error('an aggregate orders a plain record')
    const sql = use(leaf)
    return { sql: leaf.rank ?? leaf.fast ?? sql, descending: key.descending }
  })

const sortDirection = (descending: boolean): string => (descending ? 'DESC' : 'ASC')

/** ORDER BY: the keys, then what makes the order unique in the direction of the first key; an expression counts once. */
export const orderByClause = (
  keys: readonly { readonly sql: string; readonly descending: boolean }[],
  unique: readonly string[],
): string => {
  const last = keys[0]?.descending ?? false
  const all = [...keys, ...unique.map((sql) => ({ sql, descending: last }))]
  const seen = new Set<string>()
  const parts = all.flatMap(({ sql, descending }) => {
    if (seen.has(sql)) return []
    seen.add(sql)
    return [`${sql} ${sortDirection(descending)}`]
  })
  return parts.length > 0 ? ` ORDER BY ${parts.join(', ')}` : ''
}

import { DAY_MS } from '../../core/time.ts'
import { chainRow } from '../../schemas/chains.ts'
import type { Leaf } from '../../schemas/cubes/types.ts'
import { type BlockScope, scopeCondition } from './block-scope.ts'
import { compileCondition } from './compile-condition.ts'
import { createQueryParameters, type QueryParameters } from './query-parameters.ts'
import type { CubeSelection } from './selection.ts'

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

/** The lookup `name` on a chain: its tokens, and its native token, of which no table has a row unless it is a token too. */
const tokenNamesSql = (name: string, chain: string): readonly string[] => {
  const tokens = `SELECT '${chain}' AS ${name}_chain, token_address AS ${name}_key, symbol AS ${name}_symbol, name AS ${name}_name, decimals AS ${name}_places FROM ${chain}_tokens FINAL`
  const row = chainRow(chain)
  if (row === undefined || row.nativeAddress === row.wrappedNative) return [tokens]
  const { nativeAddress, nativeSymbol, nativeName, nativeDecimals } = row
  return [
    tokens,
    `SELECT '${chain}', '${nativeAddress}', '${nativeSymbol}', '${nativeName}', ${nativeDecimals}`,
  ]
}

/** FROM of a selection: the cube's source on each chain, with the lookups that its leaves need. */
export const fromClause = ({ selection, lookups, scope }: StatementContext): string => {
  const { cube, chains, aggregates } = selection
  const watermark = aggregates === 'no' ? `toDateTime(0, 'UTC')` : WATERMARK_SQL
  const on = (text: string): readonly string[] =>
    chains.map((chain) => {
      const wrappedNative = chainRow(chain)?.wrappedNative ?? ''
      const constants = Object.entries(cube.constants ?? {})
      return constants
        .reduce((sql, [name, values]) => sql.replaceAll(`{${name}}`, values[chain] ?? ''), text)
        .replaceAll('{watermark}', watermark)
        .replaceAll('{coin}', wrappedNative)
        .replaceAll('{chain}', chain)
    })
  const union = (parts: readonly string[]): string => `(${parts.join(' UNION ALL ')})`
  const sources = on((scope && cube.liveSource) ?? cube.source)
  const [only = ''] = sources
  const united = sources.length > 1 ? union(sources.map((text) => `SELECT * FROM ${text}`)) : only
  const rows = cube.merged?.replace('{union}', () => united) ?? united
  const source = rows.startsWith('(') ? `${rows} AS t` : rows
  const joins = [...lookups].map((name) => {
    const lookup = cube.lookups[name]
    if (!lookup) throw new Error(`unknown lookup in the cube: ${name}`)
    if ('select' in lookup)
      return ` LEFT ANY JOIN ${union(on(lookup.select))} AS ${name} ON ${lookup.on}`
    const { key } = lookup
    const tokens = chains.flatMap((id) => tokenNamesSql(name, id))
    const chain = cube.chainColumn ? ` AND ${name}_chain = ${cube.chainColumn}` : ''
    return ` LEFT ANY JOIN ${union(tokens)} AS ${name} ON ${name}_key = ${key}${chain}`
  })
  return source + joins.join('')
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
    const leaf =
      'leaf' in key ? key.leaf : key.field.kind === 'dimension' ? key.field.leaf : undefined
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

/** Parameters of a statement as `SET param_name = 'text'`. Source: ClickHouse, "Queries with parameters". */

const ESCAPE_SEQUENCES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\0': '\\0',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
}

/** Text as ClickHouse reads a field of its tab-separated format. */
const escapeText = (text: string): string =>
  text.replace(/[\\\0\b\f\n\r\t]/g, (character) => ESCAPE_SEQUENCES[character] ?? character)

/** A string literal of SQL. */
export const toSqlLiteral = (text: string): string => `'${escapeText(text).replaceAll("'", "\\'")}'`

const formatListItem = (value: unknown): string => {
  if (value === null || value === undefined) return 'NULL'
  if (Array.isArray(value)) return `[${value.map(formatListItem).join(',')}]`
  return typeof value === 'string' ? toSqlLiteral(value) : formatScalar(value)
}

const formatScalar = (value: unknown): string => {
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  throw new TypeError(`a parameter cannot hold a value of type ${typeof value}`)
}

const formatParam = (value: unknown): string => {
  if (value === null || value === undefined) return '\\N'
  if (Array.isArray(value)) return formatListItem(value)
  return typeof value === 'string' ? escapeText(value) : formatScalar(value)
}

const SETTING_NAME = /^[A-Za-z_]\w*$/

const formatAssignment = (name: string, value: string): string => {
  if (!SETTING_NAME.test(name))
    throw new TypeError(`${JSON.stringify(name)} is not a valid setting name`)
  return `${name} = ${value}`
}

/**
 * One SET statement for settings and parameters; they hold for the connection that runs it. Values stand in it as escaped
 * literals only. Throws `TypeError` for a name or value that cannot be written.
 */
export const setStatementSql = (
  settings: Readonly<Record<string, unknown>>,
  params: Readonly<Record<string, unknown>> = {},
): string =>
  `SET ${[
    ...Object.entries(settings).map(([name, value]) =>
      formatAssignment(name, typeof value === 'string' ? toSqlLiteral(value) : formatScalar(value)),
    ),
    ...Object.entries(params).map(([name, value]) =>
      formatAssignment(`param_${name}`, toSqlLiteral(formatParam(value))),
    ),
  ].join(', ')}`

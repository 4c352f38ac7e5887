/** Parameters of a statement as `SET param_name = 'text'`. Source: ClickHouse, "Queries with parameters". */

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\0': '\\0',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
}

/** Text as ClickHouse reads a field of its tab-separated format. */
const escaped = (text: string): string =>
  text.replace(/[\\\0\b\f\n\r\t]/g, (character) => ESCAPES[character] ?? character)

/** A string literal of SQL. */
const sqlLiteral = (text: string): string => `'${escaped(text).replaceAll("'", "\\'")}'`

const listItem = (value: unknown): string => {
  if (value === null || value === undefined) return 'NULL'
  if (Array.isArray(value)) return `[${value.map(listItem).join(',')}]`
  return typeof value === 'string' ? sqlLiteral(value) : scalarText(value)
}

const scalarText = (value: unknown): string => {
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  throw new TypeError(`a parameter cannot hold a value of type ${typeof value}`)
}

const paramText = (value: unknown): string => {
  if (value === null || value === undefined) return '\\N'
  if (Array.isArray(value)) return listItem(value)
  return typeof value === 'string' ? escaped(value) : scalarText(value)
}

const NAME = /^[A-Za-z_]\w*$/

const assignment = (name: string, value: string): string => {
  if (!NAME.test(name)) throw new TypeError(`${JSON.stringify(name)} is not a valid setting name`)
  return `${name} = ${value}`
}

/**
 * One SET statement for settings and parameters; they hold for the connection that runs it. Values stand in it as escaped
 * literals only. Throws `TypeError` for a name or value that cannot be written.
 */
export const setText = (
  settings: Readonly<Record<string, unknown>>,
  params: Readonly<Record<string, unknown>> = {},
): string =>
  `SET ${[
    ...Object.entries(settings).map(([name, value]) =>
      assignment(name, typeof value === 'string' ? sqlLiteral(value) : scalarText(value)),
    ),
    ...Object.entries(params).map(([name, value]) =>
      assignment(`param_${name}`, sqlLiteral(paramText(value))),
    ),
  ].join(', ')}`

import type { Leaf } from '../../schemas/cubes/types.ts'
import type { Field, ValueField } from './selection.ts'

/** An SQL expression and the type in which it is printed. */
export interface Output {
  readonly sql: string
  readonly type: string
}

/** How a value of a leaf is printed (contract/graphql.md 6): times as ISO 8601 with seconds and `Z`, days as YYYY-MM-DD. */
export const printed = (sql: string, leaf: Pick<Leaf, 'type' | 'exact'>): Output => {
  switch (leaf.type) {
    case 'DateTime':
      return {
        sql: `formatDateTime(${sql}, '%Y-%m-%dT%H:%i:%SZ', 'UTC')`,
        type: 'Nullable(String)',
      }
    case 'Date':
      return { sql: `toString(toDate(${sql}))`, type: 'Nullable(String)' }
    case 'Int':
      return { sql, type: 'Nullable(Int64)' }
    case 'Float':
      return { sql, type: leaf.exact ? 'Nullable(Decimal(38, 12))' : 'Nullable(Float64)' }
    case 'Boolean':
      return { sql, type: 'Nullable(Bool)' }
    case 'String':
      return { sql, type: 'Nullable(String)' }
  }
}

const EMPTY: Output = { sql: `CAST(map(), 'Map(String, String)')`, type: 'Map(String, String)' }

/**
 * A record as one tuple with the names and the nesting of the answer: the engine prints it as the JSON object that the
 * client gets. Names are GraphQL names, so they need no escape.
 */
export const recordTuple = (
  fields: readonly Field[],
  output: (field: ValueField) => Output,
): Output => {
  if (fields.length === 0) return EMPTY
  const members = fields.map((field): readonly [string, Output] => {
    if (field.kind === 'group') return [field.key, recordTuple(field.fields, output)]
    if (field.kind === 'typename') return [field.key, { sql: `'${field.name}'`, type: 'String' }]
    return [field.key, output(field)]
  })
  return {
    sql: `tuple(${members.map(([, { sql }]) => sql).join(', ')})`,
    type: `Tuple(${members.map(([key, { type }]) => `\`${key}\` ${type}`).join(', ')})`,
  }
}

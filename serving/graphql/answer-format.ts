import { GraphQLError } from 'graphql'
import { acceptedType } from '../http/accepted-type.ts'
import type { AnswerBudget } from './answer-budget.ts'
import type { Plan } from './plan.ts'
import type { RecordLayout } from './record-layout.ts'
import { JSON_FRAME, type RecordFrame } from './record-template.ts'
import { type GroupMember, groupMembers, type RootMember } from './select.ts'
import type { Field } from './selection.ts'

/** How the rows of an answer are written. */
export interface AnswerFormat {
  readonly mediaType: string
  /** The answer is nothing but the rows of one cube: no envelope says what went wrong or what it cost. */
  readonly rowsOnly: boolean
  /** What stands around the records of a selection. Throws `QueryTooExpensive` when names alone take more than the budget. */
  readonly frameOf: (fields: readonly Field[], budget: AnswerBudget) => RecordFrame
  readonly layoutOf: (fields: readonly Field[], layout: RecordLayout) => RecordLayout
}

/** Records in the envelope of GraphQL. */
export const JSON_FORMAT: AnswerFormat = {
  mediaType: 'application/json',
  rowsOnly: false,
  frameOf: () => JSON_FRAME,
  layoutOf: (_, layout) => layout,
}

const text = (value: string): Buffer => Buffer.from(value)
const LINES: RecordFrame = { head: '', between: '\n', tail: '\n', empty: '' }

const ndjson = (mediaType: string): AnswerFormat => ({
  ...JSON_FORMAT,
  mediaType,
  rowsOnly: true,
  frameOf: () => LINES,
})

/** Leaves and type names of a record in the order in which they are written, each with its path. */
const cellsOf = function* (
  fields: readonly Field[],
  prefix: string,
): Generator<{ readonly path: string; readonly field: Field }> {
  for (const field of fields) {
    const path = `${prefix}${field.key}`
    if (field.kind === 'group' || field.kind === 'join') yield* cellsOf(field.fields, `${path}_`)
    else yield { path, field }
  }
}

const NEW_LINE = '\r\n'

/** The first line: paths with `_` between their steps, aliases in the place of names. */
const headLine = (fields: readonly Field[], budget: AnswerBudget): string => {
  const names: string[] = []
  let length = 0
  for (const { path } of cellsOf(fields, '')) {
    // Before the names are joined: what a group is called stands in each of its leaves.
    length += path.length + 1
    if (length > budget.left()) budget.spend(length)
    names.push(path)
  }
  return names.join(',') + NEW_LINE
}

const QUOTE = '"'.charCodeAt(0)
const BRACKET = '['.charCodeAt(0)
const BACKSLASH = '\\'.charCodeAt(0)
const N = 'n'.charCodeAt(0)

const quoted = (value: string): Buffer => text(`"${value.replaceAll('"', '""')}"`)

/** A JSON value as a cell: a text in quotes, a list as JSON in quotes, null as nothing. Source: RFC 4180. */
const csvCell =
  (nothing: Buffer): NonNullable<RecordFrame['cell']> =>
  (bytes, from, to) => {
    const put = (cell: Buffer): number => from + cell.copy(bytes, from)
    const first = bytes[from]
    if (first === N) return put(nothing)
    const value = bytes.subarray(from, to)
    if (first === BRACKET) return put(quoted(value.toString()))
    // Without a backslash there is no quote inside either.
    if (first !== QUOTE || !value.includes(BACKSLASH)) return to
    return put(quoted(JSON.parse(value.toString()) as string))
  }

const CSV: AnswerFormat = {
  mediaType: 'text/csv',
  rowsOnly: true,
  frameOf: (fields, budget) => {
    const header = headLine(fields, budget)
    const columns = [...cellsOf(fields, '')]
    // Most readers skip a line with nothing in it.
    const cell = csvCell(text(columns.length === 1 ? '""' : ''))
    return { head: '', header, between: NEW_LINE, tail: NEW_LINE, empty: header, cell }
  },
  layoutOf: (fields, layout) => {
    const literals: string[] = []
    let between = ''
    let isFirst = true
    for (const { field } of cellsOf(fields, '')) {
      if (!isFirst) between += ','
      isFirst = false
      if (field.kind === 'typename') between += `"${field.name}"`
      else {
        literals.push(between)
        between = ''
      }
    }
    return { ...layout, literals: [...literals, between] }
  },
}

const FORMATS = [JSON_FORMAT, CSV, ndjson('application/x-ndjson'), ndjson('application/jsonl')]
const MEDIA_TYPES = FORMATS.map(({ mediaType }) => mediaType)

/** The format that an `Accept` header asks for; JSON where it asks for none that is served. */
export const formatFor = (accept: string | undefined): AnswerFormat => {
  const type = acceptedType(accept, MEDIA_TYPES)
  return FORMATS.find(({ mediaType }) => mediaType === type) ?? JSON_FORMAT
}

/** Throws `GraphQLError` where a plan has not the rows of one cube, which is all that a format without an envelope holds. */
export const validateFormat = (
  { members, selections }: Plan,
  { mediaType, rowsOnly }: AnswerFormat,
): void => {
  if (!rowsOnly) return
  const inside = (kind: RootMember['kind']): readonly GroupMember[] =>
    members.filter((member) => member.kind === kind).flatMap(groupMembers)
  const inner = inside('group')
  const isOther = members.some(({ kind }) => kind === 'introspection' || kind === 'typename')
  if (selections.length === 1 && inner.length <= 1 && !isOther) return
  const nodes = [
    ...[...inner, ...inside('flat')].flatMap((member) => ('node' in member ? [member.node] : [])),
    ...members.flatMap((member) => (member.kind === 'introspection' ? [member.node] : [])),
  ]
  throw new GraphQLError(`${mediaType} holds the rows of one cube and nothing else`, { nodes })
}

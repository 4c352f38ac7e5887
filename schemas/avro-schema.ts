import { AVRO_NOTATION } from './avro-notation.ts'
import { FEED_AVRO_NOTATION } from './avro-notation-feeds.ts'

/** Root of every record and enum name on the wire. */
export const NAMESPACE = 'onchain.v1'

/** An Avro schema as JSON: a primitive name, a reference, a union or a definition. */
export type AvroSchema = string | readonly AvroSchema[] | { readonly [key: string]: unknown }

interface TypeDefinition {
  readonly kind: string
  readonly body: readonly string[]
}

const AVRO_PRIMITIVES: Readonly<Record<string, AvroSchema>> = {
  s: 'string',
  i: 'int',
  l: 'long',
  f: 'double',
  b: 'boolean',
  y: 'bytes',
  u: { type: 'string', logicalType: 'uint-string' },
  d: { type: 'string', logicalType: 'decimal-string' },
  ts: { type: 'long', logicalType: 'timestamp-millis' },
}
const AVRO_DEFAULTS: Readonly<Record<string, unknown>> = {
  s: '',
  u: '',
  d: '',
  i: 0,
  l: 0,
  ts: 0,
  f: 0,
  b: false,
  y: '',
}
const TS_PRIMITIVES: Readonly<Record<string, string>> = {
  s: 'string',
  u: 'string',
  d: 'string',
  i: 'number',
  l: 'number',
  ts: 'number',
  f: 'number',
  b: 'boolean',
  y: 'Uint8Array',
}

const TYPE_DEFINITIONS: ReadonlyMap<string, TypeDefinition> = new Map(
  [...AVRO_NOTATION, ...FEED_AVRO_NOTATION].map((line) => {
    const [, kind = '', name = '', body = ''] = /^(enum|record) (\S+) = (.*)$/.exec(line) ?? []
    return [name, { kind, body: body.split(' ') }]
  }),
)

/** Names of all types, without the namespace root, in the table's order. */
const TYPE_NAMES: readonly string[] = [...TYPE_DEFINITIONS.keys()]

/** Names of the records that are the value of a topic. */
export const MESSAGE_NAMES: readonly string[] = TYPE_NAMES.filter((name) =>
  /Events$|BlockEvent$|^control\.|^webhook\./.test(name),
)

const definitionOf = (name: string): TypeDefinition => {
  const found = TYPE_DEFINITIONS.get(name)
  if (!found) throw new Error(`notation names an unknown type: ${name}`)
  return found
}

/** What `...heads` stands for. `block_height` 0: the height of `meta`. */
const HEADER_FIELDS = [
  'block_height:l',
  'blocks:common.Block[]',
  'transactions:common.Transaction[]',
  'd_apps:common.DApp[]',
]
interface FieldDefinition {
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly nullable: boolean
  /** A place in one of the record's tables. */
  readonly isHead: boolean
}

const parseField = (text: string): FieldDefinition => {
  const cut = text.indexOf(':')
  const raw = text.slice(cut + 1)
  return {
    name: text.slice(0, cut),
    type: raw.replace(/[!?]$/, '').replace(/^&/, ''),
    required: raw.endsWith('!'),
    nullable: raw.endsWith('?'),
    isHead: raw.startsWith('&'),
  }
}

/** Fields of a record as the wire has them. */
const fieldsOf = ({ body }: TypeDefinition): readonly FieldDefinition[] =>
  body.flatMap((text) => (text === '...heads' ? HEADER_FIELDS.map(parseField) : [parseField(text)]))

/** Names of the fields of a record's events as the wire has them; undefined for messages whose events share no heads. */
export const eventWireFields = (message: string): readonly string[] | undefined => {
  const { body } = definitionOf(message)
  if (!body.includes('...heads')) return undefined
  const events = body.map(parseField).find(({ name }) => name === 'events')
  return fieldsOf(definitionOf(events?.type.slice(0, -2) ?? '')).map(wireFieldName)
}

const wireFieldName = ({ name, isHead }: FieldDefinition): string =>
  isHead ? `${name}_index` : name

const avroDefault = (type: string): unknown => {
  if (type.endsWith('[]')) return []
  if (type.startsWith('map<')) return {}
  return type in AVRO_DEFAULTS ? AVRO_DEFAULTS[type] : definitionOf(type).body[0]
}

/** The Avro schema of one type; a name that was defined further up is a reference. */
export const avroSchemaOf = (name: string): AvroSchema => {
  const seen = new Set<string>()
  const typeOf = (type: string): AvroSchema => {
    if (type.endsWith('[]')) return { type: 'array', items: typeOf(type.slice(0, -2)) }
    if (type.startsWith('map<')) return { type: 'map', values: typeOf(type.slice(4, -1)) }
    const primitive = AVRO_PRIMITIVES[type]
    if (primitive) return primitive
    const { kind, body } = definitionOf(type)
    const full = `${NAMESPACE}.${type}`
    if (seen.has(type)) return full
    seen.add(type)
    const cut = full.lastIndexOf('.')
    const base = { name: full.slice(cut + 1), namespace: full.slice(0, cut) }
    if (kind === 'enum') return { type: 'enum', ...base, symbols: body, default: body[0] }
    const fields = fieldsOf({ kind, body }).map((field) => toAvroField(field, typeOf))
    return { type: 'record', ...base, fields }
  }
  return typeOf(name)
}

const toAvroField = (field: FieldDefinition, typeOf: (type: string) => AvroSchema): AvroSchema => {
  if (field.isHead) return { name: wireFieldName(field), type: 'int', default: -1 }
  const type = typeOf(field.type)
  if (field.nullable) return { name: field.name, type: ['null', type], default: null }
  if (field.required) return { name: field.name, type }
  return { name: field.name, type, default: avroDefault(field.type) }
}

const typeName = (name: string): string =>
  name.slice(name.lastIndexOf('.') + 1).replace(/^./, (c) => c.toUpperCase())

const toTsType = (type: string): string => {
  if (type.endsWith('[]')) return `readonly ${toTsType(type.slice(0, -2))}[]`
  if (type.startsWith('map<')) return `Readonly<Record<string, ${toTsType(type.slice(4, -1))}>>`
  return TS_PRIMITIVES[type] ?? typeName(type)
}

/** The formatter's line width, so that the written file is already formatted. */
const LINE_WIDTH = 100

const typeDeclaration = (name: string): string => {
  const { kind, body } = definitionOf(name)
  if (kind === 'enum') {
    const line = `export type ${typeName(name)} = ${body.map((symbol) => `'${symbol}'`).join(' | ')}`
    if (line.length <= LINE_WIDTH) return `${line}\n`
    return `export type ${typeName(name)} =\n${body.map((symbol) => `  | '${symbol}'`).join('\n')}\n`
  }
  const declared = body.filter((text) => text !== '...heads').map(parseField)
  const lines = declared.map(({ name: field, type, nullable, isHead }) => {
    return `  readonly ${field}: ${toTsType(type)}${nullable || isHead ? ' | null' : ''}`
  })
  return `/** \`${NAMESPACE}.${name}\` */\nexport interface ${typeName(name)} {\n${lines.join('\n')}\n}\n`
}

/** Source text of `wire.ts`: one TypeScript type per wire type, plus the map from message name to type. */
export const wireTypesSource = (): string => {
  const map = MESSAGE_NAMES.map((name) => `  '${name}': ${typeName(name)}`).join('\n')
  return `// Written by \`npm run generate\` from avro-notation.ts; do not edit.\n\n${TYPE_NAMES.map(typeDeclaration).join('\n')}
/** Message name, as in topics.ts, to the decoded record. */
export interface Messages {
${map}
}
`
}

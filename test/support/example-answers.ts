/** Examples of the API's document, from what a server answers: one value of each named schema. */
import type { AppStack } from './app-stack.ts'

type Json = { readonly [key: string]: unknown }

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly schema: Json & { readonly enum?: readonly unknown[] }
  readonly example?: unknown
}

/** The part of an OpenAPI document that examples are about. */
export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Json>> }
}

interface Operation {
  readonly parameters?: readonly Parameter[]
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Json }>> }>
  >
}

/** Values of named schemas by name. */
type Values = Map<string, unknown>

const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** How much of a value is not known: the more, the worse an example it is. */
const unknowns = (value: unknown): number => {
  if (value === null || value === '' || value === '0') return 1
  if (Array.isArray(value)) return value.length === 0 ? 1 : unknowns(value[0])
  if (!isRecord(value)) return 0
  return Object.values(value).reduce<number>((sum, one) => sum + unknowns(one), 0)
}

/** The schema of every value of a map. */
const eachOf = ({ patternProperties, additionalProperties }: Json): Json | undefined => {
  if (isRecord(additionalProperties)) return additionalProperties
  const [each] = isRecord(patternProperties) ? Object.values(patternProperties) : []
  return isRecord(each) ? each : undefined
}

/** A map or list of named schemas with its last value alone, everything else as it is. */
const shortened = (value: unknown, schema: Json, document: ApiDocument): unknown => {
  const { $ref, anyOf, items, properties } = schema
  if (typeof $ref === 'string') return shortened(value, named(document, $ref), document)
  if (Array.isArray(anyOf) && value !== null) return shortened(value, anyOf[0], document)
  if (Array.isArray(value) && isRecord(items))
    return value.slice(-1).map((one) => shortened(one, items, document))
  if (!isRecord(value)) return value
  const entries = Object.entries(value)
  const each = eachOf(schema)
  if (each)
    return Object.fromEntries(
      entries.slice(-1).map(([key, one]) => [key, shortened(one, each, document)]),
    )
  const schemaOf = (key: string): Json =>
    isRecord(properties) && isRecord(properties[key]) ? properties[key] : {}
  return Object.fromEntries(
    entries.map(([key, one]) => [key, shortened(one, schemaOf(key), document)]),
  )
}

const named = ({ components }: ApiDocument, reference: string): Json =>
  components.schemas[reference.split('/').at(-1) ?? ''] ?? {}

/** Takes what a value holds of each named schema, where nothing better is known. */
const gather = (value: unknown, schema: Json, document: ApiDocument, values: Values): void => {
  const { $ref, anyOf, items, properties } = schema
  if (value === null || value === undefined) return
  if (typeof $ref === 'string') {
    const name = $ref.split('/').at(-1) ?? ''
    const short = shortened(value, schema, document)
    if (!values.has(name) || unknowns(short) < unknowns(values.get(name))) values.set(name, short)
    gather(value, named(document, $ref), document, values)
  }
  if (Array.isArray(anyOf)) gather(value, anyOf[0], document, values)
  if (Array.isArray(value) && isRecord(items))
    for (const one of value) gather(one, items, document, values)
  if (!isRecord(value)) return
  for (const [key, one] of Object.entries(value)) {
    const own = isRecord(properties) ? properties[key] : eachOf(schema)
    if (isRecord(own)) gather(one, own, document, values)
  }
}

/** Optional parameters that an example is asked with: without them some answers depend on the clock. */
const PINNED: ReadonlySet<string> = new Set(['limit', 'from', 'to'])

/** Path and query of a call with the given values of the parameters that it must have. Throws for one without a value. */
export const callOf = (
  path: string,
  { parameters = [] }: Operation,
  exampleOf: (parameter: Parameter) => unknown,
): string => {
  const query = new URLSearchParams()
  let filled = path
  for (const parameter of parameters) {
    if (parameter.required !== true && !PINNED.has(parameter.name)) continue
    const value = exampleOf(parameter)
    if (value === undefined) throw new Error(`${path} has no example of ${parameter.name}`)
    if (parameter.in === 'query') query.set(parameter.name, String(value))
    else filled = filled.replace(`{${parameter.name}}`, encodeURIComponent(String(value)))
  }
  return `${filled}?${query}`
}

/**
 * Operations on one chain, which answer the same whoever asks and whenever: chain and method are all that decides. Quotes are not
 * among them: they are of the moment; nor prediction markets and red packets: the recorded chains have none.
 */
export const chainReads = ({ paths }: ApiDocument): readonly (readonly [string, Operation])[] =>
  Object.entries(paths).flatMap(([path, { get }]) =>
    get !== undefined &&
    /^\/v2\/(?!webhook|account|prediction|redpacket|transaction|jobs?\/|dex\/|kyt)/.test(path)
      ? [[path, get] as const]
      : [],
  )

/** Values that any chain takes. */
const ANY_CHAIN = { chain: 'sol', duration: '1h', resolution: '1h', tag: 'dev', limit: 1 } as const

/** Content of `schemas/api/recorded-examples.json`. */
export interface RecordedExamples {
  readonly parameters: Readonly<Record<string, unknown>>
  /** By name of the schema. */
  readonly schemas: Readonly<Record<string, unknown>>
}

/** What a product answers to the reads of its document about the given subjects: the best value of each named schema. */
export const recordExamples = async (
  product: AppStack,
  subjects: Readonly<Record<string, unknown>>,
): Promise<RecordedExamples> => {
  const document = await product.rest<ApiDocument>('/openapi.json')
  const values: Values = new Map()
  const given: Readonly<Record<string, unknown>> = {
    ...subjects,
    ...ANY_CHAIN,
    from: subjects.startMs,
    to: subjects.endMs,
  }
  const exampleOf = ({ name, schema, example }: Parameter): unknown =>
    given[name] ?? example ?? schema.default ?? schema.enum?.[0]
  for (const [path, operation] of chainReads(document)) {
    const schema = operation.responses[200]?.content?.['application/json']?.schema ?? {}
    gather(await product.rest(callOf(path, operation, exampleOf)), schema, document, values)
  }
  const schemas = [...values].toSorted(([one], [other]) => (one < other ? -1 : 1))
  const { nextCursor } = await product.rest<{ readonly nextCursor: string }>(
    `/v2/token/sol/${subjects.tokenAddress}/holders?limit=1`,
  )
  return {
    parameters: { ...subjects, cursor: nextCursor },
    schemas: Object.fromEntries(schemas),
  }
}

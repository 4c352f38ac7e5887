import { isJsonObject } from '../../core/json.ts'

/** A JSON schema, or another part of an OpenAPI document, as plain JSON. */
type JsonObject = { readonly [key: string]: unknown }

/** Keywords whose value is a schema, a list of schemas, or schemas by name; in no other place is a title a name. */
const SCHEMA_KEYWORDS = {
  one: ['items', 'additionalProperties'],
  list: ['anyOf', 'oneOf', 'allOf'],
  map: ['properties', 'patternProperties'],
} as const

const mapValues = (record: JsonObject, change: (value: unknown) => unknown): JsonObject =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))

/** Schemas that have a title, by title. */
type Components = Map<string, JsonObject>

const extractNested = (schema: JsonObject, components: Components): JsonObject => {
  const changed: Record<string, unknown> = { ...schema }
  for (const key of SCHEMA_KEYWORDS.one)
    if (isJsonObject(schema[key])) changed[key] = extractSchema(schema[key], components)
  for (const key of SCHEMA_KEYWORDS.list)
    if (Array.isArray(schema[key]))
      changed[key] = schema[key].map((one) => extractSchema(one, components))
  for (const key of SCHEMA_KEYWORDS.map)
    if (isJsonObject(schema[key]))
      changed[key] = mapValues(schema[key], (one) => extractSchema(one, components))
  return changed
}

/** The reference to a schema that has a title, which it puts among the components; another schema with those inside it referred to. */
const extractSchema = (schema: unknown, components: Components): unknown => {
  if (!isJsonObject(schema)) return schema
  const { title, type } = schema
  if (typeof title !== 'string') return extractNested(schema, components)
  const mayBeNull = Array.isArray(type) && type.includes('null')
  const named = mayBeNull ? { ...schema, type: type.find((word) => word !== 'null') } : schema
  const component = extractNested(named, components)
  const known = components.get(title)
  if (known === undefined) components.set(title, component)
  else if (JSON.stringify(known) !== JSON.stringify(component))
    throw new Error(`duplicate schema title in the API document: ${title}`)
  const reference = { $ref: `#/components/schemas/${title}` }
  return mayBeNull ? { anyOf: [reference, { type: 'null' }] } : reference
}

/** A request body or an answer with the schemas of its media types referred to. */
const extractMediaSchemas = (message: unknown, components: Components): unknown => {
  if (!isJsonObject(message) || !isJsonObject(message.content)) return message
  const content = mapValues(message.content, (media) =>
    isJsonObject(media) ? { ...media, schema: extractSchema(media.schema, components) } : media,
  )
  return { ...message, content }
}

/** The reference to a problem, or an answer without a body, which are the same for nearly all operations; others stay. */
const extractSharedResponse = (status: string, answer: unknown, shared: Components): unknown => {
  if (!isJsonObject(answer) || status === '200') return answer
  const { content = {} } = answer
  if (!isJsonObject(content)) return answer
  const isProblem = Object.hasOwn(content, 'application/problem+json')
  if (!isProblem && Object.keys(content).length > 0) return answer
  const name = `Status${status}`
  if (!shared.has(name)) shared.set(name, answer)
  return JSON.stringify(shared.get(name)) === JSON.stringify(answer)
    ? { $ref: `#/components/responses/${name}` }
    : answer
}

/** References to the headers of an answer, which most operations have alike. */
const extractHeaders = (answer: unknown, headers: Components): unknown => {
  if (!isJsonObject(answer) || !isJsonObject(answer.headers)) return answer
  const referred = Object.entries(answer.headers).map(([name, header]) => {
    if (!isJsonObject(header)) return [name, header]
    if (!headers.has(name)) headers.set(name, header)
    const isShared = JSON.stringify(headers.get(name)) === JSON.stringify(header)
    return [name, isShared ? { $ref: `#/components/headers/${name}` } : header]
  })
  return { ...answer, headers: Object.fromEntries(referred) }
}

interface SharedParts {
  readonly components: Components
  readonly responses: Components
  readonly headers: Components
}

const extractOperationSchemas = (
  operation: unknown,
  { components, responses: shared, headers }: SharedParts,
): unknown => {
  if (!isJsonObject(operation)) return operation
  const { requestBody, responses } = operation
  return {
    ...operation,
    ...(requestBody !== undefined && { requestBody: extractMediaSchemas(requestBody, components) }),
    ...(isJsonObject(responses) && {
      responses: Object.fromEntries(
        Object.entries(responses).map(([status, answer]) => [
          status,
          extractSharedResponse(
            status,
            extractHeaders(extractMediaSchemas(answer, components), headers),
            shared,
          ),
        ]),
      ),
    }),
  }
}

const sortedByName = (components: Components): JsonObject =>
  Object.fromEntries([...components].toSorted(([one], [other]) => (one < other ? -1 : 1)))

/**
 * An OpenAPI document in which every schema with a title, in bodies and answers, is one component of that name, and a reference
 * elsewhere; so are the answers beside 200 that most operations have alike. Throws when two different schemas have one title.
 */
export const extractComponents = (document: JsonObject): JsonObject => {
  const components: Components = new Map()
  const shared: Components = new Map()
  const headers: Components = new Map()
  const { paths = {}, components: given = {} } = document
  const referred = mapValues(paths as JsonObject, (path) =>
    mapValues(path as JsonObject, (operation) =>
      extractOperationSchemas(operation, { components, responses: shared, headers }),
    ),
  )
  const { schemas = {} } = given as { readonly schemas?: JsonObject }
  return {
    ...document,
    paths: referred,
    components: {
      ...(given as JsonObject),
      schemas: { ...schemas, ...sortedByName(components) },
      responses: sortedByName(shared),
      headers: sortedByName(headers),
    },
  }
}

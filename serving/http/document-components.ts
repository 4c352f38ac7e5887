/** A JSON schema, or another part of an OpenAPI document, as plain JSON. */
type Json = { readonly [key: string]: unknown }

const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Keywords whose value is a schema, a list of schemas, or schemas by name; in no other place is a title a name. */
const SCHEMAS = {
  one: ['items', 'additionalProperties'],
  list: ['anyOf', 'oneOf', 'allOf'],
  map: ['properties', 'patternProperties'],
} as const

const mapValues = (record: Json, change: (value: unknown) => unknown): Json =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))

/** Schemas that have a title, by title. */
type Components = Map<string, Json>

const inside = (schema: Json, components: Components): Json => {
  const changed: Record<string, unknown> = { ...schema }
  for (const key of SCHEMAS.one)
    if (isRecord(schema[key])) changed[key] = refer(schema[key], components)
  for (const key of SCHEMAS.list)
    if (Array.isArray(schema[key])) changed[key] = schema[key].map((one) => refer(one, components))
  for (const key of SCHEMAS.map)
    if (isRecord(schema[key]))
      changed[key] = mapValues(schema[key], (one) => refer(one, components))
  return changed
}

/** The reference to a schema that has a title, which it puts among the components; another schema with those inside it referred to. */
const refer = (schema: unknown, components: Components): unknown => {
  if (!isRecord(schema)) return schema
  const { title, type } = schema
  if (typeof title !== 'string') return inside(schema, components)
  const mayBeNull = Array.isArray(type) && type.includes('null')
  const named = mayBeNull ? { ...schema, type: type.find((word) => word !== 'null') } : schema
  const component = inside(named, components)
  const known = components.get(title)
  if (known === undefined) components.set(title, component)
  else if (JSON.stringify(known) !== JSON.stringify(component))
    throw new Error(`two schemas of the document are called ${title}`)
  const reference = { $ref: `#/components/schemas/${title}` }
  return mayBeNull ? { anyOf: [reference, { type: 'null' }] } : reference
}

/** A request body or an answer with the schemas of its media types referred to. */
const referMedia = (message: unknown, components: Components): unknown => {
  if (!isRecord(message) || !isRecord(message.content)) return message
  const content = mapValues(message.content, (media) =>
    isRecord(media) ? { ...media, schema: refer(media.schema, components) } : media,
  )
  return { ...message, content }
}

/** The reference to a problem, or an answer without a body, which are the same for nearly all operations; others stay. */
const referAnswer = (status: string, answer: unknown, shared: Components): unknown => {
  if (!isRecord(answer) || status === '200') return answer
  const { content = {} } = answer
  if (!isRecord(content)) return answer
  const isProblem = Object.hasOwn(content, 'application/problem+json')
  if (!isProblem && Object.keys(content).length > 0) return answer
  const name = `Status${status}`
  if (!shared.has(name)) shared.set(name, answer)
  return JSON.stringify(shared.get(name)) === JSON.stringify(answer)
    ? { $ref: `#/components/responses/${name}` }
    : answer
}

const referOperation = (
  operation: unknown,
  components: Components,
  shared: Components,
): unknown => {
  if (!isRecord(operation)) return operation
  const { requestBody, responses } = operation
  return {
    ...operation,
    ...(requestBody !== undefined && { requestBody: referMedia(requestBody, components) }),
    ...(isRecord(responses) && {
      responses: Object.fromEntries(
        Object.entries(responses).map(([status, answer]) => [
          status,
          referAnswer(status, referMedia(answer, components), shared),
        ]),
      ),
    }),
  }
}

const sorted = (components: Components): Json =>
  Object.fromEntries([...components].toSorted(([one], [other]) => (one < other ? -1 : 1)))

/**
 * An OpenAPI document in which every schema with a title, in bodies and answers, is one component of that name, and a reference
 * elsewhere; so are the answers beside 200 that most operations have alike. Throws when two different schemas have one title.
 */
export const withComponents = (document: Json): Json => {
  const components: Components = new Map()
  const shared: Components = new Map()
  const { paths = {}, components: given = {} } = document
  const referred = mapValues(paths as Json, (path) =>
    mapValues(path as Json, (operation) => referOperation(operation, components, shared)),
  )
  const { schemas = {} } = given as { readonly schemas?: Json }
  return {
    ...document,
    paths: referred,
    components: {
      ...(given as Json),
      schemas: { ...schemas, ...sorted(components) },
      responses: sorted(shared),
    },
  }
}

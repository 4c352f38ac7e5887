import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Fault } from '../../core/errors.ts'
import { isWithinDepth, MAX_JSON_DEPTH } from '../../core/json.ts'

/** A parsed query string: a text, or a list where the key came more than once or with `[]`. */
type RawQuery = Record<string, string | string[]>

/** Repeated keys become lists; `key[]` is a list of that key, also when it comes once. */
export const parseQuery = (text: string): RawQuery => {
  const values = new Map<string, { readonly list: string[]; isList: boolean }>()
  for (const [name, value] of new URLSearchParams(text)) {
    const isList = name.endsWith('[]')
    const key = isList ? name.slice(0, -2) : name
    const known = values.get(key)
    if (known) {
      known.list.push(value)
      known.isList = true
    } else values.set(key, { list: [value], isList })
  }
  return Object.fromEntries(
    [...values].map(([key, { list, isList }]) => [key, isList ? list : (list[0] ?? '')]),
  )
}

const INTEGER_PATTERN = /^(?:0|-?[1-9]\d{0,15})$/
const DECIMAL_PATTERN = /^-?(?:0|[1-9]\d{0,15})(?:\.\d{1,17})?$/

/** What each type of a schema makes of one text; a text that is not written in the one accepted way stays, and the schema refuses it. */
const PARSER_BY_TYPE: Readonly<Record<string, (text: string) => unknown>> = {
  integer: (text) => (INTEGER_PATTERN.test(text) ? Number(text) : text),
  number: (text) => (DECIMAL_PATTERN.test(text) ? Number(text) : text),
  boolean: (text) => (text === 'true' ? true : text === 'false' ? false : text),
  array: (text) => [text],
}

interface SchemaProperty {
  readonly type?: string
}

/**
 * A query with the values that its schema has types for: numbers in plain canonical decimal text only (`20`, never `1e2`, `+20`,
 * `020`, `20.0` or ` 20`), `true` and `false`, and lists. Nothing is coerced: whatever else came is left for the schema to refuse.
 */
const parseTypedQuery = (
  query: Readonly<Record<string, unknown>>,
  schema: unknown,
): Record<string, unknown> => {
  const { properties = {} } = schema as {
    readonly properties?: Readonly<Record<string, SchemaProperty>>
  }
  const read = ([key, value]: readonly [string, unknown]): [string, unknown] => {
    const { type } = (Object.hasOwn(properties, key) && properties[key]) || {}
    const reader =
      type !== undefined && Object.hasOwn(PARSER_BY_TYPE, type) ? PARSER_BY_TYPE[type] : undefined
    return [key, reader && typeof value === 'string' ? reader(value) : value]
  }
  return Object.fromEntries(Object.entries(query).map(read))
}

/** Gives the routes registered after it queries as their schemas type them, before those are checked. */
export const installTypedQueries = (app: FastifyInstance): void => {
  app.addHook('preValidation', async (request: FastifyRequest) => {
    const { querystring } = request.routeOptions.schema ?? {}
    if (querystring === undefined) return
    request.query = parseTypedQuery(request.query as Readonly<Record<string, unknown>>, querystring)
  })
}

/**
 * Reads JSON bodies: no deeper than other JSON from outside, and no key that would reach a prototype. Clients name JSON on calls
 * that have no body too; then there is none.
 */
export const installJsonParser = (app: FastifyInstance): void => {
  const read = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser<string>(
    'application/json',
    { parseAs: 'string' },
    (request, body, done) => {
      if (body === '') done(null, undefined)
      else if (isWithinDepth(body)) read(request, body, done)
      else done(new Fault('BAD_REQUEST', `The body nests deeper than ${MAX_JSON_DEPTH} levels`))
    },
  )
}

import { Type } from 'typebox'
import { namedObject, nullable, Problem } from './common.ts'

/** A query; the cubes that it can name are in the schema that introspection gives. */
export const GraphqlBody = namedObject('GraphqlRequest', {
  query: Type.String(),
  variables: Type.Optional(nullable(Type.Record(Type.String(), Type.Unknown()))),
  operationName: Type.Optional(nullable(Type.String())),
})

/** The same in a query string. */
export const GraphqlQuery = Type.Object({
  query: Type.String(),
  variables: Type.Optional(Type.String({ description: 'JSON object' })),
  operationName: Type.Optional(Type.String()),
})

const GraphqlError = namedObject('GraphqlError', {
  message: Type.String(),
  locations: Type.Array(
    namedObject('GraphqlLocation', { line: Type.Integer(), column: Type.Integer() }),
  ),
  path: Type.Optional(Type.Array(Type.Union([Type.String(), Type.Integer()]))),
  extensions: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
})

const data = nullable(Type.Record(Type.String(), Type.Unknown()))

/** What a query gave, or why it was not answered. */
const GraphqlResponse = namedObject('GraphqlAnswer', {
  data,
  errors: Type.Optional(Type.Array(GraphqlError)),
})

/** The answer to a request that was refused before it became a query. */
const RejectedGraphqlRequest = namedObject('GraphqlRefusal', {
  data,
  errors: Type.Array(GraphqlError),
  ...Problem.properties,
})

const REJECTION_STATUSES = [400, 401, 403, 413, 415, 429, 500, 503] as const

/** Rows of one cube, by what `Accept` asks for. */
const ROW_FORMATS = ['text/csv', 'application/x-ndjson', 'application/jsonl'] as const

const GraphqlRows = Type.String({
  title: 'GraphqlRows',
  description: 'A table after RFC 4180 with a head line, or one record as JSON per line',
})

/** Answers by status. */
export const GRAPHQL_RESPONSES = {
  200: {
    description: 'What the query gave; in a format without an envelope the rows of its only cube',
    content: {
      'application/json': { schema: GraphqlResponse },
      ...Object.fromEntries(ROW_FORMATS.map((type) => [type, { schema: GraphqlRows }])),
    },
  },
  ...Object.fromEntries(REJECTION_STATUSES.map((status) => [status, RejectedGraphqlRequest])),
}

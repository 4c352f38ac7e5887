import { GraphQLError } from 'graphql'
import { MAX_ERRORS } from './limits.ts'
import { InvalidDocument } from './parse-document.ts'

/** One error as a client reads it. */
export interface PublicError {
  readonly message: string
  readonly locations: readonly { readonly line: number; readonly column: number }[]
  readonly path?: readonly (string | number)[]
  readonly extensions?: { readonly code: string }
}

/** A request that ran, but could not be answered within its limits. */
export class QueryTooExpensive extends Error {
  readonly path: readonly string[]

  constructor(message: string, path: readonly string[]) {
    super(message)
    this.name = 'QueryTooExpensive'
    this.path = path
  }
}

/** Characters of one message: names in it come from the request. */
const MAX_MESSAGE_LENGTH = 500
const MAX_LOCATIONS = 10

/** Places of an error: of a node its first token, of a syntax error what the parser says. */
const errorLocations = ({ nodes, locations }: GraphQLError): PublicError['locations'] => {
  const found = nodes?.slice(0, MAX_LOCATIONS).flatMap(({ loc }) => (loc ? [loc.startToken] : []))
  return (found ?? locations ?? []).map(({ line, column }) => ({ line, column }))
}

const errorCode = ({ extensions, message }: GraphQLError): string => {
  if (typeof extensions.code === 'string') return extensions.code
  return message.startsWith('Syntax Error') ? 'GRAPHQL_PARSE_FAILED' : 'GRAPHQL_VALIDATION_FAILED'
}

const publicError = (error: GraphQLError): PublicError => ({
  message:
    error.message.length > MAX_MESSAGE_LENGTH
      ? `${error.message.slice(0, MAX_MESSAGE_LENGTH)}…`
      : error.message,
  locations: errorLocations(error),
  extensions: { code: errorCode(error) },
})

/** Errors that belong into the envelope with status 200; undefined for everything else. */
export const publicErrors = (error: unknown): readonly PublicError[] | undefined => {
  if (error instanceof InvalidDocument) return error.errors.slice(0, MAX_ERRORS).map(publicError)
  if (error instanceof GraphQLError) return [publicError(error)]
  if (!(error instanceof QueryTooExpensive)) return undefined
  const { message, path } = error
  return [{ message, locations: [], path, extensions: { code: 'QUERY_TOO_EXPENSIVE' } }]
}

/** The failure envelope. */
export const errorEnvelope = (errors: readonly PublicError[]): string =>
  JSON.stringify({ data: null, errors })

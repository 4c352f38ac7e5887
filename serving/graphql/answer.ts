import { GraphQLError } from 'graphql'
import { InvalidDocument } from './document.ts'
import { MAX_ERRORS } from './limits.ts'

/** One error as a client reads it (contract/graphql.md 1). */
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

const publicError = (error: GraphQLError): PublicError => ({
  message: error.message,
  locations: (error.locations ?? []).map(({ line, column }) => ({ line, column })),
  extensions: {
    code: error.message.startsWith('Syntax Error')
      ? 'GRAPHQL_PARSE_FAILED'
      : 'GRAPHQL_VALIDATION_FAILED',
  },
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
export const failure = (errors: readonly PublicError[]): string =>
  JSON.stringify({ data: null, errors })

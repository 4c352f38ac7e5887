import { GraphQLError, Lexer, Source, TokenKind } from 'graphql'

/** What one request may ask for; past one of these it is refused before the engine runs. */
export interface QueryLimits {
  readonly maxTokens: number
  /** Steps of planning, see `PlanningBudget`: what fragments, variables and references multiply counts as often as it is used. */
  readonly maxSteps: number
  /** Nesting of braces, brackets and parentheses. */
  readonly maxDepth: number
  /** Values that introspection may give. The whole schema has about 98,000. */
  readonly maxIntrospection: number
  /** Bytes that introspection may give, names of fields included. The whole schema has about 1.9 million. */
  readonly maxIntrospectionBytes: number
  /** Fields of the answer's records after fragments are spread. */
  readonly maxFields: number
  readonly maxCubes: number
  /** Values of all records together, rows times leaves: aliases of one leaf are one column to the engine, so its own bounds miss them. */
  readonly maxValues: number
  /** Bytes of all records together: values and names of any length are repeated in every row, and stand in memory until they are sent. */
  readonly maxAnswerBytes: number
  /** Items of one list, in the text or in a variable. */
  readonly maxListItems: number
  /** Characters of one calculate expression. */
  readonly maxExpression: number
  /** Characters of one text operand. */
  readonly maxText: number
  /** Characters of one statement, without the template of its records. */
  readonly maxSql: number
  readonly timeoutMs: number
  /** Cube selections of one request that run at the same time. */
  readonly concurrency: number
}

/** Defaults of an installation. */
export const QUERY_LIMITS: QueryLimits = {
  maxTokens: 20_000,
  maxSteps: 40_000,
  maxIntrospection: 180_000,
  maxIntrospectionBytes: 4_000_000,
  maxDepth: 40,
  maxFields: 20_000,
  maxCubes: 200,
  // Three selections of 10,000 rows with 30 leaves each.
  maxValues: 1_000_000,
  maxAnswerBytes: 64 * 1024 * 1024,
  maxListItems: 1_000,
  maxExpression: 1_000,
  maxText: 4_000,
  maxSql: 200_000,
  timeoutMs: 30_000,
  concurrency: 4,
}

/** At most this many errors are listed. */
export const MAX_ERRORS = 100

const OPENING_TOKENS: ReadonlySet<string> = new Set([
  TokenKind.BRACE_L,
  TokenKind.BRACKET_L,
  TokenKind.PAREN_L,
])
const CLOSING_TOKENS: ReadonlySet<string> = new Set([
  TokenKind.BRACE_R,
  TokenKind.BRACKET_R,
  TokenKind.PAREN_R,
])

/**
 * Counts tokens and nesting before the recursive parser sees the text; gives the number of tokens. Throws `GraphQLError`,
 * also for a bad token.
 */
export const countTokens = (text: string, { maxTokens, maxDepth }: QueryLimits): number => {
  const lexer = new Lexer(new Source(text))
  let depth = 0
  let count = 0
  for (; lexer.advance().kind !== TokenKind.EOF; count++) {
    if (count >= maxTokens) throw new GraphQLError(`The document has more than ${maxTokens} tokens`)
    if (OPENING_TOKENS.has(lexer.token.kind)) depth++
    else if (CLOSING_TOKENS.has(lexer.token.kind)) depth--
    if (depth > maxDepth) throw new GraphQLError(`The document is nested deeper than ${maxDepth}`)
  }
  return count
}

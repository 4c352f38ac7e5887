import { GraphQLError, Lexer, Source, TokenKind } from 'graphql'

/** What one request may ask for; past one of these it is refused before the engine runs. */
export interface QueryLimits {
  readonly maxTokens: number
  /** Nesting of braces, brackets and parentheses. */
  readonly maxDepth: number
  /** Fields after fragments are spread. */
  readonly maxFields: number
  readonly maxCubes: number
  /** Items of one list, in the text or in a variable. */
  readonly maxListItems: number
  /** Characters of one calculate expression. */
  readonly maxExpression: number
  readonly timeoutMs: number
  /** Cube selections of one request that run at the same time. */
  readonly concurrency: number
}

/** Defaults of an installation. */
export const QUERY_LIMITS: QueryLimits = {
  maxTokens: 20_000,
  maxDepth: 40,
  maxFields: 20_000,
  maxCubes: 200,
  maxListItems: 1_000,
  maxExpression: 1_000,
  timeoutMs: 30_000,
  concurrency: 4,
}

/** At most this many errors are listed. */
export const MAX_ERRORS = 100

const OPENING: ReadonlySet<string> = new Set([
  TokenKind.BRACE_L,
  TokenKind.BRACKET_L,
  TokenKind.PAREN_L,
])
const CLOSING: ReadonlySet<string> = new Set([
  TokenKind.BRACE_R,
  TokenKind.BRACKET_R,
  TokenKind.PAREN_R,
])

/** Counts tokens and nesting before the recursive parser sees the text. Throws `GraphQLError`, also for a bad token. */
export const checkSize = (text: string, { maxTokens, maxDepth }: QueryLimits): void => {
  const lexer = new Lexer(new Source(text))
  let depth = 0
  for (let count = 0; lexer.advance().kind !== TokenKind.EOF; count++) {
    if (count >= maxTokens) throw new GraphQLError(`The document has more than ${maxTokens} tokens`)
    if (OPENING.has(lexer.token.kind)) depth++
    else if (CLOSING.has(lexer.token.kind)) depth--
    if (depth > maxDepth) throw new GraphQLError(`The document is nested deeper than ${maxDepth}`)
  }
}

import { LRUCache } from 'lru-cache'
import { RE2JS } from 're2js'
import { InvalidExpression } from './expression.ts'

const MAX_PATTERN_LENGTH = 64
/** Steps of the matcher's program: time per character of the text is at most in proportion. */
const MAX_PROGRAM_SIZE = 200
/** Classes of Unicode and long repetitions take long to compile, a hundred milliseconds the worst of them. */
const SLOW_PATTERN = /\\[pP]|\{\d{3,}|\{\d*,\d{3,}/
const MAX_PATTERNS = 1_000

/** Compiles a regular expression. Throws `InvalidExpression` for an invalid or too large one. */
export type PatternCompiler = (source: string, position: number) => RE2JS

/** Regular expressions that take time in proportion to the text, compiled once each. */
export const createPatternCompiler = (): PatternCompiler => {
  const known = new LRUCache<string, RE2JS>({ max: MAX_PATTERNS })
  return (source, position) => {
    const pattern = known.get(source) ?? compilePattern(source, position)
    known.set(source, pattern)
    return pattern
  }
}

const compilePattern = (source: string, position: number): RE2JS => {
  const tooLarge = new InvalidExpression('has a regular expression that is too large', position)
  if (source.length > MAX_PATTERN_LENGTH || SLOW_PATTERN.test(source)) throw tooLarge
  const pattern = parsePattern(source, position)
  if (pattern.programSize() > MAX_PROGRAM_SIZE) throw tooLarge
  return pattern
}

const parsePattern = (source: string, position: number): RE2JS => {
  try {
    return RE2JS.compile(source)
  } catch (error) {
    throw new InvalidExpression(`has an invalid regular expression: ${String(error)}`, position)
  }
}

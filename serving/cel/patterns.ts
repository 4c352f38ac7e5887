import { LRUCache } from 'lru-cache'
import { RE2JS } from 're2js'
import { InvalidExpression } from './expression.ts'

const MAX_PATTERN_LENGTH = 64
/** Steps of the matcher's program: time per character of the text is at most in proportion. */
const MAX_PROGRAM_SIZE = 200
/** Size before it is compiled, as `expandedSize` estimates it: it takes a few milliseconds at most then. */
const MAX_EXPANDED_SIZE = 500
/** Classes of Unicode, and ranges of it in either case, take long to compile, a hundred milliseconds the worst of them. */
const SLOW_PATTERN = /\\[pP]|\(\?[\w-]*i.*-(?:\\x|[^\0-\x7f])/s
/** Those of the filters that one organization can have at work, two in each; with what matching them keeps some ten KiB each. */
const MAX_PATTERNS = 5_000
/** Patterns that are known to be refused. */
const MAX_REFUSED = 1_000

/** Compiles a regular expression. Throws `InvalidExpression` for an invalid or too large one. */
export type PatternCompiler = (source: string, position: number) => RE2JS

/** Regular expressions that take time in proportion to the text, compiled once each. */
export const createPatternCompiler = (): PatternCompiler => {
  const known = new LRUCache<string, RE2JS>({ max: MAX_PATTERNS })
  const refused = new LRUCache<string, string>({ max: MAX_REFUSED })
  return (source, position) => {
    if (source.length > MAX_PATTERN_LENGTH) throw new InvalidExpression(TOO_LARGE, position)
    const found = known.get(source) ?? refused.get(source) ?? compilePattern(source)
    if (typeof found === 'string') {
      refused.set(source, found)
      throw new InvalidExpression(found, position)
    }
    known.set(source, found)
    return found
  }
}

const TOO_LARGE = 'has a regular expression that is too large'

/** The compiled pattern, or why it is refused. */
const compilePattern = (source: string): RE2JS | string => {
  if (SLOW_PATTERN.test(source) || expandedSize(source) > MAX_EXPANDED_SIZE) return TOO_LARGE
  try {
    const pattern = RE2JS.compile(source)
    return pattern.programSize() > MAX_PROGRAM_SIZE ? TOO_LARGE : pattern
  } catch (error) {
    return `has an invalid regular expression: ${String(error)}`
  }
}

/** An escaped character, a counted repetition, or one character. */
const PIECE = /\\(?:x\{[\da-fA-F]+\}|.)|\{(\d+)(?:,(\d*))?\}|./gsu
/** What a repetition may repeat more than one character or class of. */
const GROUP_ENDS = new Set([')', '}', '*', '+', '?'])

/**
 * Characters of a pattern with its counted repetitions written out: its program has about twice as many instructions at most. What
 * is repeated is not looked for: a repetition behind a group counts for everything before it.
 */
const expandedSize = (source: string): number => {
  let size = 0
  let last = ''
  for (const [piece, least, most = ''] of source.matchAll(PIECE)) {
    const count = Math.max(1, Number(least ?? 1), Number(most))
    size = GROUP_ENDS.has(last) ? size * count : size + count
    last = piece.at(-1) ?? ''
  }
  return size
}

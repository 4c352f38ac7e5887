import { GraphQLError } from 'graphql'

export type BinaryOperator = '+' | '-' | '*' | '/' | '<' | '<=' | '>' | '>=' | '=' | '!='
export type CallName = 'abs' | 'round' | 'if'

/** Arithmetic of a `calculate` metric. */
export type Expression =
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'reference'; readonly name: string }
  | { readonly kind: 'negative'; readonly of: Expression }
  | {
      readonly kind: 'binary'
      readonly operator: BinaryOperator
      readonly left: Expression
      readonly right: Expression
    }
  | { readonly kind: 'call'; readonly name: CallName; readonly with: readonly Expression[] }

const TOKEN =
  /\s*(?:(\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?)|\$([A-Za-z_][A-Za-z0-9_]*)|(abs|round|if)\b|(<=|>=|!=|==|[-+*/()<>=,×÷−]))/y
const SIGN_ALIASES: Readonly<Record<string, string>> = { '×': '*', '÷': '/', '−': '-', '==': '=' }
const ARGUMENT_COUNTS: Readonly<Record<CallName, readonly [number, number]>> = {
  abs: [1, 1],
  round: [1, 2],
  if: [3, 3],
}
const PRECEDENCE_LEVELS: readonly (readonly BinaryOperator[])[] = [
  ['<', '<=', '>', '>=', '=', '!='],
  ['+', '-'],
  ['*', '/'],
]
const MAX_NESTING = 50

type Token =
  | { readonly kind: 'number' | 'reference' | 'call'; readonly text: string }
  | { readonly kind: 'sign'; readonly text: string }

const invalidExpression = (why: string): GraphQLError =>
  new GraphQLError(`The expression of calculate is not valid: ${why}`)

const tokenize = (text: string): readonly Token[] => {
  const tokens: Token[] = []
  TOKEN.lastIndex = 0
  const end = text.trimEnd().length
  while (TOKEN.lastIndex < end) {
    const at = TOKEN.lastIndex
    const match = TOKEN.exec(text)
    if (!match) throw invalidExpression(`unexpected text at character ${at + 1}`)
    const [, number, reference, call, sign = ''] = match
    if (number !== undefined) tokens.push({ kind: 'number', text: number })
    else if (reference !== undefined) tokens.push({ kind: 'reference', text: reference })
    else if (call !== undefined) tokens.push({ kind: 'call', text: call })
    else tokens.push({ kind: 'sign', text: SIGN_ALIASES[sign] ?? sign })
  }
  return tokens
}

interface Parser {
  readonly tokens: readonly Token[]
  at: number
  depth: number
}

const acceptSign = (cursor: Parser, ...signs: readonly string[]): string | undefined => {
  const token = cursor.tokens[cursor.at]
  if (token?.kind !== 'sign' || !signs.includes(token.text)) return undefined
  cursor.at++
  return token.text
}

const parseBinary = (cursor: Parser, index: number): Expression => {
  const operators = PRECEDENCE_LEVELS[index]
  if (!operators) return parseUnary(cursor)
  let left = parseBinary(cursor, index + 1)
  for (;;) {
    const operator = acceptSign(cursor, ...operators) as BinaryOperator | undefined
    if (!operator) return left
    left = { kind: 'binary', operator, left, right: parseBinary(cursor, index + 1) }
  }
}

const parseUnary = (cursor: Parser): Expression => {
  if (++cursor.depth > MAX_NESTING) throw invalidExpression(`nested deeper than ${MAX_NESTING}`)
  const sign = acceptSign(cursor, '-', '+')
  const value = sign ? parseUnary(cursor) : parsePrimary(cursor)
  cursor.depth--
  return sign === '-' ? { kind: 'negative', of: value } : value
}

const parsePrimary = (cursor: Parser): Expression => {
  const token = cursor.tokens[cursor.at++]
  if (!token) throw invalidExpression('it ends too early')
  if (token.kind === 'number') return { kind: 'number', text: token.text }
  if (token.kind === 'reference') return { kind: 'reference', name: token.text }
  if (token.kind === 'call') return parseCall(cursor, token.text as CallName)
  if (token.text !== '(') throw invalidExpression(`unexpected '${token.text}'`)
  const inner = parseBinary(cursor, 0)
  if (!acceptSign(cursor, ')')) throw invalidExpression(`a ')' is missing`)
  return inner
}

const parseCall = (cursor: Parser, name: CallName): Expression => {
  if (!acceptSign(cursor, '(')) throw invalidExpression(`'${name}' needs '('`)
  const given: Expression[] = [parseBinary(cursor, 0)]
  while (acceptSign(cursor, ',')) given.push(parseBinary(cursor, 0))
  if (!acceptSign(cursor, ')')) throw invalidExpression(`a ')' is missing`)
  const [least, most] = ARGUMENT_COUNTS[name]
  if (given.length < least || given.length > most)
    throw invalidExpression(`'${name}' does not take ${given.length} values`)
  const [, places] = given
  if (name === 'round' && places && !(places.kind === 'number' && /^1?\d$/.test(places.text)))
    throw invalidExpression(`'round' takes a whole number of places below 20`)
  return { kind: 'call', name, with: given }
}

/** Parses the text of a `calculate` metric. Throws `GraphQLError`. */
export const parseExpression = (text: string, maxLength: number): Expression => {
  if (text.length > maxLength) throw invalidExpression(`longer than ${maxLength} characters`)
  const cursor: Parser = { tokens: tokenize(text), at: 0, depth: 0 }
  const expression = parseBinary(cursor, 0)
  if (cursor.at < cursor.tokens.length) throw invalidExpression('text follows its end')
  return expression
}

/** What an expression needs of the record: names as often as it refers to them, each with the calls and operators around it. */
export interface ExpressionReferences {
  readonly references: readonly { readonly name: string; readonly depth: number }[]
  /** Deepest nesting of the expression itself. */
  readonly depth: number
}

/** Uses of an expression. */
export const expressionReferences = (expression: Expression): ExpressionReferences => {
  const references: { readonly name: string; readonly depth: number }[] = []
  let deepest = 0
  const walk = (inner: Expression, depth: number): void => {
    deepest = Math.max(deepest, depth)
    if (inner.kind === 'reference') references.push({ name: inner.name, depth })
    else if (inner.kind === 'negative') walk(inner.of, depth + 1)
    else if (inner.kind === 'binary') {
      walk(inner.left, depth + 1)
      walk(inner.right, depth + 1)
    } else if (inner.kind === 'call') for (const given of inner.with) walk(given, depth + 1)
  }
  walk(expression, 0)
  return { references, depth: deepest }
}
